"""Runs agents: starts and resumes runs, forks, cancels and delegates."""

import asyncio
import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from metier.core.nearest import did_you_mean
from metier.core.timestamps import new_id
from metier.errors import (
    MetierError,
    NotFoundError,
    RunLostError,
    RunReleasedError,
    StoreError,
    UsageError,
)
from metier.run.checkpoints import CheckpointStore, resume_context
from metier.run.delegation import DelegationChain, DelegationResult, refused, within
from metier.run.leases import Leases
from metier.run.ledger import Ledger
from metier.run.live import LiveRun
from metier.run.plan import ReadyStep, Workflow, ready
from metier.run.services import Services, StepFailedError
from metier.run.steps import StepRunner, Work, prepared
from metier.run.store import Renewed, RunStore, this_process
from metier.values.agents import AgentProfile, Execution, Limits
from metier.values.runs import (
    DONE,
    NOTHING_USED,
    Claim,
    Failure,
    OnEvent,
    RunRecord,
    RunResult,
    StepRecord,
    Usage,
)

_RUNNING: set[tuple[str, str, str]] = set()
"""File, process and run id of what this process executes."""
_NO_CHAIN = DelegationChain(("",))


class _Caller(NamedTuple):
    """A step that delegates, and its run."""

    run: RunRecord
    step: str


