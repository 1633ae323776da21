"""Who may use the pages: this user's browser alone, and changes only from a page of ours.

A one-time token in the address becomes a cookie. Every answer has the same strict headers.
"""

import hmac
import secrets
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from metier.serving.endpoint import Endpoint
from metier.serving.host_names import OwnNames

ENTER = "/enter"
STATIC = "/static/"
CSRF = "csrf"
LARGEST_FORM = 1 << 20
"""In bytes."""
_DAYS = 7
_PUBLIC = (ENTER, STATIC)
_MOST_FIELDS = 200
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
    ]
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_SENT = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
_CACHING = b"cache-control"


class Sessions:
    """The token of the first address, and the cookies that it was exchanged for."""

    def __init__(self, port: int) -> None:
        self.cookie = f"metier_{port}"
        """Cookies are shared by all ports of a host, so its name holds the port."""
        self.token = secrets.token_urlsafe(32)
        self._is_used = False
        self._known: dict[str, str] = {}
        """Session → what its forms must send along."""

    def enter(self, shown: str) -> str:
        """A new session for the token; empty if it is wrong or was used before."""
        if self._is_used or not hmac.compare_digest(shown.encode(), self.token.encode()):
            return ""
        self._is_used = True
        session = secrets.token_urlsafe(32)
        self._known[session] = secrets.token_urlsafe(32)
        return session

    def of(self, request: Request) -> str:
        """The session of a request; empty for none."""
        for shown in _cookies(request, self.cookie):
            for one in self._known:
                if hmac.compare_digest(shown.encode(), one.encode()):
                    return one
        return ""

    def set_cookie(self, response: Response, session: str) -> None:
        response.set_cookie(
            self.cookie, session, max_age=_DAYS * 86_400, path="/", httponly=True, samesite="strict"
        )

    def csrf(self, session: str) -> str:
        """What every form of a session must send along; empty for a session that is not known."""
        return self._known.get(session, "")

    def is_own_form(self, session: str, shown: str) -> bool:
        wanted = self.csrf(session)
        return bool(wanted) and hmac.compare_digest(shown.encode(), wanted.encode())


def _cookies(request: Request, name: str) -> list[str]:
    """The values of a cookie; a browser can have several of one name."""
    pairs = [one.strip().partition("=") for one in request.headers.get("cookie", "").split(";")]
    return [value for found, _, value in pairs if found == name]


class Guard:
    """Rejects by Host (421), Origin (403) and cookie (401); adds the headers to every answer."""

    def __init__(
        self, app: ASGIApp, endpoint: Endpoint, sessions: Sessions, locked_out: Response
    ) -> None:
        self._app = app
        self._names = OwnNames(endpoint)
        self._sessions = sessions
        self._locked_out = locked_out

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        answer = self._rejection(request)
        await (answer or self._app)(scope, receive, _with_headers(send, scope["path"]))

    def _rejection(self, request: Request) -> Response | None:
        if (rejection := self._names.rejection(request)) is not None:
            return rejection
        if request.method not in ("GET", "HEAD") and "origin" not in request.headers:
            return PlainTextResponse("Origin is missing", 403)
        if request.scope["path"].startswith(_PUBLIC):
            return None
        request.scope["session"] = self._sessions.of(request)
        return None if request.scope["session"] else self._locked_out


def _with_headers(send: Send, path: str) -> Send:
    kept = b"no-cache" if path.startswith(STATIC) else b"no-store"

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *_SENT, (_CACHING, kept)]
        await send(message)

    return sent


async def read_form(request: Request, sessions: Sessions) -> dict[str, str] | Response:
    """The fields of a form of ours, or the answer that rejects it."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        return PlainTextResponse("a form is needed", 415)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_FORM:
            return PlainTextResponse("the form is too large", 413)
    try:
        fields = dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        return PlainTextResponse("the form cannot be read", 400)
    session = request.scope.get("session", "")
    if not sessions.is_own_form(session, fields.pop(CSRF, "")):
        return PlainTextResponse("the form is not from this page: reload it", 403)
    return fields
