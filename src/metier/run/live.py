"""One run at work: groups of steps, and each step with its attempts."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from metier.core.templates import OverdueError, TemplateError
from metier.errors import RunLostError, StoreError
from metier.run.delegation import DelegationChain
from metier.run.failures import failure_of
from metier.run.groups import mark_rest, run_group
from metier.run.ledger import Ledger
from metier.run.missing_tools import missing_tools
from metier.run.remembered import remembered
from metier.run.restored import restore, restore_all
from metier.run.services import (
    Look,
    Prepared,
    RunStoppedError,
    Services,
    StepFailedError,
    record_outcome,
)
from metier.run.sqlite_store import RunStore
from metier.run.time_limits import stopped, time_limit
from metier.run.undo import roll_back
from metier.run.workflow import Group, ReadyStep, Workflow
from metier.run.writes import Claim, Write, ended, rollback_begun
from metier.values.agents import AgentProfile, Limits
from metier.values.runs import (
    Event,
    Failure,
    RunRecord,
    RunResult,
    RunState,
    StepRecord,
    StepState,
)

Attempt = Callable[["LiveRun", ReadyStep, dict[str, Any], str, int], Any]
"""Does the work of one kind of step; raises `StepFailedError`."""


class LiveRun:
    """A run that is executed here and now."""

    def __init__(
        self,
        store: RunStore,
        services: Services,
        run: RunRecord,
        profile: AgentProfile,
        plan: Workflow,
        chain: DelegationChain,
        kinds: Mapping[str, Attempt],
        *,
        limits: Limits,
        known: Sequence[StepRecord] = (),
        look: Look | None = None,
    ) -> None:
        self.services = services
        self.run = run
        self.profile = profile
        self.plan = plan
        self.chain = chain
        self.look = look
        order = [one.id for one in plan.steps]
        settings = profile.checkpoint
        claim = Claim(run.key, run.epoch)
        self.ledger = Ledger(store, claim, order, settings, limits, known)
        self.is_lost = False
        """Whether somebody else has claimed this run."""
        self.is_wanted_stopped = False
        """Whether somebody asked for the end of this run, and waits for its result."""
        self.requires = profile.requires
        self.tools = plan.tools
        """The tools that the agent may call."""
        self._kinds = kinds
        self._limit: asyncio.Timeout | None = None
        self.scopes: dict[str, dict[str, Any]] = {}
        """The names that a step in a loop sees, by its full id: what undoes it needs them."""

    def names(self, key: str = "") -> dict[str, Any]:
        """What the templates of a step may speak of; of one in a loop as its turn left it."""
        if key in self.scopes:
            return {**self.scopes[key], "steps": self.ledger.seen_in_turn(key)}
        return {
            "input": self.run.request.get("input"),
            "task": self.run.task,
            "steps": self.ledger.seen,
            "agent": self.profile.data,
            "memory": self.ledger.memory,
        }

    def tell(self, kind: str, step: str = "", **data: Any) -> None:
        if self.look is not None:
            with contextlib.suppress(Exception):  # who looks on cannot stop a run
                self.look(Event(kind, self.run.run_id, time.time(), step, data))

    async def execute(self) -> RunResult:
        """Run to the end; what came of it. Cancelling the task cancels the run."""
        above = {"parentRunId": self.run.parent_run, "parentStepId": self.run.parent_step}
        said = above if self.run.parent_run else {}
        self.tell("run.started", agent=self.run.agent_id, task=self.run.task, **said)
        restore_all(self)
        missing = missing_tools(self.profile, self.plan, self.services)
        if missing is not None and self.run.undoing is None:
            return await self._refused(missing)
        try:
            failure = self.run.undoing or await self._go_forward()
        except asyncio.CancelledError:
            return self._cancelled("cancelled")
        state: RunState = "failed" if failure else "succeeded"
        if failure is not None and self.plan.strategy == "rollback":
            try:
                state = await self._roll_back(failure)
            except asyncio.CancelledError:
                return self._cancelled("rollback_incomplete")
        return await self._end_run(state, failure)

    async def _refused(self, failure: Failure) -> RunResult:
        """End a run before anything is sent; what earlier tries have done stays."""
        never = [one for one in self.plan.steps if one.id not in self.ledger.records]
        mark_rest(self, never, set(), "")
        return await self._end_run("failed", failure)

    async def _end_run(self, state: RunState, failure: Failure | None) -> RunResult:
        await self.ledger.store.save(self._ending(state, failure))
        self._tell_end()
        return self.result()

    async def _go_forward(self) -> Failure | None:
        """Run all steps; why the run failed, or None."""
        seconds = self.ledger.limits.seconds
        try:
            async with time_limit(seconds) as self._limit:
                return await self.group(self.plan, self.names(), "")
        except TimeoutError:
            return Failure("RUN_TIMEOUT", f"the run took over {seconds:g} seconds")
        except RunStoppedError as error:
            return error.failure

    async def _roll_back(self, failure: Failure) -> RunState:
        """Undo what was done. That it began is on the disk first: then nothing else goes on."""
        self.ledger.has_undone = True
        if self.run.undoing is None:
            self.run = self.run._replace(undoing=failure)
            await self.ledger.store.save([rollback_begun(failure, self.ledger.claim)])
        complete = await roll_back(self, self.plan)
        return "rolled_back" if complete else "rollback_incomplete"

    def _cancelled(self, state: RunState) -> RunResult:
        """Keep the end of a cancelled run; the task goes on only if that was asked for."""
        task = asyncio.current_task()
        if self.is_lost:
            assert task is not None
            task.uncancel()
            raise RunLostError
        failure = Failure("RUN_CANCELLED", "the run was cancelled")
        self.ledger.store.flush()
        self.ledger.store.save_now(self._ending(state, failure))
        self._tell_end()
        if not self.is_wanted_stopped or task is None:
            raise asyncio.CancelledError
        task.uncancel()
        return self.result()

    def _ending(self, state: RunState, failure: Failure | None) -> list[Write]:
        records = [self.ledger.records.get(one.id) for one in self.plan.steps]
        outputs = [one.output for one in records if one is not None and one.state == "succeeded"]
        self.run = self.run._replace(
            state=state,
            finished=time.time(),
            failure=failure,
            usage=self.ledger.usage,
            output=outputs[-1] if outputs else None,
        )
        return [ended(self.run, self.ledger.claim), *self.ledger.ending()]

    def _tell_end(self) -> None:
        last = self.ledger.last_checkpoint
        if last is not None:
            self.tell("checkpoint.saved", last.id, checkpointId=f"{self.run.run_id}:{last.seq}")
        failure = self.run.failure
        self.tell(
            "run.finished",
            state=self.run.state,
            error=failure.to_json() if failure else None,
            usage=self.run.usage.to_json(),
        )

    def result(self) -> RunResult:
        return RunResult(self.run, self.ledger.in_order(), dict(self.ledger.memory))

    # Groups of steps

    async def group(self, group: Group, names: dict[str, Any], suffix: str) -> Failure | None:
        """Run sibling steps; the first failure among them."""
        return await run_group(self, group, names, suffix)

    def is_overdue(self) -> bool:
        """Whether the time of the run is over."""
        return self._limit is not None and self._limit.expired()

    def mark(self, key: str, state: StepState) -> None:
        """Keep the state of a step that does not begin, unless it is done already."""
        if self.ledger.done(key) is None:
            self.ledger.note(self.ledger.fresh(key, state))
            self.tell(f"step.{state}", key)

    # One step

    async def step(self, one: ReadyStep, names: dict[str, Any], suffix: str) -> Failure | None:
        """Run a step with all its attempts; why it failed, or None."""
        key = one.id + suffix
        ledger = self.ledger
        if suffix:
            self.scopes[key] = names
        if ledger.done(key) is not None:
            restore(self, one, names, suffix)
            return None
        try:
            ledger.count()
        except RunStoppedError:
            self.mark(key, "cancelled")
            raise
        fresh = ledger.fresh(key, "running")
        try:
            if one.condition is not None and not one.condition(names):
                await self._end(one, fresh._replace(state="skipped"))
                return None
        except OverdueError:
            return await stopped()  # type: ignore[no-any-return]
        except TemplateError as error:
            failure = Failure("EXPRESSION_FAILED", f"condition of '{key}': {error}", step=key)
            await self._end(one, fresh._replace(state="failed", failure=failure))
            return failure
        ledger.note(fresh)
        self.tell("step.started", key, type=one.kind)
        failure_or_none = await self._attempts(one, names, suffix)
        if one.kind == "prompt" or one.step.requires:
            record_outcome(self.services, ledger.records[key].input, success=not failure_or_none)
        return failure_or_none

    async def prepared(self, one: ReadyStep, key: str, text: str) -> Prepared:
        """What the step, which asks `text`, is handed: what it was handed before, if it was."""
        kept = self.ledger.records[key].input
        if isinstance(kept, dict) and "text" in kept and "refused" not in kept:
            return Prepared(kept["text"], kept, tuple(kept.get("providers") or ()))
        prepared = self.services.prepare(self.profile, one.step, text, self.run.task)
        refused = {"refused": prepared.failure.code} if prepared.failure is not None else {}
        await self.ledger.keep_input(key, {**prepared.record, **refused, "text": prepared.text})
        self.tell("step.prepared", key, **prepared.record)
        if prepared.failure is not None:
            raise StepFailedError(prepared.failure)
        return prepared

    async def _attempts(self, one: ReadyStep, names: dict[str, Any], suffix: str) -> Failure | None:
        key, policy = one.id + suffix, one.step.retry
        attempt = 1
        while (failure := await self._attempt(one, names, suffix, attempt)) is not None:
            if attempt >= policy.max_attempts or not failure.may_retry(policy.retry_on):
                break
            wait = policy.backoff_ms / 1e3 * policy.backoff_multiplier ** (attempt - 1)
            self.tell("step.retried", key, attempt=attempt, wait=wait, error=failure.to_json())
            await self._interruptible(key, asyncio.sleep(wait))
            attempt += 1
        if failure is None:
            return None
        failure = failure._replace(step=failure.step or key)
        record = self.ledger.records[key]
        await self._end(one, record.ended("failed", attempt, failure=failure))
        return failure

    async def _attempt(
        self, one: ReadyStep, names: dict[str, Any], suffix: str, attempt: int
    ) -> Failure | None:
        key = one.id + suffix
        self.ledger.check_claim()
        try:
            work = self._kinds[one.kind](self, one, names, suffix, attempt)
            if one.timeout is None:
                output = await self._interruptible(key, work)
            else:
                async with time_limit(one.timeout):
                    output = await self._interruptible(key, work)
            self.remember(one, output)
        except RunStoppedError as error:
            record = self.ledger.records[key]
            stopped = record.ended("failed", attempt, failure=error.failure)
            self.ledger.note(self.ledger.timed(stopped))
            self.tell("step.failed", key, durationMs=None, error=error.failure.to_json())
            raise
        except StoreError:
            raise
        except Exception as error:
            return failure_of(error, key, one.timeout)
        record = self.ledger.records[key]
        await self._end(one, record.ended("succeeded", attempt, output=output))
        return None

    async def _interruptible(self, key: str, work: Any) -> Any:
        try:
            try:
                return await work
            except OverdueError:
                return await stopped()
        except asyncio.CancelledError:
            record = self.ledger.timed(self.ledger.records[key])
            self.ledger.note(record._replace(state="cancelled"))
            self.tell("step.cancelled", key)
            raise

    async def _end(self, one: ReadyStep, record: StepRecord) -> None:
        record, is_checkpoint = await self.ledger.end(one, record)
        if self.look is not None:
            said = record.failure.to_json() if record.failure else None
            took = record.duration_ms
            self.tell(f"step.{record.state}", record.id, durationMs=took, error=said)
            if is_checkpoint:
                checkpoint = f"{self.run.run_id}:{record.seq}"
                self.tell("checkpoint.saved", record.id, checkpointId=checkpoint)

    def remember(self, one: ReadyStep, output: Any) -> None:
        """Keep what the step gives under the names that it is told to."""
        self.ledger.memory.update(remembered(one, output))

    def names_of_turn(
        self, one: ReadyStep, names: dict[str, Any], turn: int, items: Any = None
    ) -> dict[str, Any]:
        """What the steps of one turn of a loop see; `items` is what it goes over."""
        inner = {**names, "index": turn}
        if one.over is not None:
            given = one.over(names) if items is None else items
            inner["item"] = inner[one.step.config.get("as") or "item"] = given[turn]
        return inner
