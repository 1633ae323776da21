"""Competing: the skills that overlap with one skill, and the words that would tell them apart."""

from typing import Any

from metier.errors import UsageError
from metier.values.overlap import OverlapPair
from metier.web.page import Data, Page, View

_LIMIT = 5
_LEAST = 0.5


def build(view: View) -> Data:
    wanted = view.query.text("id")
    if not wanted:
        raise UsageError("no skill is named", hint="the catalog leads to each: /catalog?kind=skill")
    row = view.catalog.row("skill", wanted)
    name = row.handle
    found = view.catalog.overlap([row.id], least=_LEAST, limit=_LIMIT)
    same = [one for group in found.same if name in group.names for one in group.names]
    return {
        "id": row.id,
        "name": name,
        "least": _LEAST,
        "pairs": [_pair(one, name) for one in found.pairs],
        "sameText": [one for one in same if one != name],
        "notes": list(found.notes),
    }


def _pair(pair: OverlapPair, name: str) -> dict[str, Any]:
    other = pair.second if pair.first == name else pair.first
    return {"other": other, **pair.to_json()}


PAGES = [
    Page(
        name="competing",
        title="Competing skills",
        build=build,
        command=lambda data: ["overlap", f"--at-least={_LEAST}", "--", data["id"]],
        under="catalog",
        order=32,
        is_cached=True,
        computes=True,
    )
]
