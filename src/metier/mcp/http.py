"""The HTTP server: access checks, health check, graceful shutdown."""

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
from metier.mcp.endpoint import Endpoint
from metier.mcp.slow_clients import LIMITS, Limits, with_limits

PATH = "/mcp"
HEALTH = "/health"
_SHUTDOWN_SECONDS = 5


class Guard:
    """Rejects requests by Host (421), Origin (403), token (401) and method (405)."""

    def __init__(self, app: ASGIApp, endpoint: Endpoint) -> None:
        self._app = app
        self._hosts = endpoint.hosts()
        self._origins = {
            f"{scheme}://{host}" for scheme in ("http", "https") for host in self._hosts
        }
        self._token = endpoint.token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            rejection = self._rejection(Request(scope))
            if rejection is not None:
                await rejection(scope, receive, send)
                return
        await _answer_at_shutdown(self._app, scope, receive, send)

    def _rejection(self, request: Request) -> Response | None:
        hosts, origins = request.headers.getlist("host"), request.headers.getlist("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return PlainTextResponse("Host is not this server", 421)
        if origins and (len(origins) > 1 or origins[0].lower() not in self._origins):
            return PlainTextResponse("Origin is not this server", 403)
        path = request.scope["path"]  # request.url is built from the Host header
        if request.method == "GET" and path == PATH:
            # this server sends nothing on its own
            return PlainTextResponse("use POST", 405, {"Allow": "POST"})
        if not self._token or path == HEALTH:
            return None
        scheme, _, shown = request.headers.get("authorization", "").partition(" ")
        is_same = hmac.compare_digest(shown.strip().encode(), self._token)
        if scheme.lower() == "bearer" and is_same:
            return None
        headers = {"WWW-Authenticate": "Bearer"}
        return PlainTextResponse("a valid bearer token is required", 401, headers)


async def _answer_at_shutdown(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Call `app`; a request that shutdown cancels gets a 503."""
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
        await PlainTextResponse("the server is shutting down", 503)(scope, receive, send)


async def _while_connected(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Call `app`, and cancel it when the client disconnects first."""
    listeners: list[asyncio.Task[None]] = []
    is_answered = False

    async def listen() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        if not is_answered:
            working.cancel()

    async def received() -> Message:
        if listeners:
            await asyncio.wait(listeners)  # only a disconnect can follow the body
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


def app(server: Server[Any], endpoint: Endpoint) -> ASGIApp:
    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "name": server.name, "version": __version__})

    inner = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        custom_starlette_routes=[Route(HEALTH, health)],
    )
    return Guard(inner, endpoint)


class _Listener(uvicorn.Server):
    """Leaves signals to its caller."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve_http(
    server: Server[Any],
    endpoint: Endpoint,
    bound: socket.socket,
    ready: Callable[[str], None],
    *,
    limits: Limits = LIMITS,
) -> None:
    """Serve until SIGINT or SIGTERM, then finish running requests; `ready` gets the URL."""
    endpoint = endpoint._replace(port=bound.getsockname()[1])
    config = uvicorn.Config(
        app(server, endpoint),
        http=with_limits(limits),
        ws="none",
        log_config=None,
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    listener = _Listener(config)

    def stop() -> None:
        listener.should_exit = True

    loop = asyncio.get_running_loop()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, stop)
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    ready(f"http://{host}:{endpoint.port}{PATH}")
    try:
        await listener.serve(sockets=[bound])
    finally:
        for one in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(one)
