"""A server from its start to its end: the catalogue is opened, served and closed again."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from mcp.server.lowlevel import Server

from metier.catalog import Catalog
from metier.mcp.http import serve_http
from metier.mcp.keeper import Keeper
from metier.mcp.pipe import OpenRequests, patient_stdio
from metier.mcp.place import Place
from metier.mcp.runs import RunThread
from metier.mcp.server import make_server

Opened = Callable[[], AbstractContextManager[Catalog]]
Stamp = Callable[[Catalog], object]
"""Changes with what the user's trust in the workspace depends on."""


def _no_stamp(_catalog: Catalog) -> object:
    return None


@contextmanager
def serving(
    opened: Opened, *, allow_run: bool = False, stamp: Stamp = _no_stamp
) -> Iterator[Server[Any]]:
    """A server over the catalogue that `opened` gives; closed at the end of the block.

    It is opened anew when `stamp` changes.
    """
    keeper, shop = Keeper(opened, stamp), RunThread(opened, stamp)
    try:
        keeper.start()
        yield make_server(keeper, shop.tools() if allow_run else ())
    finally:
        shop.close()
        keeper.close()


def run_http(
    opened: Opened,
    place: Place,
    ready: Callable[[str], None],
    *,
    allow_run: bool = False,
    stamp: Stamp = _no_stamp,
) -> None:
    """Serve over HTTP until a signal asks for the end."""
    place.check(allow_run=allow_run)
    _log_to_standard_error()
    with place.bound() as bound, serving(opened, allow_run=allow_run, stamp=stamp) as server:
        asyncio.run(serve_http(server, place, bound, ready))


def run_stdio(opened: Opened, *, allow_run: bool = False, stamp: Stamp = _no_stamp) -> None:
    """Serve over standard input and output until the client closes them, or a signal comes."""
    _log_to_standard_error()
    with ExitStack() as stack:
        server = stack.enter_context(serving(opened, allow_run=allow_run, stamp=stamp))
        asyncio.run(_over_stdio(server, stack.close))


async def _over_stdio(server: Server[Any], leave: Callable[[], None]) -> None:
    """Serve to the end of the input. A signal ends the process: answers first, then `leave`.

    Nothing else could end it: a thread waits for the next line, and no line may ever come. When
    nobody reads the answers any more, it is as if a signal had come.
    """
    requests = OpenRequests()
    signalled = asyncio.Event()
    for one in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(one, signalled.set)
    working = asyncio.ensure_future(_until_end(server, requests, signalled))
    waiting = asyncio.ensure_future(signalled.wait())
    await asyncio.wait((working, waiting), return_when=asyncio.FIRST_COMPLETED)
    if working.done():
        waiting.cancel()
        await working
        return
    await requests.settled()
    await asyncio.to_thread(leave)
    os._exit(0)


async def _until_end(server: Server[Any], requests: OpenRequests, gone: asyncio.Event) -> None:
    async with patient_stdio(requests, gone) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def _log_to_standard_error() -> None:
    """What is worth a word goes where no client reads."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
