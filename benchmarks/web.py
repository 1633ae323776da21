"""The inspector at 10,000 skills, over HTTP: CPU time of the server's threads.

Pages of rows against a bare Starlette page that renders the same rows with Jinja; pages that
compute against the calls of `Catalog` behind them. Every request asks for another page, task or
document, or finds the caches empty. Both servers run in threads of this process; what the client's
thread uses is not counted.
"""

import asyncio
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from typing import Any
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
    "<td>{{ value }}</td>{% endfor %}</tr>{% endfor %}</table>"
)
_TEXT = jinja2.Environment(autoescape=True).from_string(
    "<!doctype html><title>{{ name }}</title><h1>{{ name }}</h1><dl>{% for key, value in facts %}"
    "<dt>{{ key }}</dt><dd>{{ value }}</dd>{% endfor %}</dl><pre>{{ body }}</pre>"
)


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
    """Another document for each request."""
    rows = catalog.browse(
        Browse(facets={"kind": ["skill"], "state": ["active"]}, limit=ROUNDS * REQUESTS + 1)
    ).rows
    bodies = iter([(row, catalog.document(row).body) for row in rows])
    asked = iter(rows)

    def rendered() -> str:
        row, body = next(bodies)
        facts = [(key, str(value)) for key, value in row.to_json().items()]
        return _TEXT.render(name=row.handle, facts=facts, body=body)

    bare = Served(_app(rendered))
    ours.get(f"/document?kind=skill&id={quote(next(asked).id)}")
    bare.get("/")
    here, there = _least(
        lambda: ours.get(f"/document?kind=skill&id={quote(next(asked).id)}"), lambda: bare.get("/")
    )
    bare.close()
    return _against_bare("document", here, there)


def _which(ours: Served, catalog: Catalog) -> Bar:
    """Another task for each request."""
    rows = catalog.browse(
        Browse(facets={"kind": ["skill"], "state": ["active"]}, limit=ROUNDS * REQUESTS + 1)
    ).rows
    tasks = [" ".join(row.description.split()[:_WORDS]) or row.name for row in rows]
    asked, others = iter(tasks), iter(tasks)
    ours.get(f"/which?task={quote(next(asked))}")
    catalog.which(next(others), limit=10)
    here = _least(lambda: ours.get(f"/which?task={quote(next(asked))}"))[0]
    there = _least(lambda: catalog.which(next(others), limit=10), is_ours=True)[0]
    return _against_call("which", here, there, "Catalog.which")


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
    here = _least(page, requests=1)[0]
    there = _least(calls, requests=1, is_ours=True)[0]
    return _against_call("overview, nothing cached", here, there, "counts, browse and listing")


def _least(
    *calls: Callable[[], object], requests: int = REQUESTS, is_ours: bool = False
) -> list[float]:
    """CPU seconds of one call of each, the least of some rounds; of this thread if `is_ours`."""

    def spent(call: Callable[[], object]) -> float:
        start, own = time.process_time(), time.thread_time()
        for _ in range(requests):
            call()
        own = time.thread_time() - own
        return (own if is_ours else time.process_time() - start - own) / requests

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
