"""`metier report`"""

import json
from typing import Any

import click
from click.shell_completion import CompletionItem

from metier.catalog import Catalog
from metier.cli.layout import one_line
from metier.cli.report_explain import explained, lines_of
from metier.cli.resolve import how_to_go_on, stored_report
from metier.cli.resolve_hints import Known, notes
from metier.cli.resolve_view import Report, print_report
from metier.cli.session import LAST, Session, metier_command, names_from_catalog, run_called
from metier.errors import MetierError, UsageError
from metier.safety.escapes import escaped_json

_ACTIONS = {"list": (0, 0), "show": (1, 1), "diff": (2, 2), "explain": (0, 2)}
"""What can be done, and the fewest and the most words that it takes."""
WIDTH = 80
"""Of an explanation; it is the same in a pipe."""
_NEVER_EQUAL = ("run_id", "generated_at")
_QUESTION = (
    "mode",
    "query",
    "host_runtime",
    "consumer",
    "required_capabilities",
    "optional_capabilities",
)
_RESULT = (
    "selected",
    "unresolved_required_capabilities",
    "on_missing_required_action",
    "degraded_mode",
    "emulated_capabilities",
)
_SECTIONS = {"question": _QUESTION, "policy": ("policy",), "result": _RESULT}
_KEYS = ("id", "capability", "provider", "source")
"""What tells the entries of a list apart."""
Changes = dict[str, dict[str, Any]]
"""By field: `old` and `new`, each only where the field is there."""


def _complete(ctx: click.Context, _parameter: Any, incomplete: str) -> list[CompletionItem]:
    return names_from_catalog(ctx, lambda catalog: catalog.run_ids(), incomplete)


@metier_command("report")
@click.argument(
    "action", type=click.Choice(list(_ACTIONS)), metavar=f"[{'|'.join(_ACTIONS)}]", default="list"
)
@click.argument("runs", metavar="[REPORT]…", nargs=-1, shell_complete=_complete)
def command(session: Session, action: str, runs: tuple[str, ...]) -> int:
    """List the reports of resolutions, the newest first, show one, compare two, or explain one.

    REPORT is an id, the beginning of one, or 'last'. 'explain [REPORT [CANDIDATE]]' computes
    each score of a candidate again, in words: of those chosen in the last report or in this one,
    or of the one with that name or id.
    Exit code 1 when two reports differ in more than their id and time.
    """
    fewest, most = _ACTIONS[action]
    if not fewest <= len(runs) <= most:
        takes = f"{most or 'no'} report{'s' * (most != 1)}"
        takes = "a report, and perhaps a candidate" if action == "explain" else takes
        raise UsageError(f"'report {action}' takes {takes}", hint="metier report list")
    with session.catalog() as catalog:
        if action == "list":
            _list(session, _rows(session, catalog))
            return 0
        if action == "explain":
            report = stored_report(catalog, run_called(catalog, runs[0] if runs else LAST))
            _explain(session, report, runs[1] if len(runs) > 1 else None)
            return 0
        reports = [stored_report(catalog, run_called(catalog, one)) for one in runs]
        if action == "show":
            _show(session, catalog, reports[0])
            return 0
    return _diff(session, *reports)


# One, and all of them


def _show(session: Session, catalog: Catalog, report: Report) -> None:
    if session.as_json:
        session.print_json(report)
        return
    session.note(f"report {report['run_id']} of {report['generated_at']}, {report['mode']}")
    print_report(session, report, notes(report, Known.of(catalog)))
    if report["on_missing_required_action"]["outcome"] == "pending-decision":
        session.note(how_to_go_on(session, report["run_id"]))


def _explain(session: Session, report: Report, candidate: str | None) -> None:
    found = explained(report, candidate)
    if session.as_json:
        candidates = [one.to_json() for one in found]
        session.print_json(
            {"schema_version": "1", "run_id": report["run_id"], "candidates": candidates}
        )
        return
    if not found:
        session.note("there was no candidate at all")
    for place, one in enumerate(found):
        click.echo("\n".join([*[""] * bool(place), *lines_of(one, WIDTH)]))


def _rows(session: Session, catalog: Catalog) -> list[dict[str, Any]]:
    """What the list says of each report, the newest first; one that cannot be read is told."""
    rows = []
    for run_id in reversed(catalog.run_ids()):
        try:
            rows.append(_row(stored_report(catalog, run_id, lambda one: _cells(_row(one)))))
        except MetierError as error:
            session.note(f"warning: {error.message}: {error.hint}")
    return rows


