"""What changed in skills since they were reviewed, for a terminal or a program."""

from typing import Any

import click

from metier.core.text import one_line, printable
from metier.flow.review_text import ChangedFile, asked_lines, changed_files, requested_lines
from metier.flow.reviews import Reviewed, Reviews
from metier.values.locks import Mismatch

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_STATES = {
    "new": "new, not reviewed",
    "same": "as you reviewed it",
    "changed": "changed since it was reviewed",
    "unreadable": "not all of it can be read",
}
_MOST_LINES = 400
"""Of one file on a screen."""


def show_review(reviews: Reviews, reviewed: Reviewed, *, err: bool = False) -> None:
    """Print a skill's state, what it asks for, and what changed in its texts."""
    when = reviewed.before.at[:16].replace("T", " ") if reviewed.before is not None else ""
    how = (
        ", accepted on first use"
        if reviewed.before is not None and reviewed.before.by != "user"
        else ""
    )
    told = _STATES[reviewed.state] + (f" ({when}{how})" if when else "")
    where = one_line(reviewed.row.path.rpartition("/")[0] or ".")
    _echo(f"{click.style(one_line(_name(reviewed)), bold=True)} in {where}: {told}", err)
    if reviewed.now.problem:
        _echo(f"  {printable(reviewed.now.problem)}", err)
        return
    if reviewed.now.left_out:
        _echo(f"  not used by metier: {one_line(reviewed.now.left_out)}", err)
    for kind, name in asked_lines(reviewed):
        _echo(_coloured(f"  {kind}: {printable(name)}", kind), err)
    for file in changed_files(reviewed, reviews.texts_before(reviewed)):
        _show_file(file, err)


def _name(reviewed: Reviewed) -> str:
    return reviewed.row.handle or reviewed.now.name


def show_locked(mismatch: Mismatch) -> None:
    """Print what differs from the lock in a skill that was never reviewed."""
    change = mismatch.change
    where = one_line(mismatch.path)
    click.echo(f"{click.style(one_line(mismatch.name), bold=True)} in {where}: not as locked")
    if change.is_empty or mismatch.detail != change.summary():
        click.echo(f"  {one_line(mismatch.detail)}")
    for kind, name in requested_lines(change):
        click.echo(_coloured(f"  {kind}: {printable(name)}", kind))
    kinds = (("changed", change.modified), ("added", change.added), ("removed", change.removed))
    for what, paths in kinds:
        for path in paths:
            click.echo(f"  {what}: {one_line(path)}")


def _show_file(file: ChangedFile, err: bool) -> None:
    note = f" ({file.note})" if file.note else ""
    _echo(click.style(f"  {file.what}: {printable(file.path)}{note}", bold=True), err)
    for line in file.lines[:_MOST_LINES]:
        _echo(_coloured(f"    {printable(line)}", line), err)
    if len(file.lines) > _MOST_LINES:
        _echo(f"    and {len(file.lines) - _MOST_LINES:,} more lines: metier diff --json", err)


def _coloured(text: str, kind: str) -> str:
    return click.style(text, fg=_COLOURS.get(kind[:1]))


def _echo(text: str, err: bool) -> None:
    click.echo(text, err=err)


def review_json(reviews: Reviews, reviewed: Reviewed) -> dict[str, Any]:
    files = [] if reviewed.now.problem else changed_files(reviewed, reviews.texts_before(reviewed))
    before = reviewed.before
    return {
        "id": reviewed.row.id,
        "name": reviewed.row.name or reviewed.now.name,
        "path": reviewed.row.path,
        "source": reviewed.row.source,
        "trust": reviewed.level,
        "held": reviewed.row.is_held,
        "state": reviewed.state,
        "reviewedAt": before.at if before is not None else None,
        "reviewedBy": before.by if before is not None else None,
        "digest": None if reviewed.now.problem else reviewed.digest,
        "problem": reviewed.now.problem,
        "matchesLock": reviews.matches_lock(reviewed),
        "change": reviewed.change.to_json(),
        "files": [file.to_json() for file in files],
    }
