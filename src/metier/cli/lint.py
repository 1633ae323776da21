"""`metier lint`"""

import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from metier import __version__
from metier.cli.layout import flowed, words
from metier.cli.lint_left_out import untold, with_fate
from metier.cli.lint_places import Places
from metier.cli.lint_repairs import print_repairs, repaired
from metier.cli.lint_settings import settings_findings
from metier.cli.session import Session, counted, metier_command
from metier.config import ALIAS_FILE, Config
from metier.config.settings import SECURITY_CODES
from metier.core.paths import is_inside
from metier.core.text import printable
from metier.discover import LARGEST, roots_for, roots_of_paths
from metier.errors import ConfigError, UsageError
from metier.findings import CODES
from metier.flow.scan import workspace_roots
from metier.lint.choose import Choice, unknown_code
from metier.lint.formats import FORMATS
from metier.lint.tiers import AGENTS_FILE, lint_agents_file
from metier.load import (
    Linted,
    Repair,
    lint_files,
    plan_repairs,
    read_documents,
    write_repairs,
)
from metier.storage.places import state_room, user_home
from metier.storage.room import read_regular
from metier.values.files import KINDS, Kind, Reading, Root
from metier.values.outcomes import Issue


def _complete_code(_ctx: Any, _parameter: Any, incomplete: str) -> list[CompletionItem]:
    return [
        CompletionItem(code, help=rule.title)
        for code, rule in CODES.items()
        if code.startswith(incomplete.upper())
    ]


@metier_command("lint", catalog=False)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
@click.option("--fix", "repair", is_flag=True, help="Repair what is mechanical, then check.")
@click.option("--dry-run", is_flag=True, help="With --fix: print the diff, and write nothing.")
@click.option(
    "--select",
    multiple=True,
    metavar="CODES",
    shell_complete=_complete_code,
    help="Only these codes or families.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="CODES",
    shell_complete=_complete_code,
    help="All but these.",
)
@click.option("--notes", is_flag=True, help="Also show notes, which never fail.")
@click.option("--strict", is_flag=True, help="No lenient reading; notes fail too.")
@click.option("--kind", type=click.Choice(list(KINDS)), help="What the named files are.")
@click.option(
    "--output-format", type=click.Choice(list(FORMATS)), default="text", show_default=True
)
def command(
    session: Session,
    paths: tuple[str, ...],
    repair: bool,
    dry_run: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    notes: bool,
    strict: bool,
    kind: Kind | None,
    output_format: str,
) -> int:
    """Check skills, abilities, cards and agents, and say what to change.

    Without PATH all that the catalogue would hold is checked: the workspace, the folders of
    your hosts, the mounts, the sources of cards; and what the settings say about cards. --fix
    repairs what is shown with [*], in files that you name, else in those of the workspace.
    Every file that the catalogue leaves out is listed: its finding says so, and a file without
    one is named after the findings. Exit code 1 when there are errors or warnings, 0 when there
    are none; `metier explain CODE` tells more about each.
    """
    output_format = _format(session, output_format)
    _check_dry_run(repair, dry_run, output_format)
    config = session.config()
    choice = _choice(config, _codes(select), _codes(ignore), notes=notes or strict)
    workspace = session.workspace()
    places = Places(workspace, named=bool(paths))
    roots, failed_sources = _roots(workspace, config, paths, kind)
    read = partial(
        read_documents,
        roots,
        disabled=config.disabled,
        own_disabled=config.own_disabled,
        strict=strict,
    )
    wants = partial(_is_wanted, choice=choice, places=places)
    checked = _checked(session, read(), places, wants)
    if repair and not dry_run:
        write_repairs(checked.repairs)
        session.note(repaired(checked.repairs))
        if checked.repairs:
            checked = _checked(session, read(), places, wants)
    linted = checked.linted
    linted = _with_alias_tables(linted, paths, workspace)
    if kind is None:
        linted = _with_agents_file(linted, paths, workspace, config)
    if not paths:
        wrong = settings_findings(config, workspace, _card_ids(checked.reading))
        more = [*failed_sources, *wrong]
        linted = linted.with_more(len({issue.path for issue in more}), more)
    issues = _chosen(linted, wants, places, checked.repairs)
    if dry_run:
        print_repairs(session, checked.repairs, places.shown, as_json=output_format == "json")
    else:
        click.echo(_render(issues, output_format), nl=False)
    if select:  # who asks for some codes wants no more
        linted = replace(linted, left_out=[])
    for one in untold(linted, wants):
        session.note_wrapped(f"left out: {places.shown(one.path)} ({one.reason}: {one.detail})")
    session.note_wrapped(_summary(linted, issues, hidden=_hidden(linted, choice, places)))
    if dry_run:
        session.note("nothing was written (--dry-run)")
    return int(any(strict or issue.severity != "info" for issue in issues))


