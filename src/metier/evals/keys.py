"""Keys of evaluation files: those that are unknown, and what they were meant to be."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from metier.core.names import loose_key
from metier.core.nearest import nearest

_LIKENESS = 0.8
_MOST_ROWS = 20
"""Rows that are looked at to tell what a list holds."""
_EXPECTS = {
    "skills": "skills", "notskills": "notSkills", "agents": "agents", "cards": "cards",
    "nothing": "nothing",
}  # fmt: skip
"""What a case of our own format expects, as it is written."""
_MATTERS = {"task": "task", **_EXPECTS, "every": "every", "most": "most", "training": "training"}
_HARMLESS = frozenset(
    {
        "source", "tags", "id", "name", "title", "note", "notes", "comment", "description",
        "reason", "why", "category", "type", "kind", "language", "difficulty", "author", "date",
    }
)  # fmt: skip
NO_TASK = "it has no task"


def is_own(row: Mapping[str, Any]) -> bool:
    """Whether a row is a case of our own format; keys are loose."""
    return "task" in row or not _EXPECTS.keys().isdisjoint(row)


def meant(keys: Iterable[Any], row: Mapping[str, Any]) -> str:
    """An unknown key that looks like one of our own that the row lacks, or an empty text."""
    for key in keys:
        loose = loose_key(key) if isinstance(key, str) else ""
        if loose in _MATTERS or loose in _HARMLESS:
            continue
        near = nearest(loose, [one for one in _MATTERS if one not in row], likeness=_LIKENESS)
        if near:
            return f"unknown key '{key}'; did you mean '{_MATTERS[near]}'?"
    return ""


def unknown(keys: Iterable[Any], known: Iterable[str]) -> list[str]:
    """The keys of a case that mean nothing; `known` are those of all formats."""
    every = {*_MATTERS, *_HARMLESS, *known}
    return [key for key in keys if isinstance(key, str) and loose_key(key) not in every]


def without_task(keys: Iterable[Any], row: Mapping[str, Any]) -> str:
    """What is wrong with a row of our own format that has no task; empty for other rows."""
    return (meant(keys, row) or NO_TASK) if is_own(row) else ""


def meant_cases(table: Mapping[Any, Any]) -> str:
    """A key of a whole file that looks like `cases`, or has such rows, or an empty text."""
    for key, value in table.items():
        rows = [value] if isinstance(value, dict) else value if isinstance(value, list) else []
        loose = [
            {loose_key(one): None for one in row if isinstance(one, str)}
            for row in rows[:_MOST_ROWS]
            if isinstance(row, dict)
        ]
        if isinstance(key, str) and _are_cases(key, loose):
            return f"no case in it: unknown key '{key}'; did you mean 'cases'?"
    return ""


def _are_cases(key: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether rows look like cases; less is needed below a key that looks like `cases`."""
    if nearest(loose_key(key), ["cases"], likeness=_LIKENESS):
        return any(is_own(row) or meant(row, row) for row in rows)
    return any("task" in row and not _EXPECTS.keys().isdisjoint(row) for row in rows)
