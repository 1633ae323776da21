"""`metier runs`"""

import asyncio
import time
from collections.abc import Coroutine
from contextlib import AbstractContextManager
from typing import Any, get_args

import click
from click.shell_completion import CompletionItem

from metier.catalog import Catalog
from metier.cli.run_agent import (
    Attended,
    consent,
    input_option,
    read_input,
    require_trust,
    run_options,
    runs_command,
)
from metier.cli.run_view import Family, print_outputs, print_run, print_runs, state_in_words
from metier.cli.session import LAST, Session, counted, metier_command, names_from_catalog
from metier.errors import NotFoundError, UsageError
from metier.flow.running import Agency
from metier.run.services import Look
from metier.values.agents import AgentProfile, Checkpoint
from metier.values.runs import DONE, RunRecord, RunResult, RunState

_ACTIONS = ("list", "show", "steps", "resume", "cancel", "fork")
_SHOWN = 20
_COMPLETED = 50
_PATIENCE = 10.0
"""Seconds to wait for the end of a run that somebody else was asked to cancel."""
_EVERY = 0.1


def _complete(ctx: click.Context, _parameter: Any, incomplete: str) -> list[CompletionItem]:
    def ids(catalog: Catalog) -> list[str]:
        return [one.run_id for one in catalog.agency.store.runs(limit=_COMPLETED)]

    return names_from_catalog(ctx, ids, incomplete)


@metier_command("runs")
@click.argument(
    "action", type=click.Choice(_ACTIONS), metavar=f"[{'|'.join(_ACTIONS)}]", default="list"
)
@click.argument("wanted", metavar="[RUN]", required=False, shell_complete=_complete)
@click.option("--state", type=click.Choice(get_args(RunState)), help="list: only these.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"list: how many, the newest first (default: {_SHOWN}).",
)
@click.option("--all", "everyone", is_flag=True, help="list: also those that runs delegated.")
@click.option(
    "--checkpoint", metavar="ID", help="fork: where to begin (default: the latest checkpoint)."
)
@input_option
@run_options
def command(session: Session, action: str, wanted: str | None, **options: Any) -> int:
    """List the runs of agents, look into one, go on with it, cancel it or begin from within it.

    RUN is an id, the beginning of one, or 'last'. 'show' prints what is known of a run, 'steps'
    what each step gave. 'resume' goes on where a run stopped; 'fork' begins a new one at a
    checkpoint, with another --input if you give it. Exit codes are those of 'metier run'.
    """
    _check(action, wanted, options)
    if action == "list":
        with _as_it_is(session) as catalog:
            return _list(session, catalog, options)
    assert wanted is not None
    if action in ("resume", "fork"):
        require_trust(session, "resuming a run" if action == "resume" else "running an agent")
        with session.catalog() as catalog:
            run = found_run(catalog.agency, wanted)
            catalog.agency.check_stored(AgentProfile.of(run.profile))
            consent(session, catalog, options["allowed"], AgentProfile.of(run.profile))
            attended = Attended(session, catalog, options["events"])
            if action == "resume":
                return _resume(attended, run)
            return _fork(attended, run, options["checkpoint"], read_input(options["given"]))
    with _as_it_is(session) as catalog:
        run = found_run(catalog.agency, wanted)
        act = {"show": _show, "steps": _steps, "cancel": _cancel}[action]
        return act(session, catalog.agency, run)


def _as_it_is(session: Session) -> AbstractContextManager[Catalog]:
    """The catalogue without a look for changes: runs do not depend on them."""
    return session.open_catalog()


_FOR = {
    "state": ("list",),
    "limit": ("list",),
    "everyone": ("list",),
    "checkpoint": ("fork",),
    "given": ("fork",),
    "allowed": ("resume", "fork"),
    "events": ("resume", "fork"),
}
_CALLED = {"everyone": "all", "given": "input", "allowed": "allow-tool"}


def _check(action: str, wanted: str | None, options: dict[str, Any]) -> None:
    """Refuse what does not go together."""
    if action == "list" and wanted is not None:
        raise UsageError("'runs list' takes no run", hint=f"metier runs show {wanted}")
    if action != "list" and not wanted:
        raise UsageError(f"'runs {action}' takes a run", hint=f"metier runs {action} {LAST}")
    for name, actions in _FOR.items():
        if options[name] and action not in actions:
            option = f"--{_CALLED.get(name, name)}"
            hint = f"metier runs {actions[0]}"
            raise UsageError(f"{option} is for 'runs {' and '.join(actions)}'", hint=hint)


def found_run(agency: Agency, wanted: str) -> RunRecord:
    """A run by its id, the beginning of it, or `last`. Raises `NotFoundError`."""
    if wanted != LAST:
        try:
            return agency.store.run(wanted)
        except NotFoundError:
            _refuse_ambiguous(agency, wanted)
            raise
    latest = agency.store.runs(limit=1, delegated=False)
    if not latest:
        raise NotFoundError("there is no run yet", hint="metier run AGENT TASK")
    return latest[0]


def _refuse_ambiguous(agency: Agency, wanted: str) -> None:
    ids = [one.run_id for one in agency.store.runs(limit=_COMPLETED)]
    like = [one for one in ids if one.startswith(wanted)]
    if len(like) > 1:
        raise NotFoundError(
            f"several runs begin with '{wanted}'", hint=f"one of them: {', '.join(like[:3])}"
        )


# Looking


