"""The inspector at 10,000 skills: CPU time of pages, all threads counted.

Pages of rows against a bare Starlette page that renders the same rows with Jinja; pages that
compute against the calls of `Catalog` behind them. Every request asks for another page, task or
document, or finds the caches empty.
"""

import asyncio
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message

from benchmarks.folders import trust
from benchmarks.measure import Bar, least
from metier import Catalog
from metier.config import Config
from metier.flow.boundary import Boundary, open_boundary
from metier.serving.endpoint import Endpoint
from metier.values.browsing import Browse
from metier.web.app import make_app
from metier.web.reading import CatalogSource, Reading
from metier.web.security import Sessions

SKILLS, ROUNDS, REQUESTS = 10_000, 7, 20
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


class Client:
    """Asks an application without a network."""

    def __init__(self, app: ASGIApp, cookie: str = "") -> None:
        self._app = app
        self._cookie = cookie

    async def get(self, path: str) -> bytes:
        path, _, query = path.partition("?")
        headers = [(b"host", HOST.encode()), (b"cookie", self._cookie.encode())]
        scope = {
            "type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
            "query_string": query.encode(), "headers": headers, "http_version": "1.1",
            "scheme": "http", "server": ("127.0.0.1", 8766), "client": ("127.0.0.1", 1),
            "root_path": "",
        }  # fmt: skip
        parts: list[bytes] = []
        status: list[int] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                status.append(message["status"])
            parts.append(message.get("body", b""))

        await self._app(scope, receive, send)
        assert status == [200], (path, query, status)
        return b"".join(parts)


def bars(scratch: Path) -> Iterator[Bar]:
    root = scratch / "inspected"
    _skills(root)
    yield from asyncio.run(_measured(root))
    shutil.rmtree(root)


async def _measured(root: Path) -> list[Bar]:
    def boundary() -> Boundary:
        return open_boundary(root, Config(), "record")

    reading = Reading(CatalogSource(boundary, home="/nowhere"), refresh_every=1e9)
    reading.start()
    sessions = Sessions(8766)
    app = make_app(reading, Endpoint(port=8766), sessions)
    session = sessions.enter(sessions.token)
    ours = Client(app, f"{sessions.cookie}={session}")
    with Catalog.open(root, config=Config(), home="/nowhere") as catalog:
        try:
            return [
                await _rows(ours, catalog),
                await _documents(ours, catalog),
                await _which(ours, catalog),
                await _overview(ours, catalog, reading),
            ]
        finally:
            reading.close()


async def _rows(ours: Client, catalog: Catalog) -> Bar:
    """Another page of the catalog for each request."""
    rows = catalog.browse(Browse(limit=50)).rows
    shown = [
        (row.handle, row.kind, row.description, row.source, row.state, row.issues) for row in rows
    ]
    bare = Client(_app(lambda: _ROWS.render(rows=shown)))
    await ours.get("/catalog?size=50")
    pages = count(1)
    here, there = await _alternate(
        lambda: ours.get(f"/catalog?size=50&page={next(pages)}"), lambda: bare.get("/")
    )
    return _against_bare("catalog, 50 rows", here, there)


async def _documents(ours: Client, catalog: Catalog) -> Bar:
    """Another document for each request."""
    rows = iter(catalog.browse(Browse(limit=ROUNDS * REQUESTS + 1)).rows)
    first = next(rows)
    body = catalog.document(first).body
    facts = [(key, str(value)) for key, value in first.to_json().items()]
    bare = Client(_app(lambda: _TEXT.render(name=first.handle, facts=facts, body=body)))
    await ours.get(f"/document?kind=skill&id={quote(first.id)}")
    here, there = await _alternate(
        lambda: ours.get(f"/document?kind=skill&id={quote(next(rows).id)}"), lambda: bare.get("/")
    )
    return _against_bare("document", here, there)


async def _which(ours: Client, catalog: Catalog) -> Bar:
    """Another task for each request."""
    tasks, others = count(), count()

    async def asked() -> None:
        catalog.which(f"do thing {next(others)} well and report it", limit=10)

    await ours.get("/which?task=do+thing")
    await asked()
    here, there = await _alternate(
        lambda: ours.get(f"/which?task=do+thing+{next(tasks)}+well+and+report+it"), asked
    )
    return _against_call("which", here, there, "Catalog.which")


async def _overview(ours: Client, catalog: Catalog, reading: Reading) -> Bar:
    """With empty caches."""

    def forget(found: Catalog) -> None:
        found.store._cache.clear()

    async def page() -> None:
        await reading.ask(forget, computes=True)
        await ours.get("/overview")

    async def calls() -> None:
        forget(catalog)
        catalog.counts()
        catalog.browse(Browse(facets={"state": ["excluded"]}, limit=8))
        catalog.listing("claude-code")
        catalog.names("skill")

    await page()
    await calls()
    here, there = await _alternate(page, calls, requests=1)
    return _against_call("overview, nothing cached", here, there, "counts, browse, listing")


async def _alternate(
    first: Callable[[], Any], second: Callable[[], Any], requests: int = REQUESTS
) -> Sequence[float]:
    """CPU seconds of one call of each, the least of some rounds."""

    async def spent(call: Callable[[], Any]) -> float:
        start = time.process_time()
        for _ in range(requests):
            await call()
        return (time.process_time() - start) / requests

    return least([(await spent(first), await spent(second)) for _ in range(ROUNDS)])


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
    return Bar(f"inspector: {name}, {SKILLS:,} skills", here / there, limit, unit, detail)


def _skills(root: Path) -> None:
    """A workspace of skills that one host loads."""
    for index in range(SKILLS):
        folder = root / ".claude" / "skills" / f"skill-{index:05}"
        folder.mkdir(parents=True)
        facts: Mapping[str, str] = {"name": folder.name, "description": _description(index)}
        lines = "\n".join(f"{key}: {value}" for key, value in facts.items())
        body = "\n".join(f"{step}. Do part {step} of thing {index}." for step in range(1, 20))
        (folder / "SKILL.md").write_text(f"---\n{lines}\n---\n\n# Thing {index}\n\n{body}\n")
    (root / ".git").mkdir()
    trust(root)


def _description(index: int) -> str:
    return (
        f"Does thing {index} well, from the first look to the report about it. Use it when thing"
        f" {index} of group {index % 97} is needed, or when someone asks for its report."
    )
