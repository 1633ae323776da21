"""Standard input and output: requests that arrived are answered before the server ends."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import Context
from typing import Any, Self, TextIO, cast

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.dispatcher import as_request_id, coerce_request_id
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    RequestId,
)
from pydantic import ValidationError

from metier.core.paths import is_utf8

GRACE = 5.0
"""Seconds to wait for answers when the server ends."""
_ANSWER = re.compile(
    r"""\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|-?[0-9]+),"(?:result|error)":"""
)

_MAY_BE_ODD_ID = re.compile(r'"id"\s*+:\s*+(?:[^"0-9-]|-?[0-9]++[.eE])')
_NO_MESSAGE = "[]\n"
"""A line that the SDK rejects as a JSON-RPC message."""


class OpenRequests:
    """Requests whose answers have not been written yet."""

    def __init__(self) -> None:
        self._ids: set[RequestId] = set()
        self._settled = asyncio.Event()
        self._settled.set()

    @property
    def none(self) -> bool:
        return not self._ids

    def received(self, message: Any) -> None:
        if isinstance(message, JSONRPCRequest):
            self._ids.add(coerce_request_id(message.id))
            self._settled.clear()
        elif (
            isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled"
        ):
            self._forget(as_request_id((message.params or {}).get("requestId")))

    def written(self, line: str) -> None:
        if answer := _ANSWER.match(line):
            self._forget(json.loads(answer[1]))

    def _forget(self, request: RequestId | None) -> None:
        if request is not None:
            self._ids.discard(coerce_request_id(request))
        if self.none:
            self._settled.set()

    async def settled(self) -> None:
        """Wait until everything is answered, at most `GRACE` seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._settled.wait(), GRACE)


@asynccontextmanager
async def stdio_streams(
    requests: OpenRequests, gone: asyncio.Event
) -> AsyncIterator[tuple["Reading", Any]]:
    """Streams that wait for open answers; `gone` is set when the client stops reading."""
    with _own_input() as lines, _own_output() as file:
        output = cast("Any", Output(file, requests, gone))
        async with stdio_server(cast("Any", Input(lines)), output) as (reading, writing):
            yield Reading(reading, writing, requests), writing


@contextmanager
def _own_output() -> Iterator[TextIO]:
    """Standard output for the protocol only; other output goes to standard error."""
    wire = os.dup(1)
    os.dup2(2, 1)
    # never closed: a thread may still write when the server ends
    yield os.fdopen(wire, "w", encoding="utf-8", newline="\n", closefd=False)
    os.dup2(wire, 1)


@contextmanager
def _own_input() -> Iterator[TextIO]:
    """Standard input for the protocol only; other readers get an empty stream."""
    wire = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    # never closed: a thread may still be reading when the server ends
    yield os.fdopen(wire, encoding="utf-8", errors="replace", closefd=False)
    os.dup2(wire, 0)


class Input:
    """The client's lines; the SDK would never answer requests with an invalid id."""

    def __init__(self, file: TextIO) -> None:
        self._lines = anyio.wrap_file(file)

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines:
            yield _NO_MESSAGE if _has_odd_id(line) else line


def _has_odd_id(line: str) -> bool:
    """Whether it is a request whose id is neither a string nor an integer."""
    if not _MAY_BE_ODD_ID.search(line):
        return False
    with suppress(ValueError, RecursionError):
        data = json.loads(line)
        if isinstance(data, dict) and "method" in data and "id" in data:
            found = data["id"]
            is_whole = isinstance(found, float) and found.is_integer()
            return type(found) not in (int, str) and not is_whole
    return False


class Output:
    """Writes answers. Each counts as written when it has left this process."""

    def __init__(self, file: TextIO, requests: OpenRequests, gone: asyncio.Event) -> None:
        self._file = file
        self._requests = requests
        self._gone = gone
        self._texts: list[str] = []

    async def write(self, text: str) -> None:
        self._texts.append(text)

    async def flush(self) -> None:
        text = "".join(self._texts)
        self._texts.clear()
        try:
            await asyncio.to_thread(self._write, text)
        except BrokenPipeError:
            self._gone.set()
        self._requests.written(text)

    def _write(self, text: str) -> None:
        self._file.write(text)
        self._file.flush()


def refusal(error: Exception) -> JSONRPCError:
    """The answer to an invalid line, so that the client does not wait."""
    problem = error.errors()[0] if isinstance(error, ValidationError) else None
    if problem is None or problem["type"] != "json_invalid":
        what = ErrorData(code=INVALID_REQUEST, message="not a JSON-RPC 2.0 message")
        return JSONRPCError(jsonrpc="2.0", id=None, error=what)
    message = " ".join(problem["msg"].split())
    what = ErrorData(code=PARSE_ERROR, message=message)
    return JSONRPCError(jsonrpc="2.0", id=_id_in(problem["input"]), error=what)


def _id_in(line: Any) -> RequestId | None:
    """The id of an invalid request, if it can be read."""
    with suppress(ValueError, RecursionError):
        data = json.loads(line)
        found = data.get("id") if isinstance(data, dict) else None
        if type(found) is int or (isinstance(found, str) and is_utf8(found)):
            return found
    return None


class Reading:
    """The client's messages; the end comes after open answers are written."""

    def __init__(self, inner: Any, writing: Any, requests: OpenRequests) -> None:
        self._inner = inner
        self._writing = writing
        self._requests = requests

    @property
    def last_context(self) -> Context | None:
        context: Context | None = self._inner.last_context
        return context

    async def receive(self) -> SessionMessage | Exception:
        try:
            item: SessionMessage | Exception = await self._inner.receive()
        except anyio.EndOfStream:
            await self._requests.settled()
            raise
        if isinstance(item, SessionMessage):
            self._requests.received(item.message)
        else:
            await self._writing.send(SessionMessage(refusal(item)))
        return item

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
