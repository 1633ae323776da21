"""Competing: the skills that overlap with one skill, and the words that would tell them apart."""

from typing import Any

from metier.errors import UsageError
from metier.values.overlap import OverlapPair
from metier.web.page import Data, Page, View

_LIMIT = 5
_LEAST = 50


def build(view: View) -> Data:
    wanted = view.query.text("id")
    if not wanted:
        raise UsageError("no skill is named", hint="the catalog leads to each: /catalog?kind=skill")
    least = view.query.number("least", _LEAST, least=1, most=100) / 100
    row = view.catalog.row("skill", wanted)
    name = row.handle
    found = view.catalog.overlap([row.id], least=least, limit=_LIMIT)
    same = [one for group in found.same if name in group.names for one in group.names]
    return {
        "id": row.id,
        "name": name,
        "least": least,
        "limit": _LIMIT,
        "total": len(found.overlaps),
        "pairs": [_pair(one, name) for one in found.pairs],
        "sameText": [one for one in same if one != name],
        "notes": list(found.notes),
    }


def _pair(pair: OverlapPair, name: str) -> dict[str, Any]:
    other = pair.second if pair.first == name else pair.first
    advice = f"{pair.advice[0].upper()}{pair.advice[1:]}{':' if pair.edits else '.'}"
    return {"other": other, "advice": advice, **pair.to_json()}


def _command(data: Data) -> list[str]:
    return ["overlap", f"--at-least={data['least']:g}", f"--limit={_LIMIT}", "--", data["id"]]


PAGES = [
    Page(
        name="competing",
        title="Competing skills",
        build=build,
        command=_command,
        under="catalog",
        order=32,
        is_cached=True,
        computes=True,
    )
]
