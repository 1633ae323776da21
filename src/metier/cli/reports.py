"""`metier reports`"""

import json
from typing import Any

import click

from metier.catalog import Catalog
from metier.cli.groups import CommandGroup
from metier.cli.layout import one_line
from metier.cli.report_explain import explain, lines_of
from metier.cli.resolve import how_to_continue
from metier.cli.resolve_hints import Known, notes
from metier.cli.resolve_view import print_report, shown_outcome
from metier.cli.session import Session, complete_from, metier_command
from metier.errors import MetierError
from metier.flow.reports import LAST
from metier.safety.escapes import escaped_json
from metier.values.resolution import Report

WIDTH = 80
"""Of an explanation, also in a pipe."""
_NEVER_EQUAL = ("run_id", "generated_at")
_SECTIONS = {
    "question": (
        "mode",
        "query",
        "host_runtime",
        "consumer",
        "required_capabilities",
        "optional_capabilities",
    ),
    "policy": ("policy",),
    "result": (
        "selected",
        "unresolved_required_capabilities",
        "on_missing_required_action",
        "degraded_mode",
        "emulated_capabilities",
    ),
}
_KEYS = ("id", "capability", "provider", "source")
"""Keys that identify the entries of a list."""
Changes = dict[str, dict[str, Any]]
"""Field → `old` and `new`, where they exist."""


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
    with session.catalog() as catalog:
        for found in catalog.reports.summaries():
            if isinstance(found, MetierError):
                session.note(f"warning: {found.message}: {found.hint}")
            else:
                rows.append(_summary(found))
    total, rows = len(rows), rows[:limit]
    if session.as_json:
        session.print_json(rows)
        return 0
    if not rows:
        session.note("no report is stored here: metier resolve makes one")
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
    with session.catalog() as catalog:
        found = catalog.reports.find(report)
        if session.as_json:
            session.print_json(found)
            return 0
        session.note(f"report {found.id} of {found['generated_at']}, {found['mode']}")
        print_report(session, found, notes(found, Known.of(catalog)))
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
    with session.catalog() as catalog:
        found = catalog.reports.find(report)
    parts = explain(found, candidate)
    if session.as_json:
        candidates = [one.to_json() for one in parts]
        session.print_json({"schemaVersion": "1", "reportId": found.id, "candidates": candidates})
        return 0
    if not parts:
        session.note("there were no candidates")
    click.echo("\n\n".join("\n".join(lines_of(one, WIDTH)) for one in parts), nl=bool(parts))
    return 0


@command.add
@metier_command("diff", repeats=True)
@click.argument("old", metavar="REPORT", shell_complete=_complete)
@click.argument("new", metavar="REPORT", shell_complete=_complete)
def _diff(session: Session, old: str, new: str) -> int:
    """Compare two reports.

    Exit code 1 when they differ in more than their id and time.
    """
    with session.catalog() as catalog:
        found = compare(catalog.reports.find(old), catalog.reports.find(new))
    if session.as_json:
        session.print_json(found)
    elif found["equal"]:
        session.note("the same, except for id and time")
    else:
        click.echo("\n".join(_lines(found)))
    return int(not found["equal"])


def compare(left: Report, right: Report) -> dict[str, Any]:
    sections = {
        name: _changes(_part(left, keys), _part(right, keys)) for name, keys in _SECTIONS.items()
    }
    known = {*(key for keys in _SECTIONS.values() for key in keys), "candidates", *_NEVER_EQUAL}
    rest = [key for key in {**left, **right} if key not in known]
    rows = [{row["id"]: row for row in one["candidates"]} for one in (left, right)]
    both = {key: _changes(rows[0][key], rows[1][key]) for key in rows[0] if key in rows[1]}
    found = {
        **sections,
        "candidates": {key: one for key, one in both.items() if one},
        "onlyOld": [key for key in rows[0] if key not in rows[1]],
        "onlyNew": [key for key in rows[1] if key not in rows[0]],
        "rest": _changes(_part(left, rest), _part(right, rest)),
    }
    is_equal = _comparable(left) == _comparable(right)
    if not is_equal and not any(found.values()):
        found["rest"] = {"order": {"old": "one", "new": "another"}}
    return {"old": left.id, "new": right.id, "equal": is_equal, **found}


def _comparable(report: Report) -> dict[str, Any]:
    return {key: value for key, value in report.items() if key not in _NEVER_EQUAL}


def _part(report: Report, keys: Any) -> dict[str, Any]:
    if keys == ("policy",):
        return dict(report["policy"])
    return {key: report[key] for key in keys if key in report}


def _changes(left: Any, right: Any, path: str = "") -> Changes:
    """Every value that differs, by its path: `penalties.total`."""
    old, new = _entries(left), _entries(right)
    if old is None or new is None:
        return {path: {"old": left, "new": right}} if left != right else {}
    found: Changes = {}
    for key in {**old, **new}:
        below = f"{path}.{key}" if path else key
        if key in old and key in new:
            found.update(_changes(old[key], new[key], below))
        else:
            found[below] = {"old": old[key]} if key in old else {"new": new[key]}
    return found


def _entries(value: Any) -> dict[str, Any] | None:
    """The values of an object, or of a list of objects by name or else by number."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        return None
    for key in _KEYS:
        named = {str(one[key]): one for one in value if key in one}
        if len(named) == len(value):
            return named
    return {str(number): one for number, one in enumerate(value, start=1)}


def _lines(found: dict[str, Any]) -> list[str]:
    lines = [f"{found['old']} → {found['new']}"]
    for name in _SECTIONS:
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
