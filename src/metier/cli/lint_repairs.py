"""What `metier lint --fix` writes, and what it says about it."""

import os
from collections.abc import Mapping, Sequence

import click

from metier.cli.lint_formats import on_one_line
from metier.cli.session import Session, counted
from metier.core.text import printable
from metier.flow.copies_left import copies_left
from metier.flow.lint_report import Plan
from metier.flow.linting import Linted, Linter
from metier.flow.renaming import OUTSIDE
from metier.flow.repairing import Repair
from metier.flow.unsafe_repairs import journal_of, write_all
from metier.storage.places import user_home
from metier.storage.transaction import finish

_MOST_ROUNDS = 10
_MOST_NAMED = 3
"""Files that are left alone for the same reason, and are named."""
_MOST_RENAMES = 10
"""Renamed folders that are named."""


def finish_repairs(session: Session) -> None:
    """Complete the renames that a killed process began."""
    journal = journal_of(session.workspace(), session.config())
    if journal is not None and finish(journal, session.workspace()):
        session.note("finished the renames of an earlier --fix that was interrupted")


class Written:
    """What --fix has written. A repair may make another one possible, so there may be rounds."""

    def __init__(self, session: Session) -> None:
        self._journal = journal_of(session.workspace(), session.config())
        self._repairs: list[Repair] = []
        self._before: dict[str, bytes] = {}
        """The texts that repaired files had."""
        self._left_alone: dict[str, str] = {}
        """Paths, and why."""
        self._rounds = 0

    def add(self, repairs: Sequence[Repair]) -> bool:
        """Write repairs; whether something was written."""
        if self._rounds == _MOST_ROUNDS:
            return False
        self._rounds += 1
        left_alone = write_all(repairs, self._journal)
        files = {repair.found.file for repair, _ in left_alone}
        written = [repair for repair in repairs if repair.found.file not in files]
        self._repairs += written
        for repair in written:
            self._before.setdefault(repair.found.file, repair.before)
        self._left_alone.update((repair.found.path, reason) for repair, reason in left_alone)
        return bool(written)

    def note(self, session: Session, linter: Linter, plan: Plan) -> None:
        """Say how much was written, and what `plan` leaves alone, and why."""
        session.note(_repaired(self._repairs))
        _note_renames(session, linter, self._repairs)
        _note_copies(session, self._before)
        _note_left_alone(session, linter, {**plan.left_alone, **self._left_alone})


def _note_renames(session: Session, linter: Linter, repairs: Sequence[Repair]) -> None:
    moves = [
        f"{_folder(linter, one.found.path)} → {_folder(linter, one.moved_to)}"
        for one in repairs
        if one.moved_to
    ]
    for move in moves[:_MOST_RENAMES]:
        session.note(f"renamed {move}")
    if len(moves) > _MOST_RENAMES:
        session.note(f"and {len(moves) - _MOST_RENAMES:,} more")


def _folder(linter: Linter, path: str) -> str:
    return linter.shown(path).rpartition("/")[0]


def _note_copies(session: Session, before: Mapping[str, bytes]) -> None:
    """Say which exact copies of repaired files are no copies any more."""
    found = copies_left(before, session.workspace(), user_home(os.environ))
    if found:
        import shlex  # few repaired skills have a copy

        folders = sorted({os.path.dirname(os.path.dirname(file)) for file in found})
        count = counted(len(found), "exact copy", "exact copies")
        session.note(
            f"{count} of repaired files left as before: "
            f"metier lint --fix {shlex.join(map(session.shown, folders))}"
        )


def _note_left_alone(session: Session, linter: Linter, left_alone: Mapping[str, str]) -> None:
    """Say what stays and why: one line for a reason that many files share."""
    by_reason: dict[str, list[str]] = {}
    for path, reason in left_alone.items():
        by_reason.setdefault(reason, []).append(linter.shown(path))
    for reason, paths in by_reason.items():
        if len(paths) > _MOST_NAMED:
            paths = [f"{counted(len(paths), 'file')}, {paths[0]} among them"]
        for path in paths:
            session.note(f"left alone: {path} ({reason})")
    if any(one in reason for reason in by_reason for one in OUTSIDE):
        session.note(
            "hint: metier lint --fix --unsafe --root FOLDER renames the folders of skills in FOLDER"
        )


def _repaired(repairs: Sequence[Repair]) -> str:
    """`repaired 3 findings in 2 files; renamed 1 folder`"""
    if not repairs:
        return "nothing to repair"
    moved = sum(bool(repair.moved_to) for repair in repairs)
    referring = len({repair.found.path for repair in repairs if not repair.issues})
    parts = [f"repaired {_counts(repairs)}"]
    if moved:
        parts.append(f"renamed {counted(moved, 'folder')}")
    if referring:
        parts.append(f"changed references in {counted(referring, 'other file')}")
    return "; ".join(parts)


def _counts(repairs: Sequence[Repair]) -> str:
    repairing = [repair for repair in repairs if repair.issues]
    findings = sum(len(repair.issues) for repair in repairing)
    files = {repair.moved_to or repair.found.path for repair in repairing}
    return f"{counted(findings, 'finding')} in {counted(len(files), 'file')}"


def note_levels(
    session: Session, linter: Linter, linted: Linted, plan: Plan, *, unsafe: bool
) -> None:
    """Say how many findings in how many files each level repairs, and what stays."""
    other = linter.repairs(linted, unsafe=not unsafe)
    safe, all_of_them = (other, plan) if unsafe else (plan, other)
    session.note(
        f"--fix repairs {_counts(safe.repairs)}; "
        f"--fix --unsafe repairs {_counts(all_of_them.repairs)}, these included"
    )
    _note_left_alone(session, linter, plan.left_alone)


def print_repairs(
    session: Session, repairs: Sequence[Repair], linter: Linter, *, as_json: bool
) -> None:
    """Print what would be written: a diff of each file, after the new name of its folder."""
    rows = [_row(repair, linter) for repair in repairs]
    if as_json:
        session.print_json(rows)
        return
    for row in rows:
        if row["renamedTo"]:
            click.echo(on_one_line(f"rename {row['path']} to {row['renamedTo']}"))
        if row["diff"]:
            click.echo(printable(str(row["diff"])))


def _row(repair: Repair, linter: Linter) -> dict[str, object]:
    from metier.install.changes import Change  # loads difflib

    path = linter.shown(repair.found.path)
    before, after = (raw.decode(errors="replace") for raw in (repair.before, repair.after))
    return {
        "path": path,
        "renamedTo": linter.shown(repair.moved_to) if repair.moved_to else "",
        "findings": [issue._replace(path=path).to_json() for issue in repair.issues],
        "diff": Change(path=on_one_line(path), before=before, after=after).diff
        if before != after
        else "",
    }
