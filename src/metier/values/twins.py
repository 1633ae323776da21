"""Findings that need two files: made from their paths alone."""

from collections.abc import Callable

from metier.values.outcomes import Issue
from metier.values.rows import Row


def same_name(name: str, path: str, first: str) -> Issue:
    message = f"name '{name}' belongs to {first} as well, which comes first and hides this one"
    return Issue("XF901", message, path, 1, 1, "rename one, or ask for it by its full id")


def exact_copy(path: str, first: str) -> Issue:
    message = f"exact copy of {first}; left out"
    return Issue("XF902", message, path, 1, 1, "remove one of the two")


def same_id(document_id: str, path: str, first: str) -> Issue:
    message = f"id '{document_id}' belongs to {first}, which comes first; this file is left out"
    return Issue("XF903", message, path, 1, 1, "give one of the two another id")


def hidden(row: Row, shown: Callable[[str], str] = str) -> Issue:
    """Why another document hides this one; `shown` writes the path of that one."""
    twin = shown(row.twin)
    if row.kind != "skill":
        return same_id(row.id, row.path, twin)
    if row.state == "excluded":
        return exact_copy(row.path, twin)
    return same_name(row.name, row.path, twin)
