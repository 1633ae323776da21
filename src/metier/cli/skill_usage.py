"""`metier usage`"""

import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import click

from metier.catalog import Catalog
from metier.cli.layout import flowed_here, shortened
from metier.cli.review import has_terminal
from metier.cli.session import Session, counted, metier_command
from metier.cli.since import moment
from metier.core.nearest import did_you_mean
from metier.errors import UsageError
from metier.flow.usage import HOSTS, Case, Question, Rank, Usage
from metier.flow.usage_sessions import SkillUse
from metier.hook.catalog_file import CatalogRows
from metier.hook.request import clipped
from metier.hook.skills import suggest
from metier.hosts import host_bit
from metier.storage.places import user_home

_PERIOD = "30d"
"""As long as Claude Code keeps transcripts by default."""
_COLUMNS = [
    *("skill", "fired", "sessions", "model", "user", "read", "missed", "lost", "last"),
    "source",
]


@metier_command("usage", repeats=True)
@click.option("--host", metavar="NAME", help=f"Only this host: {', '.join(HOSTS)}.")
@click.option("--since", metavar="WHEN", default=_PERIOD, show_default=True,
              help="Only sessions active since then: 30d, 12h, or a date.")  # fmt: skip
@click.option("--all", "everywhere", is_flag=True, help="Include sessions of other workspaces.")
@click.option("--prompts", is_flag=True, help="Print the prompts that looked like a skill's job.")
@click.option(
    "--unused",
    is_flag=True,
    help="Only skills that never fired, of those that a host with sessions loads.",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most N skills.")
@click.option("--export-cases", "file", metavar="FILE", type=click.Path(),
              help="Draft evaluation cases from your prompts, redacted.")  # fmt: skip
@click.option("--yes", is_flag=True, help="Do not ask before prompts are written to FILE.")
def command(
    session: Session,
    host: str | None,
    since: str,
    everywhere: bool,
    prompts: bool,
    unused: bool,
    limit: int | None,
    file: str | None,
    yes: bool,
) -> None:
    """Show which skills your hosts used, from their transcripts on disk.

    For each skill: how often it fired and in how many sessions, chosen by the model or typed by
    the user; how often its file was only read; how many prompts looked like its job while nothing
    fired (missed); in how many sessions it fired before a compaction and not after (lost).

    Nothing leaves the machine. Counts are stored, because hosts delete transcripts; prompts are
    never stored, unless you export them.
    """
    if file is not None:
        _check_export(file, yes)
    with session.catalog() as catalog:
        if catalog.config.is_workspace and not catalog.trust.is_trusted:
            session.note("note: skills of this workspace are not ranked until you trust it")
        question = Question(
            catalog.workspace,
            hosts=_hosts(host),
            since=moment(since, time.time()),
            everywhere=everywhere,
            keeps_prompts=prompts or file is not None,
        )
        with session.progress("reading transcripts") as on_progress:
            usage = catalog.usage(question, rank=_ranker(catalog), on_progress=on_progress)
        places = _places(catalog, usage)
    if file is None or session.as_json:
        shown = [use for use in usage.skills if places.is_unused(use) or not unused]
        view = _View(usage, places, shown, limit, is_grouped=limit is None and not unused)
        _show(session, view, prompts)
    else:
        _note_problems(session, usage)
    if file is not None:
        _export(session, usage.reading.cases, file, yes)


def _hosts(host: str | None) -> tuple[str, ...]:
    if host is None:
        return HOSTS
    if host not in HOSTS:
        known = f"transcripts of these are read: {', '.join(HOSTS)}"
        raise UsageError(f"no host is called '{host}'", hint=did_you_mean(host, HOSTS, known))
    return (host,)


class _Rows(CatalogRows):
    """The catalog as hooks see it."""

    def __init__(self, catalog: Catalog) -> None:
        self._store = catalog.store

    def rows(self, sql: str, parameters: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        return self._store.rows(sql, tuple(parameters))


def _ranker(catalog: Catalog) -> Rank:
    """The skill that a hook would name first for a prompt."""
    rows, threshold = _Rows(catalog), catalog.config.capabilities.skill_threshold

    def rank(host: str, prompt: str) -> str:
        text = clipped(prompt).encode(errors="replace").decode()
        found = [one for one in suggest(rows, [text], 1, threshold, host) if not one.outcome]
        return found[0].path if found else ""

    return rank


class _Places(NamedTuple):
    """Where the skills of the catalog are."""

    sources: Mapping[str, str]
    """Skill → its source."""
    loaded: frozenset[str]
    """Those that a host with sessions can load."""

    def is_unused(self, use: SkillUse) -> bool:
        return not use.fired and use.name in self.loaded


class _View(NamedTuple):
    """What is printed of the usage."""

    usage: Usage
    places: _Places
    skills: Sequence[SkillUse]
    """The wanted ones, most used first."""
    limit: int | None
    is_grouped: bool
    """Whether a terminal gets skills without any count by source."""


def _places(catalog: Catalog, usage: Usage) -> _Places:
    read = 0
    for host in usage.hosts:
        read |= host_bit(host)
    sql = "SELECT path, hosts FROM document JOIN ranked USING (key) WHERE document.kind = 'skill'"
    loaded = dict(catalog.store.rows(sql))
    rows = catalog.documents("skill")
    return _Places(
        {row.handle: row.source for row in rows},
        frozenset(row.handle for row in rows if loaded.get(row.path, read) & read),
    )


def _show(session: Session, view: _View, prompts: bool) -> None:
    usage = view.usage
    _note_problems(session, usage)
    if session.as_json:
        session.print_json(_json(view, prompts))
        return
    _note_sessions(session, usage)
    if not usage.sessions:
        return  # a table of zeros says nothing
    if view.is_grouped and sys.stdout.isatty():
        _print_used(session, usage, view.places)
    else:
        cells = [_cells(use, view.places) for use in view.skills[: view.limit]]
        session.print_list(_COLUMNS, cells, "skill", total=len(view.skills), answer=0)
    missed = _missed(usage) if prompts else []
    if missed:
        click.echo()
    session.print_table(["missed", "prompt"], missed)
    _note_unused(session, usage, view.places)


def _json(view: _View, prompts: bool) -> dict[str, Any]:
    found, sources = view.usage.to_json(), view.places.sources
    wanted = {use.name for use in view.skills}
    found["skills"] = [
        {**one, "source": sources.get(one["name"], "")}
        for one in found["skills"]
        if one["name"] in wanted
    ]
    texts = [{"skill": skill, "prompt": prompt} for skill, prompt in _missed(view.usage)]
    return found | ({"missedPrompts": texts} if prompts else {})


def _print_used(session: Session, usage: Usage, places: _Places) -> None:
    """The skills with a count above 0, then the others by their source."""
    used = [use for use in usage.skills if use.fired or use.read or use.missed]
    cells = [_cells(use, places) for use in used]
    session.print_table(_COLUMNS, cells, heading=False, answer=0)
    silent = {use.name for use in usage.skills} - {use.name for use in used}
    by_source: dict[str, list[str]] = {}
    for name in sorted(silent & places.loaded):
        by_source.setdefault(places.sources[name], []).append(name)
    for source, names in sorted(by_source.items()):
        text = f"never used, in {source}: {len(names):,}: {shortened(names, most=10)}"
        session.tell(flowed_here(text.split(" "), 2))
    session.note(counted(len(usage.skills), "skill"))


def _missed(usage: Usage) -> list[tuple[str, str]]:
    """Skills, and the prompts that looked like their job."""
    cases = [case for case in usage.reading.cases if case.is_missed]
    return [(skill, case.prompt) for case in cases for skill in case.skills]


def _cells(use: SkillUse, places: _Places) -> list[str]:
    counts = (use.fired, use.sessions, use.model, use.user, use.read, use.missed, use.lost)
    return [use.name, *map(str, counts), _day(use.last), places.sources.get(use.name, "-")]


def _day(at: float) -> str:
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d") if at else "never"


def _note_sessions(session: Session, usage: Usage) -> None:
    hosts = ", ".join(f"{host} {count:,}" for host, count in sorted(usage.hosts.items()))
    found = f"{counted(usage.sessions, 'session')} since {_day(usage.since)}"
    session.note(f"{found}: {hosts}" if hosts else found)
    if not usage.sessions:
        session.note("hint: --since 90d looks further back, --all at other workspaces")


def _note_unused(session: Session, usage: Usage, places: _Places) -> None:
    counting = [use for use in usage.skills if use.fired or use.name in places.loaded]
    never = [use for use in counting if not use.fired]
    if usage.sessions and usage.is_too_little:
        session.note(f"{counted(usage.sessions, 'session')}: too few to call a skill unused")
    elif usage.sessions and never:
        session.note(f"{len(never):,} of {counted(len(counting), 'skill')} never fired")
    if usage.others:
        named = sorted(usage.others, key=lambda name: (-usage.others[name], name))
        session.note(f"fired, but not in the catalog: {shortened(named, most=5)}")


def _note_problems(session: Session, usage: Usage) -> None:
    reading = usage.reading
    for line in reading.ignored:
        session.note(f"warning: {line}")
    for why, count in reading.unread.items():
        session.note(f"warning: {counted(count, 'transcript')} not read: {why}")
    if reading.unparsed:
        lines = counted(reading.unparsed, "line")
        session.note(f"warning: {lines} of the transcripts cannot be read")
    if usage.not_stored:
        session.note(f"warning: the counts are not stored: {usage.not_stored}")


# Export


def _check_export(file: str, yes: bool) -> None:
    """Raise `UsageError` before anything is read."""
    if os.path.lexists(file):
        raise UsageError(f"'{file}' exists", hint="choose another name, or remove it")
    if not yes and not has_terminal():
        raise UsageError(
            "--export-cases asks a question, and there is no terminal",
            hint="--yes writes your prompts, redacted, without asking",
        )


def _export(session: Session, cases: Iterable[Case], file: str, yes: bool) -> None:
    from metier.flow.usage_cases import as_yaml, drafted  # only an export needs it

    drafts = drafted(cases, user_home(os.environ))
    if not drafts:
        session.note("no prompt makes a case: nothing was written")
        return
    question = f"Write {counted(len(drafts), 'prompt')} of yours, redacted, to {file}?"
    if not yes and not click.confirm(question, err=True):
        session.note("nothing was written")
        return
    with open(file, "x", encoding="utf-8") as out:
        out.write(as_yaml(drafts))
    session.note(f"wrote {counted(len(drafts), 'case')} to {file}: read them before you share them")
