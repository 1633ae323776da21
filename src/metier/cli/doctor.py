"""`metier doctor`"""

import os
import platform
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, redirect_stdout
from typing import TYPE_CHECKING, get_args

import click

from metier import __version__
from metier.catalog import Catalog
from metier.cli.doctor_host import check_host, listing_checks
from metier.cli.doctor_shared import Check, shared_checks
from metier.cli.layout import flowed_here, words
from metier.cli.refresh import failed_sources, review_notices
from metier.cli.session import Session, counted, metier_command
from metier.cli.shown_paths import ShownPaths, which_and_why
from metier.config import Config
from metier.config.owners import is_tracked
from metier.config.setting_lines import where_with_line
from metier.config.tokens import token_counter
from metier.errors import ConfigError, MetierError
from metier.flow.boundary import Boundary
from metier.flow.hook_figures import spoken
from metier.flow.hook_log import read_decisions
from metier.flow.state_settings import is_shared
from metier.hosts.folders import FOLDERS
from metier.hosts.known import HOSTS
from metier.install.commands import unsafe_entries
from metier.storage.places import state_room, user_home, user_room
from metier.storage.workspace import OLD_STATE_FOLDER, RUNS_FILE
from metier.values.files import KINDS, PLURAL
from metier.values.settings_tables import RolloutMode

if TYPE_CHECKING:
    from metier.flow.running import Agency
    from metier.values.files import Named

_COLOURS = {"ok": "green", "warning": "yellow", "error": "red"}
_MOST_SHOWN = 10
_TOLD = "adopt.told"
_LATELY = 7
"""Days."""


@metier_command("doctor", catalog=False, repeats=True)
@click.option(
    "--host",
    type=click.Choice([name for name, host in HOSTS.items() if host.loading]),
    help="Show only how this host treats each skill.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="With --host: at most N skills in each group.",
)
def command(session: Session, host: str | None, limit: int) -> int:
    """Check the installation, the settings, the catalog and the runs.

    With --host it shows whether that host loads each skill, under which name, and whether the model
    sees it. Exit code 1 if something does not work.
    """
    if host is not None:
        return check_host(session, host, limit)
    checks = list(_checks(session))
    if session.as_json:
        session.print_json([check._asdict() for check in checks])
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            mark = click.style(f"{check.verdict:7}", fg=_COLOURS[check.verdict])
            start = f"{mark} {check.name:{width}}  "
            click.echo(flowed_here(words(check.detail), width + 10, start))
            if check.hint:
                hint = [click.style("hint:", fg="cyan"), *words(check.hint)]
                click.echo(flowed_here(hint, width + 16, " " * (width + 10)))
    return int(any(check.verdict == "error" for check in checks))


def _checks(session: Session) -> Iterator[Check]:
    import yaml  # --host does not load it

    yield Check("metier", "ok", f"{__version__} on Python {platform.python_version()}")
    yield Check("libraries", "ok", f"SQLite {sqlite3.sqlite_version}, PyYAML {yaml.__version__}")
    try:
        if session.is_outside():
            detail = f"none around {session.workspace()}"
            hint = "metier init makes this folder a workspace"
            yield Check("workspace", "warning", detail, hint)
        else:
            yield Check("workspace", "ok", session.workspace())
        sources = session.config().sources
        yield Check("settings", "ok", ", ".join(sources) or "defaults")
        if not session.is_outside():
            yield _trust(session.boundary)
        yield from _settings(session.config())
        for line in session.ignored_folders():
            yield Check("folders", "warning", line)
        yield from _entries(session)
        yield _tokenizer(session.config().tokenizer)
        with session.open_catalog() as catalog:
            yield from _catalog(session, catalog)
        yield from _hooks(session)
    except MetierError as error:
        yield _of_error(error, error.code)


def _of_error(error: MetierError, name: str) -> Check:
    place = where_with_line(error) if isinstance(error, ConfigError) else error.where
    where = f" ({place})" if place else ""
    return Check(name, "error", f"{error.message}{where}", error.hint)


def _settings(config: Config) -> Iterator[Check]:
    """What is wrong with settings that only some commands use, or none before trust."""
    from metier.flow.lint_choice import check_codes  # --host does not load it
    from metier.flow.own_rules import check_own_rules

    for message in config.ignored_wrong:
        yield Check("settings", "warning", message, "metier trust refuses it")
    for check in (check_codes, check_own_rules):
        try:
            check(config)
        except ConfigError as error:
            yield _of_error(error, "settings")
    mode, known = os.environ.get("METIER_CAPABILITIES"), get_args(RolloutMode)
    if mode and mode not in known:
        detail = f"METIER_CAPABILITIES is '{mode}', which hooks treat as monitor"
        yield Check("settings", "warning", detail, f"set it to one of {', '.join(known)}")


