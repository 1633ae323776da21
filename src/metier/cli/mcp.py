"""`metier mcp`"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any

import click
from click.core import ParameterSource

from metier.catalog import Catalog
from metier.cli.hook import own_command, print_plan
from metier.cli.session import Session, metier_command
from metier.errors import UsageError
from metier.flow.boundary import Boundary
from metier.flow.hook_refresh import depended_on
from metier.hosts.servers import HOSTS
from metier.hosts.settings import Scope
from metier.install.changes import apply
from metier.install.servers import plan_install, plan_uninstall
from metier.mcp.place import PORT, TOKEN_HINT, Place, read_token
from metier.storage.hook_files import stamp_of

_FOR_HTTP = {
    "address": "--listen",
    "port": "--port",
    "token_file": "--token-file",
    "names": "--allow-host",
}
_FOR_SERVING = {**_FOR_HTTP, "over_http": "--http", "allow_run": "--allow-run"}
_FOR_INSTALLING = {"for_user": "--user", "dry_run": "--dry-run"}


@metier_command("mcp", for_host=True)
@click.argument(
    "action",
    type=click.Choice(["install", "uninstall"]),
    metavar="[install|uninstall",
    required=False,
)
@click.argument("wanted", metavar="HOST]", type=click.Choice(list(HOSTS)), required=False)
@click.option("--http", "over_http", is_flag=True, help="Serve over HTTP instead of stdio.")
@click.option(
    "--listen",
    "address",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="Where to listen.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=PORT,
    show_default=True,
    metavar="N",
    help="Where to listen; 0 takes any port that is free.",
)
@click.option(
    "--token-file",
    metavar="FILE",
    type=click.Path(),
    help="The token that clients must show, or METIER_MCP_TOKEN.",
)
@click.option("--token", hidden=True, help="Refused: other users can read command lines.")
@click.option(
    "--allow-host",
    "names",
    metavar="NAME",
    multiple=True,
    help="Another name that clients reach the server by, or NAME:PORT; repeat it.",
)
@click.option(
    "--allow-run",
    is_flag=True,
    help="Let clients run agents: run_start, run_get. Over HTTP it needs a token.",
)
@click.option(
    "--user/--project",
    "for_user",
    default=False,
    help="Write your own settings of the host, or those of the workspace (default: the latter).",
)
@click.option("--dry-run", is_flag=True, help="Print what would be written, and write nothing.")
def command(
    session: Session,
    action: str | None,
    wanted: str | None,
    over_http: bool,
    token: str | None,
    **options: Any,
) -> int:
    """Serve the catalogue to any MCP client, over standard input and output or over HTTP.

    Tools list skills and cards, resolve capabilities and choose context; the texts of skills are
    resources, agents are prompts. No tool runs anything unless --allow-run is given.

    'install' puts one entry into a host's list of servers, 'uninstall' takes it out; all else
    there stays as it is, the diff is printed, and what was there before the first install is kept
    beside the file. Hosts: claude-code, codex, gemini, copilot, cursor, opencode, openclaw, vscode.

    Over HTTP it listens on this machine alone unless you say otherwise; beyond it a token is
    needed. /health says whether it is well, Ctrl-C or SIGTERM ends it in order. docs/mcp.md says
    more.
    """
    if find_spec("mcp") is None:
        raise UsageError("the package mcp is not installed", hint="pip install 'metier[mcp]'")
    if token is not None:
        message = "--token is not taken: other users of this machine can read command lines"
        raise UsageError(message, hint=TOKEN_HINT)
    _refuse_strays(action, over_http)
    if action is not None:
        return _install(session, action, wanted, **options)
    return _serve(session, over_http, **options)


def _refuse_strays(action: str | None, over_http: bool) -> None:
    """Refuse options that have no meaning here."""
    if action is not None:
        strays, meaning = _FOR_SERVING, "for serving: give them to 'metier mcp' itself"
    elif not over_http:
        strays, meaning = {**_FOR_HTTP, **_FOR_INSTALLING}, "not for serving over stdio"
    else:
        strays, meaning = _FOR_INSTALLING, "for 'metier mcp install'"
    context = click.get_current_context()
    for name, shown in strays.items():
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UsageError(f"{shown} is {meaning}", hint="metier mcp --help")


# Serving


@contextmanager
def opened(session: Session, *, allow_run: bool) -> Iterator[Catalog]:
    """The catalogue under the user's trust as it is now; without runs not even a probe starts."""
    fresh = session.anew()
    if not allow_run:
        boundary = fresh.boundary
        fresh.boundary = boundary._replace(config=boundary.config._replace(probes=()))
    with fresh.catalog() as catalog:
        yield catalog


def stamp(catalog: Catalog) -> list[str]:
    """What the user's trust depends on, as it is now."""
    boundary = Boundary(catalog.workspace, catalog.trust, catalog.config)
    return [stamp_of(path) for path in depended_on(boundary)]


def _serve(
    session: Session,
    over_http: bool,
    *,
    address: str,
    port: int,
    token_file: str | None,
    names: tuple[str, ...],
    allow_run: bool,
    **_: Any,
) -> int:
    from metier.mcp.serve import run_http, run_stdio  # the SDK loads a lot

    os.environ.setdefault("METIER_OFFLINE", "1")  # no host waits for sources of cards
    fresh = partial(opened, session, allow_run=allow_run)
    if not over_http:
        run_stdio(fresh, allow_run=allow_run, stamp=stamp)
        return 0

    def ready(url: str) -> None:
        if session.as_json:
            session.print_json({"url": url})
            sys.stdout.flush()
        session.note(f"serving {url}")

    token = read_token(token_file) if token_file else os.environ.get("METIER_MCP_TOKEN", "")
    place = Place(address, port, token, names)
    run_http(fresh, place, ready, allow_run=allow_run, stamp=stamp)
    session.note("stopped")
    return 0


# Installing


def _install(
    session: Session,
    action: str,
    wanted: str | None,
    *,
    for_user: bool,
    dry_run: bool,
    **_: Any,
) -> int:
    if wanted is None:
        raise UsageError(f"'mcp {action}' takes a host", hint=f"hosts: {', '.join(HOSTS)}")
    scope: Scope = "user" if for_user else "project"
    workspace = session.workspace() if for_user else session.require_workspace()
    home = os.path.expanduser("~")
    if action == "install":
        plan = plan_install(wanted, scope, workspace, home, own_command(), environ=os.environ)
    else:
        plan = plan_uninstall(wanted, scope, workspace, home, environ=os.environ)
    if not dry_run:
        apply(plan)
    if session.as_json:
        session.print_json(plan.to_json())
    else:
        print_plan(session, plan, dry_run)
    if plan.installs and plan.changed and not dry_run and not session.as_json:
        session.note(f"next: {plan.host.next_step}")
    return 0
