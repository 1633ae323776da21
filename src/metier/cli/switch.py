"""Shared by `metier disable` and `metier enable`."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from metier.catalog import Catalog
from metier.cli.session import Session, complete_names, metier_command
from metier.core.text import printable
from metier.errors import UsageError
from metier.hosts.here import hosts_here
from metier.hosts.known import HOSTS
from metier.hosts.settings_forms import Scope
from metier.install.changes import Plan, apply
from metier.install.switch_record import SwitchRecord
from metier.install.switches import SwitchPlan, Wanted
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
        click.argument("skill", shell_complete=complete_names("skill")),
    )  # fmt: skip

    def decorate(function: Callable[..., Any]) -> click.Command:
        for option in options:
            function = option(function)
        return metier_command(name)(function)

    return decorate


def wanted_in(
    session: Session, catalog: Catalog, skill: str, host: str | None, for_user: bool | None,
    *, whole_plugin: bool = False,
) -> list[Wanted]:  # fmt: skip
    """What to do in each host. Raises `NotFoundError` for an unknown skill."""
    row, home = catalog.skill_meant(skill), os.path.expanduser("~")
    scope: Scope | None = None if for_user is None else "user" if for_user else "project"
    if scope == "project":
        session.require_workspace()
    here = [host] if host else hosts_here(catalog.workspace, home)
    names = [one for one in here if one in _HOSTS]
    found = []
    for name in names:
        view = catalog.host_view(name)
        skills = (one for one in view.skills if one.row.path == row.path)
        found += [Wanted(view, one, catalog.workspace, home, scope, whole_plugin) for one in skills]
    return found


def write(
    session: Session, plans: Sequence[SwitchPlan], *, is_off: bool, dry_run: bool, yes: bool
) -> int:
    """Show the changes, ask on a terminal, write them; the exit code."""
    if not session.as_json:
        for plan in plans:
            if plan.change.diff:
                click.echo(printable(session.redactor.text(plan.change.diff)))
    if not dry_run and not _agreed(session, plans, yes):
        session.note("nothing was written")
        return 1
    record = SwitchRecord(user_room())
    for plan in () if dry_run else plans:
        if is_off:
            plan.record(record)
        apply(_applied(plan, is_off))
        if not is_off:
            plan.record(record)
    if session.as_json:
        session.print_json([_json(plan) for plan in plans])
    elif dry_run:
        session.note("nothing was written (--dry-run)")
    else:
        for plan in plans:
            done = "removed" if plan.change.after is None else "wrote"
            session.note(f"{plan.title}: {done} {plan.change.path}")
    return 0


def _agreed(session: Session, plans: Sequence[SwitchPlan], yes: bool) -> bool:
    if yes or session.as_json or not sys.stdin.isatty():
        return True
    files = "this file" if len(plans) == 1 else f"these {len(plans)} files"
    return click.confirm(f"Write {files}?", err=True)


def _applied(plan: SwitchPlan, is_off: bool) -> Plan:
    file = HOSTS[plan.host].hook_settings
    assert file is not None
    return Plan(host=file, scope="user", installs=is_off, changes=(plan.change,))


def _json(plan: SwitchPlan) -> dict[str, Any]:
    return {"host": plan.host, "switch": plan.key, "name": plan.name, **plan.change.to_json()}


def nothing_to_do(session: Session, why: str, skill: str, host: str | None) -> int:
    """Say why nothing is to do; without a reason no host loads the skill: raise `UsageError`."""
    if why:
        session.note(why)
        if session.as_json:
            session.print_json([])
        return 0
    if host is None:
        raise UsageError(f"no host here loads '{skill}'", hint="--host names one")
    hint = f"metier doctor --host {host} says why"
    raise UsageError(f"{HOSTS[host].title} does not load '{skill}'", hint=hint)
