"""The HTTP server: access checks, health check, metrics, graceful shutdown."""

import asyncio
import hmac
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from metier import __version__
from metier.mcp.traffic import MOST_REQUESTS, AccessLog, Bounded
from metier.serving.endpoint import Endpoint
from metier.serving.host_names import OwnNames
from metier.serving.listening import listen
from metier.serving.slow_clients import LIMITS, Limits

if TYPE_CHECKING:
    from metier.mcp.metrics import Metrics  # an extra

PATH = "/mcp"
HEALTH = "/health"
METRICS = "/metrics"


class Guard:
    """Rejects requests by Host (421), Origin (403), token (401) and method (405)."""

    def __init__(
        self, app: ASGIApp, endpoint: Endpoint, names: Callable[[Scope], OwnNames] | None = None
    ) -> None:
        """`names` says by which names a request may ask for the server; else the endpoint does."""
        own = OwnNames(endpoint)
        self._app = app
        self._names = names or (lambda _: own)
        self._token = endpoint.token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            rejection = self._rejection(Request(scope))
            if rejection is not None:
                await rejection(scope, receive, send)
                return
        await _answer_at_shutdown(self._app, scope, receive, send)

    def _rejection(self, request: Request) -> Response | None:
        if (rejection := self._names(request.scope).rejection(request)) is not None:
            return rejection
        path = _path_here(request.scope)
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


def _path_here(scope: Scope) -> str:
    """The path below the mount point; a request's URL is built from its Host header."""
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    return path.removeprefix(root) if path.startswith(f"{root}/") else path


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


class Service(NamedTuple):
    """How requests are served."""

    max_requests: int = MOST_REQUESTS
    metrics: "Metrics | None" = None


def inner_app(server: Server[Any], service: Service = Service()) -> Starlette:  # noqa: B008 (it cannot change)
    """The routes alone, for whoever may ask."""

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "name": server.name, "version": __version__})

    more = [Route(METRICS, service.metrics.page)] if service.metrics is not None else []
    return server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        custom_starlette_routes=[Route(HEALTH, health), *more],
    )


def guarded(
    inner: ASGIApp,
    endpoint: Endpoint,
    service: Service,
    names: Callable[[Scope], OwnNames] | None = None,
) -> ASGIApp:
    """`inner` behind the log, the access checks and the bound on requests."""
    bounded = Bounded(inner, service.max_requests)
    guard = Guard(bounded, endpoint, names)
    if service.metrics is None:
        return AccessLog(guard)
    service.metrics.gauge(
        "metier_mcp_requests_in_progress", "Requests in progress.", lambda: bounded.under_way
    )
    return AccessLog(guard, service.metrics.answered)


async def serve_http(
    server: Server[Any],
    endpoint: Endpoint,
    bound: socket.socket,
    ready: Callable[[str], None],
    *,
    limits: Limits = LIMITS,
    service: Service = Service(),  # noqa: B008 (it cannot change)
) -> None:
    """Serve until SIGINT or SIGTERM, then finish running requests; `ready` gets the URL."""
    endpoint = endpoint._replace(port=bound.getsockname()[1])
    app = guarded(inner_app(server, service), endpoint, service)
    await listen(app, bound, lambda: ready(endpoint.url(PATH)), limits=limits)
