"""`metier reports`"""

import json
from collections.abc import Iterator
from typing import Any

import click

from metier.catalog import Catalog
from metier.cli.groups import CommandGroup
from metier.cli.layout import one_line, wrapped
from metier.cli.resolve import how_to_continue
from metier.cli.resolve_view import print_report
from metier.cli.session import Session, complete_from, metier_command
from metier.errors import MetierError
from metier.flow.report_diff import SECTIONS, Changes, compare
from metier.flow.report_explain import Explanation, explain, figure
from metier.flow.report_hints import Known, notes
from metier.flow.report_text import shown_outcome
from metier.flow.reports import LAST
from metier.safety.escapes import escaped_json
from metier.values.resolution import Report

WIDTH = 80
"""Of an explanation, also in a pipe."""

command = CommandGroup(
    "reports",
    default="list",
    help="""List, show, compare and explain the reports of resolutions.

    REPORT is an id, the beginning of one, or 'last'. Without a command, reports are listed.
    """,
)


_complete = complete_from(Catalog.report_ids)


@command.add
@metier_command("list", repeats=True)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N reports.")
def _list(session: Session, limit: int | None) -> int:
    """List the stored reports, newest first."""
    rows = []
    session.note_state()
    with session.catalog() as catalog:
        for found in catalog.report_store.summaries():
            if isinstance(found, MetierError):
                session.note(f"warning: {found.message}: {found.hint}")
            else:
                rows.append(_summary(found))
    total, rows = len(rows), rows[:limit]
    if session.as_json:
        session.print_json(rows)
        return 0
    if not rows:
        session.note("no report is stored here: metier resolve creates one")
    cells = [
        [
            row["reportId"],
            shown_outcome(row["outcome"]),
            ", ".join(row["requiredCapabilities"]),
            ", ".join(row["selected"]),
        ]
        for row in rows
    ]
    columns = ["report", "outcome", "required", "selected"]
    session.print_list(columns, cells, "report", total=total)
    return 0


def _summary(report: Report) -> dict[str, Any]:
    return {
        "reportId": report.id,
        "generatedAt": report["generated_at"],
        "requiredCapabilities": report["required_capabilities"],
        "outcome": report.outcome,
        "selected": report["selected"],
    }


@command.add
@metier_command("show", repeats=True)
@click.argument("report", shell_complete=_complete)
def _show(session: Session, report: str) -> int:
    """Show a report."""
    session.note_state()
    with session.catalog() as catalog:
        found = catalog.report_store.find(report)
        if session.as_json:
            session.print_json(found)
            return 0
        session.note(f"report {found.id} of {found['generated_at']}, {found['mode']}")
        print_report(session, found, notes(found, Known.of(catalog.config, catalog.capabilities)))
    if found.is_pending:
        session.note(how_to_continue(session, found.id))
    return 0


@command.add
@metier_command("explain", repeats=True)
@click.argument("report", required=False, default=LAST, shell_complete=_complete)
@click.argument("candidate", required=False)
def _explain(session: Session, report: str, candidate: str | None) -> int:
    """Explain how a report came to its scores, step by step.

    By default REPORT is the last report, and CANDIDATE, a name or an id, is every chosen candidate.
    """
    session.note_state()
    with session.catalog() as catalog:
        found = catalog.report_store.find(report)
    parts = explain(found, candidate)
    if session.as_json:
        candidates = [one.to_json() for one in parts]
        session.print_json({"schemaVersion": "1", "reportId": found.id, "candidates": candidates})
        return 0
    if not parts:
        session.note("there were no candidates")
    click.echo("\n\n".join("\n".join(_explained(one, WIDTH)) for one in parts), nl=bool(parts))
    return 0


@command.add
@metier_command("diff", repeats=True)
@click.argument("old", metavar="REPORT", shell_complete=_complete)
@click.argument("new", metavar="REPORT", shell_complete=_complete)
def _diff(session: Session, old: str, new: str) -> int:
    """Compare two reports.

    Exit code 1 when they differ in more than their id and time.
    """
    session.note_state()
    with session.catalog() as catalog:
        left, right = catalog.report_store.find(old), catalog.report_store.find(new)
    found = compare(left, right)
    if session.as_json:
        session.print_json(found)
    elif found["equal"]:
        one = f"both are the same report, {left.id}" if left.id == right.id else ""
        session.note(one or "the same, except for id and time")
    else:
        click.echo("\n".join(_lines(found)))
    return int(not found["equal"])


def _lines(found: dict[str, Any]) -> list[str]:
    lines = [f"{found['old']} → {found['new']}"]
    for name in SECTIONS:
        lines += _section(name, found[name])
    for key, changes in found["candidates"].items():
        lines += _section(one_line(key), changes)
    lines += [f"only in {found['old']}: {one_line(one)}" for one in found["onlyOld"]]
    lines += [f"only in {found['new']}: {one_line(one)}" for one in found["onlyNew"]]
    return [*lines, *_section("rest", found["rest"])]


def _section(name: str, changes: Changes) -> list[str]:
    fields = [
        f"  {one_line(key)}: {_shown(one, 'old')} → {_shown(one, 'new')}"
        for key, one in changes.items()
    ]
    return [name, *fields] if fields else []


def _shown(change: dict[str, Any], side: str) -> str:
    if side not in change:
        return "absent"
    value = change[side]
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return one_line(", ".join(value)) or "nothing"
    if isinstance(value, str):
        return one_line(value) or "nothing"
    return one_line(escaped_json(json.dumps(value, ensure_ascii=False)))


def _explained(explanation: Explanation, width: int) -> Iterator[str]:
    rank = f"rank {explanation.row['rank']}" if explanation.row["rank"] else "not ranked"
    state = ", selected" if explanation.row["selected"] else ""
    yield from wrapped(f"{explanation.row['id']}: {rank}{state}", width, "")
    for part in explanation.parts:
        steps = [part.name, *[part.formula] * bool(part.formula), figure(part.value)]
        yield from wrapped(" = ".join(steps), width, "  ")
        for note in part.notes:
            yield from wrapped(note, width, "    ")
    yield "  gates"
    for gate in explanation.gates:
        sign, word = (">=", "passed") if gate.passed else ("<", "failed")
        own = " (its own)" if gate.own else ""
        figures = f"{figure(gate.value)} {sign} {figure(gate.limit)}"
        yield from wrapped(f"{gate.name}{own}: {figures}, {word}", width, "    ")
    if explanation.tie_break:
        yield from wrapped(f"tie-break: {explanation.tie_break}", width, "  ")
    yield from wrapped(f"verdict: {explanation.verdict}", width, "  ")
