"""What goes over the wire: results, cursors, errors of tools and of the protocol."""

import base64
import binascii
import json
import logging
import os
from collections.abc import Callable
from importlib import resources
from typing import Any, TypeVar

from mcp import MCPError
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, TextContent
from pydantic_core import to_json

from metier.catalog import Catalog
from metier.errors import MetierError, UsageError
from metier.serving import catalog_pool

T = TypeVar("T")
log = logging.getLogger("metier.mcp")
_INTERNAL = MetierError("the server failed", code="INTERNAL", hint="see its standard error")


def schema(name: str) -> dict[str, Any]:
    file = resources.files("metier") / "schemas" / f"{name}.v1.schema.json"
    data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return data


def result(data: dict[str, Any]) -> CallToolResult:
    """A tool's answer: structured, and the same JSON as text."""
    text = to_json(data).decode()  # several times as fast as the standard library
    return CallToolResult(content=[TextContent(text=text)], structured_content=data)


def tool_error(error: Exception) -> CallToolResult:
    """An error as a tool's answer. Unexpected errors go to standard error only."""
    text = json.dumps({"error": error_details(error)}, ensure_ascii=False)
    return CallToolResult(content=[TextContent(text=text)], is_error=True)


def protocol_error(error: Exception, **about: str) -> MCPError:
    """An error as a protocol error, for everything but tools."""
    details = error_details(error)
    code = INTERNAL_ERROR if details["code"] == "INTERNAL" else INVALID_PARAMS
    request = {key: sendable(text) for key, text in about.items()}
    return MCPError(code, details["message"], {**request, **details})


def error_details(error: Exception) -> dict[str, str]:
    if not isinstance(error, MetierError):
        log.error("unexpected error", exc_info=error)
        error = _INTERNAL
    details = {
        "code": error.code,
        "message": " ".join(error.message.split()),
        "where": "" if os.path.isabs(error.where) else error.where,  # no paths of this machine
        "hint": error.hint,
    }
    return {key: sendable(text) for key, text in details.items()}


def sendable(text: str) -> str:
    """`text` without lone surrogates, which JSON cannot carry."""
    return text.encode(errors="replace").decode()


def cursor_after(handle: str) -> str:
    """The cursor of the page after `handle`; empty for none."""
    return base64.urlsafe_b64encode(handle.encode()).decode().rstrip("=")


def handle_of(cursor: str) -> str:
    """The handle in a cursor. Raises `UsageError` for an invalid cursor."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        handle = raw.decode()
    except (binascii.Error, ValueError):
        handle = ""
    if cursor and cursor_after(handle) != cursor:
        raise UsageError(
            "the cursor is not from this server",
            code="TOOL_VALIDATION_ERROR",
            hint="omit it to start with the first page",
        )
    return handle


class CatalogPool(catalog_pool.CatalogPool):
    """Raises protocol errors for everything but tools."""

    async def answer(self, question: Callable[[Catalog], T], **about: str) -> T:
        try:
            return await self.ask(question)
        except Exception as error:
            raise protocol_error(error, **about) from None
