"""Figures of earlier evaluations of a workspace. No task is stored, only a digest of the cases."""

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from metier.core.coerce import integer_of, mapping_of, number_of, text_of
from metier.core.timestamps import to_iso
from metier.storage.room import Room
from metier.values.evals import Evaluation

FILE, LOCK = "evals.json", "evals.lock"
MOST_KEPT = 500
"""The latest are kept."""
_VERSION = 1
_MOST_FILES = 20
_LONGEST_PATH = 300


class Remembered(NamedTuple):
    """An evaluation as it is stored."""

    at: float
    commit: str
    """The commit that was checked out, if known."""
    changed: bool | None
    """Whether the skills differed from it; None if unknown."""
    host: str
    cases: int
    digest: str
    """Equal for equal cases."""
    failed: int
    threshold: float
    figures: Mapping[str, float]
    """Those that a case measured."""
    files: Sequence[str] = ()
    """The files that the user gave; none if those of the workspace were found."""

    def stored(self) -> dict[str, Any]:
        return {**self._asdict(), "figures": dict(self.figures), "files": list(self.files)}

    def to_json(self) -> dict[str, Any]:
        return {**self.stored(), "at": to_iso(self.at)}


def remembered(
    evaluation: Evaluation,
    commit: str,
    at: float | None = None,
    *,
    changed: bool | None = None,
    given: Sequence[str] = (),
) -> Remembered:
    """What is stored of an evaluation of the `given` files, or of all."""
    figures = {
        name: round(figure.value, 6)
        for name, figure in evaluation.figures.items()
        if figure.value is not None
    }
    return Remembered(
        at=time.time() if at is None else at,
        commit=commit,
        changed=changed if commit else None,
        host=evaluation.host or "",
        cases=evaluation.scored,
        digest=_digest(evaluation),
        failed=len(evaluation.failed),
        threshold=evaluation.threshold,
        figures=figures,
        files=[path[:_LONGEST_PATH] for path in given[:_MOST_FILES]],
    )


def _digest(evaluation: Evaluation) -> str:
    cases = sorted(json.dumps(result.case.to_json()) for result in evaluation.results)
    return hashlib.sha256("\n".join(cases).encode()).hexdigest()[:16]


def keep(room: Room, remembered: Remembered) -> None:
    """Store an evaluation. Raises `OSError`."""
    lock = room.lock(LOCK)
    try:
        latest = [*history(room), remembered][-MOST_KEPT:]
        rows = [entry.stored() for entry in latest]
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
    changed, files = row.get("changed"), row.get("files")
    return Remembered(
        at=number_of(row.get("at"), 0.0),
        commit=text_of(row.get("commit")),
        changed=changed if isinstance(changed, bool) else None,
        host=text_of(row.get("host")),
        cases=integer_of(row.get("cases"), 0),
        digest=text_of(row.get("digest")),
        failed=integer_of(row.get("failed"), 0),
        threshold=number_of(row.get("threshold"), 0.0),
        figures={name: number_of(value, 0.0) for name, value in figures.items()},
        files=[one for one in files if isinstance(one, str)] if isinstance(files, list) else [],
    )
