"""The server over HTTP: who may ask, whether it is well, and an orderly end."""

import asyncio
import hmac
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from metier import __version__
from metier.mcp.endpoint import Place
from metier.mcp.slow_clients import LIMITS, Limits, impatient

PATH = "/mcp"
HEALTH = "/health"
_LONGEST_END = 5
"""Seconds that answers under way are waited for."""


class Guard:
    """Lets only those through who may ask: Host (421), Origin (403), token (401), POST (405)."""

    def __init__(self, app: ASGIApp, place: Place) -> None:
        self._app = app
        self._hosts = place.hosts()
        self._origins = {f"{way}://{host}" for way in ("http", "https") for host in self._hosts}
        self._token = place.token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refused = self._refused(Request(scope))
            if refused is not None:
                await refused(scope, receive, send)
                return
        await _orderly(self._app, scope, receive, send)

    def _refused(self, request: Request) -> Response | None:
        hosts, origins = request.headers.getlist("host"), request.headers.getlist("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return PlainTextResponse("Host is not a name of this server", 421)
        if origins and (len(origins) > 1 or origins[0].lower() not in self._origins):
            return PlainTextResponse("Origin is not this server", 403)
        path = request.scope["path"]  # not that of request.url, which is made from the Host
        if request.method == "GET" and path == PATH:
            # a client may listen for what a server says by itself: this one says nothing
            return PlainTextResponse("ask with POST", 405, {"Allow": "POST"})
        if not self._token or path == HEALTH:
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
        await _while_connected(app, scope, receive, sent)
    except asyncio.CancelledError:
        if scope["type"] != "http" or has_begun:
            raise
        await PlainTextResponse("the server is ending", 503)(scope, receive, send)


async def _while_connected(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Have `app` answer, and cancel it when the client disconnects before that."""
    listeners: list[asyncio.Task[None]] = []
    is_answered = False

    async def listen() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        if not is_answered:
            working.cancel()

    async def received() -> Message:
        if listeners:
            await asyncio.wait(listeners)  # only the end of the connection can follow the body
            return {"type": "http.disconnect"}
        message = await receive()
        if message["type"] == "http.disconnect":
            working.cancel()
            await anyio.sleep_forever()
        if not message.get("more_body"):
            listeners.append(asyncio.ensure_future(listen()))
        return message

    async def sent(message: Message) -> None:
        nonlocal is_answered
        is_answered = message["type"] == "http.response.body" and not message.get("more_body")
        await send(message)

    if scope["type"] != "http":
        await app(scope, receive, send)
        return
    with anyio.CancelScope() as working:
        try:
            await app(scope, received, sent)
        finally:
            for one in listeners:
                one.cancel()


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
    server: Server[Any],
    place: Place,
    bound: socket.socket,
    ready: Callable[[str], None],
    *,
    limits: Limits = LIMITS,
) -> None:
    """Answer on `bound` until SIGINT or SIGTERM; what is under way then is answered first.

    `ready` is told the address. Requests that are not whole within `limits` are given up.
    """
    place = place._replace(port=bound.getsockname()[1])
    config = uvicorn.Config(
        app(server, place),
        http=impatient(limits),
        ws="none",
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
    ready(f"http://{host}:{place.port}{PATH}")
    try:
        await listener.serve(sockets=[bound])
    finally:
        for one in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(one)
