"""Changes to a host's files: planned, shown as a diff, and made."""

import difflib
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from metier.errors import MetierError, UsageError
from metier.hosts.settings_forms import Scope, SettingsFile
from metier.storage.atomic_files import write_atomically
from metier.storage.room import LARGEST, read_regular

Kind = Literal["hook", "mcp"]
BACKUP = ".metier-backup"
"""Suffix of the copy from before the first install."""
_MADE = ".metier-made"
"""Suffix of a mark: metier created the folder and the marked file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of one file."""

    path: str
    before: str | None
    """None if there is no such file."""
    after: str | None
    """None if it is removed."""
    backup: Literal["keep", "make", "drop"] = "keep"
    copy: str | None = None
    """The text of a backup; None for the current text."""
    has_more: bool = False
    """Another entry of metier remains in it."""

    @property
    def target(self) -> str:
        return os.path.realpath(self.path)

    @property
    def action(self) -> str:
        """create · change · remove · restore · keep"""
        if self.before == self.after:
            return "keep"
        if self.before is None:
            return "create"
        if self.after is None:
            return "remove"
        return "restore" if self.backup == "drop" else "change"

    @property
    def diff(self) -> str:
        lines = difflib.unified_diff(
            _lines(self.before),
            _lines(self.after),
            "/dev/null" if self.before is None else self.path,
            "/dev/null" if self.after is None else self.path,
            lineterm="",
        )
        return "\n".join(lines)

    def to_json(self) -> dict[str, str]:
        return {"path": self.path, "action": self.action, "diff": self.diff}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The changes for one host."""

    host: SettingsFile
    scope: Scope
    installs: bool
    """False when metier is removed."""
    changes: tuple[Change, ...]

    @property
    def changed(self) -> bool:
        return any(change.action != "keep" for change in self.changes)

    def to_json(self) -> dict[str, Any]:
        return {
            "host": self.host.name,
            "scope": self.scope,
            "files": [change.to_json() for change in self.changes],
            "changed": self.changed,
        }


def apply(plan: Plan) -> None:
    """Write each file atomically, following links. Raises `MetierError`."""
    for change in plan.changes:
        if change.action == "keep":
            continue
        if read(change.path) != change.before:
            message = "the file changed in the meantime"
            raise MetierError(message, code="SYSTEM", where=change.path, hint="run it again")
        try:
            _write(change)
            if not plan.installs and not change.has_more:
                _unmark(change.target)
        except OSError as error:
            raise MetierError(
                f"the file cannot be written: {error.strerror or error}",
                code="SYSTEM",
                where=change.path,
                hint="--dry-run shows what would be written",
            ) from error


def backup_of(path: str, is_known: bool) -> Literal["keep", "make"]:
    """Copy a file once, unless install can write all of it again."""
    return "keep" if is_known or os.path.lexists(path + BACKUP) else "make"


def read(path: str) -> str | None:
    """The text of a file; None if there is none. Raises `MetierError`."""
    try:
        return read_regular(path, LARGEST).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise UsageError("the file is not UTF-8", where=path, hint="save it as UTF-8") from None
    except OSError as error:
        message = f"the file cannot be read: {error.strerror or error}"
        raise MetierError(message, code="SYSTEM", where=path) from error


def _lines(text: str | None) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _write(change: Change) -> None:
    real = change.target
    if change.backup == "make" and change.before is not None:
        copy = change.before if change.copy is None else change.copy
        write_atomically(change.path + BACKUP, copy.encode())
        os.chmod(change.path + BACKUP, stat.S_IMODE(os.stat(real).st_mode))
    if change.after is None:
        os.unlink(real)
        return
    made = _make_folders(os.path.dirname(real))
    write_atomically(real, change.after.encode())
    if change.before is None:
        _mark(real, made)
    if change.backup == "drop":
        os.unlink(change.path + BACKUP)


# Folders


def _make_folders(folder: str) -> int:
    """Create a folder and its parents; the number created."""
    missing, above = 0, folder
    while not os.path.lexists(above):
        missing, above = missing + 1, os.path.dirname(above)
    os.makedirs(folder, exist_ok=True)
    return missing


def _mark(path: str, made: int) -> None:
    """Mark a new file if metier created its folder, and that folder likewise."""
    folder = os.path.dirname(path)
    if made > 0 or _marked(folder):
        write_atomically(path + _MADE, b"metier made this folder\n")
        _mark(folder, made - 1)


def _unmark(path: str) -> None:
    """Remove the mark of a file, and the folder after its last mark unless it is in use."""
    folder = os.path.dirname(path)
    marked = _marked(folder)
    for one in marked:
        if one == path or not os.path.lexists(one):
            os.unlink(one + _MADE)
    if marked and not _marked(folder):
        with suppress(OSError):
            os.rmdir(folder)
        _unmark(folder)


def _marked(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    found = [name.removesuffix(_MADE) for name in names if name.endswith(_MADE)]
    return [os.path.join(folder, name) for name in found]
