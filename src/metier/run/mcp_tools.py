"""Tools of MCP servers."""

import asyncio
import hashlib
import os
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from metier.config.mcp_pins import McpPins
from metier.core.json_values import json_copy
from metier.errors import MetierError, UsageError, install_hint
from metier.run.server_text import ServerText, clean_schema, unusable
from metier.run.tool import Tool, ToolCode, ToolContext, ToolError, one_line
from metier.safety.addresses import check_address
from metier.values.pins import ToolPin
from metier.values.run_settings import ServerSetting

if TYPE_CHECKING:
    import mcp.types as types
    from mcp import Client


# Connections


T = TypeVar("T")
BeforeStart = Callable[[], None] | None
"""Called just before a process starts; raises `MetierError` when it must not."""
_MOST_ERRORS = 8_192
_LONGEST_CLOSE = 10.0
_LONGEST_CANCEL = 1.0


class LinkLostError(Exception):
    """The server does not answer any more."""


class Link:
    """A connection in its own task: when it breaks, no caller is cancelled."""

    client: "Client"

    def __init__(self, settings: ServerSetting) -> None:
        self._settings = settings
        self._errors = _Tail()
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold())

    @classmethod
    async def opened(cls, settings: ServerSetting, before_start: BeforeStart) -> "Link":
        """A connection that is ready. Raises `UsageError` or `MetierError`."""
        _check(settings)
        if before_start is not None and settings.command:
            before_start()
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
            raise unreachable(settings.name, link._reason())
        return link

    async def answer(self, asked: Coroutine[Any, Any, T]) -> T:
        """What the server answers. Raises `LinkLostError`, and `MCPError` for its refusals."""
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED, INVALID_REQUEST

        lost = {CONNECTION_CLOSED: "Connection closed", INVALID_REQUEST: "Session terminated"}
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
            if lost.get(error.code) == error.message:  # servers use these codes too
                raise LinkLostError(self._reason()) from None
            raise
        except RuntimeError:
            if self._stop.is_set() or self._task.done():  # the client was closed, or is being
                raise LinkLostError(self._reason()) from None
            raise

    async def close(self) -> None:
        self._stop.set()
        if not self._ready.done():
            self._task.cancel()
        await asyncio.wait((self._task,), timeout=_LONGEST_CLOSE)
        if self._task.done() and not self._task.cancelled():
            self._task.exception()  # mark it as retrieved

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
        if said := self._errors.last_line():
            return said
        if not self._task.done() or self._task.cancelled():
            is_open = self._ready.done()
            return "it was closed" if is_open else f"no answer within {self._settings.timeout:g} s"
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


def _check(settings: ServerSetting) -> None:
    name = settings.name
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
            hint=install_hint("mcp"),
        ) from None


# Tools


_MOST_PAGES = 100
_LARGEST_SCHEMA = 1_000_000
"""Bytes of JSON."""
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST = 64
_HASH = 8


@asynccontextmanager
async def mcp_tools(
    settings: ServerSetting,
    before_start: BeforeStart = None,
    *,
    pins: McpPins | None = None,
    secret: bytes = b"",
) -> AsyncIterator[list[Tool]]:
    """The tools of a server, named `server__tool`, while the block lasts.

    They need consent and may be called from any task. A server that dies is restarted by the next
    call. Tools that changed since the review in `pins` reject every call. Raises `UsageError` for
    wrong settings or a missing package, and `MetierError` when the server cannot be reached.
    """
    server = _Server(settings, before_start, pins)
    text = ServerText(settings.name, secret)
    try:
        names: set[str] = set()
        tools = []
        for one, pin in (await server.listed()).items():
            name = _name(server.name, one, names)
            names.add(name)
            tools.append(_tool(server, one, pin, name, text))
        yield tools
    finally:
        await server.close()


async def listed_tools(
    settings: ServerSetting, before_start: BeforeStart = None
) -> dict[str, ToolPin]:
    """The tools of a server by name, to review them. Raises as `mcp_tools`."""
    server = _Server(settings, before_start, None)
    try:
        return await server.listed()
    finally:
        await server.close()