def _format(session: Session, output_format: str) -> str:
    if session.as_json and output_format not in ("text", "json"):
        raise UsageError("--json and --output-format ask for two formats", hint="give one of them")
    return "json" if session.as_json else output_format


def _check_dry_run(repair: bool, dry_run: bool, output_format: str) -> None:
    if dry_run and not repair:
        raise UsageError("--dry-run is for --fix", hint="metier lint --fix --dry-run")
    if dry_run and output_format not in ("text", "json"):
        message = f"--dry-run prints a diff or JSON, and nothing as {output_format}"
        raise UsageError(message, hint="leave --output-format away")


class _Checked(NamedTuple):
    """What was found in documents, and what --fix would do about it."""

    reading: Reading
    linted: Linted
    repairs: list[Repair]


def _checked(
    session: Session, reading: Reading, places: Places, wants: Callable[[Issue], bool]
) -> _Checked:
    places.note(reading)
    with session.progress("checking") as on_progress:
        linted = lint_files(reading, on_progress, places.shown)
    repairs = plan_repairs(_repairable(reading, places), linted.issues, wants)
    return _Checked(reading, linted, repairs)


def _codes(values: tuple[str, ...]) -> tuple[str, ...]:
    """`--select FM,SK3 --select DC` as one list."""
    return tuple(code.strip().upper() for value in values for code in value.split(","))


def _choice(
    config: Config, select: tuple[str, ...], ignore: tuple[str, ...], *, notes: bool
) -> Choice:
    """What flags and settings ask for; flags win."""
    hint = f"families: {', '.join(sorted({code[:2] for code in CODES}))}; metier explain lists all"
    wrong = unknown_code((*select, *ignore))
    if wrong is not None:
        raise UsageError(f"no finding has the code '{wrong}'", hint=hint)
    per_file = [code for codes in config.per_file_ignores.values() for code in codes]
    wrong = unknown_code((*config.lint_select, *config.lint_ignore, *per_file))
    if wrong is not None:
        where = ", ".join(config.sources) or "environment"
        raise ConfigError(f"no finding has the code '{wrong}'", where=where, hint=hint)
    users = config.users_lint
    return Choice(
        select=select or config.lint_select,
        ignore=ignore or config.lint_ignore,
        per_file_ignores=config.per_file_ignores,
        notes=notes,
        users=None
        if users is None
        else Choice(
            select or users.select, ignore or users.ignore, dict(users.per_file_ignores), notes
        ),
    )


def _is_wanted(issue: Issue, choice: Choice, places: Places) -> bool:
    is_security = issue.code.startswith(SECURITY_CODES)
    chosen = choice if places.is_own(issue.path) and not is_security else choice.of_user()
    return chosen.wants(issue, places.inside(issue.path))


def _repairable(reading: Reading, places: Places) -> Reading:
    """What may be written: files that were named, else those of the workspace."""
    own = [found for found in reading.found if places.may_write(found.file)]
    return reading._replace(found=own)


def _chosen(
    linted: Linted, wants: Callable[[Issue], bool], places: Places, repairs: Sequence[Repair]
) -> list[Issue]:
    """The findings that are asked for: whether --fix takes one away, whether its file is used."""
    gone = {_key(issue) for repair in repairs for issue in repair.issues}
    reasons = {(one.path, one.detail) for one in linted.left_out}
    issues = []
    for issue in filter(wants, linted.issues):
        told = issue if _key(issue) in gone else _left_alone(issue)
        issues.append(with_fate(told, reasons)._replace(path=places.shown(issue.path)))
    return sorted(issues, key=lambda issue: (issue.path, issue.line, issue.column, issue.code))


def _left_alone(issue: Issue) -> Issue:
    """The finding without the promise that --fix repairs it."""
    return issue._replace(left_alone=True, hint=issue.hint.partition(": metier lint --fix")[0])


def _key(issue: Issue) -> tuple[str, str, str]:
    return issue.path, issue.code, issue.message


def _hidden(linted: Linted, choice: Choice, places: Places) -> int:
    """How many notes would be shown with --notes."""
    everything = choice._replace(notes=True)
    return sum(
        _is_wanted(issue, everything, places) and not _is_wanted(issue, choice, places)
        for issue in linted.issues
    )


def _roots(
    workspace: str, config: Config, paths: Sequence[str], kind: Kind | None
) -> tuple[list[Root], list[Issue]]:
    """What to look through, and the sources of cards that fail."""
    documents = [
        path
        for path in paths
        if not _is_alias_table(path) and (kind or not _is_agents_file(path, workspace))
    ]
    if kind is not None and not paths:
        raise UsageError("--kind needs the files that are of that kind", hint="metier lint PATH")
    if paths:
        return roots_of_paths(documents, workspace, config, kind), []
    room = state_room(workspace) if config.is_workspace else None
    return workspace_roots(workspace, config, user_home(os.environ), room)


