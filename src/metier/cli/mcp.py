"""`metier mcp`"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from metier.catalog import Catalog
from metier.cli.groups import with_commands
from metier.cli.hook import note_next, own_command, plan_for, settings_command, write
from metier.cli.session import Session, metier_command
from metier.errors import UsageError, install_hint
from metier.flow.boundary import VARIABLE
from metier.hosts.known import SERVERS
from metier.serving.catalog_thread import trust_stamp
from metier.serving.endpoint import PORT, TOKEN_HINT, Endpoint, read_token

if TYPE_CHECKING:
    from metier.mcp.metrics import Metrics

_FOR_HTTP = {
    "address": "--listen",
    "port": "--port",
    "token_file": "--token-file",
    "names": "--allow-host",
    "metrics": "--metrics",
    "max_requests": "--max-requests",
    "log_level": "--log-level",
}


@settings_command("install", SERVERS)
def install(session: Session, host: str, for_user: bool, dry_run: bool) -> None:
    """Add metier to a host's list of MCP servers.

    Everything else in the settings stays unchanged. The diff is printed, and a backup of the first
    version is kept beside the file.
    """
    _require_package()
    plan = plan_for(session, "mcp", host, for_user, own_command())
    write(session, plan, dry_run)
    note_next(session, plan, dry_run)


@settings_command("uninstall", SERVERS)
def uninstall(session: Session, host: str, for_user: bool, dry_run: bool) -> None:
    """Remove metier from a host's list of MCP servers."""
    _require_package()
    write(session, plan_for(session, "mcp", host, for_user), dry_run)


def _require_package() -> None:
    if find_spec("mcp") is None:
        raise UsageError("the package mcp is not installed", hint=install_hint("mcp"))


def _metrics() -> "Metrics":
    if find_spec("prometheus_client") is None:
        message = "the package prometheus-client is not installed"
        raise UsageError(message, hint=install_hint("mcp"))
    from metier.mcp.metrics import Metrics  # an extra

    return Metrics()


@metier_command("mcp", for_host=True)
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
    help="The port to listen on; 0 picks a free one.",
)
@click.option(
    "--token-file",
    metavar="FILE",
    type=click.Path(),
    help="The token that clients must send; default: METIER_MCP_TOKEN.",
)
@click.option("--token", hidden=True, help="Rejected: other users can read command lines.")
@click.option(
    "--allow-host",
    "names",
    metavar="NAME",
    multiple=True,
    help="Another name of this server for clients, or NAME:PORT; repeatable.",
)
@click.option("--metrics", is_flag=True, help="Serve metrics for Prometheus at /metrics.")
@click.option(
    "--max-requests",
    type=click.IntRange(1, 100_000),
    default=256,
    show_default=True,
    metavar="N",
    help="The most requests at once; others get 503 with Retry-After.",
)
@click.option(
    "--log-level",
    type=click.Choice(["error", "warning", "info", "debug"]),
    default="warning",
    show_default=True,
    help="What goes to standard error; info has a line for each request.",
)
@click.option(
    "--allow-run",
    is_flag=True,
    help="Let clients run agents: run_start, run_get. Over HTTP it needs a token.",
)
def _serve(
    session: Session,
    over_http: bool,
    token: str | None,
    *,
    address: str,
    port: int,
    token_file: str | None,
    names: tuple[str, ...],
    metrics: bool,
    max_requests: int,
    log_level: str,
    allow_run: bool,
) -> int:
    """Serve the catalog to any MCP client, over standard input and output or over HTTP.

    Tools list skills and cards, resolve capabilities and choose context; the texts of skills are
    resources, agents are prompts. No tool runs anything unless --allow-run is given.

    Over HTTP it listens on this machine only, unless you say otherwise; other machines need a
    token. /health reports its health; Ctrl-C or SIGTERM ends it. docs/mcp.md says more.
    """
    _require_package()
    if token is not None:
        message = "--token is not accepted: other users of this machine can read command lines"
        raise UsageError(message, hint=TOKEN_HINT)
    from metier.mcp.http import Service  # the SDK loads a lot
    from metier.mcp.serve import run_http, run_stdio

    if os.environ.get(VARIABLE):
        session.note(f"warning: {VARIABLE} is ignored by servers; use metier trust --accept DIGEST")
    os.environ.setdefault("METIER_OFFLINE", "1")  # no host waits for sources of cards
    fresh = partial(opened, session, allow_run=allow_run)
    if not over_http:
        _check_stdio()
        run_stdio(fresh, allow_run=allow_run, stamp=trust_stamp)
        return 0

    def ready(url: str) -> None:
        if session.as_json:
            session.print_json({"url": url})
            sys.stdout.flush()
        session.note(f"serving {url}")

    given = read_token(token_file) if token_file else os.environ.get("METIER_MCP_TOKEN", "")
    endpoint = Endpoint(address, port, given, names)
    service = Service(max_requests, _metrics() if metrics else None)
    run_http(
        fresh,
        endpoint,
        ready,
        allow_run=allow_run,
        stamp=trust_stamp,
        service=service,
        log_level=log_level,
    )
    session.note("stopped")
    return 0


def _check_stdio() -> None:
    """Raise `UsageError` for options that need --http."""
    context = click.get_current_context()
    for name, shown in _FOR_HTTP.items():
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UsageError(f"{shown} is not for serving over stdio", hint="metier mcp --help")


@contextmanager
def opened(session: Session, *, allow_run: bool) -> Iterator[Catalog]:
    """The catalog under the user's trust as it is now; without runs not even a probe starts."""
    fresh = session.reopened()
    if not allow_run:
        boundary = fresh.boundary
        fresh.boundary = boundary._replace(config=boundary.config._replace(probes=()))
    with fresh.catalog() as catalog:
        yield catalog


command = with_commands(_serve, install, uninstall)
