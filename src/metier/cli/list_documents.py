"""`metier list`"""

import shlex
import shutil
import sys
from typing import Any

import click
from click.shell_completion import CompletionItem

from metier.catalog import Catalog
from metier.cli.layout import one_line, terminal_width, wrapped
from metier.cli.session import Session, complete_from, complete_names, metier_command
from metier.cli.shared_options import KindError
from metier.cli.shown_paths import row_json
from metier.core.arguments import check_known
from metier.core.nearest import nearest, nearest_few
from metier.errors import UsageError
from metier.flow.lint_report import Owners, owners_file
from metier.flow.queries import NO_TEAMS
from metier.values.agents import STANDARD
from metier.values.documents import Ability
from metier.values.files import KIND_OF, PLURAL, Kind
from metier.values.outcomes import Exclusion
from metier.values.rows import Row

_WIDE = 120
"""Columns of a terminal that fit a table of five."""


def _complete(_ctx: Any, _parameter: Any, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(word) for word in PLURAL.values() if word.startswith(incomplete)]


class _KindChoice(click.Choice[str]):
    """A kind; for any other word, the error says how to search for it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value not in self.choices and not nearest(value, self.choices):
            raise KindError.unknown(value, f"metier list --search {shlex.quote(value)}")
        return super().convert(value, param, ctx)


@metier_command("list", repeats=True)
@click.argument(
    "kind",
    default="skills",
    type=_KindChoice(list(KIND_OF)),
    metavar="[KIND]",
    shell_complete=_complete,
)
@click.option(
    "--search",
    metavar="TEXT",
    help="Documents with TEXT in name or description, then others that fit.",
)
@click.option(
    "--capability",
    metavar="CAPABILITY",
    shell_complete=complete_from(Catalog.capabilities),
    help="Only skills that provide it.",
)
@click.option(
    "--agent",
    metavar="ID",
    shell_complete=complete_names("agent"),
    help="Only abilities that apply to this agent.",
)
@click.option(
    "--tag",
    "tags",
    metavar="TAG",
    multiple=True,
    help="Only abilities with one of the tags; repeatable.",
)
@click.option("--team", metavar="TEAM", help="Only documents of this team.")
@click.option(
    "--owner", metavar="OWNER", help="Only documents of teams with this owner in [teams]."
)
@click.option("--shadowed", is_flag=True, help="Include shadowed documents.")
@click.option("--excluded", is_flag=True, help="Only excluded documents, and why they are.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N documents.")
def command(
    session: Session,
    kind: str,
    search: str | None,
    capability: str | None,
    agent: str | None,
    tags: tuple[str, ...],
    team: str | None,
    owner: str | None,
    shadowed: bool,
    excluded: bool,
    limit: int | None,
) -> None:
    """List skills (the default), cards or agents by name, or abilities by priority.

    With --search the best matches come first.
    """
    wanted = KIND_OF[kind]
    if capability is not None and wanted != "skill":
        raise UsageError("only skills provide capabilities", hint="metier list skills")
    if (agent is not None or tags) and wanted != "ability":
        raise UsageError("--agent and --tag are for abilities", hint="metier list abilities")
    if excluded and (search or capability or agent or tags or team or owner or shadowed):
        raise UsageError("--excluded takes no other filter", hint="metier list --excluded")
    with session.catalog() as catalog:
        _check_team(catalog, team, owner)
        if excluded:
            _list_excluded(session, catalog, wanted, limit)
            return
        rows = _found(catalog, wanted, search, capability, shadowed=shadowed)
        if wanted == "ability":
            session.note_unknown_agent(catalog, agent)
            rows = _by_priority(catalog, rows, agent, tags)
        rows = [row for row in rows if team in (None, row.team) and owner in (None, row.owner)]
        _note_missing_folders(session, catalog, wanted)
        found, rows = len(rows), rows[:limit]
        if session.as_json:
            session.print_json([row_json(row) for row in rows])
            return
        if not rows:
            filters = (search, capability, agent, tags or None, team, owner)
            is_filtered = any(value is not None for value in filters)
            where = "match" if is_filtered else f"found below {catalog.workspace}"
            session.note(f"no {PLURAL[wanted]} {where}")
            if wanted == "skill" and not is_filtered:
                session.note("hint: a skill is a folder with a SKILL.md: skills/NAME/SKILL.md")
            if left_out := len(catalog.excluded_rows(wanted)):
                session.note(f"{left_out:,} excluded: metier list {kind} --excluded")
        if wanted == "agent" and all(map(_is_not_standard, catalog.documents("agent"))):
            session.note(f"'{STANDARD}' is built in: metier run {STANDARD} TASK")
        if wanted == "ability":
            columns, table = _abilities_table(session, rows)
        else:
            columns = ["name", "path", "description"]
            table = [[row.handle, session.shown(row.file), row.routing_text] for row in rows]
        table = [_with_remark(cells, _remark(row)) for cells, row in zip(table, rows, strict=True)]
        session.print_list(columns, table, wanted, plural=PLURAL[wanted], total=found)


def _found(
    catalog: Catalog, kind: Kind, search: str | None, capability: str | None, *, shadowed: bool
) -> list[Row]:
    if search and capability is None and not shadowed:
        return catalog.search(kind, search)
    if kind == "skill":
        return catalog.skills(search=search, capability=capability, shadowed=shadowed)
    return catalog.documents(kind, search=search, shadowed=shadowed)


def _check_team(catalog: Catalog, team: str | None, owner: str | None) -> None:
    """Raise `UsageError` for a team or an owner that the settings do not name."""
    teams = catalog.config.teams
    if team is not None:
        check_known("team", team, {one.name for one in teams}, NO_TEAMS)
    owners = {one.owner for one in teams if one.owner}
    if owner is not None and owner not in owners:
        hint = nearest_few(owner, owners, "owner") if owners else NO_TEAMS
        if owner in Owners(owners_file(catalog.workspace)).names():
            hint = f"it is in CODEOWNERS: metier lint --owner {shlex.quote(owner)}"
        raise UsageError(f"there is no owner '{owner}' in [teams]", hint=hint)


def _list_excluded(session: Session, catalog: Catalog, kind: Kind, limit: int | None) -> None:
    rows = catalog.excluded_rows(kind)
    shown = rows[:limit]
    if session.as_json:
        session.print_json([_excluded_json(catalog, row) for row in shown])
        return
    table = [
        [row.handle or "-", session.shown(row.file), row.reason, *_why(catalog, row)]
        for row in shown
    ]
    if sys.stdout.isatty():
        for name, path, reason, why, step in (map(one_line, cells) for cells in table):
            click.echo(f"{click.style(name, bold=True)}  {path}")
            for text in (f"{reason}: {why}" if why else reason, step):
                click.echo("\n".join(wrapped(text, terminal_width(), "    ")))
    else:
        session.print_list(["name", "path", "reason", "why", "next"], table, kind, total=len(rows))
    if not rows:
        session.note(f"no {PLURAL[kind]} are excluded")


def _why(catalog: Catalog, row: Row) -> tuple[str, str]:
    issues = catalog.issues_of(row)
    detail = Exclusion.of(row.path, row.reason, issues, row.shadowed_by, row.is_off).detail
    return detail, Exclusion.next_step(row.reason, issues, row.origin)


def _excluded_json(catalog: Catalog, row: Row) -> dict[str, Any]:
    detail, step = _why(catalog, row)
    return {**row_json(row), "detail": detail, "next": step}


def _note_missing_folders(session: Session, catalog: Catalog, kind: Kind) -> None:
    key = "mounts" if kind == "skill" else f"folders.{PLURAL[kind]}"
    for issue in catalog.issues():
        if issue.code == "IO207" and issue.setting == key:
            session.note(f"warning: {issue.message} (IO207)")


def _by_priority(
    catalog: Catalog, rows: list[Row], agent: str | None, tags: tuple[str, ...]
) -> list[Row]:
    """Filter rows and sort them by priority, shadowed rows last."""
    ranks = {ability.id: rank for rank, ability in enumerate(catalog.abilities())}
    kept = []
    for row in rows:
        ability = Ability.of(row.data, content="")
        if (not tags or not set(tags).isdisjoint(ability.tags)) and (
            agent is None or ability.applies_to(agent)
        ):
            kept.append(row)
    return sorted(kept, key=lambda row: ranks.get(row.id, len(ranks)))


def _abilities_table(session: Session, rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    """Columns and rows; without paths on a narrow terminal."""
    is_narrow = sys.stdout.isatty() and shutil.get_terminal_size().columns < _WIDE
    table = []
    for row in rows:
        ability = Ability.of(row.data, content="")
        path = [] if is_narrow else [session.shown(row.file)]
        tags = ", ".join(ability.tags)
        table.append([row.handle, str(ability.priority), tags, *path, row.description])
    path = [] if is_narrow else ["path"]
    return ["name", "priority", "tags", *path, "description"], table


def _is_not_standard(row: Row) -> bool:
    """Whether the built-in agent is not replaced by the row."""
    return row.handle != STANDARD or row.data.get("enabled") is False


def _with_remark(cells: list[str], remark: str) -> list[str]:
    """After the name on a terminal, else in a last column of its own."""
    if not remark:
        return cells
    name, *others = cells
    return [f"{name} ({remark})", *others] if sys.stdout.isatty() else [*cells, remark]


def _remark(row: Row) -> str:
    marks = ["shadowed"] if row.state == "shadowed" else []
    is_switchable = row.kind in ("ability", "agent")
    marks += ["disabled"] if is_switchable and row.data.get("enabled") is False else []
    marks += ["started by you only"] if row.is_manual else []
    marks += ["changed since it was reviewed"] if row.review == "changed" else []
    return ", ".join(marks)
