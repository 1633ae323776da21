"""A connection to an MCP server."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from metier.errors import MetierError, UsageError
from metier.run.tool import one_line
from metier.safety.addresses import check_address

if TYPE_CHECKING:
    from mcp import Client

T = TypeVar("T")
_MOST_ERRORS = 8_192
"""Bytes of the end of a server's stderr that are kept."""
_LONGEST_CLOSE = 10.0
_LONGEST_CANCEL = 1.0


class McpServer(NamedTuple):
    """How to reach a server: a command to start, or an address."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = MappingProxyType({})
    """More environment than HOME, LOGNAME, PATH, SHELL, TERM and USER."""
    folder: str | None = None
    url: str = ""
    headers: Mapping[str, str] = MappingProxyType({})
    timeout: float = 60.0
    """Seconds for connecting, and for each call."""
    plain_http: bool = False
    """Whether the user named the url, so that http without encryption may leave the machine."""
    before_start: Callable[[], None] | None = None
    """Called just before a process starts; raises `MetierError` when it must not."""


class LinkLostError(Exception):
    """The server does not answer any more."""


class Link:
    """One connection, held by a task of its own: when it breaks, nobody else is cancelled."""

    client: "Client"

    def __init__(self, settings: McpServer) -> None:
        self._settings = settings
        self._errors = _Tail()
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold())

    @classmethod
    async def opened(cls, name: str, settings: McpServer) -> "Link":
        """A connection that is ready. Raises `UsageError` or `MetierError`."""
        _check(name, settings)
        if settings.before_start is not None and settings.command:
            settings.before_start()
        link = cls(settings)
        try:
            await asyncio.wait(
                (link._task, link._ready),
                timeout=settings.timeout,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            if not link._ready.done():
                await link.close()
        if not link._ready.done():
            raise unreachable(name, link._reason())
        return link

    async def answer(self, asked: Coroutine[Any, Any, T]) -> T:
        """What the server answers. Raises `LinkLostError`, and `MCPError` for its refusals."""
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED

        asking = asyncio.ensure_future(asked)
        try:
            await asyncio.wait((asking, self._task), return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not asking.done():
                asking.cancel()
                await asyncio.wait((asking,), timeout=_LONGEST_CANCEL)
        if not asking.done() or asking.cancelled():
            raise LinkLostError(self._reason())
        try:
            return asking.result()
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                raise LinkLostError(self._errors.last_line() or str(error)) from None
            raise

    async def close(self) -> None:
        """Leave the server; a process of it ends."""
        self._stop.set()
        if not self._ready.done():
            self._task.cancel()
        await asyncio.wait((self._task,), timeout=_LONGEST_CLOSE)
        if self._task.done() and not self._task.cancelled():
            self._task.exception()  # nobody needs to hear of it any more

    async def _hold(self) -> None:
        from mcp import Client

        async with AsyncExitStack() as stack:
            transport = await self._transport(stack)
            self.client = await stack.enter_async_context(Client(transport))
            self._ready.set_result(None)
            await self._stop.wait()

    async def _transport(self, stack: AsyncExitStack) -> Any:
        if not self._settings.url:
            return await self._process(stack)
        import httpx2  # comes with mcp
        from mcp.client.streamable_http import streamable_http_client

        client = httpx2.AsyncClient(
            headers=dict(self._settings.headers),
            timeout=httpx2.Timeout(self._settings.timeout),
            follow_redirects=False,
            max_redirects=0,  # mcp itself would follow those that stay on the host
        )
        http = await stack.enter_async_context(client)
        return streamable_http_client(self._settings.url, http_client=http)

    async def _process(self, stack: AsyncExitStack) -> Any:
        from mcp import StdioServerParameters, stdio_client

        settings = self._settings
        parameters = StdioServerParameters(
            command=settings.command,
            args=list(settings.args),
            env=dict(settings.env),
            cwd=settings.folder,
            encoding_error_handler="replace",  # "strict" leaves every later call without an answer
        )
        reading, writing = os.pipe()
        errors = stack.enter_context(os.fdopen(writing, "w"))
        loop = asyncio.get_running_loop()
        pipe, _ = await loop.connect_read_pipe(lambda: self._errors, os.fdopen(reading, "rb"))
        stack.callback(pipe.close)
        return stdio_client(parameters, errlog=errors)

    def _reason(self) -> str:
        """Why it ended, as far as anybody knows."""
        said = self._errors.last_line()
        if said:
            return said
        if not self._task.done() or self._task.cancelled():
            return f"no answer within {self._settings.timeout:g} s"
        error = self._task.exception()
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        return f"{type(error).__name__}: {error}" if error is not None else "it was closed"


class _Tail(asyncio.Protocol):
    """The end of what a server writes to stderr."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def data_received(self, data: bytes) -> None:
        self._kept += data
        del self._kept[:-_MOST_ERRORS]

    def last_line(self) -> str:
        lines = self._kept.decode("utf-8", errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else ""


def unreachable(name: str, reason: str) -> MetierError:
    return MetierError(
        one_line(f"MCP server '{name}' cannot be reached: {reason}"),
        code="TOOL_SERVER_FAILED",
        hint=f"check the settings of '{name}', and try its command or address by hand",
    )


def _check(name: str, settings: McpServer) -> None:
    if bool(settings.command) == bool(settings.url):
        raise UsageError(f"MCP server '{name}' needs either a command or a url")
    if settings.url:
        what = f"the url of MCP server '{name}'"
        check_address(settings.url, plain_http=settings.plain_http, what=what)
    try:
        import mcp  # noqa: F401  # an extra; only whether it is there
    except ImportError:
        raise UsageError(
            f"MCP server '{name}' needs the package mcp, which is not installed",
            hint="pip install 'metier[mcp]'",
        ) from None
