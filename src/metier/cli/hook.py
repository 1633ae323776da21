"""`metier hook`"""

import os
import shutil
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import click

from metier.cli.groups import with_commands
from metier.cli.hook_stats import command as stats
from metier.cli.hook_try import command as attempt
from metier.cli.refresh import prepare_hooks
from metier.cli.review import Review, has_terminal, show
from metier.cli.session import Session, metier_command
from metier.core.nearest import did_you_mean
from metier.core.text import printable
from metier.core.timestamps import to_iso
from metier.errors import MetierError, NotFoundError, UsageError
from metier.flow.hook_log import last_answers
from metier.hosts.known import HOOKS
from metier.hosts.settings_forms import SCOPES, Scope
from metier.install.changes import BACKUP, Change, Kind, Plan, apply
from metier.storage.places import state_room, user_room
from metier.storage.workspace import SETTINGS_FILE, is_root

_DONE = {"create": "wrote", "change": "wrote", "remove": "removed", "restore": "restored"}


# Settings of hosts, for hooks and for servers


def settings_command(
    name: str, hosts: Collection[str]
) -> Callable[[Callable[..., Any]], click.Command]:
    """A command that writes the settings of a host."""
    scope = "Write your own settings of the host, or those of the workspace (default: the latter)."
    options = (
        click.option("--dry-run", is_flag=True, help="Print what would be written; write nothing."),
        click.option("--user/--project", "for_user", default=False, help=scope),
        click.argument("host", metavar="HOST", type=click.Choice(list(hosts))),
    )

    def decorate(function: Callable[..., Any]) -> click.Command:
        for option in options:
            function = option(function)
        return metier_command(name, catalog=False, for_host=True)(function)

    return decorate


def plan_for(
    session: Session, kind: Kind, host: str, for_user: bool, command: Sequence[str] = ()
) -> Plan:
    from metier.install.plans import make_plan  # loads tomlkit, which serving does not need

    scope: Scope = "user" if for_user else "project"
    workspace = session.workspace() if for_user else session.require_workspace()
    home = os.path.expanduser("~")
    return make_plan(kind, host, scope, workspace, home, command, environ=os.environ)


def write(session: Session, plan: Plan, dry_run: bool) -> None:
    if not dry_run:
        apply(plan)
    if session.as_json:
        session.print_json(plan.to_json())
    else:
        _print_plan(session, plan, dry_run)


def note_next(session: Session, plan: Plan, dry_run: bool) -> None:
    if plan.changed and not dry_run and not session.as_json:
        session.note(f"next: {plan.host.next_step}")


def own_command() -> list[str]:
    """The command that runs metier, with an absolute path: a host may have another PATH."""
    beside = os.path.join(os.path.dirname(sys.executable), "metier")
    for candidate in (sys.argv[0], beside, shutil.which("metier") or ""):
        if os.path.basename(candidate) == "metier" and os.access(candidate, os.X_OK):
            return [os.path.abspath(candidate)]
    return [sys.executable, "-P", "-m", "metier"]


def _print_plan(session: Session, plan: Plan, dry_run: bool) -> None:
    for change in plan.changes:
        if change.diff:
            click.echo(printable(change.diff))
    if not plan.changed:
        state = "already installed" if plan.installs else "not installed"
        session.note(f"{plan.host.title}: {state}, nothing to do")
    elif dry_run:
        session.note("nothing was written (--dry-run)")
        for change in plan.changes:
            if change.target != change.path:
                session.note(_shown(change))
    for change in () if dry_run else plan.changes:
        if change.action in _DONE:
            session.note(f"{_DONE[change.action]} {_shown(change)}")
            if change.backup == "make":
                session.note(f"kept a backup in {change.path}{BACKUP}")
            elif not plan.installs and os.path.lexists(f"{change.path}{BACKUP}"):
                session.note(f"left {change.path}{BACKUP}: the file before the first install")


def _shown(change: Change) -> str:
    is_link = change.target != change.path
    return f"{change.path} (a link to {change.target})" if is_link else change.path


# Hooks


@settings_command("install", HOOKS)
def install(session: Session, host: str, for_user: bool, dry_run: bool) -> None:
    """Add the hook to a host's settings.

    Also refreshes the catalog. Everything else in the settings stays unchanged, and so does an
    entry that you wrote. The diff is printed, and a backup of the first version is kept beside
    the file.
    """
    plan = plan_for(session, "hook", host, for_user, own_command())
    if not for_user:
        _note_workspace_above(session)
    write(session, plan, dry_run)
    if dry_run:
        return
    if not for_user:
        _let_speak(session)
    prepare_hooks(session, session.config_file)
    note_next(session, plan, dry_run)


@settings_command("uninstall", HOOKS)
def uninstall(session: Session, host: str, for_user: bool, dry_run: bool) -> None:
    """Remove the hook from a host's settings.

    Everything else stays unchanged.
    """
    plan = plan_for(session, "hook", host, for_user)
    if not for_user:
        _note_workspace_above(session)
    write(session, plan, dry_run)
    if not dry_run and plan_for(session, "hook", host, for_user).changed:
        session.note("the entry from before the installation is restored")
        session.note(f"    hint: to remove it too, run again: metier hook uninstall {host}")


