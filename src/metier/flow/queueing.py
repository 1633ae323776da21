"""Runs on workers: start them, resume them, and schedule their starts, through the queue."""

import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from metier.errors import ConfigError, NotFoundError, UsageError, install_hint
from metier.flow.running import Agency
from metier.flow.state_settings import StateSettings
from metier.run.queue import (
    DEFAULT_PRIORITY,
    DEFAULT_QUEUE,
    PRIORITIES,
    QueuedRun,
    RunQueue,
)
from metier.run.queue import Schedule as Schedule
from metier.run.store import this_process
from metier.values.agents import AgentProfile, Execution
from metier.values.runs import Failure, RunRecord
from metier.values.settings import QUEUE_FORM, QueueSetting, is_queue_name

if TYPE_CHECKING:
    from metier.run.dbos_queue import DbosQueue
    from metier.run.workers import Note, Workers

_NO_PACKAGE = "STATE_NO_PACKAGE"
_WAITS = Failure("RUN_RELEASED", "the run waits for a worker")


class Placement(NamedTuple):
    """Where in the queue a run waits."""

    queue: str = ""
    """Empty: the queue that has the name of the model, or the default."""
    priority: int = DEFAULT_PRIORITY
    delay: float = 0.0
    key: str = ""
    """While a run with this key waits or executes, no other one is started with it."""


class RunRequest(NamedTuple):
    """What `metier run` is given."""

    agent: str
    task: str
    input: Any = None
    model: str = ""
    execution: Execution | None = None


class Enqueued(NamedTuple):
    """A run in a queue."""

    run_id: str
    queue: str
    is_new: bool = True
    """False: the run was there before, under the same key or id."""


def has_workers(agency: Agency, queue: str) -> bool:
    """Whether a live worker takes runs from a queue."""
    if agency.state is None or find_spec("dbos") is None:
        return False
    with _workers(agency.state) as workers:
        return any(not one.is_dead and queue in one.queues for one in workers.all())


def no_worker(agency: Agency, queue: str) -> str:
    """That no live worker takes runs from a queue, and what to do; empty if one does."""
    if has_workers(agency, queue):
        return ""
    more = "" if queue == DEFAULT_QUEUE else f" --queue {shlex.quote(queue)}"
    return f"no live worker takes runs from '{queue}'; to start one: metier worker{more}"


class RunFacts(NamedTuple):
    """What is known about a run besides its record; nothing without shared state."""

    queue: str = ""
    """Where it waits, or from where a worker took it; empty once it has ended."""
    notes: "Sequence[Note]" = ()
    """What happened to it between its steps."""


def check_removable(agency: Agency, run: RunRecord) -> None:
    """Raise `UsageError` for a run that another run delegated, and for one that is queued."""
    if run.parent_run:
        raise UsageError(
            f"run '{run.run_id}' belongs to run '{run.parent_run}'",
            hint=f"remove that: metier runs rm {run.parent_run}",
        )
    if queue := run_facts(agency, run.run_id).queue:
        raise UsageError(
            f"run '{run.run_id}' waits in queue '{queue}'",
            code="RUN_BUSY",
            hint=f"metier runs cancel {run.run_id}",
        )


def run_facts(agency: Agency, run_id: str) -> RunFacts:
    if agency.state is None:
        return RunFacts()
    with _workers(agency.state) as workers:
        return RunFacts(workers.queue_of(run_id), workers.notes(run_id))


def unshared_runs(agency: Agency) -> int:
    """How many runs are on this machine only; 0 once the newest of them was copied."""
    if not agency.has_local_runs:
        return 0
    with closing(agency.local_store()) as local:
        newest = local.runs(limit=1, delegated=False)
        if not newest or _is_known(agency, newest[0].run_id):
            return 0
        return local.count_runs(delegated=False)


@contextmanager
def _workers(state: StateSettings) -> "Iterator[Workers]":
    from metier.run.workers import Workers  # needs the extra `postgres`

    workers = Workers(state.conninfo, state.namespace)
    try:
        yield workers
    finally:
        workers.close()


def require_state(agency: Agency, what: str) -> StateSettings:
    """The settings of shared state, which `what` needs.

    Raises `ConfigError` without them, and `TrustError` if the workspace has them without trust.
    """
    if agency.state is None and agency.ignored_state:
        agency.require_trust(f"{what} needs shared state; [state] of this workspace")
    if agency.state is None:
        raise ConfigError(
            f"{what} needs shared state on PostgreSQL",
            code="QUEUE_NOT_CONFIGURED",
            hint="set [state] url and namespace; metier explain QUEUE_NOT_CONFIGURED says how",
        )
    return agency.state


@contextmanager
def opened_queue(agency: Agency, what: str) -> "Iterator[DbosQueue]":
    """The queue of shared state. Raises `ConfigError` if there is none."""
    settings = require_state(agency, what)
    try:
        from metier.run.dbos_queue import DbosQueue
    except ModuleNotFoundError as error:
        raise missing_extra(error) from None
    queue = DbosQueue(settings.conninfo, settings.namespace)
    try:
        yield queue
    finally:
        queue.close()


def missing_extra(error: ModuleNotFoundError) -> ConfigError:
    return ConfigError(
        f"the queue needs the package '{error.name}', which is not installed",
        code="STATE_NO_PACKAGE",
        hint=install_hint("workers"),
    )


