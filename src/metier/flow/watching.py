"""Follows a run that another process executes."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager

from metier.flow.running import Agency
from metier.values.runs import Event, OnEvent, RunRecord, RunResult, StepRecord, StepState

_POLL_SECONDS = 0.5
"""On SQLite, which does not notify other processes."""
_WAIT_SECONDS = 1.0
_READ_SECONDS = 15.0
"""A notification can be lost while PostgreSQL is away."""
_UNBEGUN: tuple[StepState, ...] = ("pending",)
Wait = Callable[[], Awaitable[bool]]
"""Waits a little; whether the run may have changed."""


async def watch(agency: Agency, run_id: str, on_event: OnEvent) -> RunResult:
    """The result of a run once it has ended; `on_event` is called with what is stored meanwhile."""
    run = agency.store.run(run_id)
    started = Event("run.started", run_id, run.created, "", {"agent": run.agent_id})
    on_event(started)
    seen: dict[str, StepState] = {}
    with _waiting(agency, run) as changed:
        while True:
            run = agency.store.run(run_id)
            steps = agency.store.steps(run.key)
            for event in _events(run_id, steps, seen):
                on_event(event)
            if run.state not in ("pending", "running"):
                return RunResult(run, steps, {})
            await _until(changed)


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
    from metier.run.watching import RunWatcher  # needs the extra `postgres`

    watcher = RunWatcher(agency.state.conninfo, agency.state.namespace, run.key)
    try:
        yield lambda: asyncio.to_thread(watcher.wait, _WAIT_SECONDS)
    finally:
        watcher.close()


async def _poll() -> bool:
    await asyncio.sleep(_POLL_SECONDS)
    return True
