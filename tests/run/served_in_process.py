"""An MCP server in this process, whose tools are what a test says when it is started."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from typing import Any
from unittest import mock

from mcp.server import MCPServer

from metier.run.mcp_tools import Link


class Served:
    """The server: what it would say, and what metier does with it."""

    def __init__(self) -> None:
        self.tools: Mapping[str, str] = {}
        """Name → description."""
        self.starts = 0
        self.turns_to_close = 0
        """Turns of the event loop that a connection needs to close."""
        self._link: Link | None = None
        self._breaks = asyncio.Event()

    def stop(self) -> None:
        """End the last connection, as a server that dies does."""
        assert self._link is not None
        self._link._stop.set()

    async def break_off(self) -> None:
        """Have the last connection break by itself, as that of an HTTP server that is gone."""
        assert self._link is not None
        self._breaks.set()
        await asyncio.wait((self._link._task,))

    async def transport(self, link: Link, stack: AsyncExitStack) -> Any:
        self._link, self._breaks = link, asyncio.Event()
        self.starts += 1
        group = await stack.enter_async_context(asyncio.TaskGroup())
        stack.callback(group.create_task(self._broken(self._breaks)).cancel)
        stack.push_async_callback(wait, self.turns_to_close)
        server = MCPServer("shop")
        for name, description in self.tools.items():
            server.tool(name=name, description=description)(_done)
        return server

    async def _broken(self, breaks: asyncio.Event) -> None:
        await breaks.wait()
        raise OSError("the network is down")


async def _done() -> str:
    """A function that is not `async` would take a thread, and the time that threads take."""
    return "done"


async def wait(turns: int) -> None:
    """Let the event loop take turns."""
    for _ in range(turns):
        await asyncio.sleep(0)


@contextmanager
def served() -> Iterator[Served]:
    """Every connection leads to this server; all else is as with a server that is a process."""
    made = Served()

    async def transport(link: Link, stack: AsyncExitStack) -> Any:
        return await made.transport(link, stack)

    with mock.patch.object(Link, "_transport", transport):
        yield made
