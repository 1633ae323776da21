"""What changed in a skill since it was reviewed, in words: what it asks for, then its texts."""

from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import Any, NamedTuple

from metier.flow.reviews import Reviewed
from metier.values.reviews import MAIN_FILES, Difference

MOST_LINES = 4_000
"""Lines of a text that is compared line by line."""
_KINDS = {
    "capabilities": "capability",
    "tools": "tool",
    "commands": "command",
    "scripts": "script",
    "links": "link",
}


class ChangedFile(NamedTuple):
    path: str
    what: str
    """`added`, `removed` or `changed`."""
    lines: tuple[str, ...] = ()
    """A unified diff, without its header; empty if the words are not known."""
    note: str = ""
    """Why there are no lines."""

    def to_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "what": self.what,
            "lines": list(self.lines),
            "note": self.note,
        }


def asked_lines(reviewed: Reviewed) -> list[tuple[str, str]]:
    """What it asks for more, and no more: `("+ tool", "Bash(curl:*)")`."""
    return requested_lines(reviewed.change)


def requested_lines(change: Difference) -> list[tuple[str, str]]:
    lines = [(f"+ {_KINDS[kind]}", name) for kind, names in change.gained.items() for name in names]
    lines += [(f"- {_KINDS[kind]}", name) for kind, names in change.lost.items() for name in names]
    return lines


def changed_files(reviewed: Reviewed, before: Mapping[str, str]) -> list[ChangedFile]:
    """Every file that changed: SKILL.md first, then scripts, then the others."""
    change = reviewed.change
    kinds = {**dict.fromkeys(change.modified, "changed"), **dict.fromkeys(change.added, "added")}
    kinds.update(dict.fromkeys(change.removed, "removed"))
    known = before if reviewed.before is not None else {}
    return [_changed(path, kinds[path], known, reviewed) for path in _ordered(kinds, reviewed)]


def _ordered(paths: Mapping[str, str], reviewed: Reviewed) -> list[str]:
    scripts = set(reviewed.now.contents.scripts)
    return sorted(paths, key=lambda path: (path not in MAIN_FILES, path not in scripts, path))


def _changed(path: str, what: str, before: Mapping[str, str], reviewed: Reviewed) -> ChangedFile:
    old = "" if what == "added" else before.get(path)
    new = "" if what == "removed" else reviewed.now.texts.get(path)
    if old is None:
        return ChangedFile(path, what, note="no copy of what was reviewed is kept")
    if new is None:
        return ChangedFile(path, what, note="not shown: not text, too large, or a link")
    lines, others = old.splitlines(), new.splitlines()
    if max(len(lines), len(others)) > MOST_LINES:
        return ChangedFile(path, what, note=f"not shown: more than {MOST_LINES:,} lines")
    return ChangedFile(path, what, tuple(_diff(lines, others)))


def _diff(before: list[str], now: list[str]) -> Iterator[str]:
    for number, line in enumerate(unified_diff(before, now, lineterm="", n=3)):
        if number >= 2:  # without the names of the files
            yield line