class Runner:
    """Runs the agents of one catalog in one event loop at a time."""

    def __init__(
        self,
        store: RunStore,
        services: Services,
        leases: Leases | None = None,
        kinds: Mapping[str, Work] = MappingProxyType({}),
    ) -> None:
        """`services` are for runs that are given none, `leases` those of the store, to share it.

        `kinds` are kinds of steps beyond those of profiles in files.
        """
        self._store = store
        self._leases = leases or Leases(store)
        self._services = services
        self._run_step = StepRunner(self._delegate_step, kinds)
        self._live: dict[str, tuple[LiveRun, asyncio.Task[Any] | None]] = {}
        self._plans: dict[str, tuple[AgentProfile, Workflow]] = {}

    async def run(
        self,
        profile: AgentProfile,
        task: str,
        *,
        input: Any = None,
        model: str = "",
        execution: Execution | None = None,
        documents: str = "",
        on_event: OnEvent | None = None,
        services: Services | None = None,
    ) -> RunResult:
        """Run an agent on a task. Every outcome but misuse is a result.

        `documents` is the digest of the documents that the run is started with.
        """
        chain = DelegationChain.root(profile.agent_id, profile.delegation.max_depth)
        plan = self._plan(profile, execution)
        request = _request(input, model, execution, documents)
        with self._counted():
            await asyncio.sleep(0)  # let other runs that start now be counted first
            run = await self._create(profile, task, request, chain)
            return await self._execute(
                run, profile, plan, chain, profile.limits, on_event, services or self._services
            )

    def add(
        self,
        profile: AgentProfile,
        task: str,
        *,
        input: Any = None,
        model: str = "",
        execution: Execution | None = None,
        documents: str = "",
        run_id: str = "",
    ) -> str:
        """Store a run that a process starts later by resuming it; its id."""
        ready(profile, execution)  # report a wrong profile now
        chain = DelegationChain.root(profile.agent_id, profile.delegation.max_depth)
        request = _request(input, model, execution, documents)
        run = self._new(profile, task, request, chain)
        run = run._replace(run_id=run_id or run.run_id, state="pending", epoch=0)
        self._store.add(run)
        return run.run_id

    async def resume(
        self,
        run_id: str,
        *,
        limits: Limits | None = None,
        on_event: OnEvent | None = None,
        services: Services | None = None,
    ) -> RunResult:
        """Resume a run, with other `limits` if given; if it succeeded, its stored result."""
        run = self._store.run(run_id)
        if run.state == "succeeded":
            return self._stored_result(run)
        if run.state != "running" and not run.is_resumable:
            raise UsageError(
                f"run '{run.run_id}' is {run.state} and cannot be resumed",
                code="RUN_NOT_RESUMABLE",
                hint=f"metier runs fork {run.run_id}",
            )
        return await self._resume(run, limits, on_event, services or self._services)

    async def fork(
        self,
        run_id: str,
        checkpoint_id: str | None = None,
        *,
        input: Any = None,
        on_event: OnEvent | None = None,
        services: Services | None = None,
    ) -> RunResult:
        """Start a new run from a checkpoint, by default the latest, optionally with new input."""
        run = self._store.run(run_id)
        checkpoints = CheckpointStore(self._store)
        found = checkpoints.load(checkpoint_id) if checkpoint_id else checkpoints.latest(run.run_id)
        if found is None:
            raise NotFoundError(
                f"run '{run.run_id}' has no checkpoint", code="CHECKPOINT_NOT_FOUND"
            )
        if found.run_id != run.run_id:
            raise UsageError(f"checkpoint '{checkpoint_id}' belongs to another run")
        context, now = resume_context(found), time.time()
        known = {step.id: step for step in self._store.steps(run.key)}
        restored = [
            known.get(one, StepRecord(one, "succeeded", started=now))._replace(output=output)
            for one, output in context.step_outputs.items()
            if one not in known or known[one].state in DONE
        ]
        restored += [known[one] for one in context.skipped_step_ids if one in known]
        new = RunRecord(
            new_id(), run.agent_id, run.task, "pending", now,
            run.request if input is None else {**run.request, "input": input}, run.profile,
            forked_from=found.checkpoint_id, key=self._store.new_key(),
        )  # fmt: skip
        steps = [
            one._replace(seq=number, usage=NOTHING_USED)
            for number, one in enumerate(restored, start=1)
        ]
        self._store.add(new, steps)
        found_run = self._store.run(new.run_id)
        return await self._resume(found_run, None, on_event, services or self._services)

    def result(self, run_id: str) -> RunResult:
        """The stored state of a run and its steps. Raises `NotFoundError`."""
        return self._stored_result(self._store.run(run_id))

    def cancel(self, run_id: str) -> bool:
        """Cancel a run in this or another process; whether any process was executing it."""
        live, task = self._live.get(run_id, (None, None))
        if live is not None and task is not None:
            live.is_cancel_requested = True
            task.cancel()
            return True
        run = self._store.run(run_id)
        idle = "" if self._is_running_here(run.run_id) else this_process()
        return self._store.request_cancel(run.run_id, time.time(), idle)

    def release_all(self) -> None:
        """Stop executing all runs, so that other processes can resume them."""
        running = [live for live, _ in self._live.values() if live.stopped is None]
        for live in running:
            live.stopped = RunReleasedError()
        for live in running:
            if not live.run.parent_run:
                self._stop(live.run.run_id, RunReleasedError())

    def _stop(self, run_id: str, why: StoreError) -> None:
        live, task = self._live.get(run_id, (None, None))  # it may have ended meanwhile
        if live is not None and task is not None:
            live.stopped = why
            task.cancel()

    def _is_running_here(self, run_id: str) -> bool:
        """Whether this process executes the run, through this object or another."""
        return (self._store.path, this_process(), run_id) in _RUNNING

    # Executing

    def _plan(self, profile: AgentProfile, execution: Execution | None) -> Workflow:
        known = self._plans.get(profile.agent_id)
        if known is not None and known[0] is profile and execution is None:
            return known[1]
        plan = ready(profile, execution)
        if execution is None:
            self._plans[profile.agent_id] = profile, plan
        return plan

    async def _create(
        self,
        profile: AgentProfile,
        task: str,
        request: Mapping[str, Any],
        chain: DelegationChain,
        caller: _Caller | None = None,
    ) -> RunRecord:
        run = self._new(profile, task, request, chain)
        parent = None
        if caller is not None:
            parent = caller.run.claim
            run = run._replace(parent_run=caller.run.run_id, parent_step=caller.step)
        try:
            await self._store.begin(run, this_process(), parent)
        except asyncio.CancelledError:
            failure = Failure("RUN_CANCELLED", "the run was cancelled before it began")
            with contextlib.suppress(RunLostError):  # it was not stored
                self._store.end_run_now(run._replace(state="cancelled", failure=failure))
            raise
        return run

    def _new(
        self,
        profile: AgentProfile,
        task: str,
        request: Mapping[str, Any],
        chain: DelegationChain,
    ) -> RunRecord:
        return RunRecord(
            new_id(), profile.agent_id, task.encode(errors="replace").decode(), "running",
            time.time(), {**request, "chain": list(chain.agents), "maxDepth": chain.max_depth},
            profile.data, key=self._store.new_key(), epoch=1,
        )  # fmt: skip

    async def _resume(
        self,
        run: RunRecord,
        limits: Limits | None,
        on_event: OnEvent | None,
        services: Services,
        parent: Claim | None = None,
    ) -> RunResult:
        profile = AgentProfile.of(run.profile)
        chain = DelegationChain(tuple(run.request["chain"]), run.request["maxDepth"])
        plan = ready(profile, run.request.get("execution"))
        if self._is_running_here(run.run_id):
            message = f"run '{run.run_id}' is already running in this process"
            raise UsageError(message, code="RUN_BUSY")
        run = self._store.claim(run.run_id, this_process(), time.time(), parent)
        known = self._store.steps(run.key)
        with self._counted():
            return await self._execute(
                run, profile, plan, chain, limits or profile.limits, on_event, services, known
            )

    def _stored_result(self, run: RunRecord) -> RunResult:
        profile, known = AgentProfile.of(run.profile), self._store.steps(run.key)
        plan = ready(profile, run.request.get("execution"))
        live = LiveRun(
            self._store, self._services, run, profile, plan, _NO_CHAIN, self._run_step,
            limits=Limits(), known=known,
        )  # fmt: skip
        live.restore()
        return RunResult(run, known, dict(live.ledger.memory))

    async def _execute(
        self,
        run: RunRecord,
        profile: AgentProfile,
        plan: Workflow,
        chain: DelegationChain,
        limits: Limits,
        on_event: OnEvent | None,
        services: Services,
        known: Sequence[StepRecord] = (),
    ) -> RunResult:
        live = LiveRun(
            self._store, services, run, profile, plan, chain, self._run_step,
            limits=limits, known=known, on_event=on_event,
        )  # fmt: skip
        mark = self._store.path, this_process(), run.run_id
        self._live[run.run_id] = live, asyncio.current_task()
        _RUNNING.add(mark)
        try:
            return await live.execute()
        except Exception as error:
            code = error.code if isinstance(error, MetierError) else "RUN_INTERRUPTED"
            message = error.message if isinstance(error, MetierError) else str(error)
            self._store.release(run.claim, Failure(code, message))
            raise
        finally:
            live.ledger.close()
            _RUNNING.discard(mark)
            del self._live[run.run_id]

    @contextlib.contextmanager
    def _counted(self) -> Iterator[None]:
        """Count a run: writes of concurrent runs are committed together. Renew its lease."""
        self._store.live += 1
        try:
            with self._leases.renewed(self):
                yield
        finally:
            self._store.live -= 1

    def ledgers(self) -> list[Ledger]:
        """Those of the runs that execute now."""
        return [live.ledger for live, _ in self._live.values()]

    def stop_runs(self, renewed: Renewed) -> None:
        """Stop runs that are lost to another process, and cancel those that are to be."""
        for run_id in renewed.lost:
            self._stop(run_id, RunLostError())
        for run_id in renewed.cancelled:
            if run_id in self._live:
                self.cancel(run_id)

    # Delegation

    async def _delegate_step(
        self, live: LiveRun, step: ReadyStep, names: dict[str, Any], suffix: str, _attempt: int
    ) -> Any:
        key = step.id + suffix
        asked = step.body(names)
        if live.plan.requires or step.declared.requires:
            await prepared(live, step, key, str(asked["task"]))
        target = step.declared.config["targetAgent"]
        live.emit("delegation.started", key, to=target)
        result = await self.delegate(live, key, target, str(asked["task"]), asked.get("input"))
        live.emit("delegation.finished", key, **result.to_json(), childRunId=result.run_id)
        if result.success:
            return result.result
        kind = "timeout" if result.error_code == "DELEGATION_TIMEOUT" else ""
        why = Failure(result.error_code, result.error, kind, result.retryable, tool=result.tool)
        raise StepFailedError(why._replace(hint=result.hint))

    async def delegate(
        self, live: LiveRun, step: str, target: str, task: str, input: Any = None
    ) -> DelegationResult:
        """Run another agent on a task, in its own run, which belongs to the step."""
        settings, chain = live.profile.delegation, live.chain
        check = chain.can_delegate(target)
        if not check.allowed:
            return refused(target, check.code, check.message, chain)
        if settings.to is not None and target not in settings.to:
            message = f"'{live.profile.agent_id}' may not delegate to '{target}'"
            return refused(target, "DELEGATION_NOT_ALLOWED", message, chain)
        profile = live.services.profile(target)
        if profile is None or not profile.enabled:
            message = f"there is no agent '{target}'"
            hint = did_you_mean(target, live.services.agent_ids(), "metier list agents")
            return refused(target, "DELEGATION_TARGET_NOT_FOUND", message, chain, hint=hint)
        own = profile.delegation
        below = chain.extend(target, own.max_depth if own.states_depth else None)
        started = time.monotonic()
        before = self._child_of(live, step, target)
        counted = before.usage if before is not None else NOTHING_USED
        try:
            limit = settings.timeout_ms / 1e3 if settings.timeout_ms else None
            async with asyncio.timeout(limit):
                child = await self._run_child(live, step, profile, task, input, below, before)
        except TimeoutError:
            message = f"'{target}' took more than {limit or 0:g} seconds"
            stopped = self._child_of(live, step, target)
            if stopped is not None:
                live.ledger.add_usage(step, stopped.usage.minus(counted))
            return refused(target, "DELEGATION_TIMEOUT", message, chain, retryable=True)
        took = (time.monotonic() - started) * 1e3
        live.ledger.add_usage(step, child.usage.minus(counted))
        result = DelegationResult(
            child.success, target, duration_ms=took, final_depth=below.depth, run_id=child.run_id
        )
        if child.success:
            return result._replace(result=child.output)
        why = child.run.failure or Failure("", "")
        return result._replace(
            error=f"'{target}' {child.state}: {why.message}", error_code="DELEGATION_FAILED",
            retryable=why.retryable, tool=why.tool,
        )  # fmt: skip

    def _child_of(self, live: LiveRun, step: str, agent_id: str) -> RunRecord | None:
        """The latest run of an agent that this generation of a step has delegated to."""
        generation = live.ledger.records[step].generation
        children = [
            one
            for one in self._store.children(live.run.run_id, step)
            if one.agent_id == agent_id and one.request.get("generation", 0) == generation
        ]
        return children[-1] if children else None

    async def _run_child(
        self,
        live: LiveRun,
        step: str,
        profile: AgentProfile,
        task: str,
        input: Any,
        chain: DelegationChain,
        before: RunRecord | None,
    ) -> RunResult:
        """Run the delegate, or resume the run that this step began before."""
        if before is not None and before.state == "succeeded":
            return self._stored_result(before)
        if before is not None and (before.state == "running" or before.is_resumable):
            limits = _limits_below(profile, live, before.usage)
            return await self._resume(before, limits, live.on_event, live.services, live.run.claim)
        request = {"input": input, "model": live.run.request.get("model"), "execution": None}
        if generation := live.ledger.records[step].generation:
            request["generation"] = generation
        run = await self._create(profile, task, request, chain, _Caller(live.run, step))
        limits, plan = _limits_below(profile, live), self._plan(profile, None)
        return await self._execute(run, profile, plan, chain, limits, live.on_event, live.services)


def _request(input: Any, model: str, execution: Execution | None, documents: str) -> dict[str, Any]:
    asked = {"input": input, "model": model, "execution": execution}
    return {**asked, "documents": documents} if documents else asked


def _limits_below(profile: AgentProfile, live: LiveRun, counted: Usage = NOTHING_USED) -> Limits:
    """The limits of a delegate; its caller has already counted `counted` of its usage."""
    return within(profile.limits, live.ledger.limits, live.ledger.usage.minus(counted))
