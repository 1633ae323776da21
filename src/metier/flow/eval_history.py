"""Figures of earlier evaluations of a workspace. No task is stored, only a digest of the cases."""

import hashlib
import json
import os
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from metier.core.coerce import integer_of, mapping_of, number_of, text_of
from metier.core.timestamps import to_iso
from metier.storage.room import Room
from metier.values.evals import Evaluation

FILE, LOCK = "evals.json", "evals.lock"
MOST_KEPT = 500
"""The latest are kept."""
_VERSION = 1


class Remembered(NamedTuple):
    """An evaluation as it is stored."""

    at: float
    commit: str
    """The commit that was checked out, if known."""
    host: str
    cases: int
    digest: str
    """Equal for equal cases."""
    failed: int
    threshold: float
    figures: Mapping[str, float]
    """Those that a case measured."""

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "at": to_iso(self.at), "figures": dict(self.figures)}


def remembered(evaluation: Evaluation, commit: str, at: float | None = None) -> Remembered:
    """What is stored of an evaluation."""
    figures = {
        name: round(figure.value, 6)
        for name, figure in evaluation.figures.items()
        if figure.value is not None
    }
    return Remembered(
        at=time.time() if at is None else at,
        commit=commit,
        host=evaluation.host or "",
        cases=evaluation.scored,
        digest=_digest(evaluation),
        failed=len(evaluation.failed),
        threshold=evaluation.threshold,
        figures=figures,
    )


def _digest(evaluation: Evaluation) -> str:
    cases = sorted(json.dumps(result.case.to_json()) for result in evaluation.results)
    return hashlib.sha256("\n".join(cases).encode()).hexdigest()[:16]


def keep(room: Room, one: Remembered) -> None:
    """Store an evaluation. Raises `OSError`."""
    lock = room.lock(LOCK)
    try:
        latest = [*history(room), one][-MOST_KEPT:]
        rows = [{**entry._asdict(), "figures": dict(entry.figures)} for entry in latest]
        room.write(FILE, json.dumps({"version": _VERSION, "evaluations": rows}).encode())
    finally:
        os.close(lock)


def history(room: Room) -> list[Remembered]:
    """The stored evaluations, oldest first; none if the file is damaged. Raises `OSError`."""
    try:
        content = mapping_of(json.loads(room.read(FILE)))
    except (FileNotFoundError, ValueError, RecursionError):
        return []
    rows = content.get("evaluations") if content.get("version") == _VERSION else None
    return [_stored(row) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _stored(row: Mapping[str, Any]) -> Remembered:
    figures = mapping_of(row.get("figures"))
    return Remembered(
        at=number_of(row.get("at"), 0.0),
        commit=text_of(row.get("commit")),
        host=text_of(row.get("host")),
        cases=integer_of(row.get("cases"), 0),
        digest=text_of(row.get("digest")),
        failed=integer_of(row.get("failed"), 0),
        threshold=number_of(row.get("threshold"), 0.0),
        figures={name: number_of(value, 0.0) for name, value in figures.items()},
    )
