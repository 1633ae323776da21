"""Bring the documents of other tools into a workspace."""

import os
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from metier.core.paths import is_inside
from metier.errors import MetierError, UsageError
from metier.hosts.loading import readers
from metier.hosts.model import Host
from metier.parse.foreign import FOREIGN_KINDS, ForeignKind, Imported, NotImported, imported
from metier.storage.atomic_files import write_atomically
from metier.storage.room import read_regular
from metier.values.files import LARGEST, NOT_ENTERED

__all__ = ["FOREIGN_KINDS", "ForeignKind", "ImportedFile", "plan_import", "write_imported"]

_MOST_FILES = 10_000
_FOLDERS: dict[ForeignKind, tuple[str, str]] = {
    "claude-commands": (".claude/commands", "*.md"),
    "claude-agents": (".claude/agents", "*.md"),
    "cursor-rules": (".cursor/rules", "*.mdc"),
    "skillport": (".", "SKILL.md"),
}
"""The folder that is searched, and the names of the files in it."""
_FILES: dict[ForeignKind, str] = {"cursor-rules": ".cursorrules", "agents-md": "AGENTS.md"}


class ImportedFile(NamedTuple):
    """What becomes of one file, or of a part of it."""

    kind: ForeignKind
    source: str
    target: str
    """Below the workspace; empty if nothing is written."""
    text: str = ""
    reason: str = ""
    """Why nothing is written."""
    mapped: Sequence[tuple[str, str]] = ()
    unmapped: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()

    @property
    def hosts(self) -> tuple[Host, ...]:
        """The hosts that read what is written."""
        return readers(self.target) if self.target.endswith("/SKILL.md") else ()

    def to_json(self) -> dict[str, Any]:
        return {
            "from": self.kind,
            "source": self.source,
            "target": self.target or None,
            "reason": self.reason or None,
            "hosts": [host.name for host in self.hosts],
            "mapped": [{"key": key, "to": to} for key, to in self.mapped],
            "unmapped": [{"key": key, "reason": reason} for key, reason in self.unmapped],
            "notes": list(self.notes),
        }


def plan_import(
    workspace: str, kinds: Sequence[ForeignKind] = FOREIGN_KINDS, folder: str = ""
) -> list[ImportedFile]:
    """What would be written for the files of other tools in a workspace; nothing is written.

    Skills come into `folder`, which is below the workspace; without one, where the host of the
    file reads them. Raises `UsageError` if `folder` leads out of the workspace.
    """
    folder = _inside(workspace, folder) if folder else ""
    planned: list[ImportedFile] = []
    taken: dict[str, str] = {}
    for kind in kinds:
        for path in _found(workspace, kind):
            for one in _imported(workspace, kind, path, folder):
                planned.append(_checked(workspace, one, taken))
                taken.setdefault(planned[-1].target, path)
    return planned


def write_imported(workspace: str, planned: Sequence[ImportedFile]) -> int:
    """Write what was planned; how many files. Raises `MetierError`."""
    wanted = [one for one in planned if one.target]
    for one in wanted:
        file = os.path.join(workspace, one.target)
        try:
            os.makedirs(os.path.dirname(file), exist_ok=True)
            write_atomically(file, one.text.encode(errors="surrogateescape"))
        except OSError as error:
            message = f"the file cannot be written: {error.strerror or error}"
            raise MetierError(message, code="SYSTEM", where=one.target) from None
    return len(wanted)


def _found(workspace: str, kind: ForeignKind) -> Iterator[str]:
    """The files of another tool, below the workspace, in order. Links are not followed."""
    single = _FILES.get(kind)
    if single is not None and os.path.isfile(os.path.join(workspace, single)):
        yield single
    if kind not in _FOLDERS:
        return
    folder, pattern = _FOLDERS[kind]
    count = 0
    for here, folders, names in os.walk(os.path.join(workspace, folder)):
        folders[:] = sorted(name for name in folders if name not in NOT_ENTERED)
        for name in sorted(names):
            if fnmatchcase(name, pattern) and count < _MOST_FILES:
                count += 1
                yield os.path.relpath(os.path.join(here, name), workspace).replace(os.sep, "/")


def _inside(workspace: str, folder: str) -> str:
    path = os.path.normpath(os.path.join(workspace, folder))
    if not is_inside(path, workspace) or path == workspace:
        hint = "name a folder below the workspace, such as .agents/skills"
        raise UsageError(
            "skills are imported into a folder of the workspace", where=folder, hint=hint
        )
    return os.path.relpath(path, workspace).replace(os.sep, "/")


def _imported(workspace: str, kind: ForeignKind, path: str, folder: str) -> Iterator[ImportedFile]:
    file = os.path.join(workspace, path)
    try:
        if not is_inside(os.path.realpath(file), os.path.realpath(workspace)):
            raise OSError(None, "a link leads out of the workspace")
        raw = read_regular(file, LARGEST["skill"])
    except OSError as error:
        yield ImportedFile(kind, path, "", reason=f"it cannot be read: {error.strerror or error}")
        return
    for one in imported(kind, _name(kind, path), raw, folder):
        if isinstance(one, NotImported):
            yield ImportedFile(kind, path, "", reason=one.reason)
        else:
            yield _planned(kind, path, one)


def _name(kind: ForeignKind, path: str) -> str:
    """The path of a file in its folder, without suffix; of a skill, the whole path."""
    if kind not in _FOLDERS or path == _FILES.get(kind):
        return path
    inside = os.path.relpath(path, _FOLDERS[kind][0]).replace(os.sep, "/")
    return os.path.splitext(inside)[0]


def _planned(kind: ForeignKind, path: str, imported: Imported) -> ImportedFile:
    return ImportedFile(
        kind,
        path,
        imported.target,
        imported.text,
        "",
        imported.mapped,
        imported.unmapped,
        imported.notes,
    )


def _checked(workspace: str, imported: ImportedFile, taken: Mapping[str, str]) -> ImportedFile:
    """The same, with nothing to write if its target already exists, or is made of another file."""
    if not imported.target or imported.target == imported.source:
        return imported
    file = os.path.join(workspace, imported.target)
    folder = os.path.realpath(os.path.dirname(file))
    if os.path.lexists(file):
        return imported._replace(target="", reason=f"{imported.target} already exists")
    if imported.target in taken:
        other = _part(imported, taken[imported.target])
        reason = f"{imported.target} is already made from {other}; rename one"
        return imported._replace(target="", reason=reason)
    if not is_inside(folder, os.path.realpath(workspace)):
        return imported._replace(
            target="", reason=f"{imported.target}: a link leads out of the workspace"
        )
    return imported


def _part(file: ImportedFile, other: str) -> str:
    return "another section" if other == file.source else other
