"""Runs a server over stdio or HTTP."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from mcp.server.lowlevel import Server

from metier.catalog import Catalog
from metier.mcp.answers import CatalogPool
from metier.mcp.http import Service, serve_http
from metier.mcp.runs import RunThread
from metier.mcp.server import make_server
from metier.mcp.stdio import OpenRequests, stdio_streams
from metier.serving.catalog_pool import THREADS
from metier.serving.catalog_thread import Opened, Stamp
from metier.serving.endpoint import Endpoint

if TYPE_CHECKING:
    from metier.mcp.metrics import Metrics  # an extra


def _no_stamp(_catalog: Catalog) -> object:
    return None


@contextmanager
def serving(
    opened: Opened,
    *,
    allow_run: bool = False,
    stamp: Stamp = _no_stamp,
    metrics: "Metrics | None" = None,
    threads: int = THREADS,
) -> Iterator[Server[Any]]:
    """A server over the catalog that `opened` opens, reopened when `stamp` changes."""
    catalog, runs = CatalogPool(opened, stamp, threads=threads), RunThread(opened, stamp)
    more = runs.tools() if allow_run else ()
    try:
        catalog.start()
        if metrics is None:
            yield make_server(catalog, more)
        else:
            about = "Requests that wait for a catalog thread."
            metrics.gauge("metier_mcp_questions_waiting", about, lambda: catalog.waiting)
            yield make_server(catalog, more, metrics.called)
    finally:
        runs.close()
        catalog.close()


def run_http(
    opened: Opened,
    endpoint: Endpoint,
    ready: Callable[[str], None],
    *,
    allow_run: bool = False,
    stamp: Stamp = _no_stamp,
    service: Service = Service(),  # noqa: B008 (it cannot change)
    log_level: str = "warning",
) -> None:
    endpoint.check(allow_run=allow_run)
    _log_to_standard_error(log_level)
    with (
        endpoint.bound() as bound,
        serving(opened, allow_run=allow_run, stamp=stamp, metrics=service.metrics) as server,
    ):
        asyncio.run(serve_http(server, endpoint, bound, ready, service=service))


def run_stdio(opened: Opened, *, allow_run: bool = False, stamp: Stamp = _no_stamp) -> None:
    _log_to_standard_error()
    with ExitStack() as stack:
        # one client: its answers come in the order of its questions
        made = serving(opened, allow_run=allow_run, stamp=stamp, threads=1)
        server = stack.enter_context(made)
        asyncio.run(_over_stdio(server, stack.close))


async def _over_stdio(server: Server[Any], leave: Callable[[], None]) -> None:
    """Exit on a signal or a broken pipe: a thread that reads a line cannot be stopped."""
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
    async with stdio_streams(requests, gone) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def _log_to_standard_error(level: str = "warning") -> None:
    logging.basicConfig(
        stream=sys.stderr,
        level=level.upper(),
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    if level == "info":
        logging.getLogger("mcp").setLevel(logging.WARNING)  # the SDK tells how it works