def _row(report: Report) -> dict[str, Any]:
    return {
        "run_id": report["run_id"],
        "generated_at": report["generated_at"],
        "required_capabilities": report["required_capabilities"],
        "outcome": report["on_missing_required_action"]["outcome"],
        "selected": report["selected"],
    }


def _list(session: Session, rows: list[dict[str, Any]]) -> None:
    if session.as_json:
        session.print_json(rows)
        return
    if not rows:
        session.note("no report is kept here: metier resolve makes one")
    session.print_table(
        ["report", "outcome", "required", "selected"],
        [_cells(row) for row in rows],
        heading=True,
    )


def _cells(row: dict[str, Any]) -> list[str]:
    names = ", ".join(row["required_capabilities"]), ", ".join(row["selected"])
    return [str(row["run_id"]), str(row["outcome"]), *names]


# Two


def _diff(session: Session, left: Report, right: Report) -> int:
    found = compare(left, right)
    if session.as_json:
        session.print_json(found)
    elif found["equal"]:
        session.note("the same, but for id and time")
    else:
        for line in _lines(found):
            click.echo(line)
    return int(not found["equal"])


def compare(left: Report, right: Report) -> dict[str, Any]:
    """What differs: the question, the policy, the result, each candidate, and all the rest."""
    sections = {
        name: _changes(_part(left, keys), _part(right, keys)) for name, keys in _SECTIONS.items()
    }
    known = {*_QUESTION, *_RESULT, "policy", "candidates", *_NEVER_EQUAL}
    rest = [key for key in {**left, **right} if key not in known]
    rows = [{row["id"]: row for row in one["candidates"]} for one in (left, right)]
    both = {key: _changes(rows[0][key], rows[1][key]) for key in rows[0] if key in rows[1]}
    found = {
        **sections,
        "candidates": {key: one for key, one in both.items() if one},
        "only_old": [key for key in rows[0] if key not in rows[1]],
        "only_new": [key for key in rows[1] if key not in rows[0]],
        "rest": _changes(_part(left, rest), _part(right, rest)),
    }
    is_equal = _comparable(left) == _comparable(right)
    if not is_equal and not any(found.values()):
        found["rest"] = {"order": {"old": "one", "new": "another"}}
    runs = {"old": left["run_id"], "new": right["run_id"]}
    return {**runs, "equal": is_equal, **found}


def _comparable(report: Report) -> Report:
    return {key: value for key, value in report.items() if key not in _NEVER_EQUAL}


def _part(report: Report, keys: Any) -> dict[str, Any]:
    if keys == ("policy",):
        return dict(report["policy"])
    return {key: report[key] for key in keys if key in report}


def _changes(left: Any, right: Any, way: str = "") -> Changes:
    """Every value that differs, by the way that leads to it: `penalties.total`."""
    old, new = _entries(left), _entries(right)
    if old is None or new is None:
        return {way: {"old": left, "new": right}} if left != right else {}
    found: Changes = {}
    for key in {**old, **new}:
        further = f"{way}.{key}" if way else key
        if key in old and key in new:
            found.update(_changes(old[key], new[key], further))
        else:
            found[further] = {"old": old[key]} if key in old else {"new": new[key]}
    return found


def _entries(value: Any) -> dict[str, Any] | None:
    """What is in a table, or in a list of tables; a name tells those apart, or their place."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        return None
    for key in _KEYS:
        named = {str(one[key]): one for one in value if key in one}
        if len(named) == len(value):
            return named
    return {str(place): one for place, one in enumerate(value, start=1)}


def _lines(found: dict[str, Any]) -> list[str]:
    lines = [f"{found['old']} → {found['new']}"]
    for name in _SECTIONS:
        lines += _section(name, found[name])
    for key, changes in found["candidates"].items():
        lines += _section(one_line(key), changes)
    lines += [f"only in {found['old']}: {one_line(one)}" for one in found["only_old"]]
    lines += [f"only in {found['new']}: {one_line(one)}" for one in found["only_new"]]
    return [*lines, *_section("rest", found["rest"])]


def _section(name: str, changes: Changes) -> list[str]:
    fields = [
        f"  {one_line(key)}: {_shown(one, 'old')} → {_shown(one, 'new')}"
        for key, one in changes.items()
    ]
    return [name, *fields] if fields else []


def _shown(change: dict[str, Any], side: str) -> str:
    if side not in change:
        return "not there"
    value = change[side]
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return one_line(", ".join(value)) or "nothing"
    if isinstance(value, str):
        return one_line(value) or "nothing"
    return one_line(escaped_json(json.dumps(value, ensure_ascii=False)))