class _Server:
    """A server, connected on demand."""

    def __init__(
        self, settings: ServerSetting, before_start: BeforeStart, pins: McpPins | None
    ) -> None:
        self.name = settings.name
        self.settings = settings
        self._before_start = before_start
        self._pins = pins
        self._link: Link | None = None
        self._opening = asyncio.Lock()
        self._listed: dict[str, ToolPin] = {}
        self._off: dict[str, str] = {}

    async def listed(self) -> dict[str, ToolPin]:
        """Its tools. Raises `UsageError` or `MetierError`."""
        await self._linked()
        return self._listed

    def why_off(self, tool: str) -> str:
        """Why a tool must not be used; else empty."""
        return self._off.get(tool, "") if tool in self._listed else _gone(self.name, tool)

    async def call(self, tool: str, args: dict[str, Any]) -> Any:
        """The output of a tool. Raises `ToolError`."""
        link = await self._linked()
        if why := self.why_off(tool):  # of a server that was restarted
            raise ToolError(why, code="TOOL_PERMISSION_DENIED")
        try:
            result = await link.answer(link.client.call_tool(tool, args))
        except LinkLostError as error:
            await self._drop(link)
            message = f"MCP server '{self.name}' is gone: {error}"
            raise ToolError(message, retryable=True) from None
        if result.is_error:
            raise ToolError(_text_of(result.content) or "the tool failed", retryable=True)
        return _output(result)

    async def close(self) -> None:
        if self._link is not None:
            await self._drop(self._link)

    async def _linked(self) -> Link:
        async with self._opening:
            if self._link is None:
                if self._pins is not None:
                    self._pins.check_start(self.settings)
                link = await Link.opened(self.settings, self._before_start)
                try:
                    await self._look(link)
                except BaseException:
                    await link.close()
                    raise
                self._link = link
            return self._link

    async def _look(self, link: Link) -> None:
        """List the tools, and find out which are switched off. Raises `MetierError`."""
        try:
            async with asyncio.timeout(self.settings.timeout):
                found = await _pages(link)
            self._listed = {one.name: _pin(one) for one in found}
        except Exception as error:  # whatever a server may answer
            raise unreachable(self.name, f"it does not list its tools: {error}") from None
        if self._pins is not None:
            self._off = self._pins.switched_off(self.settings, self._listed)

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


def _pin(found: "types.Tool") -> ToolPin:
    """A tool as the server describes it. Raises `NotJsonError` if the schema is too large."""
    return ToolPin(found.description or "", json_copy(found.input_schema, _LARGEST_SCHEMA))


def _gone(server: str, tool: str) -> str:
    return f"MCP server '{server}' has no tool '{tool}' any longer"


def _tool(server: _Server, tool: str, pin: ToolPin, name: str, text: ServerText) -> Tool:
    """A tool of metier; one that is switched off, or has an unusable schema, rejects every call."""

    async def call(args: dict[str, Any], _context: ToolContext) -> Any:
        return await server.call(tool, args)

    more: dict[str, Any] = {
        "name": name,
        "call": call,
        "timeout": server.settings.timeout,
        "needs_consent": True,  # whatever the server says of it: its hints are its own words
        "is_foreign": True,
        "show": partial(text.result, tool),
    }
    if why := server.why_off(tool):
        return _refusing(why, "TOOL_PERMISSION_DENIED", more)
    why = unusable(pin)
    if not why:
        described = text.described(tool, pin.description)
        try:
            return Tool(schema=clean_schema(pin.schema), description=described, **more)
        except UsageError as error:
            why = error.message
    return _refusing(f"MCP server '{server.name}': {why}", "TOOL_VALIDATION_ERROR", more)


def _refusing(why: str, code: ToolCode, more: dict[str, Any]) -> Tool:
    def refuse(_args: dict[str, Any]) -> Any:
        raise ToolError(why, code=code)

    return Tool(schema={"type": "object"}, prepare=refuse, **more)


def _name(server: str, tool: str, taken: set[str]) -> str:
    """`server__tool` as models accept it, with a hash to keep names unique."""
    whole = f"{server}__{tool}"
    name = _ILLEGAL.sub("_", whole)
    if len(name) <= _LONGEST and name not in taken:
        return name
    mark = hashlib.sha256(f"{whole} {len(taken)}".encode()).hexdigest()[:_HASH]
    return f"{name[: _LONGEST - _HASH - 1]}_{mark}"


def _output(result: "types.CallToolResult") -> Any:
    """The structured content, else the text, else all parts."""
    if result.structured_content is not None:
        return result.structured_content
    if all(part.type == "text" for part in result.content):
        return _text_of(result.content)
    return [
        part.model_dump(mode="json", by_alias=True, exclude_none=True) for part in result.content
    ]


def _text_of(content: "Iterable[types.ContentBlock]") -> str:
    return "\n".join(part.text for part in content if part.type == "text")
