"""Which of several documents with the same name is active; the others are shadowed or copies."""

import sqlite3
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from metier.values.files import KINDS, Kind

_COPY = "duplicate-content"
_AT_ONCE = 500
"""Groups per query."""


def settle(connection: sqlite3.Connection, groups: set[tuple[Kind, str]]) -> None:
    """Mark the documents of each group as active, shadowed or exact copies."""
    updates: list[tuple[str, str, str, int]] = []
    for kind in KINDS:
        handles = {handle for one, handle in groups if one == kind and handle}
        for rows in _groups_of(connection, kind, handles):
            updates += _verdicts(kind, rows)
    connection.executemany(
        "UPDATE document SET state = ?, reason = ?, shadowed_by = ? WHERE key = ?", updates
    )


class _Competitor(NamedTuple):
    handle: str
    key: int
    path: str
    sha256: str
    state: str
    reason: str
    shadowed_by: str


def _groups_of(
    connection: sqlite3.Connection, kind: Kind, handles: set[str]
) -> Iterator[list[_Competitor]]:
    """Documents of `kind` that compete for the same handle, in source order."""
    ordered = sorted(handles)
    for start in range(0, len(ordered), _AT_ONCE):
        part = ordered[start : start + _AT_ONCE]
        rows = connection.execute(
            "SELECT handle, key, path, sha256, state, reason, shadowed_by FROM document"
            f" WHERE kind = ? AND reason IN ('', '{_COPY}')"
            f" AND handle IN ({', '.join('?' * len(part))}) ORDER BY handle, rank, path",
            (kind, *part),
        )
        for _, group in groupby(map(_Competitor._make, rows), key=attrgetter("handle")):
            yield list(group)


def _verdicts(kind: Kind, group: list[_Competitor]) -> Iterator[tuple[str, str, str, int]]:
    """The changes that make `group`, in source order, right."""
    first = group[0]
    by_content: dict[str, str] = {}
    for one in group:
        copy_of = by_content.get(one.sha256) if kind == "skill" else None
        if one is first:
            verdict = ("active", "", "")
        elif copy_of is not None:
            verdict = ("excluded", _COPY, copy_of)
        else:
            verdict = ("shadowed", "", first.path)
        by_content.setdefault(one.sha256, one.path)
        if verdict != (one.state, one.reason, one.shadowed_by):
            yield (*verdict, one.key)
