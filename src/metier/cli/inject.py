"""`metier inject`"""

import sys
from typing import Any

import click

from metier.catalog import Catalog
from metier.cli.session import Session, complete_names, counted, metier_command
from metier.core.text import printable
from metier.errors import MetierError
from metier.values.capabilities import DEFAULT_ABILITIES, SessionType
from metier.values.selection import Injection, Scored

_PARTS = ("core", "tags", "category", "keywords", "priority")


@metier_command("inject", repeats=True)
@click.option(
    "--task",
    required=True,
    metavar="TEXT",
    help="The task; - reads it from standard input.",
)
@click.option(
    "--agent",
    metavar="ID",
    shell_complete=complete_names("agent"),
    help="The agent: its core abilities, its limit, what applies to it.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(min=0),
    metavar="N",
    help="The token limit (default: the agent's, else 10000).",
)
@click.option(
    "--core",
    metavar="ID",
    multiple=True,
    shell_complete=complete_names("ability"),
    help="An ability that must be injected; repeatable.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=DEFAULT_ABILITIES,
    show_default=True,
    metavar="N",
    help="The most abilities, dependencies not counted.",
)
@click.option(
    "--min-signal",
    type=click.FloatRange(min=0),
    metavar="X",
    help="Exclude abilities that score less than X, core and priority apart; runs use"
    " abilities.minSignal.",
)
@click.option(
    "--session",
    "session_type",
    type=click.Choice(["main", "isolated"]),
    default="main",
    show_default=True,
    help="The type of session; cards may require one.",
)
@click.option("--headings", is_flag=True, help="Put a heading above each ability.")
@click.option("--explain", is_flag=True, help="Print the scores instead of the text.")
def command(
    session: Session,
    task: str,
    agent: str | None,
    max_tokens: int | None,
    core: tuple[str, ...],
    limit: int,
    min_signal: float | None,
    session_type: SessionType,
    headings: bool,
    explain: bool,
) -> int:
    """Print the text for a task as a model receives it, with secrets redacted.

    Core abilities come first, then the cards whose keywords occur, then other abilities by score,
    until the token limit is reached. What is skipped, and why, goes to standard error.
    """
    if task == "-":
        task = session.standard_input
    with session.catalog() as catalog:
        session.note_unknown_agent(catalog, agent)
        injection = catalog.inject(
            task,
            agent=agent,
            core=core,
            budget=max_tokens,
            limit=limit,
            min_signal=min_signal,
            include_metadata=headings,
            session_type=session_type,
        )
        excluded = _excluded_cards(catalog) if explain else []
    if session.as_json:
        session.print_json({"task": task, "agent": agent, **injection.to_json()})
        return int(injection.failed)
    if explain:
        _print_scores(session, injection, excluded)
    _note_issues(session, injection)
    if not explain:
        _note_skipped_cards(session, injection)
        _print_text(session, injection)
    return 0


def _print_text(session: Session, injection: Injection) -> None:
    """The text alone; a terminal gets a line end, and no control characters."""
    if not injection.text:
        session.note("nothing is injected")
    elif sys.stdout.isatty():
        click.echo(printable(injection.text))
    else:
        sys.stdout.buffer.write(session.redactor.text(injection.text).encode())


def _note_issues(session: Session, injection: Injection) -> None:
    """Print warnings; raise errors."""
    for issue in injection.issues:
        if not issue.is_error and issue.code != "AGENT_NO_PROFILE":  # already noted
            session.note(f"warning: {issue.message} ({issue.code})")
            session.note(f"    hint: {issue.hint}")
    errors = [issue for issue in injection.issues if issue.is_error]
    if errors:
        first, message = errors[0], "; ".join(issue.message for issue in errors)
        raise MetierError(message, code=first.code, where=first.path, hint=first.hint)


def _note_skipped_cards(session: Session, injection: Injection) -> None:
    for one in injection.skipped:
        if one.kind == "card":
            size = f", {one.tokens:,} tokens" if one.tokens is not None else ""
            session.note(f"card '{one.id}' is skipped: {one.detail or one.reason}{size}")


def _print_scores(session: Session, injection: Injection, excluded: list[list[str]]) -> None:
    selection = injection.selection
    inside = set(injection.injected_abilities)
    rows = []
    for scored in selection.ranked:
        ability = scored.item.id
        by = selection.required_by.get(ability)
        note = f"required by {by}" if by and not scored.parts["core"] else ""
        if ability not in inside:
            note = "over budget"
        rows.append([ability, *_cells(scored), note])
    details = {one.id: one.detail or one.reason for one in selection.skipped}
    for scored in selection.rejected:
        rows.append([scored.item.id, *_cells(scored), f"skipped: {details[scored.item.id]}"])
    session.print_table(["ability", *_PARTS, "total", "note"], rows)
    _print_cards(session, injection, excluded)
    more = selection.passed_over
    session.note(
        f"{counted(len(inside), 'ability', 'abilities')}, {injection.tokens:,} of "
        f"{injection.max_tokens:,} tokens" + (f"; {more:,} more not chosen" if more else "")
    )


def _excluded_cards(catalog: Catalog) -> list[list[str]]:
    rows = []
    for row in catalog.excluded_rows("card"):
        why = next((issue for issue in catalog.issues_of(row) if issue.is_error), None)
        reason = f"{why.code}: {why.message}" if why else row.reason
        rows.append([row.handle or row.path, "", "", f"excluded: {reason}"])
    return rows


def _print_cards(session: Session, injection: Injection, excluded: list[list[str]]) -> None:
    cards = [*((one, "injected") for one in injection.injected_cards), *injection.cards_passed_over]
    rows = [
        [one.item.id, f"{one.score:g}", f"{one.item.confidence_threshold:g}", note]
        for one, note in cards
    ]
    rows += excluded
    if rows:
        session.print_table(["card", "score", "threshold", "note"], rows)


def _cells(scored: Scored[Any]) -> list[str]:
    return [f"{value:g}" for value in (*(scored.parts[part] for part in _PARTS), scored.score)]
