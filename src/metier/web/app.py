"""The application: one route for each page and its `.json`, forms, static files, the way in."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from pkgutil import iter_modules
from typing import Any
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from metier.catalog import Catalog
from metier.errors import MetierError, NotFoundError, TrustError, UsageError
from metier.serving.endpoint import Endpoint
from metier.web import pages as pages_folder
from metier.web.catalog_threads import Reading
from metier.web.event_answers import EventAnswers
from metier.web.navigation import Navigation
from metier.web.page import Action, Data, Page, Start, Stream
from metier.web.query import Query, address
from metier.web.rendering import PlainJson, html
from metier.web.run_thread import RunThread
from metier.web.security import CSRF, ENTER, Guard, Sessions, read_form
from metier.web.words import in_browser

log = logging.getLogger("metier.web")
HOME = "overview"
_TARGET = re.compile(r"[a-z]+#([a-z][a-z-]*)")
"""The part of a page that htmx replaces: an error is shown there."""
_MOST_FIELDS = 200
_STATUS = ((NotFoundError, 404), (UsageError, 400), (TrustError, 403))
_INTERNAL = MetierError("the page failed", code="INTERNAL", hint="the terminal says why")
_PAGES = "the menu has all pages; Catalog finds documents by name"
_WAY_IN = "run metier web again, and use the address that it prints or opens"


def all_pages() -> list[Page]:
    """The pages of every module in `pages/`, in the order of the sidebar."""
    found = [page for module in _modules() for page in getattr(module, "PAGES", ())]
    return sorted(found, key=lambda page: (page.order, page.name))


def all_actions() -> list[Action]:
    return [action for module in _modules() for action in getattr(module, "ACTIONS", ())]


def all_starts() -> list[Start]:
    return [start for module in _modules() for start in getattr(module, "STARTS", ())]


def all_streams() -> list[Stream]:
    return [stream for module in _modules() for stream in getattr(module, "STREAMS", ())]


def _modules() -> list[Any]:
    names = sorted(one.name for one in iter_modules(pages_folder.__path__))
    return [import_module(f"{pages_folder.__name__}.{name}") for name in names]


class FixedPaths(BaseRoute):
    """Passes a request to the route whose path it names exactly; Starlette tries one by one."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = {route.path: route for route in routes}

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        route = self._routes.get(scope["path"])
        return route.matches(scope) if route is not None else (Match.NONE, {})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._routes[scope["path"]].handle(scope, receive, send)


