"""What differs between two reports."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from metier.flow.report_text import handle_of
from metier.values.resolution import Report

_NEVER_EQUAL = ("run_id", "generated_at")
SECTIONS = {
    "question": (
        "mode",
        "query",
        "host_runtime",
        "consumer",
        "required_capabilities",
        "optional_capabilities",
    ),
    "policy": ("policy",),
    "result": (
        "selected",
        "unresolved_required_capabilities",
        "on_missing_required_action",
        "degraded_mode",
        "emulated_capabilities",
    ),
}
_KEYS = ("id", "capability", "provider", "source")
"""Keys that identify the entries of a list."""
Changes = dict[str, dict[str, Any]]
"""Field → `old` and `new`, where they exist."""


def compare(left: Report, right: Report) -> dict[str, Any]:
    sections = {
        name: _changes(_part(left, keys), _part(right, keys)) for name, keys in SECTIONS.items()
    }
    known = {*(key for keys in SECTIONS.values() for key in keys), "candidates", *_NEVER_EQUAL}
    rest = [key for key in {**left, **right} if key not in known]
    rows = [{row["id"]: row for row in one["candidates"]} for one in (left, right)]
    both = {key: _changes(rows[0][key], rows[1][key]) for key in rows[0] if key in rows[1]}
    found = {
        **sections,
        "candidates": {key: one for key, one in both.items() if one},
        "onlyOld": [key for key in rows[0] if key not in rows[1]],
        "onlyNew": [key for key in rows[1] if key not in rows[0]],
        "rest": _changes(_part(left, rest), _part(right, rest)),
    }
    is_equal = _comparable(left) == _comparable(right)
    if not is_equal and not any(found.values()):
        found["rest"] = {"order": {"old": "one", "new": "another"}}
    return {"old": left.id, "new": right.id, "equal": is_equal, **found}


def _comparable(report: Report) -> dict[str, Any]:
    return {key: value for key, value in report.items() if key not in _NEVER_EQUAL}


def _part(report: Report, keys: Any) -> dict[str, Any]:
    if keys == ("policy",):
        return dict(report["policy"])
    return {key: report[key] for key in keys if key in report}


def _changes(left: Any, right: Any, path: str = "") -> Changes:
    """Every value that differs, by its path: `penalties.total`."""
    old, new = _entries(left), _entries(right)
    if old is None or new is None:
        return {path: {"old": left, "new": right}} if left != right else {}
    found: Changes = {}
    for key in {**old, **new}:
        below = f"{path}.{key}" if path else key
        if key in old and key in new:
            found.update(_changes(old[key], new[key], below))
        else:
            found[below] = {"old": old[key]} if key in old else {"new": new[key]}
    return found


def _entries(value: Any) -> dict[str, Any] | None:
    """The values of an object, or of a list of objects by name or else by number."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        return None
    for key in _KEYS:
        named = {str(one[key]): one for one in value if key in one}
        if len(named) == len(value):
            return named
    return {str(number): one for number, one in enumerate(value, start=1)}


class Move(NamedTuple):
    """What happened to one candidate; a figure is None where it has no row."""

    id: str
    name: str
    old_rank: int | None
    new_rank: int | None
    old_final: float | None
    new_final: float | None
    was_selected: bool
    is_selected: bool
    old_rejected: Sequence[str]
    new_rejected: Sequence[str]

    @property
    def has_changed(self) -> bool:
        """Whether it ranks, scores or passes otherwise; not if other gates reject it now."""
        old = (self.old_rank, self.old_final, self.was_selected, bool(self.old_rejected))
        return old != (self.new_rank, self.new_final, self.is_selected, bool(self.new_rejected))


def moves(left: Report, right: Report) -> list[Move]:
    """What happened to the candidates of either report, in the new order and then the old."""
    old, new = ({row["id"]: row for row in one["candidates"]} for one in (left, right))
    return [_move(old.get(key), new.get(key)) for key in {**new, **old}]


def _move(old: dict[str, Any] | None, new: dict[str, Any] | None) -> Move:
    row = new or old or {}
    before, after = old or {}, new or {}
    return Move(
        id=row["id"],
        name=handle_of(row),
        old_rank=before.get("rank"),
        new_rank=after.get("rank"),
        old_final=before.get("S_total_final"),
        new_final=after.get("S_total_final"),
        was_selected=before.get("selected", False),
        is_selected=after.get("selected", False),
        old_rejected=before.get("rejected", []),
        new_rejected=after.get("rejected", []),
    )
