"""`metier resolve`"""

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import click

from metier.catalog import Catalog
from metier.cli.dependency_view import dependency_lines
from metier.cli.layout import one_line
from metier.cli.resolve_hints import Known, notes
from metier.cli.resolve_view import (
    Report,
    block,
    counts,
    headline,
    print_report,
    without,
)
from metier.cli.session import Session, complete_names, metier_command, run_called
from metier.core.process import without_garbage_collection
from metier.errors import InvalidDocumentError, NotFoundError, UsageError
from metier.flow.resolving import REPORTS
from metier.resolve.engine import DEPTH
from metier.resolve.missing import DECISIONS, Decision, settle_missing
from metier.resolve.report import Resolution
from metier.values.candidates import Candidate
from metier.values.contracts import Mode
from metier.values.policy import PRESETS

EXIT_CODES = {"failed": 1, "aborted": 1, "pending-decision": 3}
_ANY_DECISION = "|".join(DECISIONS)


@metier_command("resolve")
@click.argument("query", required=False, default="")
@click.option(
    "-r",
    "--require",
    "requires",
    metavar="CAPABILITY",
    multiple=True,
    help="A capability; repeat it.",
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
@click.option("--ask", is_flag=True, help="Ask on the terminal what to decide, and about probes.")
@click.option("--continue", "run_id", metavar="REPORT", help="Complete a resolution that waits.")
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
    ask: bool,
    run_id: str | None,
    depth: int,
    no_divergence: bool,
    full_report: bool,
) -> int:
    """Say which skill provides what is required, and why.

    QUERY, the task in words, ranks providers; without it the names of the capabilities do. Exit
    code 1 when a required capability stays open, 3 when a decision is needed: --decision gives
    one, --ask asks for it.
    """
    with without_garbage_collection(), session.catalog() as catalog:
        if run_id is not None:
            new = (query, requires, consumer, mode, policies, alias_file, host)
            _refuse_a_new_question(*new, ask, no_divergence, full_report)
            return _continue(session, catalog, run_called(catalog, run_id), decision)
        can_ask = ask and _can_ask(session)
        if ask and not can_ask and not session.as_json:
            session.note("note: nobody can be asked: this is no terminal")
        with _naming(consumer):
            made = catalog.resolve(
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
        return _Run(session, catalog, full_report, can_ask).finish(made)


@contextmanager
def _naming(consumer: str | None) -> Iterator[None]:
    """Say that it is the skill that requires nothing, when one was named."""
    try:
        yield
    except UsageError as error:
        if consumer is None or error.message != "nothing is required":
            raise
        raise UsageError(
            f"'{consumer}' requires nothing",
            hint="its contract has no R(…); name a capability with -r",
        ) from None


class _Run(NamedTuple):
    """What is done with a resolution: it is shown and kept, and somebody may be asked."""

    session: Session
    catalog: Catalog
    full: bool
    can_ask: bool

    def finish(self, made: Resolution) -> int:
        kept = bool(self.catalog.keep_report(made, full=self.full))
        report = self._report(made)
        if self.session.as_json:
            self.session.print_json(report)
        else:
            beside = notes(report, Known.of(self.catalog))
            print_report(self.session, report, beside, everyone=self.full)
        if report["on_missing_required_action"]["outcome"] == "pending-decision":
            report = self._ask(made, kept)
        if not self.session.as_json:
            run_id = report["run_id"]
            where = f"report {run_id}: metier report show {run_id}"
            self.session.note(where if kept else "warning: the report cannot be kept here")
        return EXIT_CODES.get(report["on_missing_required_action"]["outcome"], 0)

    def _ask(self, made: Resolution, kept: bool) -> Report:
        """The report after the answer; the resolution goes on waiting when there is none."""
        decision = _asked(made) if self.can_ask else None
        if decision is None:
            self.session.note(how_to_go_on(self.session, made.facts.run_id if kept else ""))
            return self._report(made)
        outcome = settle_missing(made.outcome.policy, made.unresolved, True, decision)
        selected = made.chosen if outcome.keeps_selection else ()
        settled = replace(made, outcome=outcome, selected=selected)
        self.catalog.keep_report(settled, full=self.full)
        report = self._report(settled)
        click.echo(_settled(report))
        return report

    def _report(self, made: Resolution) -> Report:
        return (made.full_report() if self.full else made.report).data


def _asked(made: Resolution) -> Decision | None:
    names = ", ".join(one_line(one) for one in made.unresolved)
    click.echo(f"\nOpen: {names or 'too little is covered'}", err=True)
    try:
        answer: Decision = click.prompt("What now?", type=click.Choice(DECISIONS), err=True)
    except click.Abort:
        click.echo("\nno decision: the resolution waits", err=True)
        return None
    return answer


def how_to_go_on(session: Session, run_id: str) -> str:
    """The command that completes a resolution that waits; without its id the question itself."""
    if not run_id:
        return f"to go on: the same command with --decision {_ANY_DECISION}"
    root = f" --root {shlex.quote(session.root)}" if session.root else ""
    return f"to go on: metier resolve --continue {run_id} --decision {_ANY_DECISION}{root}"


def _refuse_a_new_question(*asked: object) -> None:
    if any(asked):
        raise UsageError(
            "--continue completes a resolution as it was asked",
            hint="give --decision alone with it",
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


def _may_probe(candidate: Candidate, capability: str) -> bool:
    name = one_line(candidate.name)
    question = f"'{name}' claims more than it describes. Run the probe of {one_line(capability)}?"
    return click.confirm(question, err=True)


def _continue(session: Session, catalog: Catalog, run_id: str, decision: Decision | None) -> int:
    if decision is None:
        raise UsageError("--continue needs --decision", hint=f"one of {', '.join(DECISIONS)}")
    stored_report(catalog, run_id)
    report = catalog.decide(run_id, decision)
    if session.as_json:
        session.print_json(report)
    else:
        click.echo(_settled(report))
    return EXIT_CODES.get(report["on_missing_required_action"]["outcome"], 0)


def _settled(report: Report) -> str:
    """What a decision came to."""
    outcome = report["on_missing_required_action"]["outcome"]
    selected = ", ".join(one_line(one) for one in report["selected"])
    if not report["degraded_mode"]:
        return f"{outcome}: {selected or 'nothing selected'}"
    left = without(report).removeprefix("emulates ")
    return f"{outcome}: {left}; selected: {selected or 'nothing'}"


def stored_report(
    catalog: Catalog, run_id: str, look: Callable[[Report], object] | None = None
) -> Report:
    """A report that was kept. Raises `NotFoundError`; for a damaged one `InvalidDocumentError`."""
    try:
        report = catalog.report(run_id)
        (look or _check)(report)
    except NotFoundError:
        if run_id not in catalog.run_ids():
            raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError):
        pass
    else:
        return report
    folder = catalog.room.below(REPORTS) if catalog.room is not None else None
    hint = f"remove {folder.file(f'{run_id}.json')}" if folder is not None else ""
    raise InvalidDocumentError(f"report '{run_id}' cannot be read", hint=hint)


def _check(report: Report) -> None:
    """Raise what a report raises that cannot be shown."""
    headline(report)
    for row in report["candidates"]:
        block(row, report, width=80)
    dependency_lines(report)
    counts(report, ())
    notes(report, Known())
