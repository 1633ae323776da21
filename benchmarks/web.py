"""The inspector at 10,000 skills, over HTTP: CPU time of the server's threads.

Pages of rows against a bare Starlette page that renders the same rows with Jinja; pages that
compute against the calls of `Catalog` behind them. No answer comes from a cache of pages; the
Markdown of a document is rendered once. Both servers run in threads of this process; what the
client's thread uses is not counted.
"""

import asyncio
import json
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from http.client import HTTPConnection
from itertools import count, cycle
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import jinja2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from benchmarks.corpus import unpack
from benchmarks.folders import trust
from benchmarks.measure import Bar, least
from metier import Catalog
from metier.config import Config
from metier.flow.boundary import Boundary, open_boundary
from metier.serving.endpoint import Endpoint
from metier.serving.slow_clients import LIMITS, with_limits
from metier.values.browsing import Browse
from metier.values.rows import Row
from metier.web.app import make_app
from metier.web.reading import CatalogSource, Reading
from metier.web.security import Sessions

ROUNDS, REQUESTS = 7, 20
_WORDS = 12
"""Of a task."""
ROWS_BAR, COMPUTED_BAR = 5.0, 1.3
HOST = "127.0.0.1:8766"
_ROWS = jinja2.Environment(autoescape=True).from_string(
    "<!doctype html><title>Rows</title><table>{% for row in rows %}<tr>{% for value in row %}"
    "<td>{% if loop.first %}<a href='/document?kind=skill&id={{ value|urlencode }}'>{{ value }}</a>"
    "{% else %}{{ value }}{% endif %}</td>{% endfor %}</tr>{% endfor %}</table>"
)
_TEXT = jinja2.Environment(autoescape=True).from_string(
    "<!doctype html><title>{{ data.name }}</title><h1>{{ data.name }}</h1>"
    "<dl>{% for key, value in data.items() %}<dt>{{ key }}</dt><dd>"
    "{% if value is string %}{{ value }}{% elif value is sequence %}<ul>{% for one in value %}<li>"
    "{% if one is mapping %}{% for name, it in one.items() %}{{ name }}: {{ it }} {% endfor %}"
    "{% else %}{{ one }}{% endif %}</li>{% endfor %}</ul>{% else %}{{ value }}{% endif %}</dd>"
    "{% endfor %}</dl>"
)
"""Everything that the page of a document shows, one below the other."""


class Served:
    """An application behind uvicorn, in a thread, with one client that keeps its connection."""

    def __init__(self, app: ASGIApp, http: Any = "h11", cookie: str = "") -> None:
        bound = Endpoint(port=0).bound()
        config = uvicorn.Config(app, http=http, ws="none", log_config=None, access_log=False)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(bound)))
        self._thread.start()
        self._connection = HTTPConnection("127.0.0.1", bound.getsockname()[1], timeout=60)
        self._headers = {"Host": HOST, "Cookie": cookie}

    async def _serve(self, bound: socket.socket) -> None:
        await self._server.serve(sockets=[bound])

    def get(self, path: str) -> bytes:
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        text = answer.read()
        assert answer.status == 200, (path, answer.status)
        return text

    def close(self) -> None:
        self._connection.close()
        self._server.should_exit = True
        self._thread.join()


def bars(scratch: Path) -> Iterator[Bar]:
    root, what = unpack(scratch / "inspected")
    (root / ".claude" / "skills").mkdir(parents=True, exist_ok=True)
    trust(root)
    for bar in _measured(root):
        yield bar._replace(detail=f"{bar.detail}; {what}")
    shutil.rmtree(root)


def _measured(root: Path) -> Iterator[Bar]:
    def boundary() -> Boundary:
        return open_boundary(root, Config(), "record")

    reading = Reading(CatalogSource(boundary, home="/nowhere"), refresh_every=1e9)
    reading.start()
    sessions = Sessions(8766)
    session = sessions.enter(sessions.token)
    app = make_app(reading, Endpoint(port=8766), sessions)
    ours = Served(app, with_limits(LIMITS), f"{sessions.cookie}={session}")
    try:
        with Catalog.open(root, config=Config(), home="/nowhere") as catalog:
            yield _rows(ours, catalog)
            yield _documents(ours, catalog)
            yield _which(ours, catalog)
            yield _overview(ours, catalog, reading)
    finally:
        ours.close()