def _tokenizer(name: str) -> Check:
    try:
        token_counter(name)
    except MetierError as error:
        return Check("tokenizer", "error", error.message, error.hint)
    return Check("tokenizer", "ok", name)


def _catalog(session: Session, catalog: Catalog) -> Iterator[Check]:
    if damage := catalog.store.damage():
        detail = f"{catalog.store.path}: {damage}"
        yield Check("catalog", "error", detail, catalog.store.if_damaged)
        return
    changes = session.refresh(catalog).changes
    yield Check("catalog", "ok", _size(catalog))
    known = ", ".join(counted(changes.included[kind], kind, PLURAL[kind]) for kind in KINDS)
    yield Check("documents", "ok", known)
    for issue in failed_sources(catalog):
        yield Check(issue.code, "warning", f"{issue.path}: {issue.message}", issue.hint)
    if catalog.config.encoder is not None:
        encoding = catalog.encoding
        verdict = "warning" if encoding.problem else "ok"
        hint = "metier refresh tries again" if encoding.problem else ""
        yield Check("encoder", verdict, f"meaning comes from {encoding.meaning}", hint)
    yield _hosts(catalog)
    yield from listing_checks(catalog)
    yield from _excluded(catalog)
    yield from _reviews(catalog)
    yield from _unknown_sources(catalog)
    from metier.flow.lint_settings import settings_findings  # --host does not load it

    for issue in settings_findings(catalog.config, catalog.workspace, _documents(catalog)):
        detail = f"{ShownPaths(catalog)(issue.path)}:{issue.line}: {issue.message}"
        yield Check(issue.code, "warning", detail, issue.hint)
    yield _findings(catalog)
    yield from _functions(catalog)
    if catalog.room is not None and catalog.room.info(RUNS_FILE) is not None:
        yield _runs(catalog.agency)
    yield from _outcomes(catalog)
    yield from _old_state(catalog)
    yield from shared_checks(catalog)


def _functions(catalog: Catalog) -> Iterator[Check]:
    """The functions that the settings name as tools; imported only if the workspace is trusted."""
    named = [one.name for one in catalog.config.tools.commands if one.function]
    if not named or not catalog.trust.is_trusted:
        return
    with redirect_stdout(sys.stderr):  # what their modules print is no data
        errors = catalog.agency.tools.function_errors()
    for error in errors:
        yield Check("tools", "error", error.message, error.hint)
    if not errors:
        yield Check("tools", "ok", f"{counted(len(named), 'function')} can be imported")


def _outcomes(catalog: Catalog) -> Iterator[Check]:
    """The history of skills; nothing if it is as it should be, or elsewhere."""
    if not (catalog.is_kept and catalog.trust.is_trusted) or is_shared(catalog.config):
        return
    from metier.flow.resolving import outcomes_problem  # --host does not load it

    if problem := outcomes_problem(catalog.workspace):
        hint = (
            "move the file away if it is damaged: until then outcomes are neither used nor stored"
        )
        yield Check("history", "warning", problem, hint)


def _unknown_sources(catalog: Catalog) -> Iterator[Check]:
    """A misspelt source would be trusted further than its user wants."""
    rows = (*catalog.documents("skill", shadowed=True), *catalog.excluded_rows("skill"))
    known = {name for row in rows for name in (row.source, row.plugin)}
    known |= {mount.label for mount in catalog.config.mounts}
    for name in sorted(set(catalog.config.trust_sources) - known):
        detail = f"[trust.sources] has '{name}', but no mount or plugin here is called that"
        yield Check("trust", "warning", detail, "give the label of a mount or the name of a plugin")


def _documents(catalog: Catalog) -> "list[Named]":
    """Every document with its names, excluded ones too."""
    from metier.flow.linting import named

    return [
        named(row.kind, row.path, row.team, [row.handle, row.name, row.id] if row.name else [])
        for kind in KINDS
        for row in (*catalog.documents(kind, shadowed=True), *catalog.excluded_rows(kind))
    ]


def _size(catalog: Catalog) -> str:
    if not catalog.is_kept:
        return "in memory: nothing is stored outside a workspace"
    return f"{catalog.store.path}, {os.path.getsize(catalog.store.path) / 1_000_000:.1f} MB"


def _trust(boundary: Boundary) -> Check:
    trust, ignored = boundary.trust, boundary.config.ignored
    if trust.is_trusted:
        if trust.speak:
            return Check("trust", "ok", "trusted; hooks may use its text")
        return Check("trust", "ok", "trusted; hooks may not use its text yet", "metier trust")
    why = {"changed": "not trusted: it changed since you trusted it"}
    detail = trust.detail or why.get(trust.state) or "not trusted"
    left = f"; ignored: {', '.join(ignored)}" if ignored else ""
    is_asked = bool(ignored) or trust.state != "new" or bool(trust.detail)
    return Check("trust", "warning" if is_asked else "ok", detail + left, "metier trust")


