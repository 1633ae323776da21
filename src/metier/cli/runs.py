"""`metier runs`"""

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from typing import Any, get_args

import click

from metier.catalog import Catalog
from metier.cli.groups import CommandGroup
from metier.cli.run_agent import (
    CANCELLED,
    Attended,
    consent,
    input_option,
    read_input,
    require_trust,
    run_options,
    runs_command,
)
from metier.cli.run_live import progress
from metier.cli.run_queue import check_detached, placement_of, print_detached, queue_options
from metier.cli.run_view import (
    Family,
    moment,
    print_outputs,
    print_run,
    print_runs,
    state_in_words,
)
from metier.cli.session import LAST, Session, complete_from, counted, metier_command
from metier.core.text import printable
from metier.errors import NotFoundError, UsageError
from metier.flow.queueing import (
    cancel_run,
    check_removable,
    resume_detached,
    run_facts,
    unshared_runs,
)
from metier.flow.running import Agency
from metier.values.agents import AgentProfile, Checkpoint
from metier.values.runs import DONE, OnEvent, RunRecord, RunResult, RunState

_SHOWN = 20
_COMPLETED = 50
_PATIENCE = 10.0
"""Seconds to wait for another process to cancel a run."""
_EVERY = 0.1


command = CommandGroup(
    "runs",
    default="list",
    help="""List the runs of agents, show one, resume, cancel, fork or remove it.

    RUN is an id, the beginning of one, or 'last'. Without a command the runs are listed. Exit
    codes are those of 'metier run'.
    """,
)


def _ids(catalog: Catalog) -> list[str]:
    return [run.run_id for run in catalog.agency.store.runs(limit=_COMPLETED)]


_run_argument = click.argument("wanted", metavar="RUN", shell_complete=complete_from(_ids))


def _subcommand(
    name: str, *, repeats: bool = False
) -> Callable[[Callable[..., Any]], click.Command]:
    def decorate(function: Callable[..., Any]) -> click.Command:
        made = metier_command(name, repeats=repeats)(function)
        command.add_command(made)
        return made

    return decorate


def _unrefreshed(session: Session) -> AbstractContextManager[Catalog]:
    """Runs do not depend on changes of documents."""
    session.note_state()
    return session.open_catalog()


def found_run(agency: Agency, wanted: str) -> RunRecord:
    """A run by its id, the beginning of it, or `last`. Raises `NotFoundError`."""
    if wanted == LAST:
        latest = agency.store.runs(limit=1, delegated=False)
        if not latest:
            raise NotFoundError("there is no run yet", hint="metier run AGENT TASK")
        return latest[0]
    try:
        return agency.store.run(wanted)
    except NotFoundError:
        ids = [run.run_id for run in agency.store.runs(limit=_COMPLETED)]
        like = [one for one in ids if one.startswith(wanted)]
        if len(like) < 2:
            raise
        hint = f"one of them: {', '.join(like[:3])}"
        raise NotFoundError(f"several runs begin with '{wanted}'", hint=hint) from None


# Reading


@_subcommand("list")
@click.option("--state", type=click.Choice(get_args(RunState)), help="Only runs in this state.")
@click.option(
    "--limit", type=click.IntRange(min=1), metavar="N", default=_SHOWN, show_default=True,
    help="At most N runs, the newest first.",
)  # fmt: skip
@click.option("--all", "delegated", is_flag=True, help="Also list delegated runs.")
def _list(session: Session, state: str | None, limit: int, delegated: bool) -> int:
    """List runs, the newest first."""
    with _unrefreshed(session) as catalog:
        store = catalog.agency.store
        runs = store.runs(state=state, limit=limit, delegated=delegated)
        total = store.count_runs(state=state, delegated=delegated)
        is_shared = catalog.agency.state is not None
        elsewhere = unshared_runs(catalog.agency) if is_shared else 0
    if session.as_json:
        session.print_json([run.to_json() for run in runs])
        return 0
    if not runs:
        session.note(f"no run is {state_in_words(state)}" if state else "there is no run yet")
        session.note("hint: metier run AGENT TASK")
    print_runs(session, runs, total)
    if elsewhere:
        are = "is" if elsewhere == 1 else "are"
        session.note(f"{counted(elsewhere, 'run')} {are} on this machine only: metier state copy")
    if pending := next((run for run in runs if run.state == "pending"), None):
        resume = runs_command(session, "resume", pending.run_id)
        wait = "wait for a worker, or to be resumed" if is_shared else "wait to be resumed"
        session.note(f"pending runs {wait}: {resume}")
    return 0


