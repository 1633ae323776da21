"""Standard input and output: when the input ends, what was asked before is still answered."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from contextvars import Context
from typing import Any, Self

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import (
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

GRACE = 5.0
"""The most seconds that answers may take once the input has ended."""


@asynccontextmanager
async def patient_stdio() -> AsyncIterator[tuple["Reading", "Writing"]]:
    """The streams of a server over stdio. `echo REQUEST | metier mcp` gets its answer."""
    async with stdio_server() as (reading, writing):
        open_requests = OpenRequests()
        yield Reading(reading, open_requests), Writing(writing, open_requests)


class OpenRequests:
    """What was asked and has not been answered."""

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

    def told(self, message: Any) -> None:
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._forget(message.id)

    def _forget(self, request: Any) -> None:
        self._ids.discard(request)
        if self.none:
            self._settled.set()

    async def settled(self) -> None:
        """Return when all is answered, or the time for it is over."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._settled.wait(), GRACE)


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


class Writing:
    """What the server says."""

    def __init__(self, inner: Any, requests: OpenRequests) -> None:
        self._inner = inner
        self._requests = requests

    async def send(self, item: SessionMessage, /) -> None:
        await self._inner.send(item)
        self._requests.told(item.message)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
