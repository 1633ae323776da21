"""What goes through the HTTP server: the access log, metrics, and how much at once."""

import logging
import time
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger("metier.mcp.access")
MOST_REQUESTS = 256
"""Requests at once, by default."""
_RETRY_SECONDS = 1
_LONGEST = 100
_CLOSED = 499
"""The status, in the log, of a request whose client left before it was answered."""


class Answered(NamedTuple):
    """One request, when it has been answered."""

    status: int
    seconds: float


class AccessLog:
    """Logs each request: at `info`, or at `warning` if the server failed."""

    def __init__(self, app: ASGIApp, observe: Callable[[Answered], None] = lambda _: None) -> None:
        """`observe` is called with every request, too."""
        self._app = app
        self._observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, began = _CLOSED, time.perf_counter()

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sent)
        finally:
            answered = Answered(status, time.perf_counter() - began)
            self._observe(answered)
            level = logging.WARNING if status >= 500 else logging.INFO
            if log.isEnabledFor(level):
                log.log(level, "%s", access_line(scope, answered))


def access_line(scope: Scope, answered: Answered) -> str:
    """`127.0.0.1 POST /mcp 200 12.3 ms tools/call skill_list`."""
    headers, peer = Headers(scope=scope), scope.get("client")
    asked = [peer[0] if peer else "-", scope["method"], scope["path"]]
    about = [headers.get(name, "") for name in ("mcp-method", "mcp-name")]
    facts = f"{answered.status} {answered.seconds * 1e3:.1f} ms"
    return " ".join(filter(None, (*map(_quoted, asked), facts, *map(_quoted, about))))


def _quoted(text: str) -> str:
    """What a client sent, without spaces and line breaks: it cannot look like another line."""
    return quote(text[:_LONGEST], safe="/:", errors="replace")


class Bounded:
    """Answers 503 with Retry-After to requests beyond a number at once."""

    def __init__(self, app: ASGIApp, most: int = MOST_REQUESTS) -> None:
        self._app = app
        self._most = most
        self.under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":  # /health and /metrics answer
            await self._app(scope, receive, send)
            return
        if self.under_way >= self._most:
            headers = {"Retry-After": str(_RETRY_SECONDS)}
            busy = PlainTextResponse(f"{self._most} requests are in progress", 503, headers)
            await busy(scope, receive, send)
            return
        self.under_way += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self.under_way -= 1
