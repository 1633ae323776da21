"""Shared by `metier disable` and `metier enable`."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import click

from metier.catalog import Catalog
from metier.cli.session import Session, complete_names, metier_command
from metier.core.text import printable
from metier.errors import NotFoundError, UsageError
from metier.flow.host_skills import find_host_skills
from metier.hosts.here import hosts_here
from metier.hosts.known import HOSTS
from metier.hosts.settings_forms import Scope
from metier.install.changes import Change, Plan, apply
from metier.install.switch_record import SwitchRecord
from metier.install.switches import SwitchPlan, Wanted, is_switched_off, one_meant
from metier.storage.places import user_room

_HOSTS = [name for name, host in HOSTS.items() if host.loading is not None]


def switch_command(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """A command that switches a skill in the settings of hosts."""
    options = (
        click.option("--yes", "-y", is_flag=True, help="Do not ask."),
        click.option("--dry-run", is_flag=True, help="Print what would be written; write nothing."),
        click.option(
            "--user/--project", "for_user", default=None,
            help="Only your own settings of the host, or only those of the workspace.",
        ),
        click.option(
            "--host", metavar="HOST", type=click.Choice(_HOSTS),
            help="Only this host (default: every host here that loads the skill).",
        ),
        click.argument(
            "skills", metavar="SKILL...", nargs=-1, required=True,
            shell_complete=complete_names("skill"),
        ),
    )  # fmt: skip

    def decorate(function: Callable[..., Any]) -> click.Command:
        for option in options:
            function = option(function)
        return metier_command(name)(function)

    return decorate


def wanted_in(
    session: Session, catalog: Catalog, skills: Sequence[str], host: str | None,
    for_user: bool | None, *, whole_plugin: bool = False, to_enable: bool = False,
) -> dict[str, list[Wanted]]:  # fmt: skip
    """Skill → what each host that loads it, or would if it were not off, calls so.

    Raises `NotFoundError` for an unknown skill, `UsageError` if one name means several.
    """
    home = os.path.expanduser("~")
    scope: Scope | None = None if for_user is None else "user" if for_user else "project"
    if scope == "project":
        session.require_workspace()
    here = [host] if host else hosts_here(catalog.workspace, home)
    views = [catalog.host_view(one) for one in here if one in _HOSTS]
    wanted: dict[str, list[Wanted]] = {}
    for said in dict.fromkeys(skills):
        paths, unknown = _paths(catalog, said)
        wanted[said] = []
        for view in views:
            meant = find_host_skills(view, said, paths)
            found = [
                Wanted(view, one, catalog.workspace, home, scope, whole_plugin) for one in meant
            ]
            off = list(filter(is_switched_off, found)) if to_enable else []
            if found:
                wanted[said].append(one_meant(off or found, said))
        if unknown is not None and not wanted[said]:
            raise unknown
    return wanted


def _paths(catalog: Catalog, said: str) -> tuple[list[str], NotFoundError | None]:
    """Where the skills with that name are; the error to raise if no host knows it either."""
    try:
        return [row.path for row in catalog.find_skills(said)], None
    except NotFoundError as error:
        return [], error


def write(
    session: Session, plans: Sequence[SwitchPlan], *, is_off: bool, dry_run: bool, yes: bool
) -> int:
    """Show the changes, ask on a terminal, write them; the exit code."""
    if not plans:
        if session.as_json:
            session.print_json([])
        return 0
    files = _by_file(plans)
    if not session.as_json:
        for change, _ in files:
            if change.diff:
                click.echo(printable(session.redactor.text(change.diff)))
    if not dry_run and not _agreed(session, len(files), yes):
        session.note("nothing was written")
        return 1
    record = SwitchRecord(user_room())
    for change, made in () if dry_run else files:
        for plan in made if is_off else ():
            plan.record(record)
        apply(_applied(made[0].host, change, is_off))
        for plan in () if is_off else made:
            plan.record(record)
    if session.as_json:
        session.print_json([_json(plan) for plan in plans])
    elif dry_run:
        session.note("nothing was written (--dry-run)")
    else:
        for change, made in files:
            done = "removed" if change.after is None else "wrote"
            session.note(f"{made[0].title}: {done} {change.path}")
    return 0


def _by_file(plans: Sequence[SwitchPlan]) -> list[tuple[Change, list[SwitchPlan]]]:
    """Each file with the change of all its plans."""
    made: dict[str, list[SwitchPlan]] = {}
    for plan in plans:
        made.setdefault(plan.change.path, []).append(plan)
    return [(replace(one[0].change, after=one[-1].change.after), one) for one in made.values()]


def _agreed(session: Session, count: int, yes: bool) -> bool:
    if yes or session.as_json or not sys.stdin.isatty():
        return True
    files = "this file" if count == 1 else f"these {count} files"
    return click.confirm(f"Write {files}?", err=True)


def _applied(host: str, change: Change, is_off: bool) -> Plan:
    file = HOSTS[host].hook_settings
    assert file is not None
    return Plan(host=file, scope="user", installs=is_off, changes=(change,))


def _json(plan: SwitchPlan) -> dict[str, Any]:
    return {"host": plan.host, "switch": plan.key, "name": plan.name, **plan.change.to_json()}


def require_loaded(wanted: Sequence[Wanted], skill: str, host: str | None) -> None:
    """Raise `UsageError` if no host loads a skill, or would if it were not off."""
    if wanted:
        return
    if host is None:
        raise UsageError(f"no host here loads '{skill}'", hint="--host names one")
    hint = f"metier doctor --host {host} says why"
    raise UsageError(f"{HOSTS[host].title} does not load '{skill}'", hint=hint)
