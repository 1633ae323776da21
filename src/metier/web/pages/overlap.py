"""Overlap map: skills by meaning, the clusters that compete, and the pairs behind them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from metier.flow.overlap_map import Edge, OverlapMap
from metier.hosts import HOOKED
from metier.web.page import Data, Page, View
from metier.web.pictures_map import Box, MapPicture
from metier.web.query import address
from metier.web.table import Column, Row, Table, table_of

_LEAST, _LOWEST = 60, 40
_NEIGHBOURS = 12
_MOST_NAMES = 300


def build(view: View) -> Data:
    least = view.query.number("least", _LEAST, least=_LOWEST, most=100)
    host = view.query.choice("host", HOOKED)
    near = view.query.text("near")
    found = view.catalog.overlap_map(least=least / 100, host=host or None)
    place = found.index_of(near) if near else -1
    cluster = found.points[place].cluster if near else -1
    box = _box(found, place, cluster)
    asked = found.points[place].name if near else ""
    shown = sorted(one for one in found.points if box.has(one.x, one.y))
    picture = MapPicture(
        found=found, box=box, query=view.query, page=view.page, near=cluster, asked=asked
    )
    return {
        "least": least,
        "lowest": _LOWEST,
        "host": host,
        "hosts": list(HOOKED),
        "near": near,
        "cluster": found.clusters[cluster].to_json() if cluster >= 0 else None,
        "skills": found.compared.count,
        "points": len(found.points),
        "unplaced": found.unplaced,
        "competing": len(found.edges),
        "clusters": _clusters(view, found),
        "pairs": _pairs(view, found, place, cluster, least),
        "sameText": [one.to_json() for one in found.compared.same[:_NEIGHBOURS]],
        "sameTexts": len(found.compared.same),
        "map": picture,
        "names": [one.name for one in shown[:_MOST_NAMES]],
        "namesLeft": max(0, len(shown) - _MOST_NAMES),
    }


def _box(found: OverlapMap, place: int, cluster: int) -> Box:
    if cluster >= 0:
        return Box.around(found.members(cluster))
    if place < 0:
        return Box()
    here = found.points[place]
    nearest = sorted(found.points, key=lambda one: (one.x - here.x) ** 2 + (one.y - here.y) ** 2)
    return Box.around(nearest[:_NEIGHBOURS])


def _clusters(view: View, found: OverlapMap) -> Table:
    rows = [
        {
            "words": ", ".join(one.words) or one.names[0],
            "skills": len(one.names),
            "highest": round(one.highest, 2),
            "first": one.names[0],
        }
        for one in found.clusters
    ]
    columns = [
        Column("words", "Cluster", href=lambda row: _zoom(view, row["first"])),
        Column("skills", "Skills", "number"),
        Column("highest", "Highest", "number", hint="the highest overlap of two of them", digits=2),
    ]
    return table_of(
        view, columns, rows, name="c", sort="-skills", noun="cluster", size=12,
        empty="no three skills compete",
    )  # fmt: skip


def _zoom(view: View, name: str) -> str:
    return address(view.page, view.query, near=name, page=None)


def _pairs(view: View, found: OverlapMap, place: int, cluster: int, least: int) -> Table:
    edges = [one for one in found.edges if _is_wanted(found, one, place, cluster)]
    rows = [_pair(found, one) for one in edges]
    columns = [
        Column("first", "Skill", "id", href=lambda row: _rivals(row["first"], least)),
        Column("second", "Competes with", "id", href=lambda row: _rivals(row["second"], least)),
        Column(
            "overlap", "Overlap", "number", hint="0: nothing in common; 1: the same text", digits=2
        ),
        Column("words", "Words", "number", hint="the share of evidence in words of both", digits=2),
        Column("meaning", "Meaning", "number", hint="the cosine of their meanings", digits=2),
        Column("shared", "Both have", "long", sorts=False),
    ]
    made = table_of(
        view,
        columns,
        rows,
        sort="-overlap",
        noun="pair",
        empty=f"{'it competes with none' if place >= 0 else 'no two skills compete'};"
        " a lower overlap shows more",
    )
    return replace(made, rows=[_with_words(found, row) for row in made.rows])


def _is_wanted(found: OverlapMap, edge: Edge, place: int, cluster: int) -> bool:
    if cluster >= 0:
        return found.points[edge.first].cluster == cluster
    return place < 0 or place in (edge.first, edge.second)


def _pair(found: OverlapMap, edge: Edge) -> Row:
    return {
        "first": found.points[edge.first].name,
        "second": found.points[edge.second].name,
        "overlap": round(edge.overlap, 2),
        "words": round(edge.words, 2),
        "meaning": round(edge.meaning, 2),
        "shared": "",
        "places": (edge.first, edge.second),
    }


def _with_words(found: OverlapMap, row: Row) -> dict[str, Any]:
    """Only the rows of one page say which words both have."""
    words: Sequence[str] = found.compared.shared_words(*row["places"])
    kept = {key: value for key, value in row.items() if key != "places"}
    return {**kept, "shared": ", ".join(words[:8])}


def _rivals(name: str, least: int) -> str:
    return address("competing", id=name, least=least)


def _command(data: Data) -> list[str]:
    host = [f"--host={data['host']}"] if data["host"] else []
    near = ["--", data["near"]] if data["near"] else []
    return ["overlap", f"--at-least={data['least'] / 100:g}", *host, *near]


PAGES = [
    Page(
        name="overlap",
        title="Overlap map",
        build=build,
        command=_command,
        group="Look",
        order=50,
        is_cached=True,
        computes=True,
    )
]