@_subcommand("show")
@_run_argument
def _show(session: Session, wanted: str) -> int:
    """Show a run: its error, steps, injections, delegated runs and checkpoints."""
    with _unrefreshed(session) as catalog:
        agency = catalog.agency
        run = found_run(agency, wanted)
        family = Family.of(run, agency.store.children)
        steps = agency.store.steps(run.key)
        checkpoints = agency.checkpoints.list(run.run_id)
        facts = run_facts(agency, run.run_id)
    shown = session.redactor.value
    run, family, steps, facts = shown(run), shown(family), shown(steps), shown(facts)
    if session.as_json:
        asked = {key: run.request.get(key) for key in ("input", "model", "execution")}
        session.print_json(
            {
                "schemaVersion": "1",
                **family.to_json(),
                **asked,
                "steps": [step.to_json() for step in steps],
                "checkpoints": [_checkpoint(checkpoint) for checkpoint in checkpoints],
                "queue": facts.queue,
                "notes": [note.to_json() for note in facts.notes],
            }
        )
        return 0
    print_run(session, family, steps, checkpoints, facts.queue)
    for note in facts.notes:
        click.echo(printable(f"{moment(note.at)} {note.code}: {note.message}"))
    if run.state == "running":
        session.note(f"\nrunning in another process; {_how_to_cancel(session, run)}")
    elif run.is_resumable:
        session.note(f"\n{_how_to_resume(session, run)}")
    return 0


def _how_to_resume(session: Session, run: RunRecord) -> str:
    resume = runs_command(session, "resume", run.run_id)
    if run.rollback is None:
        return f"to continue: {resume}"
    return f"it is being rolled back, because {run.rollback.message}; to finish that: {resume}"


def _how_to_cancel(session: Session, run: RunRecord) -> str:
    return f"to stop it: {runs_command(session, 'cancel', run.run_id)}"


def _checkpoint(checkpoint: Checkpoint) -> dict[str, Any]:
    wanted = ("checkpointId", "stepIndex", "completedStepId", "createdAt", "expiresAt")
    data = checkpoint.to_json()
    return {key: data[key] for key in wanted}


@_subcommand("steps")
@_run_argument
def _steps(session: Session, wanted: str) -> int:
    """Show the output of each step of a run."""
    with _unrefreshed(session) as catalog:
        run = found_run(catalog.agency, wanted)
        steps = catalog.agency.store.steps(run.key)
    if session.as_json:
        session.print_json([step.to_json() for step in steps])
        return 0
    if not steps:
        session.note(f"run {run.run_id} has no step yet")
    print_outputs(run, session.redactor.value(steps))
    return 0


@_subcommand("watch")
@_run_argument
@click.option("--events", is_flag=True, help="Print events as lines of JSON.")
def _watch(session: Session, wanted: str, events: bool) -> int:
    """Follow a run on any machine until it ends, and exit as it does.

    Ctrl-C stops watching; the run continues.
    """
    with _unrefreshed(session) as catalog:
        run, attended = found_run(catalog.agency, wanted), Attended(session, catalog, events)
        try:
            with progress(session, is_shown=not events) as shown:
                result = asyncio.run(attended.watch(run.run_id, shown))
        except KeyboardInterrupt:
            session.note(f"stopped watching; the run continues: metier runs watch {run.run_id}")
            return CANCELLED
        return attended.tell(result)


# Acting


@_subcommand("resume", repeats=True)
@_run_argument
@queue_options
@run_options
def _resume(
    session: Session,
    wanted: str,
    allowed: tuple[str, ...],
    events: bool,
    detach: bool,
    **placement: Any,
) -> int:
    """Continue a run where it stopped; steps that succeeded do not run again."""
    require_trust(session, "resuming a run")
    check_detached(detach)
    with session.catalog() as catalog:
        if detach:
            run = found_run(catalog.agency, wanted)
            _check_idle(session, catalog.agency, run)
            session.has_acted = True
            enqueued = resume_detached(catalog.agency, run.run_id, placement_of(**placement))
            return print_detached(session, catalog.agency, enqueued)
        run = _consented(session, catalog, wanted, allowed)
        agency = catalog.agency
        if run.state == "succeeded":
            session.note(f"run {run.run_id} has already succeeded; this is its output")
            result = asyncio.run(agency.resume(run.run_id))
            return Attended(session, catalog, events).tell(result)
        _check_idle(session, agency, run)
        done = sum(step.state in DONE for step in agency.store.steps(run.key))
        opening = f"resuming {run.run_id}: {counted(done, 'step')} kept"

        def begin(on_event: OnEvent) -> Coroutine[Any, Any, RunResult]:
            return agency.resume(run.run_id, on_event=on_event)

        return Attended(session, catalog, events, opening).finish(begin)