class Inspector:
    """Answers requests for pages."""

    def __init__(
        self, reading: Reading, sessions: Sessions, runs: RunThread, events: EventAnswers
    ) -> None:
        self._reading = reading
        self._sessions = sessions
        self._runs = runs
        self._events = events
        self._pages = all_pages()
        self._navigation = Navigation(self._pages)

    def routes(self) -> list[BaseRoute]:
        home = [
            Route("/", _to_home),
            Route(ENTER, self._enter),
            Route("/do/refresh", self._refresh, methods=["POST"]),
        ]
        for action in all_actions():
            home.append(Route(f"/do/{action.name}", self._form(action), methods=["POST"]))
        for start in all_starts():
            home.append(Route(f"/do/{start.name}", self._start(start), methods=["POST"]))
        for stream in all_streams():
            home.append(Route(f"/{stream.name}", self._stream(stream)))
        for page in self._pages:
            home.append(Route(f"/{page.name}", self._page(page)))
            home.append(Route(f"/{page.name}.json", self._json(page)))
        static = StaticFiles(packages=[("metier.web", "static")])
        return [FixedPaths(home), Mount("/static", static)]

    # Pages

    def _page(self, page: Page) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            query = query_of(request)

            def shown(catalog: Catalog) -> Response:
                return self._shown(page, request, query, catalog)

            try:
                await self._reading.catch_up()
                return await self._reading.ask(shown, computes=page.computes)
            except Exception as error:
                return self.problem(request, error)

        return answer

    def _shown(self, page: Page, request: Request, query: Query, catalog: Catalog) -> Response:
        """Data and HTML, both in the catalog's thread."""
        data = page.data(catalog, query)
        around = self._around(request, catalog)
        command = page.command_line(data)
        values = {**around, "page": page, "query": query, "data": data, "command": command}
        return html(f"{page.name}.html", values)

    def _json(self, page: Page) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            query = query_of(request)

            def plain(catalog: Catalog) -> Response:
                return PlainJson(page.data(catalog, query))

            try:
                await self._reading.catch_up()
                return await self._reading.ask(plain, computes=page.computes)
            except Exception as error:
                known, status = _known(error)
                return PlainJson({"error": self._shown_error(known)}, status)

        return answer

    def _around(self, request: Request, catalog: Catalog | None = None) -> dict[str, Any]:
        """What every page shows besides its own data."""
        session = request.scope.get("session", "")
        config = catalog.config if catalog is not None else None
        return {
            "nav": self._navigation.on(request.scope["path"][1:]),
            "path": request.scope["path"],
            "csrf": self._sessions.csrf(session) if session else "",
            "csrf_name": CSRF,
            "workspace": catalog.workspace if catalog is not None else "",
            "is_restricted": bool(
                catalog and config and config.is_workspace and not catalog.trust.is_trusted
            ),
            "is_outside": bool(config and not config.is_workspace),
            "is_changed": catalog is not None and catalog.trust.state == "changed",
        }

    def problem(self, request: Request, error: Exception) -> Response:
        """A page that says what went wrong."""
        known, status = _known(error)
        part = _TARGET.fullmatch(request.headers.get("hx-target", ""))
        more = {
            "error": self._shown_error(known),
            "status": status,
            "part": part[1] if part else "",
        }
        values = {**self._around(request), **more}
        return html("problem.html", values, status)

    def _shown_error(self, error: MetierError) -> Data:
        """What is shown of an error: without the values of secrets, like every page."""
        return self._reading.redactor.value(shown_error(error))

    # Changes

    def _form(self, action: Action) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            fields = await read_form(request, self._sessions)
            if isinstance(fields, Response):
                return fields
            try:
                to = await self._reading.write(lambda catalog: action.do(catalog, fields))
            except Exception as error:
                return self.problem(request, error)
            return RedirectResponse(to, 303)

        return answer

    def _start(self, start: Start) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            fields = await read_form(request, self._sessions)
            if isinstance(fields, Response):
                return fields
            try:
                run_id = await self._runs.begin(
                    lambda *given: start.work(given[0], fields, given[1])
                )
            except Exception as error:
                return self.problem(request, error)
            return RedirectResponse(address("run", id=run_id), 303)

        return answer

    def _stream(self, stream: Stream) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            return self._events.answer(stream.events(self._reading.ask, query_of(request)))

        return answer

    async def _refresh(self, request: Request) -> Response:
        fields = await read_form(request, self._sessions)
        if isinstance(fields, Response):
            return fields
        try:
            await self._reading.refresh()
        except Exception as error:
            return self.problem(request, error)
        return RedirectResponse(_own_address(fields.get("back", "")), 303)

    # Entry

    async def _enter(self, request: Request) -> Response:
        """Exchange the one-time token for a cookie.

        It answers with a page that leads on: a browser that comes from a file sends a strict
        cookie only with requests that our own page makes.
        """
        session = "" if request.method == "HEAD" else self._sessions.enter(_token(request))
        if not session:
            error = MetierError("this address was used before, or it is wrong", hint=_WAY_IN)
            return self.problem(request, HTTPException(403, error.message))
        response = html("entered.html", {"to": f"/{HOME}"})
        self._sessions.set_cookie(response, session)
        return response


def make_app(
    reading: Reading,
    endpoint: Endpoint,
    sessions: Sessions,
    stopping: asyncio.Event | None = None,
) -> ASGIApp:
    """The guarded application; `reading` is closed with it, and live pages end on `stopping`."""
    runs, events = RunThread(reading.writable), EventAnswers(stopping or asyncio.Event())
    inspector = Inspector(reading, sessions, runs, events)

    async def problem(request: Request, error: Exception) -> Response:
        return inspector.problem(request, error)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(runs.close)
        reading.close()

    inner = Starlette(
        routes=inspector.routes(),
        exception_handlers={HTTPException: problem, Exception: problem},
        lifespan=lifespan,
    )
    error = {"code": "LOCKED", "message": "this browser has no access", "hint": _WAY_IN}
    return Guard(inner, endpoint, sessions, html("locked.html", {"error": error}, 401))


def query_of(request: Request) -> Query:
    raw = request.scope["query_string"].decode("latin-1")
    try:
        return Query(parse_qsl(raw, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise UsageError("the address has too many parameters") from None


def shown_error(error: MetierError) -> dict[str, str]:
    """An error with a hint that helps in a browser."""
    hint = in_browser(error.hint)
    return {"code": error.code, "message": error.message, "where": error.where, "hint": hint}


async def _to_home(_: Request) -> Response:
    return RedirectResponse(f"/{HOME}", 303)


def _token(request: Request) -> str:
    return query_of(request).text("token")


def _own_address(given: str) -> str:
    """An address of ours to go back to, whatever a form says."""
    is_own = given.startswith("/") and not given.startswith(("//", "/\\"))
    return given if is_own and given.isprintable() and given.isascii() else f"/{HOME}"


def _known(error: Exception) -> tuple[MetierError, int]:
    """The error to show and its status; an unexpected error goes to the log only."""
    if isinstance(error, HTTPException):
        if error.status_code == 404:
            return NotFoundError("there is no such page", hint=_PAGES), 404
        code = "METHOD_NOT_ALLOWED" if error.status_code == 405 else "REFUSED"
        hint = _WAY_IN if error.status_code == 403 else ""
        return MetierError(error.detail, code=code, hint=hint), error.status_code
    if isinstance(error, MetierError):
        return error, next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    log.error("a page failed", exc_info=error)
    return _INTERNAL, 500
