"""`metier report`"""

import difflib
import json
from typing import Any

import click
from click.shell_completion import CompletionItem

from metier.cli.session import Session, metier_command, names_from_catalog
from metier.core.text import printable
from metier.errors import UsageError

_NEVER_EQUAL = ("run_id", "generated_at")


def _complete(ctx: click.Context, _parameter: Any, incomplete: str) -> list[CompletionItem]:
    return names_from_catalog(ctx, lambda catalog: catalog.run_ids(), incomplete)


@metier_command("report")
@click.argument("action", type=click.Choice(["list", "show", "diff"]))
@click.argument("runs", metavar="[RUN]…", nargs=-1, shell_complete=_complete)
def command(session: Session, action: str, runs: tuple[str, ...]) -> int:
    """List the reports of resolutions, show one, or compare two.

    Exit code 1 when two reports differ in more than their id and time.
    """
    wanted = {"list": 0, "show": 1, "diff": 2}[action]
    if len(runs) != wanted:
        raise UsageError(
            f"'report {action}' takes {wanted or 'no'} run{'s' * (wanted != 1)}",
            hint="metier report list",
        )
    with session.catalog() as catalog:
        if action == "list":
            _list(session, [catalog.report(run_id) for run_id in catalog.run_ids()])
            return 0
        reports = [catalog.report(run_id) for run_id in runs]
    if action == "show":
        session.print_json(reports[0])
        return 0
    return _diff(session, *reports)


def _list(session: Session, reports: list[dict[str, Any]]) -> None:
    rows = [
        {
            "run_id": one["run_id"],
            "generated_at": one["generated_at"],
            "required_capabilities": one["required_capabilities"],
            "outcome": one["on_missing_required_action"]["outcome"],
            "selected": one["selected"],
        }
        for one in reports
    ]
    if session.as_json:
        session.print_json(rows)
        return
    if not rows:
        session.note("no report is kept here: metier resolve makes one")
    session.print_table(
        ["run", "outcome", "required", "selected"],
        [
            [
                row["run_id"],
                row["outcome"],
                ", ".join(row["required_capabilities"]),
                ", ".join(row["selected"]),
            ]
            for row in rows
        ],
    )


def _diff(session: Session, left: dict[str, Any], right: dict[str, Any]) -> int:
    names = left["run_id"], right["run_id"]
    texts = [json.dumps(_comparable(one), indent=2, ensure_ascii=False) for one in (left, right)]
    lines = list(
        difflib.unified_diff(texts[0].splitlines(), texts[1].splitlines(), *names, lineterm="")
    )
    if session.as_json:
        session.print_json({"equal": not lines, "diff": lines})
    else:
        for line in lines:
            click.echo(printable(line))
        if not lines:
            session.note("the same, but for id and time")
    return int(bool(lines))


def _comparable(report: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in report.items() if key not in _NEVER_EQUAL}
