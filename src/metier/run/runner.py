"""Runs agents: begins runs, goes on with them, delegates, forks and cancels."""

import asyncio
import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metier.core.timestamps import new_id
from metier.core.unread import why_not_json
from metier.errors import MetierError, NotFoundError, UsageError
from metier.run.checkpoints import CheckpointStore
from metier.run.delegation import DelegationChain, DelegationResult, refused, within
from metier.run.kinds import kinds
from metier.run.live import LiveRun
from metier.run.owner import this_process
from metier.run.release import release
from metier.run.restored import restore_all
from metier.run.services import Look, Services, StepFailedError
from metier.run.store import RunStore
from metier.run.workflow import ReadyStep, Workflow, ready
from metier.run.writes import (
    LEASE_SECONDS,
    Claim,
    Kept,
    NewRun,
    begun,
    ended,
    kept_once,
    step_write,
)
from metier.values.agents import AgentProfile, Execution, Limits
from metier.values.models import Usage
from metier.values.runs import DONE, NOTHING_USED, Failure, RunRecord, RunResult, StepRecord

HEARTBEAT_SECONDS = 1.0
_AT_WORK: set[tuple[str, str, str]] = set()
"""The runs that this process executes: their file, who it is, their id."""
_NO_CHAIN = DelegationChain(("",))