@metier_command("status", catalog=False, for_host=True)
@click.argument("host", metavar="[HOST]", type=click.Choice(list(HOOKS)), required=False)
def status(session: Session, host: str | None) -> None:
    """Show in which hosts the hook is installed, what it may use, and when it last answered."""
    names = [host] if host else list(HOOKS)
    scopes = [scope for scope in SCOPES if scope == "user" or not session.is_outside()]
    trust, answers = _trust(session), _last_answers(session)
    rows = [
        _state(session, name, scope, trust=trust, answers=answers)
        for name in names
        for scope in scopes
    ]
    if session.as_json:
        session.print_json(rows)
    else:
        columns = ["host", "scope", "state", "trust", "last answer", "file"]
        session.print_table(columns, [list(row.values()) for row in rows], heading=False)


def _trust(session: Session) -> str:
    """What hooks may use of the workspace."""
    if session.is_outside():
        return "your own documents"
    trust = session.boundary.trust
    may_speak = trust.is_trusted and trust.speak
    return "trusted" if may_speak else "not trusted: your own documents only"


def _last_answers(session: Session) -> dict[str, float]:
    """When the hook of each host last answered, here or outside of any workspace."""
    rooms = [user_room(), *([] if session.is_outside() else [state_room(session.workspace())])]
    return last_answers(rooms)


def _state(
    session: Session, host: str, scope: Scope, *, trust: str, answers: dict[str, float]
) -> dict[str, str]:
    try:
        plan = plan_for(session, "hook", host, scope == "user")
        state, file = "installed" if plan.changed else "not installed", plan.changes[0].path
    except MetierError as error:
        state, file = error.message, error.where
    answer = to_iso(answers[host]) if host in answers and state == "installed" else ""
    return {
        "host": host,
        "scope": scope,
        "state": state,
        "trust": trust if state == "installed" else "",
        "lastAnswer": answer,
        "file": file,
    }


@metier_command("hook", catalog=False, for_host=True)
def _hook(session: Session) -> int:  # noqa: ARG001  # fixed signature
    """Inject cards and name skills in a host, with every prompt or at its start.

    Hosts: claude-code, codex, gemini, copilot, cursor, opencode, openclaw. docs/hosts.md says what
    each of them does with a hook.

    A hook uses your own skills and cards; those of a workspace only if you allow it (metier trust,
    or installing with --project on a terminal). If the catalog is stale, it starts a refresh in
    the background.

    The host runs 'metier hook HOST': it reads the host's JSON on standard input, prints the host's
    JSON or nothing, and always exits with 0. It takes no options: with one it prints an error and
    does nothing else. For an unknown host the exit code is 1, which no host treats as a rejected
    prompt.
    """
    click.echo(click.get_current_context().get_help(), err=True)
    return 2


command = with_commands(_hook, install, uninstall, status, attempt, stats)
command.subcommand_metavar = "HOST | COMMAND [ARGS]..."


def _unknown(arguments: list[str]) -> MetierError:
    """Exits with 1 unless a host is named: to a host, exit code 2 rejects the prompt."""
    word, *others = arguments
    commands = f"commands: {', '.join(command.commands)}"
    if HOOKS.keys().isdisjoint(others):
        hint = did_you_mean(
            word, [*HOOKS, *command.commands], f"hosts: {', '.join(HOOKS)}; {commands}"
        )
        message = f"'metier hook' has no host and no command '{word}'"
        return MetierError(message, code=NotFoundError.default_code, hint=hint)
    hint = did_you_mean(word, command.commands, commands)
    return UsageError(f"no such command 'hook {word}'", hint=hint)


command.on_unknown = _unknown


def _note_workspace_above(session: Session) -> None:
    """Warn when a folder above has a catalog, and nothing marks it as the workspace."""
    workspace = session.workspace()
    if is_root(workspace) or state_room(workspace).exists():
        return
    parents = map(str, Path(workspace).parents)
    above = next((one for one in parents if state_room(one).exists()), "")
    if above:
        session.note(f"warning: this folder counts as its own workspace, not as part of {above}")
        session.note(f"    hint: run it there, or put an empty {SETTINGS_FILE} there")


def _let_speak(session: Session) -> None:
    """Let the workspace's own text into prompts, if its user agrees on a terminal."""
    review = Review(session)
    if review.speaks:
        return
    if not has_terminal() or review.foreign:
        session.note("the hook uses your own skills and cards; not those of this workspace:")
        session.note("    hint: metier trust, on a terminal, lets it use them too")
        return
    if review.state != "trusted" and not _is_trusted_now(review):
        session.note("not trusted: the hook uses your own skills and cards only")
        return
    review.record(speak=True)
    session.note("its skills, cards and abilities may be put into prompts from now on")
    session.note("    hint: metier trust --revoke undoes that")


def _is_trusted_now(review: Review) -> bool:
    if review.powers.is_empty and review.entry is None:
        return True
    show(review, err=True)
    return click.confirm("Trust this workspace?", err=True)
