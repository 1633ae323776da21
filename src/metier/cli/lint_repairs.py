"""What `metier lint --fix` writes, and what it says about it."""

from collections.abc import Sequence

import click

from metier.cli.session import Session, counted
from metier.core.text import printable
from metier.flow.linting import Linted, Linter
from metier.flow.repairing import Repair
from metier.flow.unsafe_repairs import write_all
from metier.storage.transaction import finish


def finish_repairs(session: Session, linter: Linter) -> None:
    """Complete the renames that a killed process began."""
    if linter.journal is not None and finish(linter.journal, session.workspace()):
        session.note("finished the renames of an earlier --fix that was interrupted")


def write_repairs(session: Session, repairs: Sequence[Repair], linter: Linter) -> None:
    """Write the repairs, and say how many; a file that is left alone has a line of its own."""
    left_alone = write_all(repairs, linter.journal)
    files = {repair.found.file for repair, _ in left_alone}
    session.note(_repaired([repair for repair in repairs if repair.found.file not in files]))
    for repair, reason in left_alone:
        session.note_wrapped(f"left alone: {linter.shown(repair.found.path)} ({reason})")


def _repaired(repairs: Sequence[Repair]) -> str:
    """`repaired 3 findings in 2 files; renamed 1 folder`"""
    if not repairs:
        return "nothing to repair"
    moved = sum(bool(repair.moved_to) for repair in repairs)
    referring = sum(not repair.issues for repair in repairs)
    parts = [f"repaired {_counts(repairs)}"]
    if moved:
        parts.append(f"renamed {counted(moved, 'folder')}")
    if referring:
        parts.append(f"changed references in {counted(referring, 'other file')}")
    return "; ".join(parts)


def _counts(repairs: Sequence[Repair]) -> str:
    repairing = [repair for repair in repairs if repair.issues]
    findings = sum(len(repair.issues) for repair in repairing)
    return f"{counted(findings, 'finding')} in {counted(len(repairing), 'file')}"


def note_levels(
    session: Session, linter: Linter, linted: Linted, repairs: Sequence[Repair], *, unsafe: bool
) -> None:
    """Say how many findings in how many files each level repairs."""
    other = linter.repairs(linted, unsafe=not unsafe)
    safe, all_of_them = (other, repairs) if unsafe else (repairs, other)
    session.note_wrapped(
        f"--fix repairs {_counts(safe)}; --fix --unsafe repairs {_counts(all_of_them)}"
    )


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
            click.echo(printable(f"rename {row['path']} to {row['renamedTo']}"))
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
        "diff": Change(path=path, before=before, after=after).diff if before != after else "",
    }