def _table_below(path: str) -> str:
    """The alias table that a named folder holds, or that was named itself."""
    folder = os.path.dirname(ALIAS_FILE)
    inside = ALIAS_FILE if os.path.basename(path) != folder else os.path.basename(ALIAS_FILE)
    table = os.path.join(path, inside) if os.path.isdir(path) else path
    return table if _is_alias_table(table) else ""


def _is_alias_table(path: str) -> bool:
    return os.path.basename(path) == os.path.basename(ALIAS_FILE) and os.path.isfile(path)


def _with_alias_tables(linted: Linted, paths: Sequence[str], workspace: str) -> Linted:
    """With what is wrong in the alias tables that were named, or in the workspace's own."""
    own = os.path.join(workspace, ALIAS_FILE)
    named = [(table, table) for path in paths if (table := _table_below(path))]
    tables = named if paths else [(own, ALIAS_FILE)] if os.path.isfile(own) else []
    if not tables:
        return linted
    from metier.resolve.aliases import read_alias_table  # loads all of the resolver

    issues = [
        issue for file, shown in tables for issue in read_alias_table(file, "workspace", shown)[1]
    ]
    return linted.with_more(len(tables), issues)


def _is_agents_file(path: str, workspace: str) -> bool:
    own = os.path.join(workspace, AGENTS_FILE)
    return os.path.isfile(own) and os.path.realpath(path) == os.path.realpath(own)


def _with_agents_file(
    linted: Linted, paths: Sequence[str], workspace: str, config: Config
) -> Linted:
    """With notes on the workspace's AGENTS.md, when it or nothing was named."""
    own = os.path.join(workspace, AGENTS_FILE)
    named = [path for path in paths if _is_agents_file(path, workspace)]
    if not os.path.isfile(own) or (paths and not named):
        return linted
    shown = named[0] if named else AGENTS_FILE
    try:
        text = _text_inside(own, workspace)
    except OSError as error:
        issues = [Issue("IO201", f"cannot be read: {error.strerror}", shown)]
    else:
        issues = lint_agents_file(text, shown, _cards(workspace, config))
    return linted.with_more(1, issues)


def _text_inside(file: str, workspace: str) -> str:
    """The text of a file of the workspace. Raises `OSError` when a link leads out of it."""
    real = os.path.realpath(file)
    if not is_inside(real, workspace):
        raise OSError(None, "a link leads out of the workspace")
    return read_regular(real, LARGEST["skill"], links=False).decode(errors="replace")


def _cards(workspace: str, config: Config) -> list[str]:
    """The ids and paths of the workspace's usable cards."""
    roots = roots_for(workspace, config, user_home(os.environ))
    reading = read_documents([root for root in roots if root.kind == "card"])
    entries = [entry for found in reading.found if not (entry := reading.read(found)).reason]
    return [name for entry in entries for name in (entry.handle, entry.found.path)]


def _card_ids(reading: Reading) -> set[str]:
    """The ids of all cards, also of those that are left out."""
    return {reading.read(found).handle for found in reading.found if found.kind == "card"}


def _render(issues: Sequence[Issue], output_format: str) -> str:
    if output_format == "text" and sys.stdout.isatty():
        return "".join(_coloured(issue) for issue in issues)
    return FORMATS[output_format](issues, __version__)


def _coloured(issue: Issue) -> str:
    width = shutil.get_terminal_size().columns
    colour = {"error": "red", "warning": "yellow", "info": "blue"}[issue.severity]
    place = click.style(f"{printable(issue.path)}:{issue.line}:{issue.column}", bold=True)
    marks = [f"{place}:", click.style(issue.code, fg=colour, bold=True)]
    if issue.fixable:
        marks.append(click.style("[*]", fg="cyan"))
    text = flowed([*marks, *words(issue.message)], width, indent=4) + "\n"
    if issue.hint:
        hint = [click.style("hint:", fg="cyan"), *words(issue.hint)]
        text += flowed(hint, width, indent=6, start="    ") + "\n"
    return text


def _summary(linted: Linted, issues: Sequence[Issue], hidden: int) -> str:
    if not linted.files:
        return "nothing to check: no skill, ability, card or agent found"
    parts = [_counts(issues, linted.files)]
    if linted.left_out:
        parts.append(f"{len(linted.left_out):,} left out")
    fixable = sum(issue.fixable for issue in issues)
    if fixable:
        parts.append(f"{fixable} can be repaired with --fix")
    if hidden:
        parts.append(f"{counted(hidden, 'note')} hidden (--notes)")
    return "; ".join(parts)


def _counts(issues: Sequence[Issue], files: int) -> str:
    if not issues:
        return f"{counted(files, 'file')} checked, nothing to complain about"
    by: Counter[str] = Counter(issue.severity for issue in issues)
    words = [
        counted(by[severity], word)
        for severity, word in (("error", "error"), ("warning", "warning"), ("info", "note"))
        if by[severity]
    ]
    affected = len({issue.path for issue in issues})
    return f"{counted(files, 'file')} checked: {', '.join(words)} in {counted(affected, 'file')}"
