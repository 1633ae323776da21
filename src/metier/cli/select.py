"""`metier select`"""

import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from metier.catalog import Catalog
from metier.cli.layout import bar, one_line, packed, wrapped
from metier.cli.session import Session, complete_names, metier_command
from metier.errors import UsageError
from metier.values.agents import STANDARD, AgentMatch, AgentProfile
from metier.values.selection import AGENTS_SELECTED, LEAST_CONFIDENCE

_SHORT_TASK = 60
_COLUMNS = ("agent", "confidence", "description")
_EXPLAINED = ("agent", "confidence", "raw", "parts", "reasons")

Profiles = Mapping[str, AgentProfile]


@metier_command("select", repeats=True)
@click.argument("task")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=AGENTS_SELECTED,
    show_default=True,
    metavar="N",
    help="How many agents to name.",
)
@click.option("--team", metavar="TEAM", help="Only agents of this team.")
@click.option(
    "-r",
    "--require",
    "requires",
    metavar="CAPABILITY",
    multiple=True,
    help="A capability that the agent should have; repeatable.",
)
@click.option(
    "--exclude",
    metavar="ID",
    multiple=True,
    shell_complete=complete_names("agent"),
    help="Do not select this agent; repeatable.",
)
@click.option("--explain", is_flag=True, help="Show the parts of each score, and the reasons.")
def command(
    session: Session,
    task: str,
    limit: int,
    team: str | None,
    requires: tuple[str, ...],
    exclude: tuple[str, ...],
    explain: bool,
) -> None:
    """Select the agents for a task, best first.

    TASK is the task in words. If no agent fits, the built-in agent 'standard' is named with
    confidence 0.5.
    """
    if not task.strip():
        raise UsageError("the task is empty", hint="metier select 'review this pull request'")
    with session.catalog() as catalog:
        matches = catalog.select_agents(
            task, limit, team=team, required_capabilities=requires, exclude=exclude
        )
        profiles = {profile.agent_id: profile for profile in catalog.agency.profiles()}
        _note_unknown(session, catalog, profiles, team, exclude)
    if session.as_json:
        session.print_json(_to_json(task, matches))
        return
    if explain and sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        blocks = ("\n".join(_block(*one, profiles, width)) for one in enumerate(matches, start=1))
        click.echo("\n\n".join(blocks))
    elif explain:
        session.print_table(_EXPLAINED, [_cells(match) for match in matches])
    else:
        rows = [
            [one.agent_id, f"{one.confidence:.2f}", _description(one, profiles)] for one in matches
        ]
        session.print_list(_COLUMNS, rows, "agent")
    _note_next(session, task, matches)


def _to_json(task: str, matches: Sequence[AgentMatch]) -> dict[str, Any]:
    return {
        "schemaVersion": "1",
        "task": task,
        "fallback": is_fallback(matches),
        "matches": [match.to_json() for match in matches],
    }


def is_fallback(matches: Sequence[AgentMatch]) -> bool:
    """Whether no agent fits: the fallback has no parts."""
    return len(matches) == 1 and matches[0].agent_id == STANDARD and not matches[0].parts


# For people


def _block(rank: int, match: AgentMatch, profiles: Profiles, width: int) -> list[str]:
    name = click.style(one_line(match.agent_id), bold=True)
    parts = [_part(part, points) for part, points in match.parts.items()]
    return [
        f"{rank:<2} {name}  {match.confidence:.2f}{_raw(match)}",
        *wrapped(_description(match, profiles), width),
        *(packed(parts, width) if parts else ()),
        *(line for reason in match.reasons for line in wrapped(f"- {reason}", width)),
    ]


def _part(name: str, points: float) -> str:
    """`keyword 0.30 ▉`; a negative part has no bar."""
    return f"{name} {bar(points) if points > 0 else f'{points:+.2f}'}"


def _raw(match: AgentMatch) -> str:
    if not match.parts or match.raw == match.confidence:
        return ""
    return f" (the parts add up to {match.raw:g}; confidence goes from 0 to 1)"


def _cells(match: AgentMatch) -> list[str]:
    parts = ", ".join(f"{name} {points:+g}" for name, points in match.parts.items())
    figures = f"{match.confidence:.2f}", f"{match.raw:g}"
    return [match.agent_id, *figures, parts, "; ".join(match.reasons)]


def _description(match: AgentMatch, profiles: Profiles) -> str:
    profile = profiles.get(match.agent_id)
    return profile.description if profile else ""


# Beside the data


def _note_next(session: Session, task: str, matches: Sequence[AgentMatch]) -> None:
    if is_fallback(matches):
        session.note(f"no agent reaches {LEAST_CONFIDENCE:g}: '{STANDARD}' is the fallback")
        session.note("hint: say more, or give an agent example tasks (metier list agents)")
        return
    shown = one_line(task)
    if len(shown) <= _SHORT_TASK:
        session.note(f"next: metier run {matches[0].agent_id} {shlex.quote(shown)}")


def _note_unknown(
    session: Session,
    catalog: Catalog,
    profiles: Profiles,
    team: str | None,
    exclude: Sequence[str],
) -> None:
    if team is not None and all(one.team != team for one in profiles.values()):
        session.note(f"warning: no agent is of team '{team}'")
    for one in exclude:
        if one == STANDARD:
            session.note(f"warning: '{STANDARD}' cannot be excluded")
        else:
            session.note_unknown_agent(catalog, one)
