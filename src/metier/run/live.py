"""One run at work: groups of steps, and each step with its attempts."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from metier.core.templates import OverdueError, TemplateError
from metier.errors import MetierError, StoreError
from metier.run.delegation import DelegationChain
from metier.run.ledger import Ledger
from metier.run.missing_tools import missing_tools
from metier.run.remembered import remembered
from metier.run.restored import restore
from metier.run.services import (
    Look,
    Prepared,
    RunStoppedError,
    Services,
    StepFailedError,
    record_outcome,
)
from metier.run.stopping import Running, stop
from metier.run.store import RunStore, Write, ended
from metier.run.time_limits import stopped, time_limit
from metier.run.undo import roll_back
from metier.run.workflow import Group, ReadyStep, Workflow
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
        self.ledger = Ledger(store, run.key, order, settings, limits, known)
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
        seconds = self.ledger.limits.seconds
        missing = missing_tools(self.profile, self.plan, self.services)
        try:
            async with time_limit(seconds) as self._limit:
                failure = missing or await self.group(self.plan, self.names(), "")
        except TimeoutError:
            failure = Failure("RUN_TIMEOUT", f"the run took over {seconds:g} seconds")
        except RunStoppedError as error:
            failure = error.failure
        except asyncio.CancelledError:
            return self._cancelled("cancelled")
        state: RunState = "failed" if failure else "succeeded"
        if missing is not None:
            never = [one for one in self.plan.steps if one.id not in self.ledger.records]
            self._mark_rest(never, set(), "")
        elif failure is not None and self.plan.strategy == "rollback":
            self.ledger.has_undone = True
            try:
                complete = await roll_back(self, self.plan)
            except asyncio.CancelledError:
                return self._cancelled("rollback_incomplete")
            state = "rolled_back" if complete else "rollback_incomplete"
        await self.ledger.store.save(self._ending(state, failure))
        self._tell_end()
        return self.result()

    def _cancelled(self, state: RunState) -> RunResult:
        """Keep the end of a cancelled run; the task goes on only if that was asked for."""
        failure = Failure("RUN_CANCELLED", "the run was cancelled")
        self.ledger.store.flush()
        self.ledger.store.save_now(self._ending(state, failure))
        self._tell_end()
        task = asyncio.current_task()
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
        return [ended(self.run), *self.ledger.ending()]

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
        run = self._in_parallel if group.is_parallel else self._in_order
        failures = await run(group, names, suffix)
        return failures[0] if failures else None

    async def _in_order(self, group: Group, names: dict[str, Any], suffix: str) -> list[Failure]:
        failures: list[Failure] = []
        bad: set[str] = set()
        for place, one in enumerate(group.steps):
            if bad and not bad.isdisjoint(one.depends):
                self._mark(one.id + suffix, "blocked")
                bad.add(one.id)
                continue
            try:
                failure = await self.step(one, names, suffix)
            except (RunStoppedError, asyncio.CancelledError) as error:
                self._mark_unbegun(group.steps[place + 1 :], bad, suffix, error)
                raise
            if failure is None:
                continue
            failures.append(failure)
            bad.add(one.id)
            if group.strategy != "continueOnError":
                self._mark_rest(group.steps[place + 1 :], bad, suffix)
                break
        return failures

    async def _in_parallel(self, group: Group, names: dict[str, Any], suffix: str) -> list[Failure]:
        """Each step starts when what it depends on is done, at most `limit` at a time."""
        failures: list[Failure] = []
        done: set[str] = set()
        bad: set[str] = set()
        waiting = list(group.steps)
        running: Running = {}
        try:
            while waiting or running:
                self._mark_blocked(waiting, bad, suffix)
                for one in [one for one in waiting if done.issuperset(one.depends)]:
                    if len(running) < group.limit:
                        waiting.remove(one)
                        running[asyncio.create_task(self.step(one, names, suffix))] = one
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
            bad |= {one.id for one, _ in await stop(running)}
            self._mark_unbegun(waiting, bad, suffix, error)
            raise
        finally:
            late = await stop(running)
        bad |= {one.id for one, _ in late}
        self._mark_rest(waiting, bad, suffix)
        return [*failures, *(failure for _, failure in late)]

    def _mark_blocked(self, waiting: list[ReadyStep], bad: set[str], suffix: str) -> None:
        """Take out of `waiting` what depends on a failure, near or far."""
        while blocked := [one for one in waiting if not bad.isdisjoint(one.depends)]:
            for one in blocked:
                waiting.remove(one)
                bad.add(one.id)
                self._mark(one.id + suffix, "blocked")

    def _mark_rest(self, steps: Sequence[ReadyStep], bad: set[str], suffix: str) -> None:
        """What depends on a failure is blocked, everything else cancelled."""
        rest = list(steps)
        self._mark_blocked(rest, bad, suffix)
        for one in rest:
            self._mark(one.id + suffix, "cancelled")

    def _mark_unbegun(
        self, steps: Sequence[ReadyStep], bad: set[str], suffix: str, error: BaseException
    ) -> None:
        """The same when a limit stops the run; who cancels a run finds these steps as they were."""
        is_overdue = self._limit is not None and self._limit.expired()
        if is_overdue or isinstance(error, RunStoppedError):
            self._mark_rest(steps, bad, suffix)

    def _mark(self, key: str, state: StepState) -> None:
        if self.ledger.done(key) is None:
            self.ledger.note(StepRecord(key, state, started=time.time()))
            self.tell(f"step.{state}", key)

    # One step

    async def step(self, one: ReadyStep, names: dict[str, Any], suffix: str) -> Failure | None:
        """Run a step with all its attempts; why it failed, or None."""
        key = one.id + suffix
        ledger = self.ledger
        if suffix:
            self.scopes[key] = names
        known = ledger.done(key)
        if known is not None:
            restore(self, one, known, names, suffix)
            return None
        try:
            ledger.count()
        except RunStoppedError:
            self._mark(key, "cancelled")
            raise
        started = ledger.start(key)
        try:
            if one.condition is not None and not one.condition(names):
                await self._end(one, StepRecord(key, "skipped", started=started))
                return None
        except OverdueError:
            return await stopped()  # type: ignore[no-any-return]
        except TemplateError as error:
            failure = Failure("EXPRESSION_FAILED", f"condition of '{key}': {error}", step=key)
            await self._end(one, StepRecord(key, "failed", failure=failure, started=started))
            return failure
        before = ledger.records.get(key)
        fresh = StepRecord(key, "running", started=started)
        if before is not None:
            fresh = fresh._replace(input=before.input, usage=before.usage)
        ledger.note(fresh)
        self.tell("step.started", key, type=one.kind)
        failure_or_none = await self._attempts(one, names, suffix)
        if one.kind == "prompt" or one.step.requires:
            record_outcome(self.services, ledger.records[key].input, success=not failure_or_none)
        return failure_or_none

    async def prepared(self, one: ReadyStep, key: str, text: str) -> Prepared:
        """What the step, which asks `text`, is handed: what it was handed before, if it was."""
        kept = self.ledger.records[key].input
        if isinstance(kept, dict) and "refused" not in kept:
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
        try:
            work = self._kinds[one.kind](self, one, names, suffix, attempt)
            if one.timeout is None:
                output = await self._interruptible(key, work)
            else:
                async with time_limit(one.timeout):
                    output = await self._interruptible(key, work)
            self.remember(one, output)
        except StepFailedError as error:
            return error.failure
        except RunStoppedError as error:
            record = self.ledger.records[key]
            stopped = record.ended("failed", attempt, failure=error.failure)
            self.ledger.note(self.ledger.timed(stopped))
            self.tell("step.failed", key, durationMs=None, error=error.failure.to_json())
            raise
        except StoreError:
            raise
        except MetierError as error:
            return Failure(error.code, error.message)
        except TemplateError as error:
            return Failure("EXPRESSION_FAILED", f"'{key}': {error}")
        except TimeoutError:
            message = f"'{key}' took over {one.timeout or 0:g} seconds"
            return Failure("STEP_TIMEOUT", message, kind="timeout", retryable=True)
        except Exception as error:  # a model, a service: whatever breaks is a failure of the step
            said = " ".join(str(error).split())[:300]
            return Failure("STEP_FAILED", f"'{key}': {type(error).__name__}: {said}")
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
        record = await self.ledger.end(one, record)
        if self.look is not None:
            said = record.failure.to_json() if record.failure else None
            took = record.duration_ms
            self.tell(f"step.{record.state}", record.id, durationMs=took, error=said)
            if self.ledger.is_checkpoint(record.seq):
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
