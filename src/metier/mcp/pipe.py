"""Standard input and output: whatever ends the server, what was asked before is answered first."""

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
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCNotification, JSONRPCRequest, RequestId

GRACE = 5.0
"""The most seconds that answers may take once the end has come."""
_ANSWER = re.compile(
    r"""\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|-?[0-9]+),"(?:result|error)":"""
)


class OpenRequests:
    """What was asked and has not been answered: the answer is not written yet."""

    def __init__(self) -> None:
        self._ids: set[RequestId] = set()
        self._settled = asyncio.Event()
        self._settled.set()

    @property
    def none(self) -> bool:
        return not self._ids

    def asked(self, message: Any) -> None:
        if isinstance(message, JSONRPCRequest):
            self._ids.add(message.id)
            self._settled.clear()
        elif (
            isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled"
        ):
            self._forget((message.params or {}).get("requestId"))

    def told(self, line: str) -> None:
        """`line` is a message as it was written."""
        if answer := _ANSWER.match(line):
            self._forget(json.loads(answer[1]))

    def _forget(self, request: Any) -> None:
        self._ids.discard(request)
        if self.none:
            self._settled.set()

    async def settled(self) -> None:
        """Return when all is answered, or the time for it is over."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._settled.wait(), GRACE)


@asynccontextmanager
async def patient_stdio(requests: OpenRequests) -> AsyncIterator[tuple["Reading", Any]]:
    """The streams of a server over stdio. `metier mcp < FILE` gets its answers."""
    with _own_output() as file:
        output = cast("Any", Output(file, requests))
        async with stdio_server(stdout=output) as (reading, writing):
            yield Reading(reading, requests), writing


@contextmanager
def _own_output() -> Iterator[TextIO]:
    """Standard output for the protocol alone: what else is printed goes to standard error."""
    wire = os.dup(1)
    os.dup2(2, 1)
    # never closed: a thread may still write when the server ends
    yield os.fdopen(wire, "w", encoding="utf-8", newline="\n", closefd=False)
    os.dup2(wire, 1)


class Output:
    """Where answers are written. Each counts as told when it has left this process."""

    def __init__(self, file: TextIO, requests: OpenRequests) -> None:
        self._file = file
        self._requests = requests
        self._texts: list[str] = []

    async def write(self, text: str) -> None:
        self._texts.append(text)

    async def flush(self) -> None:
        text = "".join(self._texts)
        self._texts.clear()
        with suppress(BrokenPipeError):  # nobody reads any more: the input will end too
            await asyncio.to_thread(self._write, text)
        self._requests.told(text)

    def _write(self, text: str) -> None:
        self._file.write(text)
        self._file.flush()


class Reading:
    """What a client says. Its end comes after the answers."""

    def __init__(self, inner: Any, requests: OpenRequests) -> None:
        self._inner = inner
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
            self._requests.asked(item.message)
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
