"""One run that is executing: its groups of steps, its rollback and its end."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any

from metier.core.template_work import until
from metier.core.templates import TemplateError
from metier.errors import StoreError
from metier.run.delegation import DelegationChain
from metier.run.ledger import Ledger, is_inside, rolling_back
from metier.run.plan import Group, ReadyStep, Workflow, missing_tools, unknown_model, unknown_price
from metier.run.rows import CANCELLED
from metier.run.services import RunStoppedError, Services
from metier.run.store import RunStore
from metier.values.agents import AgentProfile, Limits
from metier.values.runs import (
    Event,
    Failure,
    OnEvent,
    RunRecord,
    RunResult,
    RunState,
    StepRecord,
    StepState,
)

log = logging.getLogger("metier.run")
Names = dict[str, Any]
RunStep = Callable[["LiveRun", ReadyStep, Names, str], Awaitable[Failure | None]]
"""Executes a step; the suffix is its iteration, as `[2]`. Returns why it failed."""
_Tasks = dict["asyncio.Future[Failure | None]", ReadyStep]


class LiveRun:
    """A run that this process executes."""

    def __init__(
        self,
        store: RunStore,
        services: Services,
        run: RunRecord,
        profile: AgentProfile,
        plan: Workflow,
        chain: DelegationChain,
        run_step: RunStep,
        *,
        limits: Limits,
        known: Sequence[StepRecord] = (),
        on_event: OnEvent | None = None,
    ) -> None:
        self.services = services
        self.run = run
        self.profile = profile
        self.plan = plan
        self.tools = services.tools_of(profile.agent_id)
        self.chain = chain
        self.on_event = on_event
        order = [step.id for step in plan.steps]
        self.ledger = Ledger(store, run.claim, order, plan.checkpoint, limits, known)
        self.stopped: StoreError | None = None
        """Why this process no longer executes the run, although it has not ended."""
        self.is_cancel_requested = False
        """Whether the run is to end as cancelled, and its caller waits for the result."""
        self.scopes: dict[str, Names] = {}
        """The names that steps in loops see, by full id: compensation needs them."""
        self._run_step = run_step
        self._limit: asyncio.Timeout | None = None
        self._has_listener_failed = False

    def names(self, key: str = "") -> Names:
        """What the templates of a step see; in a loop, as its iteration left it."""
        if key in self.scopes:
            return {**self.scopes[key], "steps": self.ledger.seen_in_iteration(key)}
        return {
            "input": self.run.request.get("input"),
            "task": self.run.task,
            "steps": self.ledger.seen,
            "agent": self.profile.data,
            "memory": self.ledger.memory,
        }

    def names_of_iteration(
        self, step: ReadyStep, names: Names, number: int, items: Any = None
    ) -> Names:
        """What the steps in one iteration of a loop over `items` see."""
        inner = {**names, "index": number}
        if step.over is not None:
            given = step.over(names) if items is None else items
            inner["item"] = inner[step.declared.config.get("as") or "item"] = given[number]
        return inner

    def emit(self, kind: str, step: str = "", **data: Any) -> None:
        if self.on_event is not None:
            try:
                self.on_event(Event(kind, self.run.run_id, time.time(), step, data))
            except Exception:  # a listener cannot stop a run
                if not self._has_listener_failed:
                    log.exception("on_event failed at '%s'; it is not logged again", kind)
                self._has_listener_failed = True

    # The run

    async def execute(self) -> RunResult:
        """Run to the end. Cancelling the task cancels the run."""
        above = {"parentRunId": self.run.parent_run, "parentStepId": self.run.parent_step}
        more = above if self.run.parent_run else {}
        self.emit("run.started", agent=self.run.agent_id, task=self.run.task, **more)
        self.restore()
        failure = self.run.rollback or self._obstacle()
        if failure is not None and self.run.rollback is None:
            never = [step for step in self.plan.steps if step.id not in self.ledger.records]
            self._mark_rest(never, set(), "")
            return await self._end_run("failed", failure)
        try:
            failure = failure or await self._forward()
        except asyncio.CancelledError:
            return self._cancelled("cancelled")
        state: RunState = "failed" if failure else "succeeded"
        if failure is not None and self.plan.strategy == "rollback":
            try:
                state = await self._roll_back(failure)
            except asyncio.CancelledError:
                return self._cancelled("rollback_incomplete")
        return await self._end_run(state, failure)

    def _obstacle(self) -> Failure | None:
        """Why no step may begin, if something that steps need is not there."""
        missing = missing_tools(self.run, self.profile, self.plan, self.services)
        asked = (self.run, self.profile, self.ledger.records, self.services)
        obstacle = missing or unknown_model(*asked)
        if obstacle is None and self.ledger.limits.cost is not None:
            return unknown_price(*asked)
        return obstacle

    async def _forward(self) -> Failure | None:
        """Run all steps; why the run failed, or None."""
        seconds = self.ledger.limits.seconds
        try:
            if seconds is None:
                return await self.group(self.plan, self.names(), "")
            async with time_limit(seconds) as self._limit:
                return await self.group(self.plan, self.names(), "")
        except TimeoutError:
            return Failure("RUN_TIMEOUT", f"the run took more than {seconds:g} seconds")
        except RunStoppedError as error:
            return error.failure

    async def _roll_back(self, failure: Failure) -> RunState:
        """Roll the run back. That it began is stored first, so a resume only finishes it."""
        self.ledger.is_rolled_back = True
        if self.run.rollback is None:
            self.run = self.run._replace(rollback=failure)
            await self.ledger.store.begin_rollback(self.run.claim, failure)
        complete = await self.roll_back(self.plan)
        return "rolled_back" if complete else "rollback_incomplete"

    async def _end_run(self, state: RunState, failure: Failure | None) -> RunResult:
        self._set_ended(state, failure)
        await self.ledger.store.end_run(self.run, self.ledger.ending())
        return self._ended()

    def _cancelled(self, state: RunState) -> RunResult:
        """Store the end of a cancelled run; its result only if that was requested."""
        task = asyncio.current_task()
        if self.stopped is not None:
            assert task is not None
            task.uncancel()
            raise self.stopped
        self._set_ended(state, CANCELLED)
        self.ledger.store.end_run_now(self.run, self.ledger.ending())
        result = self._ended()
        if not self.is_cancel_requested or task is None:
            raise asyncio.CancelledError
        task.uncancel()
        return result

    def _set_ended(self, state: RunState, failure: Failure | None) -> None:
        records = [self.ledger.records.get(step.id) for step in self.plan.steps]
        outputs = [
            record.output
            for record in records
            if record is not None and record.state == "succeeded"
        ]
        self.run = self.run._replace(
            state=state,
            finished=time.time(),
            failure=failure,
            usage=self.ledger.usage,
            output=outputs[-1] if outputs else None,
        )

    def _ended(self) -> RunResult:
        if last := self.ledger.last_checkpoint:
            self.emit("checkpoint.saved", last.after, checkpointId=f"{self.run.run_id}:{last.seq}")
        failure, usage = self.run.failure, self.run.usage.to_json()
        error = failure.to_json() if failure else None
        self.emit("run.finished", state=self.run.state, error=error, usage=usage)
        return self.result()

    def result(self) -> RunResult:
        return RunResult(self.run, self.ledger.in_order(), dict(self.ledger.memory))

    # Groups of steps

    async def group(self, group: Group, names: Names, suffix: str) -> Failure | None:
        """Run sibling steps; the first failure among them."""
        run = self._in_parallel if group.is_parallel else self._in_sequence
        failures = await run(group, names, suffix)
        return failures[0] if failures else None

    async def _in_sequence(self, group: Group, names: Names, suffix: str) -> list[Failure]:
        failures: list[Failure] = []
        bad: set[str] = set()
        for number, one in enumerate(group.steps, start=1):
            if bad and not bad.isdisjoint(one.depends):
                self.mark(one.id + suffix, "blocked")
                bad.add(one.id)
                continue
            try:
                failure = await self._run_step(self, one, names, suffix)
            except (RunStoppedError, asyncio.CancelledError) as error:
                self._mark_unbegun(group.steps[number:], bad, suffix, error)
                raise
            if failure is None:
                continue
            failures.append(failure)
            bad.add(one.id)
            if group.strategy != "continueOnError":
                self._mark_rest(group.steps[number:], bad, suffix)
                break
        return failures

    async def _in_parallel(self, group: Group, names: Names, suffix: str) -> list[Failure]:
        """Start each step when its dependencies are done, at most `limit` at a time."""
        failures: list[Failure] = []
        done: set[str] = set()
        bad: set[str] = set()
        waiting = list(group.steps)
        running: _Tasks = {}
        try:
            while waiting or running:
                self._mark_blocked(waiting, bad, suffix)
                for one in [one for one in waiting if done.issuperset(one.depends)]:
                    if len(running) < group.limit:
                        waiting.remove(one)
                        step = self._run_step(self, one, names, suffix)
                        running[asyncio.ensure_future(step)] = one
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
            self._mark_unbegun(waiting, bad, suffix, error)
            raise
        finally:
            late = await _stop(running)
        bad |= {one.id for one, _ in late}
        self._mark_rest(waiting, bad, suffix)
        return [*failures, *(failure for _, failure in late)]

    def mark(self, key: str, state: StepState) -> None:
        """Keep the state of a step that does not begin, unless it is done."""
        if self.ledger.done(key) is None:
            self.ledger.note(self.ledger.fresh(key, state))
            self.emit(f"step.{state}", key)

    def _mark_blocked(self, waiting: list[ReadyStep], bad: set[str], suffix: str) -> None:
        """Remove from `waiting` what depends on a failure, directly or not."""
        while blocked := [one for one in waiting if not bad.isdisjoint(one.depends)]:
            for one in blocked:
                waiting.remove(one)
                bad.add(one.id)
                self.mark(one.id + suffix, "blocked")

    def _mark_rest(self, steps: Iterable[ReadyStep], bad: set[str], suffix: str) -> None:
        """What depends on a failure is blocked, everything else cancelled."""
        rest = list(steps)
        self._mark_blocked(rest, bad, suffix)
        for one in rest:
            self.mark(one.id + suffix, "cancelled")

    def _mark_unbegun(
        self, steps: Iterable[ReadyStep], bad: set[str], suffix: str, error: BaseException
    ) -> None:
        """The same, but only when a limit stops the run."""
        is_overdue = self._limit is not None and self._limit.expired()
        if is_overdue or isinstance(error, RunStoppedError):
            self._mark_rest(steps, bad, suffix)

    # Rolling back

    async def roll_back(self, group: Group, suffix: str = "") -> bool:
        """Compensate what succeeded in a group, latest first; whether all could be."""
        inside = {one.id: one for step in group.steps for one in step.walk()}
        complete = True
        with rolling_back():
            for one, record in reversed(self._succeeded(inside, suffix)):
                if one.compensate is not None or not one.groups:
                    complete = await self._compensate(one, record) and complete
            self._mark_containers(inside, suffix)
        return complete

    def _succeeded(
        self, inside: dict[str, ReadyStep], suffix: str
    ) -> list[tuple[ReadyStep, StepRecord]]:
        """The steps of a group that succeeded, in the order in which they ended."""
        return [
            (inside[record.id.partition("[")[0]], record)
            for record in self.ledger.in_order()
            if record.state == "succeeded" and is_inside(record.id, inside, suffix)
        ]

    async def _compensate(self, step: ReadyStep, record: StepRecord) -> bool:
        if step.compensate is None:
            return False
        suffix = record.id.removeprefix(step.id)
        key = step.compensate.id + suffix
        self.ledger.begin_compensation(key, record)
        failure = await self._run_step(self, step.compensate, self.names(record.id), suffix)
        if failure is not None or self.ledger.records[key].state != "succeeded":
            return False
        self.emit("step.compensated", record.id)
        return True

    def _mark_containers(self, inside: dict[str, ReadyStep], suffix: str) -> None:
        """A step whose steps were all compensated is compensated too; the innermost first."""
        parents = {child.id: one for one in inside.values() for child in one.children()}
        not_compensated: set[str] = set()
        for one, record in self._succeeded(inside, suffix):
            if one.groups and one.compensate is None and record.id not in not_compensated:
                self.ledger.note(record._replace(state="compensated"))
                self.emit("step.compensated", record.id)
            elif one.id in parents:
                parent, iteration = parents[one.id], record.id.removeprefix(one.id)
                outer = iteration.rpartition("[")[0] if parent.kind == "loop" else iteration
                not_compensated.add(parent.id + outer)

    # Resuming

    def restore(self) -> None:
        """Make the outputs of stored steps visible; memory in the order in which they ended."""
        if not self.ledger.records:
            return
        steps = {step.id: step for one in self.plan.steps for step in one.walk(compensating=True)}
        for record in self.ledger.in_order():
            one = steps.get(record.id.partition("[")[0])
            if one is not None and record.state in ("succeeded", "compensated"):
                self.ledger.remember(one, record.output)
        names = self.names()
        for one in self._begun(self.plan.steps, ""):
            self.restore_step(one, names, "")

    def restore_step(self, step: ReadyStep, names: Names, suffix: str) -> None:
        """Let templates see the stored output of a step, and of all inside it."""
        key = step.id + suffix
        for inner, inner_suffix in self._iterations(step, names, suffix):
            for child in self._begun(step.children(), inner_suffix):
                self.restore_step(child, inner, inner_suffix)
        record = self.ledger.records.get(key)
        if record is not None and record.state in ("succeeded", "skipped", "compensated"):
            if suffix:
                self.scopes[key] = names
            self.ledger.show(step.id, record)

    def _begun(self, steps: Iterable[ReadyStep], suffix: str) -> list[ReadyStep]:
        """The `steps` that began, in the order in which they ended."""
        records = self.ledger.records
        begun = [(step, records[step.id + suffix]) for step in steps if step.id + suffix in records]
        begun.sort(key=lambda pair: (pair[1].seq == 0, pair[1].seq))
        return [one for one, _ in begun]

    def _iterations(
        self, step: ReadyStep, names: Names, suffix: str
    ) -> Iterator[tuple[Names, str]]:
        """The names and suffix for the steps inside a step, for each iteration."""
        if step.kind != "loop":
            yield names, suffix
            return
        items, number = self.ledger.items(step.id + suffix), 0
        while self._begun(step.children(), f"{suffix}[{number}]"):
            self.ledger.forget(step)
            try:
                inner = self.names_of_iteration(step, names, number, items)
            except (TemplateError, LookupError, TypeError):  # what it went over is not known
                inner = {**names, "index": number}
            yield inner, f"{suffix}[{number}]"
            number += 1


async def _stop(running: _Tasks) -> list[tuple[ReadyStep, Failure]]:
    """Cancel steps and wait for them; those that failed."""
    for task in running:
        task.cancel()
    ended = await asyncio.gather(*running, return_exceptions=True)
    pairs = zip(running.values(), ended, strict=True)
    return [(one, result) for one, result in pairs if isinstance(result, Failure)]


@contextlib.asynccontextmanager
async def time_limit(seconds: float | None) -> AsyncIterator[asyncio.Timeout | None]:
    """Raise `TimeoutError` when the block, templates included, takes longer."""
    if seconds is None:
        yield None
        return
    with until(time.monotonic() + seconds):
        async with asyncio.timeout(seconds) as limit:
            yield limit
