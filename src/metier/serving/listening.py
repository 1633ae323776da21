"""Serves an application on a socket until a signal, then finishes running requests."""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from metier.serving.slow_clients import LIMITS, Limits, with_limits

_SHUTDOWN_SECONDS = 5
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Listener(uvicorn.Server):
    """Leaves signals to its caller."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def listen(
    app: ASGIApp,
    bound: socket.socket,
    ready: Callable[[], None],
    *,
    limits: Limits = LIMITS,
    on_stop: Callable[[], None] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called before the first request.

    `on_stop` is called after the signal: it ends answers that would go on for long.
    """
    config = uvicorn.Config(
        app,
        http=with_limits(limits),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    listener = _Listener(config)

    def stop() -> None:
        listener.should_exit = True
        if on_stop is not None:
            on_stop()

    loop = asyncio.get_running_loop()
    for one in _SIGNALS:
        loop.add_signal_handler(one, stop)
    ready()
    try:
        await listener.serve(sockets=[bound])
    finally:
        for one in _SIGNALS:
            loop.remove_signal_handler(one)
