"""`metier resolve`"""

import sys
from collections.abc import Sequence
from typing import Any

import click

from metier.catalog import Catalog
from metier.cli.session import Session, complete_names, counted, metier_command
from metier.core.text import printable
from metier.errors import UsageError
from metier.resolve.engine import DEPTH
from metier.resolve.matching import RESOLVING
from metier.resolve.missing import DECISIONS, Decision
from metier.resolve.report import Resolution
from metier.values.candidates import Candidate
from metier.values.contracts import Mode
from metier.values.policy import PRESETS

EXIT_CODES = {"failed": 1, "aborted": 1, "pending-decision": 3}
_BAR = 3
"""Cells of a full bar."""
_EIGHTHS = " ▏▎▍▌▋▊▉"
_MOST_HINTS = 10


@metier_command("resolve")
@click.argument("query", required=False, default="")
@click.option(
    "-r", "--require", "requires", metavar="NAME", multiple=True, help="A capability; repeat it."
)
@click.option(
    "--for",
    "consumer",
    metavar="SKILL",
    shell_complete=complete_names("skill"),
    help="Resolve what this skill requires, by its policy and mode.",
)
@click.option("--mode", type=click.Choice(["strict", "best-effort"]), help="Overrides the skill's.")
@click.option(
    "--policy",
    "policies",
    metavar="KEY=VALUE",
    multiple=True,
    help="Override a policy, or name a preset: prose.",
)
@click.option("--aliases", "alias_file", metavar="FILE", type=click.Path(), help="Alias table.")
@click.option("--host", metavar="NAME", help="The runtime that providers must work in.")
@click.option("--decision", type=click.Choice(DECISIONS), help="When a capability is missing.")
@click.option("--continue", "run_id", metavar="RUN", help="Complete a run that waits.")
@click.option(
    "--depth",
    type=click.IntRange(0, 4),
    default=DEPTH,
    show_default=True,
    metavar="N",
    help="How far to follow what providers require.",
)
@click.option("--no-divergence", is_flag=True, help="Do not check claims against descriptions.")
@click.option("--full-report", is_flag=True, help="A row for every candidate.")
def command(
    session: Session,
    query: str,
    requires: tuple[str, ...],
    consumer: str | None,
    mode: Mode | None,
    policies: tuple[str, ...],
    alias_file: str | None,
    host: str | None,
    decision: Decision | None,
    run_id: str | None,
    depth: int,
    no_divergence: bool,
    full_report: bool,
) -> int:
    """Say which skill provides what is required, and why.

    QUERY is the task in words; without it the capabilities are. Exit code 1 when a required
    capability stays open, 3 when a decision is needed.
    """
    with session.catalog() as catalog:
        if run_id is not None:
            new = (query, requires, consumer, mode, policies, alias_file, host)
            _refuse_a_new_question(*new, no_divergence, full_report)
            return _continue(session, catalog, run_id, decision)
        made = catalog.resolve(
            requires,
            query,
            consumer=consumer,
            mode=mode,
            policy=_overrides(policies),
            alias_file=alias_file,
            host=host,
            decide=_decider(session, decision),
            may_probe=_may_probe if _can_ask(session) else None,
            divergence=not no_divergence,
            depth=depth,
        )
        kept = catalog.keep_report(made, full=full_report)
    report = made.full_report() if full_report else made.report
    if session.as_json:
        click.echo(report.to_json())
    else:
        _print(session, made, report.data)
        if not kept:
            session.note("warning: the report cannot be kept here")
    return EXIT_CODES.get(made.outcome.name, 0)


def _refuse_a_new_question(*asked: object) -> None:
    if any(asked):
        raise UsageError(
            "--continue completes a run as it was asked", hint="give --decision alone with it"
        )


