"""Options and output of runs that workers execute."""

import shlex
from typing import Any

import click
from click.core import ParameterSource

from metier.cli.session import Session
from metier.errors import UsageError
from metier.flow.queueing import Enqueued, Placement, no_worker
from metier.flow.running import Agency
from metier.values.runs import RunResult

_ONLY_DETACHED = ("queue", "priority", "after", "key")
_NOT_DETACHED = {"allowed": "--allow-tool", "events": "--events"}
_WORKERS_DO = "metier worker takes --allow-tool, metier runs watch takes --events"


def queue_options(function: Any) -> Any:
    for option in (
        click.option(
            "--after", metavar="SECONDS", type=click.FloatRange(0, 31_536_000), default=0.0,
            help="With --detach: delay the start.",
        ),
        click.option(
            "--priority", metavar="N", type=click.IntRange(1, 1000), default=100,
            show_default=True, help="With --detach: lower numbers start first.",
        ),
        click.option(
            "--queue", metavar="NAME", default="",
            help="With --detach: wait in this queue (default: the model's, or 'runs').",
        ),
        click.option("--detach", is_flag=True, help="Queue it for a worker, and print its id."),
    ):  # fmt: skip
        function = option(function)
    return function


def check_detached(detach: bool) -> None:
    """Raise `UsageError` for options that do not go with --detach, or not without it."""
    context = click.get_current_context()
    given = [
        name
        for name in context.params
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    for name in given:
        if name in _ONLY_DETACHED and not detach:
            raise UsageError(f"--{name} needs --detach", hint=f"{context.command_path} --help")
        if name in _NOT_DETACHED and detach:
            option = _NOT_DETACHED[name]
            raise UsageError(f"{option} has no effect with --detach", hint=_WORKERS_DO)


def placement_of(queue: str, priority: int, after: float, key: str = "") -> Placement:
    return Placement(queue, priority, after, key)


def print_detached(session: Session, agency: Agency, enqueued: Enqueued) -> int:
    """Print the id of a run that a worker executes."""
    run = agency.store.run(enqueued.run_id)
    if session.as_json:
        session.print_json({"schemaVersion": "1", **RunResult(run, (), {}).to_json()})
    else:
        click.echo(run.run_id)
    if not enqueued.is_new:
        session.note("this is an older run: it has the same key, and has not ended")
    if run.state == "pending" and (warning := no_worker(agency, enqueued.queue)):
        session.note(warning)
    root = f" --root {shlex.quote(session.root)}" if session.root else ""
    session.note(f"to follow it: metier runs watch {run.run_id}{root}")
    return 0