def _list(session: Session, catalog: Catalog, options: dict[str, Any]) -> int:
    limit = options["limit"] or _SHOWN
    found = catalog.agency.store.runs(
        state=options["state"], limit=limit + 1, delegated=options["everyone"]
    )
    runs = found[:limit]
    if session.as_json:
        session.print_json([one.to_json() for one in runs])
        return 0
    if not runs:
        session.note("no run is like that" if options["state"] else "there is no run yet")
        session.note("hint: metier run AGENT TASK")
    print_runs(session, runs)
    if len(found) > limit:
        session.note(f"there are more: --limit {limit * 2}")
    if pending := next((one for one in runs if one.state == "pending"), None):
        session.note(
            f"pending runs wait to go on: {runs_command(session, 'resume', pending.run_id)}"
        )
    return 0


def _show(session: Session, agency: Agency, run: RunRecord) -> int:
    family = Family.of(run, agency.store.children)
    steps = agency.store.steps(run.key)
    checkpoints = agency.checkpoints.list(run.run_id)
    if session.as_json:
        asked = {key: run.request.get(key) for key in ("input", "model", "execution")}
        session.print_json(
            {
                "schemaVersion": "1",
                **family.to_json(),
                **asked,
                "steps": [one.to_json() for one in steps],
                "checkpoints": [_checkpoint(one) for one in checkpoints],
            }
        )
        return 0
    print_run(session, family, steps, checkpoints)
    if run.state == "running":
        session.note(f"\nat work in another process; {_stop(session, run)}")
    elif run.is_resumable:
        session.note(f"\n{how_to_go_on(session, run)}")
    return 0


def how_to_go_on(session: Session, run: RunRecord) -> str:
    """The command that goes on with a run, and what it does."""
    command = runs_command(session, "resume", run.run_id)
    if run.undoing is None:
        return f"to go on: {command}"
    return f"it is being undone, because {run.undoing.message}; to finish that: {command}"


def _stop(session: Session, run: RunRecord) -> str:
    return f"to stop it: {runs_command(session, 'cancel', run.run_id)}"


def _checkpoint(one: Checkpoint) -> dict[str, Any]:
    wanted = ("checkpointId", "stepIndex", "completedStepId", "createdAt", "expiresAt")
    data = one.to_json()
    return {key: data[key] for key in wanted}


def _steps(session: Session, agency: Agency, run: RunRecord) -> int:
    steps = agency.store.steps(run.key)
    if session.as_json:
        session.print_json([one.to_json() for one in steps])
        return 0
    if not steps:
        session.note(f"run {run.run_id} has no step yet")
    print_outputs(steps)
    return 0


# Acting


def _resume(attended: Attended, run: RunRecord) -> int:
    session, agency = attended.session, attended.catalog.agency
    steps = agency.store.steps(run.key)
    if run.state == "succeeded":
        session.note(f"run {run.run_id} has succeeded already; this is what it gave")
        return attended.tell(asyncio.run(agency.resume(run.run_id)))
    if run.state == "running":
        raise UsageError(
            f"run '{run.run_id}' is at work in another process",
            code="RUN_BUSY",
            hint=f"wait for it; {_stop(session, run)}",
        )
    if run.is_resumable:
        kept = sum(one.state in DONE for one in steps)
        session.note(f"resuming {run.run_id}: {counted(kept, 'step')} kept")

    def begin(look: Look) -> Coroutine[Any, Any, RunResult]:
        return agency.resume(run.run_id, look=look)

    return attended.finish(begin)


def _fork(attended: Attended, run: RunRecord, checkpoint: str | None, value: Any) -> int:
    session, checkpoints = attended.session, attended.catalog.agency.checkpoints
    if checkpoint is not None and checkpoint.isdecimal():
        checkpoint = f"{run.run_id}:{checkpoint}"
    try:
        found = checkpoints.load(checkpoint) if checkpoint else checkpoints.latest(run.run_id)
    except NotFoundError as error:
        show = runs_command(session, "show", run.run_id)
        raise NotFoundError(error.message, code=error.code, hint=f"{show} lists them") from None
    if found is None:
        raise NotFoundError(
            f"run '{run.run_id}' has no checkpoint",
            code="CHECKPOINT_NOT_FOUND",
            hint=f"begin anew: metier run {run.agent_id} TASK",
        )

    def begin(look: Look) -> Coroutine[Any, Any, RunResult]:
        return attended.catalog.agency.fork(run.run_id, checkpoint, input=value, look=look)

    return attended.finish(begin)


def _cancel(session: Session, agency: Agency, run: RunRecord) -> int:
    if run.state not in ("running", "pending", "cancelled"):
        raise UsageError(
            f"run '{run.run_id}' has ended: it is {state_in_words(run.state)}",
            hint=runs_command(session, "show", run.run_id),
        )
    agency.cancel(run.run_id)
    run = _awaited(agency, run.run_id)
    if session.as_json:
        session.print_json({"runId": run.run_id, "state": run.state})
    elif run.state == "running":
        session.tell(f"run {run.run_id} was asked to stop, and has not yet")
    else:
        session.tell(f"run {run.run_id} is {state_in_words(run.state)}")
    if run.is_resumable:
        session.note(how_to_go_on(session, run))
    return 0


def _awaited(agency: Agency, run_id: str) -> RunRecord:
    """The run once its process has heard, or as it is when that takes too long."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        run = agency.store.run(run_id)
        if run.state != "running" or time.monotonic() >= deadline:
            return run
        time.sleep(_EVERY)