def _overrides(policies: Sequence[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for one in policies:
        key, equals, value = one.partition("=")
        if equals:
            values[key.strip()] = value.strip()
        elif key in PRESETS:
            values.update(PRESETS[key])
        else:
            raise UsageError(f"'{one}' is neither KEY=VALUE nor a preset", hint="--policy prose")
    return values


def _can_ask(session: Session) -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty() and not session.as_json and not session.quiet


def _decider(session: Session, decision: Decision | None) -> Any:
    def decide(unresolved: Sequence[str]) -> Decision | None:
        if decision is not None or not _can_ask(session):
            return decision
        names = ", ".join(unresolved) or "too little"
        click.echo(f"Not provided: {printable(names)}", err=True)
        answer: Decision = click.prompt("What now?", type=click.Choice(DECISIONS), err=True)
        return answer

    return decide


def _may_probe(candidate: Candidate, capability: str) -> bool:
    question = f"'{candidate.name}' claims more than it describes. Run the probe of {capability}?"
    return click.confirm(question, err=True)


def _continue(session: Session, catalog: Catalog, run_id: str, decision: Decision | None) -> int:
    if decision is None:
        raise UsageError("--continue needs --decision", hint=f"one of {', '.join(DECISIONS)}")
    report = catalog.decide(run_id, decision)
    if session.as_json:
        session.print_json(report)
    else:
        outcome = report["on_missing_required_action"]["outcome"]
        click.echo(f"{outcome}: {', '.join(report['selected']) or 'nothing selected'}")
    return EXIT_CODES.get(report["on_missing_required_action"]["outcome"], 0)


def _print(session: Session, made: Resolution, report: dict[str, Any]) -> None:
    for line in _summary(made):
        click.echo(printable(line))
    rows = [row for row in report["candidates"] if row["rank"] or row["S_contract"] > 0]
    session.print_table(
        ["candidate", "final", "contract", "desc", "namepath", "runtime", "penalty", "verdict"],
        [_cells(row) for row in rows],
        heading=True,
    )
    _print_counts(session, report)
    for line in _hints(made, report):
        session.note(f"hint: {line}")
    session.note(f"run {made.facts.run_id}: metier report show {made.facts.run_id}")


def _summary(made: Resolution) -> list[str]:
    lines = []
    matches = made.scores.matches
    chosen = [(place := made.pool.places[key], matches.of(place)) for key in made.chosen]
    for number, name in enumerate(made.question.requires):
        found = [
            f"{made.pool.candidates[place].name} ({one.kind})"
            for place, by_number in chosen
            if (one := by_number.get(number)) and one.kind in RESOLVING[made.question.mode]
        ]
        lines.append(f"{name}: {', '.join(found) or 'not provided'}")
    for optional in made.optional:
        provider = (optional.provider or "not provided").partition("::")[0]
        lines.append(f"{optional.capability} (optional): {provider}")
    if made.outcome.name != "not-needed":
        lines.append(f"outcome: {made.outcome.name} ({made.outcome.policy})")
    return lines


def _cells(row: dict[str, Any]) -> list[str]:
    parts = [row["S_contract"], row["S_desc"], row["S_namepath"], row["S_runtime"]]
    return [
        row["id"],
        f"{row['S_total_final']:.3f}",
        *(_bar(value) for value in parts),
        f"{row['penalties']['total']:.2f}" if row["penalties"]["total"] else "",
        _verdict(row),
    ]


def _bar(value: float) -> str:
    """`0.50 █▌`; figures alone where bars would be in the way."""
    figure = f"{value:.2f}"
    if not sys.stdout.isatty():
        return figure
    full, eighths = divmod(round(value * _BAR * 8), 8)
    return f"{figure} {'█' * full}{_EIGHTHS[eighths].strip()}"


def _verdict(row: dict[str, Any]) -> str:
    if row["rejected"]:
        open_ = ", ".join(row.get("unresolved_dependencies", ()))
        return ", ".join(row["rejected"]) + (f" ({open_})" if open_ else "")
    tie = row["tie_break"]
    above = f"above the next by {tie['by']}" if tie else ""
    return f"selected{', ' if above else ''}{above}" if row["selected"] else above


def _print_counts(session: Session, report: dict[str, Any]) -> None:
    for reason, count in report["rejected_without_row"].items():
        session.note(f"{counted(count, 'other candidate')}: {reason}")


def _hints(made: Resolution, report: dict[str, Any]) -> list[str]:
    hints = [*made.facts.warnings, *made.warnings]
    reasons = [row["rejected"] for row in report["candidates"] if row["S_contract"] > 0]
    if not made.chosen and reasons and all("below-min-contract-score" in one for one in reasons):
        hints.append("only prose matches; --policy prose lets skills without a contract pass")
    flagged = [row["name"] for row in report["candidates"] if row["contract_inflated"]]
    for name in flagged[:_MOST_HINTS]:
        hints.append(f"'{name}' claims more than it describes; a probe could clear it")
    return hints
