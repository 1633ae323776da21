"""Tools of MCP servers."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from metier.errors import UsageError
from metier.run.mcp_link import Link, LinkLostError, McpServer, unreachable
from metier.run.tool import Tool, ToolContext, ToolError

if TYPE_CHECKING:
    import mcp.types as types

_MOST_PAGES = 100
"""Pages of a list of tools: one that never ends must not hang us."""
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST = 64
_HASH = 8


@asynccontextmanager
async def mcp_tools(server_name: str, settings: McpServer) -> AsyncIterator[list[Tool]]:
    """The tools of a server, named `server__tool`, while the block lasts.

    Each of them needs consent, whatever hints the server gives. They may be called from any task.
    A server that dies gives an error value, and is started anew by the next call. Raises
    `UsageError` when the settings are wrong or the extra is not installed, and `MetierError` when
    the server cannot be reached.
    """
    server = _Server(server_name, settings)
    try:
        yield _tools(server, await server.listed())
    finally:
        await server.close()


class _Server:
    """One server; connected when it is needed."""

    def __init__(self, name: str, settings: McpServer) -> None:
        self.name = name
        self.settings = settings
        self._link: Link | None = None
        self._opening = asyncio.Lock()

    async def listed(self) -> "list[types.Tool]":
        """All tools that it offers. Raises `UsageError` or `MetierError`."""
        link = await self._linked()
        try:
            async with asyncio.timeout(self.settings.timeout):
                return await _pages(link)
        except Exception as error:  # whatever a server may answer
            raise unreachable(self.name, f"it does not list its tools: {error}") from None

    async def call(self, tool: str, args: dict[str, Any]) -> Any:
        """What a tool gives. Raises `ToolError`."""
        link = await self._linked()
        try:
            result = await link.answer(link.client.call_tool(tool, args))
        except LinkLostError as error:
            await self._drop(link)
            message = f"MCP server '{self.name}' is gone: {error}"
            raise ToolError(message, retryable=True) from None
        if result.is_error:
            raise ToolError(_said(result.content) or "the tool failed", retryable=True)
        return _output(result)

    async def close(self) -> None:
        if self._link is not None:
            await self._drop(self._link)

    async def _linked(self) -> Link:
        async with self._opening:
            if self._link is None:
                self._link = await Link.opened(self.name, self.settings)
            return self._link

    async def _drop(self, link: Link) -> None:
        if self._link is link:
            self._link = None
        await link.close()


async def _pages(link: Link) -> "list[types.Tool]":
    found: list[types.Tool] = []
    cursor = None
    for _ in range(_MOST_PAGES):
        page = await link.answer(link.client.list_tools(cursor=cursor))
        found += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return found


def _tools(server: _Server, found: "Iterable[types.Tool]") -> list[Tool]:
    taken: set[str] = set()
    tools = []
    for one in found:
        name = _name(server.name, one.name, taken)
        taken.add(name)
        tools.append(_tool(server, one, name))
    return tools


def _tool(server: _Server, found: "types.Tool", name: str) -> Tool:
    """The tool as ours; one whose schema cannot be used refuses every call and says why."""

    async def call(args: dict[str, Any], _context: ToolContext) -> Any:
        return await server.call(found.name, args)

    def refuse(_args: dict[str, Any]) -> Any:
        raise ToolError(f"MCP server '{server.name}': {unusable}", code="TOOL_VALIDATION_ERROR")

    more: dict[str, Any] = {
        "name": name,
        "description": found.description or "",
        "call": call,
        "timeout": server.settings.timeout,
        "needs_consent": True,  # whatever the server says of it: its hints are its own words
    }
    try:
        return Tool(schema=found.input_schema, **more)
    except UsageError as error:
        unusable = error.message
        return Tool(schema={"type": "object"}, prepare=refuse, **more)


def _name(server: str, tool: str, taken: set[str]) -> str:
    """`server__tool` as models accept it; a hash tells apart what would become equal."""
    whole = f"{server}__{tool}"
    name = _ILLEGAL.sub("_", whole)
    if len(name) <= _LONGEST and name not in taken:
        return name
    mark = hashlib.sha256(f"{whole} {len(taken)}".encode()).hexdigest()[:_HASH]
    return f"{name[: _LONGEST - _HASH - 1]}_{mark}"


def _output(result: "types.CallToolResult") -> Any:
    """The structured content; else the text; else all parts as they are."""
    if result.structured_content is not None:
        return result.structured_content
    if all(part.type == "text" for part in result.content):
        return _said(result.content)
    return [
        part.model_dump(mode="json", by_alias=True, exclude_none=True) for part in result.content
    ]


def _said(content: "Iterable[types.ContentBlock]") -> str:
    return "\n".join(part.text for part in content if part.type == "text")
