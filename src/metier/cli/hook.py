"""`metier hook`"""

import os
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import click

from metier.catalog import Catalog
from metier.cli.review import Review, has_terminal, show
from metier.cli.session import Session, counted, metier_command
from metier.core.nearest import nearest
from metier.core.text import printable
from metier.errors import ConfigError, MetierError, NotFoundError, UsageError
from metier.flow.hook_refresh import hook_boundary, prepared_catalog
from metier.hook.journal import Journal
from metier.hosts.settings import HOSTS, Scope
from metier.index.cards import stored_cards
from metier.index.documents import excluded_documents
from metier.install.changes import BACKUP, Change, Plan, apply
from metier.install.hooks import plan_install, plan_uninstall
from metier.storage.places import state_room
from metier.storage.workspace import SETTINGS_FILE, is_root

_ACTIONS = ("install", "uninstall", "refresh")
_DONE = {"create": "wrote", "change": "wrote", "remove": "removed", "restore": "restored"}


@metier_command("hook", catalog=False, for_host=True)
@click.argument(
    "action",
    metavar="install|uninstall|refresh",
    required=False,
    shell_complete=lambda _c, _p, word: [one for one in _ACTIONS if one.startswith(word)],
)
@click.argument("host", metavar="HOST", type=click.Choice(list(HOSTS)), required=False)
@click.option(
    "--user/--project",
    "for_user",
    default=False,
    help="Write your own settings of the host, or those of the workspace (default: the latter).",
)
@click.option("--dry-run", is_flag=True, help="Print what would be written, and write nothing.")
def command(
    session: Session, action: str | None, host: str | None, for_user: bool, dry_run: bool
) -> int:
    """Have a host hand over what metier knows, with every prompt or at its start.

    Hosts: claude-code, codex, gemini, copilot, cursor, opencode, openclaw.

    'install' puts one entry into the host's settings, 'uninstall' takes it out; all else there
    stays as it is, and so does an entry that you wrote. The diff is printed, and what was there
    before the first install is kept beside the file. docs/hosts.md says what each host does
    with it.

    'refresh' brings the catalogue up to what hooks need; installing does it too, and a hook
    that finds the catalogue stale starts it in the background. A hook uses your own skills and
    cards; those of a workspace only once you let it (metier trust, or installing with --project
    on a terminal).

    'metier hook HOST' is what the host then runs: it reads the host's JSON on standard input,
    prints the host's JSON or nothing, and always ends with exit code 0. It takes no options:
    with one it says so on standard error, and does nothing else. For a host that is not known
    the exit code is 1, which no host takes for a refusal.
    """
    if action is None:
        click.echo(click.get_current_context().get_help(), err=True)
        return 2
    if action not in _ACTIONS:
        raise _unknown(action, host)
    if action == "refresh":
        if host is not None or for_user or dry_run:
            message = "'hook refresh' takes no host, no --user and no --dry-run"
            raise UsageError(message, hint="metier hook refresh, in the workspace")
        return _refresh_or_log(session)
    if host is None:
        raise UsageError(f"'hook {action}' takes a host", hint=f"hosts: {', '.join(HOSTS)}")
    plan = _plan(session, action, host, for_user)
    if not for_user:
        _note_workspace_above(session)
    if not dry_run:
        apply(plan)
    if session.as_json:
        session.print_json(plan.to_json())
    else:
        print_plan(session, plan, dry_run)
    if not plan.installs and not dry_run:
        _note_entry_before(session, host, for_user)
    if plan.installs and not dry_run:
        if not for_user:
            _let_speak(session)
        _refresh(session)
        if plan.changed and not session.as_json:
            session.note(f"next: {plan.host.next_step}")
    return 0


def _unknown(word: str, host: str | None) -> MetierError:
    """The error for a word that is neither a host nor something to do.

    One word alone may stand in a host's settings: exit code 2 would have the host refuse every
    prompt, so it is not found, which ends with 1.
    """
    if host is not None:
        near = nearest(word, _ACTIONS)
        hint = f"did you mean '{near}'?" if near else f"one of: {', '.join(_ACTIONS)}"
        return UsageError(f"'hook {word}' is not known", hint=hint)
    near = nearest(word, (*HOSTS, *_ACTIONS))
    hint = f"did you mean '{near}'?" if near else f"hosts: {', '.join(HOSTS)}"
    return NotFoundError(f"no host is called '{word}'", hint=hint)