def start_detached(agency: Agency, request: RunRequest, placement: Placement) -> Enqueued:
    """Store a run and enqueue it for a worker.

    If a run with the same key waits or executes, the result is that run, and nothing is stored.
    """
    with opened_queue(agency, "a detached run") as queue:
        return enqueue_new(agency, queue, request, placement)


def enqueue_new(
    agency: Agency, queue: RunQueue, request: RunRequest, placement: Placement, run_id: str = ""
) -> Enqueued:
    """The same through a queue that is open. A given `run_id` may be enqueued again."""
    profile = agency.startable(request.agent)
    name = queue_name(agency, placement, request.model)
    queue.register(name, limits_of(agency, name), update=False)
    if placement.key and (holder := queue.holder(name, placement.key)):
        return Enqueued(holder, name, is_new=False)
    made = run_id if _is_known(agency, run_id) else _added(agency, profile, request, run_id)
    if queue.is_waiting(made):
        return Enqueued(made, name, is_new=False)
    queued = QueuedRun(made, name, placement.priority)
    enqueued = queue.enqueue(queued, delay=placement.delay, key=placement.key)
    if enqueued != made:
        agency.cancel(made)
    return Enqueued(enqueued, name, is_new=enqueued == made)


def _is_known(agency: Agency, run_id: str) -> bool:
    try:
        return bool(run_id and agency.store.run(run_id))
    except NotFoundError:
        return False


def _added(agency: Agency, profile: AgentProfile, request: RunRequest, run_id: str) -> str:
    return agency.runner.add(
        profile, request.task, input=request.input, model=request.model,
        execution=request.execution, documents=agency.documents(), run_id=run_id,
    )  # fmt: skip


def resume_detached(agency: Agency, run_id: str, placement: Placement) -> Enqueued:
    """Enqueue a run that stopped. Raises `UsageError` if it waits already, or cannot be resumed."""
    run = agency.store.run(run_id)
    if not run.is_resumable:
        raise UsageError(
            f"run '{run.run_id}' is {run.state} and cannot be resumed", code="RUN_NOT_RESUMABLE"
        )
    name = queue_name(agency, placement, str(run.request.get("model") or ""))
    with opened_queue(agency, "a detached run") as queue:
        if queue.is_waiting(run.run_id):
            message = f"run '{run.run_id}' is already waiting for a worker"
            raise UsageError(message, code="RUN_BUSY", hint=f"metier runs watch {run.run_id}")
        claimed = agency.store.claim(run.run_id, this_process(), time.time())
        agency.store.release(claimed.claim, _WAITS)
        queue.register(name, limits_of(agency, name), update=False)
        queue.enqueue(QueuedRun(run.run_id, name, placement.priority), delay=placement.delay)
    return Enqueued(run.run_id, name)


def cancel_run(agency: Agency, run_id: str) -> bool:
    """Cancel a run on whichever machine it waits or executes; whether any process executed it."""
    was_executed = agency.cancel(run_id)
    if agency.state is None:
        return was_executed
    try:
        with opened_queue(agency, "cancelling") as queue:
            queue.cancel(run_id)
    except ConfigError as error:
        if error.code != _NO_PACKAGE:  # then a worker drops it when its turn comes
            raise
    return was_executed


def queue_name(agency: Agency, placement: Placement, model: str) -> str:
    """The queue of a run. Raises `UsageError` for a wrong name or priority."""
    if placement.priority not in PRIORITIES:
        raise UsageError(
            f"the priority {placement.priority} is not between {PRIORITIES[0]} and {PRIORITIES[-1]}"
        )
    if placement.queue:
        check_queue(placement.queue)
    return placement.queue or (model if model in agency.queues else DEFAULT_QUEUE)


def check_queue(name: str) -> None:
    """Raise `UsageError` unless a queue may be called so."""
    if not is_queue_name(name):
        raise UsageError(f"{name!r} is not a valid name of a queue", hint=f"use {QUEUE_FORM}")


def limits_of(agency: Agency, queue: str) -> QueueSetting:
    return agency.queues.get(queue, QueueSetting())


# Schedules


def add_schedule(
    agency: Agency, name: str, cron: str, zone: str, request: RunRequest, placement: Placement
) -> Schedule:
    """Start runs of an agent by the clock. Raises `UsageError` and `NotFoundError`."""
    agency.startable(request.agent)
    name_of_queue = queue_name(agency, placement, request.model)
    start = {**request._asdict(), "queue": name_of_queue, "priority": placement.priority}
    schedule = Schedule(name, cron, zone, start)
    with opened_queue(agency, "a schedule") as queue:
        queue.register(name_of_queue, limits_of(agency, name_of_queue), update=False)
        queue.add_schedule(schedule)
    return schedule


def next_start(schedule: Schedule) -> str:
    """The next time at which a schedule starts a run, in its time zone, or `never`."""
    from metier.run.dbos_queue import next_start  # an extra

    found = next_start(schedule, time.time())
    return f"{found:%Y-%m-%d %H:%M} {schedule.zone}" if found else "never"


def request_of(start: Mapping[str, Any]) -> tuple[RunRequest, Placement]:
    """What a schedule starts."""
    fields = {name: start[name] for name in RunRequest._fields if name in start}
    return RunRequest(**fields), Placement(str(start["queue"]), int(start["priority"]))
