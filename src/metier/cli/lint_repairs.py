"""`metier lint --fix`: what was repaired, and what would be."""

from collections.abc import Callable, Sequence
from typing import Any

import click

from metier.cli.session import Session, counted
from metier.core.text import printable
from metier.load import Repair


def repaired(repairs: Sequence[Repair]) -> str:
    """`repaired 3 findings in 2 files`"""
    if not repairs:
        return "nothing to repair"
    findings = sum(len(repair.issues) for repair in repairs)
    return f"repaired {counted(findings, 'finding')} in {counted(len(repairs), 'file')}"


def print_repairs(
    session: Session, repairs: Sequence[Repair], shown: Callable[[str], str], *, as_json: bool
) -> None:
    """What would be written, as a unified diff of each file; `shown` gives paths for people."""
    rows = [_row(repair, shown(repair.found.path)) for repair in repairs]
    if as_json:
        session.print_json(rows)
        return
    for row in rows:
        click.echo(printable(row["diff"]))


def _row(repair: Repair, path: str) -> dict[str, Any]:
    from metier.install.changes import Change  # only who looks before the repair needs it

    before, after = (raw.decode(errors="replace") for raw in (repair.before, repair.after))
    return {
        "path": path,
        "findings": [issue._replace(path=path).to_json() for issue in repair.issues],
        "diff": Change(path=path, before=before, after=after).diff,
    }
