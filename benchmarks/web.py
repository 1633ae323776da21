"""The inspector at 10,000 skills: CPU time of the server.

Pages of rows are asked over HTTP, and compared with a bare Starlette page that renders the same
rows with Jinja. Pages that compute are compared with the calls of `Catalog` behind them: what the
application adds (access, threads, data, HTML), without HTTP, which these calls do not have; the
figure over HTTP is beside it. No answer comes from a cache of pages; the Markdown of a document
is rendered once.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, count, cycle
from pathlib import Path
from urllib.parse import quote

import jinja2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from benchmarks.corpus import WORDS, unpack
from benchmarks.folders import trust
from benchmarks.measure import Bar
from benchmarks.web_server import Inspected, Own, Served, least_cpu
from metier import Catalog
from metier.config import Config
from metier.values.browsing import Browse
from metier.values.rows import Row

_ASKED = 20
"""Documents, tasks and questions in each round."""
_WORDS = 12
"""Of a task."""
_INJECTABLE = 1_000
"""Abilities, and cards."""
_CHARACTERS = 4_096
"""Of an ability, as in the benchmark of abilities, and of a card."""
_STEPS = 20
"""Of the run."""
ROWS_BAR, COMPUTED_BAR = 5.0, 1.3
_ROWS = jinja2.Environment(autoescape=True).from_string(
    "<!doctype html><title>Rows</title><table>{% for row in rows %}<tr>{% for value in row %}"
    "<td>{% if loop.first %}<a href='/document?kind=skill&id={{ value|urlencode }}'>{{ value }}</a>"
    "{% else %}{{ value }}{% endif %}</td>{% endfor %}</tr>{% endfor %}</table>"
)
_TEXT = jinja2.Environment(autoescape=True).from_string(
    "{% macro shown(value) %}{% if value is mapping %}<dl>{% for key, one in value.items() %}"
    "<dt>{{ key }}</dt><dd>{{ shown(one) }}</dd>{% endfor %}</dl>{% elif value is string %}"
    "{{ value }}{% elif value is sequence %}<ul>{% for one in value %}<li>{{ shown(one) }}</li>"
    "{% endfor %}</ul>{% else %}{{ value }}{% endif %}{% endmacro %}"
    "<!doctype html><title>Page</title>{{ shown(data) }}"
)
"""Everything that a page shows, one below the other."""


def bars(scratch: Path) -> Iterator[Bar]:
    root, what = unpack(scratch / "inspected")
    (root / ".claude" / "skills").mkdir(parents=True, exist_ok=True)
    _add_documents(root)
    trust(root)
    with Catalog.open(root, config=Config(), home="/nowhere") as catalog:
        catalog.refresh()
        catalog.run_sync("walker", "go through every step")
        inspected = Inspected(root)
        try:
            for bar in chain(_row_bars(inspected, catalog), _computed_bars(inspected, catalog)):
                yield bar._replace(detail=f"{bar.detail}; {what}")
        finally:
            inspected.close()
    shutil.rmtree(root)


def _add_documents(root: Path) -> None:
    """Abilities and cards to inject, and an agent of many steps."""
    for folder in ("abilities", "docs/capabilities", "agents"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for number in range(_INJECTABLE):
        words = [WORDS[(number * step) % len(WORDS)] for step in (1, 3, 7, 11)]
        text = " ".join(words * (_CHARACTERS // len(" ".join(words))))
        front = f"tags: [{words[0]}, {words[1]}]\ncategory: {words[2]}\npriority: {number % 100}"
        (root / f"abilities/a{number}.md").write_text(f"---\n{front}\n---\n{text}\n")
        triggers = f"triggers:\n  keywords: [{', '.join(words)}]\n  confidenceThreshold: 0.25"
        front = f"id: card-{number}\nname: Card {number}\ndescription: About it.\n{triggers}"
        (root / f"docs/capabilities/c{number}.md").write_text(f"---\n{front}\n---\n{text}\n")
    asked = {"type": "prompt", "config": {"prompt": "Go on with {{ task }}"}}
    steps = [{"stepId": f"s{number}", **asked} for number in range(_STEPS)]
    agent = {
        "agentId": "walker",
        "name": "Walker",
        "description": "Goes through every step.",
        "systemPrompt": "Go on.",
        "workflow": steps,
    }
    (root / "agents/walker.json").write_text(json.dumps(agent))


# Pages of rows


def _row_bars(inspected: Inspected, catalog: Catalog) -> Iterator[Bar]:
    ours = inspected.served
    yield _catalog(ours, catalog)
    documents = [f"/document?kind=skill&id={quote(row.id)}" for row in _some(catalog)]
    yield _against_bare("document", ours, documents)
    yield _against_bare(f"run of {_STEPS} steps", ours, ["/run?id=last"])


def _catalog(ours: Served, catalog: Catalog) -> Bar:
    """Another page of the catalog for each request."""
    rows = catalog.browse(Browse(limit=50)).rows
    shown = [
        (row.handle, row.kind, row.description[:220], row.source, row.state, row.issues)
        for row in rows
    ]
    bare = Served(_app(lambda: _ROWS.render(rows=shown)))
    ours.get("/catalog?size=50")
    pages = count(1)
    here, there = least_cpu(
        lambda: ours.get(f"/catalog?size=50&page={next(pages)}"), lambda: bare.get("/")
    )
    bare.close()
    return _rows_bar("catalog, 50 rows", here, there)


def _against_bare(name: str, ours: Served, asked: Sequence[str]) -> Bar:
    """The same pages in each round, against all their data in the plainest HTML."""
    shown = [json.loads(ours.get(one.replace("?", ".json?", 1))) for one in asked]
    addresses, data = cycle(asked), cycle(shown)
    bare = Served(_app(lambda: _TEXT.render(data=next(data))))
    for _ in asked:
        ours.get(next(addresses))
    here, there = least_cpu(lambda: ours.get(next(addresses)), lambda: bare.get("/"))
    bare.close()
    return _rows_bar(name, here, there)


def _app(render: Callable[[], str]) -> ASGIApp:
    async def page(_: Request) -> Response:
        return HTMLResponse(render())

    return Starlette(routes=[Route("/", page)])


def _rows_bar(name: str, here: float, there: float) -> Bar:
    detail = f"{here * 1e3:.2f} ms against {there * 1e3:.2f} ms of CPU"
    unit = "× a bare Starlette page with the same rows"
    return Bar(f"inspector: {name}", here / there, ROWS_BAR, unit, detail)


# Pages that compute


def _computed_bars(inspected: Inspected, catalog: Catalog) -> Iterator[Bar]:
    """Each address has another number, so that no page is cached; what the catalog caches stays."""
    tasks = [" ".join(row.description.split()[:_WORDS]) or row.name for row in _some(catalog)]
    yield _computed(
        "which", inspected, [f"/which?task={quote(one)}&number={{}}" for one in tasks],
        [partial(_explained, catalog, one) for one in tasks],
        "Catalog.which and its explanation",
    )  # fmt: skip
    names, others = catalog.capabilities()[:_ASKED] or ["pdf-extraction"], count(1_000_000)
    yield _computed(
        "resolve", inspected, [f"/resolve?require={quote(one)}&query={{}}" for one in names],
        [partial(_resolved, catalog, one, others) for one in names],
        "Catalog.resolve and its report",
    )  # fmt: skip
    yield _computed(
        "inject", inspected, [f"/inject?task={quote(one)}+{{}}" for one in tasks],
        [partial(_injected, catalog, one, others) for one in tasks],
        f"Catalog.inject, {_INJECTABLE:,} abilities and as many cards",
    )  # fmt: skip
    contexts = count(150_000)
    yield _computed(
        "listing", inspected, ["/listing?host=claude-code&context={}"],
        [lambda: catalog.listing("claude-code", next(contexts))], "Catalog.listing",
        requests=3, first=100_000,
    )  # fmt: skip
    yield _computed(
        "overview, nothing cached", inspected, ["/overview"],
        [lambda: _overview(catalog)], "counts, browse and listing", requests=1, forgets=True,
    )  # fmt: skip
    yield _computed(
        "overlap map, nothing cached", inspected, ["/overlap"],
        [lambda: _overlap(catalog)], "Catalog.overlap_map", requests=1, rounds=2, forgets=True,
    )  # fmt: skip


def _explained(catalog: Catalog, task: str) -> object:
    return catalog.which(task, limit=5).to_json()


def _resolved(catalog: Catalog, name: str, numbers: Iterator[int]) -> object:
    return catalog.resolve([name], f"{next(numbers)}").report


def _injected(catalog: Catalog, task: str, numbers: Iterator[int]) -> object:
    return catalog.inject(f"{task} {next(numbers)}")


def _overview(catalog: Catalog) -> None:
    _forget(catalog)
    catalog.counts()
    catalog.browse(Browse(facets={"state": ["excluded"]}, limit=8))
    catalog.listing("claude-code")
    catalog.names("skill")


def _overlap(catalog: Catalog) -> None:
    _forget(catalog)
    catalog.overlap_map()


def _forget(catalog: Catalog) -> None:
    catalog.store._cache.clear()


def _computed(
    name: str,
    inspected: Inspected,
    addresses: Sequence[str],
    calls: Sequence[Callable[[], object]],
    what: str,
    *,
    requests: int = _ASKED,
    rounds: int = 7,
    first: int = 1,
    forgets: bool = False,
) -> Bar:
    asked, others, number = cycle(addresses), cycle(calls), count(first)

    def address() -> str:
        if forgets:
            inspected.ask(_forget)
        return next(asked).format(next(number))

    def page() -> None:
        inspected.get(address())

    def page_over_http() -> None:
        inspected.served.get(address())

    def call() -> None:
        next(others)()

    for _ in addresses:
        page()
        call()
    here, there, served = least_cpu(
        Own(page), Own(call), page_over_http, requests=requests, rounds=rounds
    )
    detail = (
        f"{here * 1e3:.2f} ms against {there * 1e3:.2f} ms of CPU; "
        f"{served * 1e3:.2f} ms over HTTP ({served / there:.2f} ×)"
    )
    return Bar(f"inspector: {name}", here / there, COMPUTED_BAR, f"× {what}", detail)


def _some(catalog: Catalog) -> Sequence[Row]:
    facets = {"kind": ["skill"], "state": ["active"]}
    return catalog.browse(Browse(facets=facets, limit=_ASKED)).rows