class Runner:
    """Runs the agents of one workspace in one event loop."""

    def __init__(self, store: RunStore, services: Services, look: Look | None = None) -> None:
        """`look` is told what happens."""
        self._store = store
        self._services = services
        self._look = look
        self._kinds = kinds(self._delegate_step)
        self._live: dict[str, tuple[LiveRun, asyncio.Task[Any] | None]] = {}
        self._beat: asyncio.Task[None] | None = None
        self._count = 0
        self._plans: dict[int, tuple[AgentProfile, Workflow]] = {}
        self._kept: dict[int, tuple[AgentProfile, Kept]] = {}

    # For those who want something run

    async def run(
        self,
        profile: AgentProfile,
        task: str,
        *,
        input: Any = None,
        model: str = "",
        execution: Execution | None = None,
    ) -> RunResult:
        """Run an agent on a task; every outcome but wrong use is a result."""
        chain = DelegationChain.root(profile.agent_id, profile.delegation.max_depth)
        plan = self._plan(profile, execution)
        request = {"input": input, "model": model, "execution": execution}
        with self._at_work():
            await asyncio.sleep(0)  # others that begin now are counted first
            run = await self._create(profile, task, request, chain)
            return await self._execute(run, profile, plan, chain, profile.limits)

    async def resume(self, run_id: str, *, limits: Limits | None = None) -> RunResult:
        """Go on with a run where it stopped; one that has succeeded is told again.

        `limits` are those from now on; without them those of its profile as it was.
        """
        run = self._store.run(run_id)
        if run.state == "succeeded":
            return self._told_again(run)
        if run.state != "running" and not run.is_resumable:
            raise UsageError(
                f"run '{run.run_id}' is {run.state}: it cannot go on",
                code="RUN_NOT_RESUMABLE",
                hint=f"metier runs fork {run.run_id}",
            )
        return await self._go_on(run, limits)

    async def fork(
        self, run_id: str, checkpoint_id: str | None = None, *, input: Any = None
    ) -> RunResult:
        """A new run from a checkpoint, by default the latest, perhaps with another input."""
        run = self._store.run(run_id)
        checkpoints = CheckpointStore(self._store)
        found = checkpoints.load(checkpoint_id) if checkpoint_id else checkpoints.latest(run.run_id)
        if found is None:
            raise NotFoundError(
                f"run '{run.run_id}' has no checkpoint", code="CHECKPOINT_NOT_FOUND"
            )
        if found.run_id != run.run_id:
            raise UsageError(f"checkpoint '{checkpoint_id}' is of another run")
        request = dict(run.request) if input is None else {**run.request, "input": input}
        new = NewRun(
            new_id(), run.agent_id, run.task, time.time(), kept_once(request),
            kept_once(run.profile), forked_from=found.checkpoint_id,
        )  # fmt: skip
        key = self._store.new_key()
        known = {one.id: one for one in self._store.steps(run.key)}
        now = time.time()
        given = [
            known.get(one, StepRecord(one, "succeeded", started=now))._replace(output=output)
            for one, output in found.step_outputs.items()
            if one not in known or known[one].state in DONE
        ]
        skipped = [known[one] for one in found.skipped_step_ids if one in known]
        restored = [*given, *skipped]
        steps = [
            one._replace(seq=number, usage=NOTHING_USED)
            for number, one in enumerate(restored, start=1)
        ]
        claim = Claim(key, 0)
        self._store.save_now([*begun(new, claim), *(step_write(claim, one) for one in steps)])
        return await self._go_on(self._store.run(new.run_id))

    def cancel(self, run_id: str) -> bool:
        """Stop a run, here or in another process; whether somebody was at work on it."""
        live, task = self._live.get(run_id, (None, None))
        if live is None or task is None:
            return cancel(self._store, run_id)
        live.is_wanted_stopped = True
        task.cancel()
        return True

    # Inside

    def _plan(self, profile: AgentProfile, execution: Execution | None) -> Workflow:
        known = self._plans.get(id(profile))
        if known is not None and known[0] is profile and execution is None:
            return known[1]
        plan = ready(profile, execution)
        if execution is None:
            self._plans[id(profile)] = profile, plan
        return plan

    def _profile_kept(self, profile: AgentProfile) -> Kept:
        known = self._kept.get(id(profile))
        if known is None or known[0] is not profile:
            known = self._kept[id(profile)] = profile, kept_once(profile.data)
        return known[1]

    async def _create(
        self,
        profile: AgentProfile,
        task: str,
        request: Mapping[str, Any],
        chain: DelegationChain,
        parent: tuple[str, str] = ("", ""),
    ) -> RunRecord:
        asked = {**request, "chain": list(chain.agents), "maxDepth": chain.max_depth}
        task = task.encode(errors="replace").decode()
        kept = self._profile_kept(profile)
        try:
            kept_request = kept_once(asked)
        except (ValueError, TypeError, RecursionError) as error:
            raise UsageError(f"the input is no JSON: {why_not_json(error)}") from None
        new = NewRun(new_id(), profile.agent_id, task, time.time(), kept_request, kept, *parent)
        claim = Claim(self._store.new_key(), 1)
        run = RunRecord(
            new.run_id, new.agent_id, task, "running", new.created, asked, profile.data,
            parent_run=parent[0], parent_step=parent[1], key=claim.key, epoch=claim.epoch,
        )  # fmt: skip
        try:
            await self._store.save(begun(new, claim, this_process()))
        except asyncio.CancelledError:
            self._store.flush()
            failure = Failure("RUN_CANCELLED", "the run was cancelled before it began")
            stopped = run._replace(state="cancelled", failure=failure)
            self._store.save_now([ended(stopped, claim)])
            raise
        return run

    async def _go_on(self, run: RunRecord, limits: Limits | None = None) -> RunResult:
        profile = AgentProfile.of(run.profile)
        chain = DelegationChain(tuple(run.request["chain"]), run.request["maxDepth"])
        plan = self._plan_of(run, profile)
        if _is_at_work(self._store, run.run_id):
            raise UsageError(f"run '{run.run_id}' is at work here already", code="RUN_BUSY")
        run = self._store.claim(run.run_id, this_process(), time.time())
        known = self._store.steps(run.key)
        with self._at_work():
            return await self._execute(run, profile, plan, chain, limits or profile.limits, known)

    def _told_again(self, run: RunRecord) -> RunResult:
        """The result of a run that has succeeded."""
        profile = AgentProfile.of(run.profile)
        known = self._store.steps(run.key)
        live = self._live_run(run, profile, self._plan_of(run, profile), _NO_CHAIN, Limits(), known)
        restore_all(live)
        return RunResult(run, known, dict(live.ledger.memory))

    def _plan_of(self, run: RunRecord, profile: AgentProfile) -> Workflow:
        return ready(profile, run.request.get("execution"))

    async def _execute(
        self,
        run: RunRecord,
        profile: AgentProfile,
        plan: Workflow,
        chain: DelegationChain,
        limits: Limits,
        known: Sequence[StepRecord] = (),
    ) -> RunResult:
        live = self._live_run(run, profile, plan, chain, limits, known)
        mark = self._store.path, this_process(), run.run_id
        self._live[run.run_id] = live, asyncio.current_task()
        _AT_WORK.add(mark)
        try:
            return await live.execute()
        except Exception as error:
            release(self._store, live.ledger.claim, error)
            raise
        finally:
            _AT_WORK.discard(mark)
            del self._live[run.run_id]

    def _live_run(
        self,
        run: RunRecord,
        profile: AgentProfile,
        plan: Workflow,
        chain: DelegationChain,
        limits: Limits,
        known: Sequence[StepRecord],
    ) -> LiveRun:
        return LiveRun(
            self._store, self._services, run, profile, plan, chain, self._kinds,
            limits=limits, known=known, look=self._look,
        )  # fmt: skip

    @contextlib.contextmanager
    def _at_work(self) -> Iterator[None]:
        """Count a run, so that those at work together are saved together."""
        self._store.live += 1
        self._count += 1
        if self._beat is None:
            self._beat = asyncio.create_task(self._keep_alive())
        try:
            yield
        finally:
            self._store.live -= 1
            self._count -= 1
            if not self._count and self._beat is not None:
                self._beat.cancel()
                self._beat = None

    async def _keep_alive(self) -> None:
        """Say that this process lives, and hear which runs are to be cancelled."""
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            with contextlib.suppress(MetierError):  # a busy file is asked again
                self._renew(time.time())

    def _renew(self, now: float) -> None:
        ledgers = [live.ledger for live, _ in self._live.values()]
        renewed = self._store.renew(this_process(), [one.claim for one in ledgers], now)
        for one in ledgers:
            one.leased_until = now + LEASE_SECONDS
        for run_id in renewed.lost:
            live, task = self._live[run_id]
            live.is_lost = True
            if task is not None:
                task.cancel()
        for run_id in renewed.cancelled:
            self.cancel(run_id)

    # Delegation

    async def _delegate_step(
        self, live: LiveRun, one: ReadyStep, names: dict[str, Any], suffix: str, _attempt: int
    ) -> Any:
        key = one.id + suffix
        asked = one.body(names)
        if live.requires or one.step.requires:
            await live.prepared(one, key, str(asked["task"]))
        target = one.step.config["targetAgent"]
        live.tell("delegation.started", key, to=target)
        result = await self.delegate(live, key, target, str(asked["task"]), asked.get("input"))
        live.tell("delegation.finished", key, **result.to_json(), childRunId=result.run_id)
        if not result.success:
            kind = "timeout" if result.error_code == "DELEGATION_TIMEOUT" else ""
            raise StepFailedError(Failure(result.error_code, result.error, kind, result.retryable))
        return result.result

    async def delegate(
        self, live: LiveRun, step: str, target: str, task: str, input: Any = None
    ) -> DelegationResult:
        """Hand a task to another agent, in a run of its own that belongs to the step."""
        settings, chain = live.profile.delegation, live.chain
        check = chain.can_delegate(target)
        if not check.allowed:
            return refused(target, check.code, check.message, chain)
        if settings.to is not None and target not in settings.to:
            message = f"'{live.profile.agent_id}' may not delegate to '{target}'"
            return refused(target, "DELEGATION_NOT_ALLOWED", message, chain)
        profile = self._services.profile(target)
        if profile is None or not profile.enabled:
            message = f"there is no agent '{target}'"
            return refused(target, "DELEGATION_TARGET_NOT_FOUND", message, chain)
        own = profile.delegation
        below = chain.extend(target, own.max_depth if own.states_depth else None)
        started = time.monotonic()
        before = self._begun_by(live, step, target)
        counted = before.usage if before is not None else NOTHING_USED
        try:
            limit = settings.timeout_ms / 1e3 if settings.timeout_ms else None
            async with asyncio.timeout(limit):
                child = await self._child(live, step, profile, task, input, below, before)
        except TimeoutError:
            message = f"'{target}' took over {limit or 0:g} seconds"
            stopped = self._begun_by(live, step, target)
            if stopped is not None:
                live.ledger.add_usage(step, stopped.usage.minus(counted))
            return refused(target, "DELEGATION_TIMEOUT", message, chain, retryable=True)
        took = (time.monotonic() - started) * 1e3
        live.ledger.add_usage(step, child.usage.minus(counted))
        if child.success:
            return DelegationResult(
                True, target, child.output, "", "", took, below.depth, child.run_id
            )
        why = child.run.failure
        return DelegationResult(
            False, target, None, f"'{target}' {child.state}: {why.message if why else ''}",
            "DELEGATION_FAILED", took, below.depth, child.run_id, bool(why and why.retryable),
        )  # fmt: skip

    def _begun_by(self, live: LiveRun, step: str, agent_id: str) -> RunRecord | None:
        """The run that a step has delegated to already."""
        wanted = step, agent_id, live.ledger.records[step].generation
        children = self._store.children(live.run.run_id, step)
        own = [one for one in children if _begun_for(one) == wanted]
        return own[-1] if own else None

    async def _child(
        self,
        live: LiveRun,
        step: str,
        profile: AgentProfile,
        task: str,
        input: Any,
        chain: DelegationChain,
        before: RunRecord | None,
    ) -> RunResult:
        """Run the delegate, or go on with the run that this step began before."""
        parent = live.run.run_id, step
        if before is not None and before.state == "succeeded":
            return self._told_again(before)
        if before is not None and (before.state == "running" or before.is_resumable):
            return await self._go_on(before, _limits_below(profile, live, before.usage))
        request = {"input": input, "model": live.run.request.get("model"), "execution": None}
        if generation := live.ledger.records[step].generation:
            request["generation"] = generation
        run = await self._create(profile, task, request, chain, parent)
        limits = _limits_below(profile, live)
        return await self._execute(run, profile, self._plan(profile, None), chain, limits)


def _limits_below(profile: AgentProfile, live: LiveRun, counted: Usage = NOTHING_USED) -> Limits:
    """The limits of a delegate; `counted` is what its caller has counted of it already."""
    return within(profile.limits, live.ledger.limits, live.ledger.usage.minus(counted))


def cancel(store: RunStore, run_id: str) -> bool:
    """Stop a run, wherever it is at work; whether somebody was at work on it."""
    run = store.run(run_id)
    idle = "" if _is_at_work(store, run.run_id) else this_process()
    return store.ask_to_cancel(run.run_id, time.time(), idle)


def _is_at_work(store: RunStore, run_id: str) -> bool:
    """Whether this process executes the run."""
    return (store.path, this_process(), run_id) in _AT_WORK


def _begun_for(child: RunRecord) -> tuple[str, str, int]:
    """The step of the run above for which a run was begun, to which agent, and how manieth time."""
    return child.parent_step, child.agent_id, child.request.get("generation", 0)