def _entries(session: Session) -> Iterator[Check]:
    """Host entries that could run code from the folder they are started in."""
    for file, command in unsafe_entries(session.workspace(), user_home(os.environ)):
        host = "metier hook install HOST and metier mcp install HOST write it again"
        detail = f"{file}: '{command}' may run a metier.py of the folder that it is started in"
        yield Check("host entry", "warning", detail, host)


def _old_state(catalog: Catalog) -> Iterator[Check]:
    """Mention the state of version 0.1, once."""
    room = catalog.room
    if room is None or not catalog.trust.is_trusted or room.info(_TOLD) is not None:
        return
    if os.path.isdir(os.path.join(catalog.workspace, OLD_STATE_FOLDER)):
        room.write(_TOLD, b"")
        if not is_tracked(catalog.workspace, OLD_STATE_FOLDER):
            detail = f"version 0.1 left state in {OLD_STATE_FOLDER}"
            yield Check("old state", "warning", detail, "metier state adopt copies it")


def _runs(agency: "Agency") -> Check:
    """The runs on this machine, also when others are shared."""
    with closing(agency.local_store()) as store:
        if damage := store.damage():
            return Check("runs", "error", f"{store.path}: {damage}", store.if_damaged)
        store.recover(time.time())
        size = os.path.getsize(store.path) / 1_000_000
        ((kept, pending),) = store.rows("SELECT count(*), total(state = 'pending') FROM run")
    waiting = f", {counted(int(pending), 'run')} to resume" if pending else ""
    return Check("runs", "ok", f"{store.path}, {size:.1f} MB, {counted(kept, 'run')}{waiting}")


def _hooks(session: Session) -> Iterator[Check]:
    """How often hooks spoke lately; nothing if no prompt was answered."""
    room = user_room() if session.is_outside() else state_room(session.workspace())
    try:
        found = spoken(read_decisions(room), time.time() - _LATELY * 86_400)
    except OSError as error:
        detail = f"the log of their decisions cannot be read: {error.strerror}"
        yield Check("hooks", "warning", detail, "metier hook stats")
        return
    if not found.prompts:
        return
    held_back = f"; their mode held back {found.held_back:,} more" if found.held_back else ""
    detail = f"spoke on {found.spoke:,} of {counted(found.prompts, 'prompt')}"
    yield Check("hooks", "ok", f"{detail} in the last {_LATELY} days{held_back}")


def _hosts(catalog: Catalog) -> Check:
    found = [
        host.folder
        for host in FOLDERS
        if os.path.isdir(os.path.join(catalog.workspace, os.path.expanduser(host.folder)))
    ]
    return Check("host folders", "ok", ", ".join(found) or "none found")


def _excluded(catalog: Catalog) -> Iterator[Check]:
    excluded = catalog.excluded(ShownPaths(catalog))
    if not excluded:
        yield Check("excluded", "ok", "nothing")
        return
    by_reason = Counter(exclusion.reason for exclusion in excluded)
    detail = ", ".join(f"{count:,} {reason}" for reason, count in by_reason.most_common())
    hint = which_and_why(catalog)
    yield Check("excluded", "warning", detail, hint)
    for exclusion in excluded[:_MOST_SHOWN]:
        why = f"{exclusion.reason}: {exclusion.detail}" if exclusion.detail else exclusion.reason
        yield Check("", "warning", f"{exclusion.path} ({why})")
    if len(excluded) > _MOST_SHOWN:
        more = len(excluded) - _MOST_SHOWN
        yield Check("", "warning", f"and {more:,} more: {hint}")


def _reviews(catalog: Catalog) -> Iterator[Check]:
    """Skills that wait for a review; nothing if no source needs any."""
    counts, notices = catalog.review_counts(), review_notices(catalog)
    for line in notices:
        yield Check("reviews", "warning", line, "then metier trust --skill NAME")
    if counts and not notices:
        yield Check("reviews", "ok", f"{counted(counts.get('reviewed', 0), 'skill')} as reviewed")


def _findings(catalog: Catalog) -> Check:
    by_severity = Counter(issue.severity for issue in catalog.issues())
    errors, warnings = by_severity["error"], by_severity["warning"]
    detail = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
    worst = "warning" if errors or warnings else "ok"
    hint = "metier lint --user shows them; it also compares files, so it may find more"
    return Check("findings", worst, detail, hint if worst != "ok" else "")