def _rows(ours: Served, catalog: Catalog) -> Bar:
    """Another page of the catalog for each request."""
    rows = catalog.browse(Browse(limit=50)).rows
    shown = [
        (row.handle, row.kind, row.description[:220], row.source, row.state, row.issues)
        for row in rows
    ]
    bare = Served(_app(lambda: _ROWS.render(rows=shown)))
    ours.get("/catalog?size=50")
    pages = count(1)
    here, there = _least(
        lambda: ours.get(f"/catalog?size=50&page={next(pages)}"), lambda: bare.get("/")
    )
    bare.close()
    return _against_bare("catalog, 50 rows", here, there)


def _documents(ours: Served, catalog: Catalog) -> Bar:
    """The same documents in each round; their page is not cached."""
    asked = [f"/document?kind=skill&id={quote(row.id)}" for row in _some(catalog)]
    shown = [json.loads(ours.get(one.replace("?", ".json?", 1))) for one in asked]
    addresses, data = cycle(asked), cycle(shown)
    bare = Served(_app(lambda: _TEXT.render(data=next(data))))
    for _ in asked:
        ours.get(next(addresses))
    here, there = _least(lambda: ours.get(next(addresses)), lambda: bare.get("/"))
    bare.close()
    return _against_bare("document", here, there)


def _which(ours: Served, catalog: Catalog) -> Bar:
    """The same tasks in each round, in addresses that are not cached."""
    tasks = [" ".join(row.description.split()[:_WORDS]) or row.name for row in _some(catalog)]
    asked, others, number = cycle(tasks), cycle(tasks), count()

    def page() -> None:
        ours.get(f"/which?task={quote(next(asked))}&number={next(number)}")

    def call() -> None:
        catalog.which(next(others), limit=5).to_json()

    for _ in tasks:
        page()
        call()
    here, there = _least(page, Own(call))
    return _against_call("which", here, there, "Catalog.which and its explanation")


def _some(catalog: Catalog) -> Sequence[Row]:
    facets = {"kind": ["skill"], "state": ["active"]}
    return catalog.browse(Browse(facets=facets, limit=REQUESTS)).rows


def _overview(ours: Served, catalog: Catalog, reading: Reading) -> Bar:
    """With empty caches."""

    def forget(found: Catalog) -> None:
        found.store._cache.clear()

    def page() -> None:
        asyncio.run(reading.ask(forget, computes=True))
        ours.get("/overview")

    def calls() -> None:
        forget(catalog)
        catalog.counts()
        catalog.browse(Browse(facets={"state": ["excluded"]}, limit=8))
        catalog.listing("claude-code")
        catalog.names("skill")

    page()
    calls()
    here, there = _least(page, Own(calls), requests=1)
    return _against_call("overview, nothing cached", here, there, "counts, browse and listing")


class Own(NamedTuple):
    """A call that works in this thread; any other only waits in it for a server."""

    call: Callable[[], object]


def _least(*calls: Callable[[], object] | Own, requests: int = REQUESTS) -> list[float]:
    """CPU seconds of one call of each, the least of some rounds."""

    def spent(call: Callable[[], object] | Own) -> float:
        made = call.call if isinstance(call, Own) else call
        start, own = time.process_time(), time.thread_time()
        for _ in range(requests):
            made()
        own = time.thread_time() - own
        server = time.process_time() - start - own
        return (own if isinstance(call, Own) else server) / requests

    return least([tuple(spent(call) for call in calls) for _ in range(ROUNDS)])


def _app(render: Callable[[], str]) -> ASGIApp:
    async def page(_: Request) -> Response:
        return HTMLResponse(render())

    return Starlette(routes=[Route("/", page)])


def _against_bare(name: str, here: float, there: float) -> Bar:
    unit = "× a bare Starlette page with the same rows"
    return _bar(name, here, there, ROWS_BAR, unit)


def _against_call(name: str, here: float, there: float, call: str) -> Bar:
    return _bar(name, here, there, COMPUTED_BAR, f"× {call}")


def _bar(name: str, here: float, there: float, limit: float, unit: str) -> Bar:
    detail = f"{here * 1e3:.2f} ms against {there * 1e3:.2f} ms of CPU"
    return Bar(f"inspector: {name}", here / there, limit, unit, detail)