def _note_workspace_above(session: Session) -> None:
    """Say when a folder above has a catalogue, and nothing says that it is the workspace."""
    workspace = session.workspace()
    if is_root(workspace) or state_room(workspace).exists():
        return
    parents = map(str, Path(workspace).parents)
    above = next((one for one in parents if state_room(one).exists()), "")
    if above:
        session.note(
            f"warning: this folder counts as a workspace of its own, not as part of {above}"
        )
        session.note(f"    hint: run it there, or put an empty {SETTINGS_FILE} there")


def _note_entry_before(session: Session, host: str, for_user: bool) -> None:
    """Say when what came back has an entry of metier: it stood there before the first install."""
    if _plan(session, "uninstall", host, for_user).changed:
        session.note("metier had an entry there before it was installed, which is back now")
        session.note(f"    hint: to take it out too, once more: metier hook uninstall {host}")


def _let_speak(session: Session) -> None:
    """Let the workspace's own text into prompts, if its user says so on a terminal."""
    review = Review(session)
    if review.state == "trusted" and review.entry is not None and review.entry.speak:
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
    session.note("    hint: metier trust --revoke takes that back")


def _is_trusted_now(review: Review) -> bool:
    if review.powers.is_empty and review.entry is None:
        return True
    show(review, err=True)
    return click.confirm("Trust this workspace?", err=True)


def _refresh_or_log(session: Session) -> int:
    """The same; nobody may be looking, so what goes wrong is told in the hooks' log as well."""
    try:
        found = _refresh(session)
    except MetierError as error:
        _log(session, error)
        raise
    if session.as_json:
        session.print_json(found._asdict())
    return 0


def _log(session: Session, error: MetierError) -> None:
    journal = Journal()
    journal.enter(session.workspace())
    journal.tell("refresh", error)


class _Found(NamedTuple):
    """What hooks can hand over."""

    skills: int
    cards: int
    left_out: int

    def __str__(self) -> str:
        """`found 12 skills and 3 cards; 2 left out: metier lint says why`"""
        told = f"found {counted(self.skills, 'skill')} and {counted(self.cards, 'card')}"
        more = f"; {self.left_out:,} left out: metier lint says why" if self.left_out else ""
        return told + more


def _refresh(session: Session) -> _Found:
    """Read what is on disk, prepare it for hooks, and say what they can hand over."""
    boundary, wrong = hook_boundary(
        session.workspace(), session.config_file, is_outside=session.is_outside()
    )
    if wrong:
        session.note(f"warning: settings of the workspace are ignored: {wrong}")
        _log(session, ConfigError(wrong))
    with prepared_catalog(boundary) as catalog:
        found = _found(catalog)
    session.note(str(found))
    return found


def _found(catalog: Catalog) -> _Found:
    skills, unsafe = catalog.store.rows(
        "SELECT coalesce(sum(safe), 0), coalesce(sum(NOT safe), 0)"
        " FROM document JOIN skill_size USING (key) WHERE state = 'active'"
    )[0]
    cards = sum(card.enabled for card in stored_cards(catalog.store))
    kinds = [row.kind for row in excluded_documents(catalog.store) if row.reason != "disabled"]
    return _Found(skills, cards, unsafe + kinds.count("skill") + kinds.count("card"))


def _plan(session: Session, action: str, host: str, for_user: bool) -> Plan:
    scope: Scope = "user" if for_user else "project"
    workspace = session.workspace() if for_user else session.require_workspace()
    home = os.path.expanduser("~")
    if action == "install":
        return plan_install(host, scope, workspace, home, own_command(), environ=os.environ)
    return plan_uninstall(host, scope, workspace, home, environ=os.environ)


def own_command() -> list[str]:
    """What runs metier, by its whole path: a host may know another PATH.

    Without a script Python runs it, and imports nothing from the folder that it is started in.
    """
    beside = os.path.join(os.path.dirname(sys.executable), "metier")
    for candidate in (sys.argv[0], beside, shutil.which("metier") or ""):
        if os.path.basename(candidate) == "metier" and os.access(candidate, os.X_OK):
            return [os.path.abspath(candidate)]
    return [sys.executable, "-P", "-m", "metier"]


def print_plan(session: Session, plan: Plan, dry_run: bool) -> None:
    """What is, or would be, written: the diff on standard output, the rest beside it."""
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
    else:
        for change in plan.changes:
            _note(session, change)


def _note(session: Session, change: Change) -> None:
    if change.action in _DONE:
        session.note(f"{_DONE[change.action]} {_shown(change)}")
        if change.backup == "make":
            session.note(f"kept what was there before in {change.path}{BACKUP}")


def _shown(change: Change) -> str:
    """`PATH`, or `PATH (a link to REAL)` where another file is written."""
    is_link = change.target != change.path
    return f"{change.path} (a link to {change.target})" if is_link else change.path
