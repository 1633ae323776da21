"""The server over HTTP: who may ask, whether it is well, and an orderly end."""

import asyncio
import hmac
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from metier import __version__
from metier.mcp.place import Place

PATH = "/mcp"
HEALTH = "/health"
_LONGEST_END = 5
"""Seconds that answers under way are waited for."""


class Guard:
    """Lets only those through who may ask: Host (421), Origin (403), token (401), POST (405)."""

    def __init__(self, app: ASGIApp, place: Place) -> None:
        self._app = app
        self._names = TransportSecurityMiddleware(_allowed(place))
        self._token = place.token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refused = await self._refused(Request(scope))
            if refused is not None:
                await refused(scope, receive, send)
                return
        await _orderly(self._app, scope, receive, send)

    async def _refused(self, request: Request) -> Response | None:
        refused = await self._names.validate_request(request)
        if refused is not None:
            return refused
        if request.method == "GET" and request.url.path == PATH:
            # a client may listen for what a server says by itself: this one says nothing
            return PlainTextResponse("ask with POST", 405, {"Allow": "POST"})
        if not self._token or request.url.path == HEALTH:
            return None
        scheme, _, shown = request.headers.get("authorization", "").partition(" ")
        is_same = hmac.compare_digest(shown.strip().encode(), self._token)
        if scheme.lower() == "bearer" and is_same:
            return None
        headers = {"WWW-Authenticate": "Bearer"}
        return PlainTextResponse("a valid bearer token is needed", 401, headers)


async def _orderly(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Have `app` answer. A request that is given up at the end of the server is told so."""
    has_begun = False

    async def sent(message: Message) -> None:
        nonlocal has_begun
        has_begun = True
        await send(message)

    try:
        await app(scope, receive, sent)
    except asyncio.CancelledError:
        if scope["type"] != "http" or has_begun:
            raise
        await PlainTextResponse("the server is ending", 503)(scope, receive, send)


def _allowed(place: Place) -> TransportSecuritySettings:
    """The values of Host and Origin that are answered, with any port or none."""
    hosts = place.hosts()
    origins = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
    return TransportSecuritySettings(
        allowed_hosts=[*hosts, *(f"{host}:*" for host in hosts)],
        allowed_origins=[*origins, *(f"{origin}:*" for origin in origins)],
    )


def app(server: Server[Any], place: Place) -> ASGIApp:
    """The whole server as an ASGI application."""

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "name": server.name, "version": __version__})

    inner = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        custom_starlette_routes=[Route(HEALTH, health)],
    )
    return Guard(inner, place)


class _Listener(uvicorn.Server):
    """Leaves signals to whoever runs it."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve_http(
    server: Server[Any], place: Place, bound: socket.socket, ready: Callable[[str], None]
) -> None:
    """Answer on `bound` until SIGINT or SIGTERM; what is under way then is answered first.

    `ready` is told the address.
    """
    config = uvicorn.Config(
        app(server, place),
        log_config=None,
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=_LONGEST_END,
    )
    listener = _Listener(config)

    def stop() -> None:
        listener.should_exit = True

    loop = asyncio.get_running_loop()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, stop)
    host = f"[{place.host}]" if ":" in place.host else place.host
    ready(f"http://{host}:{bound.getsockname()[1]}{PATH}")
    try:
        await listener.serve(sockets=[bound])
    finally:
        for one in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(one)