def _check_idle(session: Session, agency: Agency, run: RunRecord) -> None:
    """Raise `UsageError` while another process executes a run."""
    if run.state != "running":
        return
    left = agency.store.lease_left(run, time.time())
    dead = f"if that process is gone, it can be resumed in {max(1.0, left):.0f} s"
    raise UsageError(
        f"run '{run.run_id}' is already running in another process",
        code="RUN_BUSY",
        hint=f"wait for it; {dead}; {_how_to_cancel(session, run)}",
    )


def _consented(
    session: Session, catalog: Catalog, wanted: str, allowed: tuple[str, ...]
) -> RunRecord:
    """A run, after its agent was checked and tools were allowed."""
    run = found_run(catalog.agency, wanted)
    profile = AgentProfile.of(run.profile)
    catalog.agency.check_stored(profile)
    consent(session, catalog, allowed, profile)
    return run


@_subcommand("fork", repeats=True)
@_run_argument
@click.option("--checkpoint", metavar="ID", help="Where to begin (default: the latest checkpoint).")
@input_option
@run_options
def _fork(
    session: Session,
    wanted: str,
    checkpoint: str | None,
    given: str | None,
    allowed: tuple[str, ...],
    events: bool,
) -> int:
    """Start a new run from a checkpoint of a run, with another --input if you give it."""
    require_trust(session, "running an agent")
    with session.catalog() as catalog:
        run = _consented(session, catalog, wanted, allowed)
        value = read_input(session, given)
        checkpoints = catalog.agency.checkpoints
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
                hint=f"start over: metier run {run.agent_id} TASK",
            )

        def begin(on_event: OnEvent) -> Coroutine[Any, Any, RunResult]:
            return catalog.agency.fork(run.run_id, checkpoint, input=value, on_event=on_event)

        return Attended(session, catalog, events).finish(begin)


@_subcommand("cancel")
@_run_argument
def _cancel(session: Session, wanted: str) -> int:
    """Cancel a run, whichever process executes it."""
    with _unrefreshed(session) as catalog:
        run = found_run(catalog.agency, wanted)
        if run.state not in ("running", "pending", "cancelled"):
            raise UsageError(
                f"run '{run.run_id}' has already ended: {state_in_words(run.state)}",
                hint=runs_command(session, "show", run.run_id),
            )
        cancel_run(catalog.agency, run.run_id)
        run = _awaited(catalog.agency, run.run_id)
    if session.as_json:
        session.print_json({"runId": run.run_id, "state": run.state})
    elif run.state == "running":
        session.tell(f"run {run.run_id} was asked to stop, but has not stopped yet")
    else:
        session.tell(f"run {run.run_id} is {state_in_words(run.state)}")
    if run.is_resumable:
        session.note(_how_to_resume(session, run))
    return 0


@_subcommand("rm")
@click.argument(
    "wanted", metavar="RUN...", nargs=-1, required=True, shell_complete=complete_from(_ids)
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def _rm(session: Session, wanted: tuple[str, ...], yes: bool) -> int:
    """Remove runs with their steps and checkpoints, and the runs that they delegated.

    A run that is running, or waits in a queue, is not removed. On a terminal you are asked first;
    elsewhere, and with --json, nothing is removed without --yes.
    """
    with _unrefreshed(session) as catalog:
        agency = catalog.agency
        runs = {run.run_id: run for run in (found_run(agency, one) for one in wanted)}
        for run in runs.values():
            check_removable(agency, run)
        if not yes and not _agreed(session, list(runs.values())):
            session.note("nothing was removed")
            return 1
        removed = agency.store.remove(list(runs))
    if session.as_json:
        session.print_json({"schemaVersion": "1", "removed": list(runs), "runs": removed})
        return 0
    delegated = removed - len(runs)
    more = f" and {counted(delegated, 'delegated run')}" if delegated else ""
    session.tell(f"removed {counted(len(runs), 'run')}{more}")
    return 0


def _agreed(session: Session, runs: list[RunRecord]) -> bool:
    """Ask whether to remove runs. Raises `UsageError` without a terminal, and with --json."""
    question = f"Remove {counted(len(runs), 'run')} for good?"
    if session.as_json or not sys.stdin.isatty():
        why = "removing runs cannot be undone, so it has to be confirmed"
        raise UsageError(why, hint="--yes removes them without asking")
    print_runs(session, runs, len(runs))
    return click.confirm(question, err=True)


def _awaited(agency: Agency, run_id: str) -> RunRecord:
    """The run, after waiting for its process to end it."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        run = agency.store.run(run_id)
        if run.state != "running" or time.monotonic() >= deadline:
            return run
        time.sleep(_EVERY)
