"""Follows a run that another process executes."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from metier.flow.queueing import no_worker, run_facts
from metier.flow.running import Agency
from metier.flow.state_settings import StateSettings
from metier.values.runs import (
    Event,
    OnEvent,
    RunRecord,
    RunResult,
    RunState,
    StepRecord,
    StepState,
)

if TYPE_CHECKING:
    from metier.run.postgres_watching import RunWatcher

_POLL_SECONDS = 0.5
"""On SQLite, which does not notify other processes."""
_WAIT_SECONDS = 1.0
_READ_SECONDS = 15.0
"""A notification can be lost while PostgreSQL is away."""
_UNBEGUN: tuple[StepState, ...] = ("pending",)
Say = Callable[[str], None]
Wait = Callable[[], Awaitable[bool]]
"""Waits a little; whether the run may have changed."""


async def watch(agency: Agency, run_id: str, on_event: OnEvent, say: Say) -> RunResult:
    """The result of a run once it has ended; `on_event` is called with what is stored meanwhile.

    `say` is called with a line when the run waits, and when another worker takes it over.
    """
    on_event = agency.redacted(on_event) or on_event
    run = agency.store.run(run_id)
    started = Event("run.started", run_id, run.created, "", {"agent": run.agent_id})
    has_started = False
    seen: dict[str, StepState] = {}
    pauses = _Pauses(agency, run_id, say)
    with _waiting(agency, run) as changed:
        while True:
            run = agency.store.run(run_id)
            steps = agency.store.steps(run.key)
            pauses.look(run)
            if not has_started and (run.state != "pending" or steps):
                has_started = True
                on_event(started)
            for event in _events(run_id, steps, seen):
                on_event(event)
            if run.state not in ("pending", "running"):
                return RunResult(run, steps, {})
            await _until(changed)


class _Pauses:
    """Says what happens to a run between its steps, since it is watched."""

    def __init__(self, agency: Agency, run_id: str, say: Say) -> None:
        self._agency = agency
        self._say = say
        self._told = len(run_facts(agency, run_id).notes)
        self._seen: tuple[RunState, int] | None = None

    def look(self, run: RunRecord) -> None:
        now = run.state, run.epoch
        if now == self._seen:
            return
        self._seen = now
        facts = run_facts(self._agency, run.run_id)
        for note in facts.notes[self._told :]:
            if note.code == "RUN_TAKEN_OVER":
                self._say(f"run {run.run_id}: taken over {note.message} by {note.worker}")
        self._told = len(facts.notes)
        if run.state == "pending":
            self._say(f"run {run.run_id} {self._wait(run.run_id, facts.queue)}")

    def _wait(self, run_id: str, queue: str) -> str:
        if not queue:
            return f"waits to be resumed: metier runs resume {run_id}"
        warning = no_worker(self._agency, queue)
        return f"waits in queue '{queue}'{f'; {warning}' if warning else ''}"


class Progress(NamedTuple):
    """How far a run is; unequal to another one if something has changed."""

    state: RunState
    is_abandoned: bool
    """Whether its process is gone."""
    steps: Sequence[tuple[str, StepState, int]]
    """Id, state and attempts of each."""

    @property
    def is_over(self) -> bool:
        return self.is_abandoned or self.state not in ("pending", "running")


def progress_of(agency: Agency, run: RunRecord) -> Progress:
    store = agency.store
    now, steps = store.run(run.run_id), store.steps(run.key)
    told = tuple((step.id, step.state, step.attempts) for step in steps)
    return Progress(now.state, store.is_abandoned(now, time.time()), told)


async def follow(
    state: StateSettings | None, key: int, read: Callable[[], Awaitable[Progress]]
) -> AsyncGenerator[Progress, None]:
    """The progress of a run whenever it has changed, until the run is over.

    `read` reads it, in whichever thread; on PostgreSQL it is called after a notification.
    """
    watcher = _watcher(state, key) if state is not None else None
    seen: Progress | None = None
    try:
        while True:
            found = await read()
            if found != seen:
                yield found
            if found.is_over:
                return
            seen = found
            await _until(_poll if watcher is None else partial(_heard, watcher))
    finally:
        if watcher is not None:
            await asyncio.to_thread(watcher.close)


def _watcher(state: StateSettings, key: int) -> "RunWatcher":
    from metier.run.postgres_watching import RunWatcher  # needs the extra `postgres`

    return RunWatcher(state.conninfo, state.namespace, key)


async def _heard(watcher: "RunWatcher") -> bool:
    return await asyncio.to_thread(watcher.wait, _WAIT_SECONDS)


async def _until(changed: Wait) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_READ_SECONDS):
            while not await changed():
                pass


def _events(
    run_id: str, steps: Iterable[StepRecord], seen: dict[str, StepState]
) -> Iterator[Event]:
    """What has happened to the steps since `seen`, which is updated."""
    for step in steps:
        before, seen[step.id] = seen.get(step.id), step.state
        if before == step.state or step.state in _UNBEGUN:
            continue
        if step.state == "running":
            yield Event("step.started", run_id, step.started, step.id, {})
            continue
        error = step.failure.to_json() if step.failure else None
        facts = {"durationMs": step.duration_ms, "error": error}
        yield Event(f"step.{step.state}", run_id, step.finished or step.started, step.id, facts)


@contextmanager
def _waiting(agency: Agency, run: RunRecord) -> Iterator[Wait]:
    if agency.state is None:
        yield _poll
        return
    watcher = _watcher(agency.state, run.key)
    try:
        yield lambda: asyncio.to_thread(watcher.wait, _WAIT_SECONDS)
    finally:
        watcher.close()


async def _poll() -> bool:
    await asyncio.sleep(_POLL_SECONDS)
    return True
