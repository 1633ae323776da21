"""Catalog: all documents, searched by the ranker, filtered by facets, page by page."""

from typing import Any

from metier.findings import CODES
from metier.values.browsing import FACETS, ORDERS, Browse, Browsed
from metier.values.files import KINDS, PLURAL
from metier.values.rows import Row
from metier.web.choices import Facets
from metier.web.page import Data, Page, View
from metier.web.query import Query, address
from metier.web.table import Column, Table, asked_of
from metier.web.table import Row as TableRow

_SIZE = 50
_MOST_TEXT = 220
_LONGEST_SEARCH = 2_000
_SHOWN_VALUES = 12
_TITLES = {
    "kind": "Kind",
    "source": "Source",
    "state": "State",
    "host": "Named by hooks of",
    "agent": "Named by agent",
    "finding": "Finding",
    "capability": "Provides",
    "owner": "Owner",
}


def document_address(row: TableRow) -> str:
    return address("document", kind=row["kind"], id=row["id"])


COLUMNS = (
    Column("name", "Name", "id", document_address),
    Column("kind", "Kind"),
    Column("description", "Description", "long", sorts=False),
    Column("source", "Source"),
    Column("state", "State", "badge"),
    Column("issues", "Findings", "number"),
    Column("length", "Length", "number", hint="Characters of the description"),
)


def build(view: View) -> Data:
    search = view.query.text("search")[:_LONGEST_SEARCH]
    usual = "best" if search else "name"
    asked = asked_of(view.query, COLUMNS, sort=usual, size=_SIZE)
    facets = {name: view.query.all(name) for name in FACETS if view.query.all(name)}
    found = view.catalog.browse(
        Browse(
            search=search,
            facets=facets,
            order=asked.sort if asked.sort in ORDERS else usual,
            descending=asked.descending,
            offset=asked.offset,
            limit=asked.size,
        )
    )
    table = Table(
        name="",
        columns=COLUMNS,
        rows=[_row(one) for one in found.rows],
        total=found.total,
        asked=asked,
        query=view.query,
        page_name=view.page,
        noun="document",
        filters=False,
        empty="no document fits; remove a filter, or search for something else",
    )
    base = view.query.replaced({"page": None})
    shown = view.cached(("facets", base.items), lambda: _facets(base, found))
    return {"search": search, "filters": facets, "documents": table, "facets": shown}


def _row(row: Row) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.handle or row.path,
        "kind": row.kind,
        "description": _short(row.description),
        "source": row.source,
        "state": row.state,
        "reason": row.reason,
        "issues": row.issues,
        "length": len(row.description),
        "path": row.path,
        "owner": row.owner,
    }


def _short(text: str) -> str:
    line = " ".join(text[: _MOST_TEXT + 20].split())
    return line if len(line) <= _MOST_TEXT else f"{line[:_MOST_TEXT].rstrip()}…"


def _facets(base: Query, found: Browsed) -> Facets:
    """The filters, each value with the address that adds or removes it."""
    shown = []
    for name in FACETS:
        values = [
            {
                "value": one.value,
                "documents": one.documents,
                "isChosen": one.is_chosen,
                "hint": _hint(name, one.value),
                "href": address(
                    "catalog",
                    base.without(name, one.value)
                    if one.is_chosen
                    else base.with_one_more(name, one.value),
                ),
            }
            for one in found.facets[name]
        ]
        if len(values) > 1 or any(one["isChosen"] for one in values):
            shown.append({"name": name, "title": _TITLES[name], "values": _short_list(values)})
    return Facets(shown)


def _hint(facet: str, value: str) -> str:
    """What a finding is called besides its code."""
    known = CODES.get(value) if facet == "finding" else None
    return known.title if known is not None else ""


def _short_list(values: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The most frequent, and all that are chosen."""
    return values[:_SHOWN_VALUES] + [one for one in values[_SHOWN_VALUES:] if one["isChosen"]]


def _command(data: Data) -> list[str]:
    """What comes nearest: `metier list` takes one value of each."""
    chosen = data["filters"]
    kind = next((PLURAL[kind] for kind in KINDS if kind in chosen.get("kind", ())), "skills")
    search = [f"--search={data['search']}"] if data["search"] else []
    named = [f"--{name}={chosen[name][0]}" for name in ("capability", "owner") if name in chosen]
    shadowed = ["--shadowed"] if "shadowed" in chosen.get("state", ()) else []
    if "excluded" in chosen.get("state", ()) and not (search or named or shadowed):
        return ["list", kind, "--excluded"]
    return ["list", kind, *search, *named, *shadowed]


PAGES = [
    Page(
        name="catalog",
        title="Catalog",
        build=build,
        command=_command,
        group="Look",
        order=30,
        is_cached=True,
    )
]
