"""`metier resolve`"""

import sys
from collections.abc import Sequence

import click

from metier.catalog import Catalog
from metier.cli.layout import one_line
from metier.cli.resolve_view import print_report
from metier.cli.session import Session, complete_names, metier_command
from metier.core.process import without_garbage_collection
from metier.errors import UsageError
from metier.flow.report_text import shown_outcome, without
from metier.values.candidates import Candidate
from metier.values.contracts import Mode
from metier.values.policy import PRESETS
from metier.values.resolution import DECISIONS, DEPTH, Decision, Report

EXIT_CODES = {"failed": 1, "aborted": 1, "pending-decision": 3}
_ANY_DECISION = "|".join(DECISIONS)


@metier_command("resolve", repeats=True)
@click.argument("query", required=False, default="")
@click.option(
    "-r",
    "--require",
    "requires",
    metavar="CAPABILITY",
    multiple=True,
    help="A required capability; repeatable.",
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
@click.option("--host", metavar="NAME", help="The host that providers must work in.")
@click.option("--decision", type=click.Choice(DECISIONS), help="When a capability is missing.")
@click.option(
    "--ask", is_flag=True, help="Ask on the terminal for decisions, and before probes run."
)
@click.option("--continue", "report_id", metavar="REPORT", help="Complete a pending resolution.")
@click.option(
    "--depth",
    type=click.IntRange(0, 4),
    default=DEPTH,
    show_default=True,
    metavar="N",
    help="How far to follow what providers require.",
)
@click.option("--no-divergence", is_flag=True, help="Do not check claims against descriptions.")
@click.option("--full-report", is_flag=True, help="Include a row for every candidate.")
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
    ask: bool,
    report_id: str | None,
    depth: int,
    no_divergence: bool,
    full_report: bool,
) -> int:
    """Choose the skills that provide the required capabilities, and say why.

    QUERY describes the task and ranks providers; by default the capability names do. Exit code 1
    when a required capability is unresolved, 3 when a decision is needed: give it with --decision,
    or be asked with --ask.
    """
    with without_garbage_collection(), session.catalog() as catalog:
        if report_id is not None:
            new = (query, requires, consumer, mode, policies, alias_file, host)
            if any((*new, ask, no_divergence, full_report)):
                raise UsageError(
                    "--continue completes a resolution with its original arguments",
                    hint="give only --decision with it",
                )
            return _continue(session, catalog, report_id, decision)
        can_ask = ask and _can_ask(session)
        if ask and not can_ask and not session.as_json:
            session.note("note: --ask needs a terminal")
        resolution = catalog.resolve(
            requires,
            query,
            consumer=consumer,
            mode=mode,
            policy=_overrides(policies),
            alias_file=alias_file,
            host=host,
            decide=lambda _: decision,
            may_probe=_may_probe if can_ask else None,
            divergence=not no_divergence,
            depth=depth,
        )
        report = resolution.full_report() if full_report else resolution.report
        return _finish(session, catalog, report, can_ask=can_ask, everyone=full_report)


def _finish(
    session: Session, catalog: Catalog, report: Report, *, can_ask: bool, everyone: bool
) -> int:
    """Store and print the report, and ask for a pending decision; the exit code."""
    is_kept = bool(catalog.report_store.keep(report))
    report = session.redactor.value(report)
    if session.as_json:
        session.print_json(report)
    else:
        hints = [] if session.quiet else _hints(report, catalog)
        print_report(session, report, hints, everyone=everyone)
    if report.is_pending:
        answer = _ask(report) if can_ask else None
        if answer is None:
            session.note(how_to_continue(session, report.id if is_kept else ""))
        else:
            report = report.decided(answer)
            catalog.report_store.keep(report)
            click.echo(_settled(report))
    if not session.as_json:
        stored = f"report {report.id}: metier reports show {report.id}"
        session.note(stored if is_kept else "warning: the report cannot be stored here")
    return EXIT_CODES.get(report.outcome, 0)


def _hints(report: Report, catalog: Catalog) -> list[str]:
    from metier.flow.report_hints import Known, notes  # --quiet and --json need none

    return notes(report, Known.of(catalog.config, catalog.capabilities))


def _ask(report: Report) -> Decision | None:
    names = ", ".join(map(one_line, report["unresolved_required_capabilities"]))
    click.echo(f"\nUnresolved: {names or 'too little is covered'}", err=True)
    try:
        answer: Decision = click.prompt("What now?", type=click.Choice(DECISIONS), err=True)
    except click.Abort:
        click.echo("\nno decision: the resolution waits", err=True)
        return None
    return answer


def how_to_continue(session: Session, report_id: str) -> str:
    if not report_id:
        return f"to continue: the same command with --decision {_ANY_DECISION}"
    import shlex  # few resolutions wait

    root = f" --root {shlex.quote(session.root)}" if session.root else ""
    return f"to continue: metier resolve --continue {report_id} --decision {_ANY_DECISION}{root}"


def _overrides(policies: Sequence[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for text in policies:
        key, equals, value = text.partition("=")
        if equals:
            values[key.strip()] = value.strip()
        elif key in PRESETS:
            values.update(PRESETS[key])
        else:
            raise UsageError(f"'{text}' is neither KEY=VALUE nor a preset", hint="--policy prose")
    return values


def _can_ask(session: Session) -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty() and not session.as_json and not session.quiet


def _may_probe(candidate: Candidate, capability: str) -> bool:
    name = one_line(candidate.name)
    question = f"'{name}' claims more than it describes. Run the probe of {one_line(capability)}?"
    return click.confirm(question, err=True)


def _continue(session: Session, catalog: Catalog, wanted: str, decision: Decision | None) -> int:
    if decision is None:
        raise UsageError("--continue needs --decision", hint=f"one of {', '.join(DECISIONS)}")
    report = catalog.decide(catalog.report_store.find(wanted).id, decision)
    if session.as_json:
        session.print_json(report)
    else:
        click.echo(_settled(report))
    return EXIT_CODES.get(report.outcome, 0)


def _settled(report: Report) -> str:
    selected = ", ".join(map(one_line, report["selected"]))
    if not report["degraded_mode"]:
        return f"{shown_outcome(report.outcome)}: {selected or 'nothing selected'}"
    left = ", ".join(map(one_line, report["emulated_capabilities"])) or without(report)
    return f"{shown_outcome(report.outcome)}: {left}; selected: {selected or 'nothing'}"
