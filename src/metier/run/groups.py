"""Sibling steps: one after the other, or each as soon as what it depends on is done."""

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

from metier.run.services import RunStoppedError
from metier.run.workflow import Group, ReadyStep
from metier.values.runs import Failure, StepState

Tasks = dict["asyncio.Task[Failure | None]", ReadyStep]


class Running(Protocol):
    """A run at work, as far as it takes to run its steps."""

    def is_overdue(self) -> bool: ...
    def mark(self, key: str, state: StepState) -> None: ...
    async def step(self, one: ReadyStep, names: dict[str, Any], suffix: str) -> Failure | None: ...


async def run_group(
    live: Running, group: Group, names: dict[str, Any], suffix: str
) -> Failure | None:
    """Run sibling steps; the first failure among them."""
    run = _in_parallel if group.is_parallel else _in_order
    failures = await run(live, group, names, suffix)
    return failures[0] if failures else None


async def _in_order(
    live: Running, group: Group, names: dict[str, Any], suffix: str
) -> list[Failure]:
    failures: list[Failure] = []
    bad: set[str] = set()
    for place, one in enumerate(group.steps):
        if bad and not bad.isdisjoint(one.depends):
            live.mark(one.id + suffix, "blocked")
            bad.add(one.id)
            continue
        try:
            failure = await live.step(one, names, suffix)
        except (RunStoppedError, asyncio.CancelledError) as error:
            _mark_unbegun(live, group.steps[place + 1 :], bad, suffix, error)
            raise
        if failure is None:
            continue
        failures.append(failure)
        bad.add(one.id)
        if group.strategy != "continueOnError":
            mark_rest(live, group.steps[place + 1 :], bad, suffix)
            break
    return failures


async def _in_parallel(
    live: Running, group: Group, names: dict[str, Any], suffix: str
) -> list[Failure]:
    """Each step starts when what it depends on is done, at most `limit` at a time."""
    failures: list[Failure] = []
    done: set[str] = set()
    bad: set[str] = set()
    waiting = list(group.steps)
    running: Tasks = {}
    try:
        while waiting or running:
            _mark_blocked(live, waiting, bad, suffix)
            for one in [one for one in waiting if done.issuperset(one.depends)]:
                if len(running) < group.limit:
                    waiting.remove(one)
                    running[asyncio.create_task(live.step(one, names, suffix))] = one
            if not running:
                break
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in [one for one in running if one.done()]:
                one = running.pop(task)
                failure = task.result()
                (bad if failure else done).add(one.id)
                failures += [failure] if failure else []
            if failures and group.strategy != "continueOnError":
                break
    except (RunStoppedError, asyncio.CancelledError) as error:
        bad |= {one.id for one, _ in await _stop(running)}
        _mark_unbegun(live, waiting, bad, suffix, error)
        raise
    finally:
        late = await _stop(running)
    bad |= {one.id for one, _ in late}
    mark_rest(live, waiting, bad, suffix)
    return [*failures, *(failure for _, failure in late)]


def _mark_blocked(live: Running, waiting: list[ReadyStep], bad: set[str], suffix: str) -> None:
    """Take out of `waiting` what depends on a failure, near or far."""
    while blocked := [one for one in waiting if not bad.isdisjoint(one.depends)]:
        for one in blocked:
            waiting.remove(one)
            bad.add(one.id)
            live.mark(one.id + suffix, "blocked")


def mark_rest(live: Running, steps: Sequence[ReadyStep], bad: set[str], suffix: str) -> None:
    """What depends on a failure is blocked, everything else cancelled."""
    rest = list(steps)
    _mark_blocked(live, rest, bad, suffix)
    for one in rest:
        live.mark(one.id + suffix, "cancelled")


def _mark_unbegun(
    live: Running, steps: Sequence[ReadyStep], bad: set[str], suffix: str, error: BaseException
) -> None:
    """The same when a limit stops the run; who cancels a run finds these steps as they were."""
    if live.is_overdue() or isinstance(error, RunStoppedError):
        mark_rest(live, steps, bad, suffix)


async def _stop(running: Tasks) -> list[tuple[ReadyStep, Failure]]:
    """Cancel these steps and wait for their end; those that failed all the same."""
    for task in running:
        task.cancel()
    ended = await asyncio.gather(*running, return_exceptions=True)
    pairs = zip(running.values(), ended, strict=True)
    return [(one, result) for one, result in pairs if isinstance(result, Failure)]
