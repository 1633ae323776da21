"""Runs agents: begins runs, goes on with them, delegates, forks and cancels."""

import asyncio
import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from metier.errors import MetierError, NotFoundError, UsageError
from metier.run.checkpoints import CheckpointStore
from metier.run.delegation import DelegationChain
from metier.run.kinds import kinds
from metier.run.live import LiveRun
from metier.run.owner import this_process
from metier.run.services import Look, Services, StepFailedError
from metier.run.store import Kept, NewRun, RunStore, begun, kept_once, step_write
from metier.run.workflow import Group, ReadyStep, ready
from metier.stamps import new_id
from metier.values.agents import AgentProfile, Execution, Limits
from metier.values.runs import Failure, RunRecord, RunResult, StepRecord

HEARTBEAT_SECONDS = 1.0


class DelegationResult(NamedTuple):
    """What came of handing a task to another agent."""

    success: bool
    handled_by: str
    result: Any = None
    error: str = ""
    error_code: str = ""
    duration_ms: float = 0.0
    final_depth: int = 0
    run_id: str = ""
    retryable: bool = False

    def to_json(self) -> dict[str, Any]:
        """In the spec's spelling."""
        said = {"result": self.result} if self.success else self._failure()
        return {
            "success": self.success,
            "handledBy": self.handled_by,
            **said,
            "durationMs": self.duration_ms,
            "finalDepth": self.final_depth,
        }

    def _failure(self) -> dict[str, str]:
        return {"error": self.error, "errorCode": self.error_code}


class Runner:
    """Runs the agents of one workspace in one event loop."""

    def __init__(self, store: RunStore, services: Services, look: Look | None = None) -> None:
        """`look` is told what happens."""
        self._store = store
        self._services = services
        self._look = look
        self._owner = this_process()
        self._kinds = kinds(self._delegate_step)
        self._live: dict[str, tuple[LiveRun, asyncio.Task[Any] | None]] = {}
        self._beat: asyncio.Task[None] | None = None
        self._plans: dict[int, tuple[AgentProfile, Group]] = {}
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

    async def resume(self, run_id: str) -> RunResult:
        """Go on with a run where it stopped; one that has succeeded is told again."""
        run = self._store.run(run_id)
        if run.state == "succeeded":
            return RunResult(run, self._store.steps(run.key), {})
        if run.state != "running" and not run.is_resumable:
            raise UsageError(
                f"run '{run.run_id}' is {run.state}: it cannot go on",
                code="RUN_NOT_RESUMABLE",
                hint=f"metier runs fork {run.run_id}",
            )
        return await self._go_on(run)

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
        restored = [*found.step_outputs, *found.skipped_step_ids]
        kept = {one.id: one for one in self._store.steps(run.key) if one.id in restored}
        steps = [
            kept[one]._replace(seq=number, state=_restored_state(kept[one]))
            for number, one in enumerate(restored, start=1)
        ]
        self._store.save_now([*begun(new, key), *(step_write(key, one) for one in steps)])
        return await self._go_on(self._store.run(new.run_id))

    def cancel(self, run_id: str) -> bool:
        """Stop a run, here or in another process; whether somebody was at work on it."""
        live, task = self._live.get(run_id, (None, None))
        if live is None or task is None:
            return self._store.ask_to_cancel(self._store.run(run_id).run_id)
        live.is_wanted_stopped = True
        task.cancel()
        return True

    # Inside

    def _plan(self, profile: AgentProfile, execution: Execution | None) -> Group:
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
        kept = self._profile_kept(profile)
        new = NewRun(new_id(), profile.agent_id, task, time.time(), kept_once(asked), kept, *parent)
        key = self._store.new_key()
        await self._store.save(begun(new, key, self._owner))
        return RunRecord(
            new.run_id, new.agent_id, task, "running", new.created, asked, profile.data,
            parent_run=parent[0], parent_step=parent[1], key=key,
        )  # fmt: skip

    async def _go_on(self, run: RunRecord) -> RunResult:
        profile = AgentProfile.of(run.profile)
        chain = DelegationChain(tuple(run.request["chain"]), run.request["maxDepth"])
        plan = ready(profile, run.request.get("execution"))
        self._store.claim(run.run_id, self._owner, time.time())
        run = run._replace(state="running", failure=None, finished=None)
        known = self._store.steps(run.key)
        with self._at_work():
            return await self._execute(run, profile, plan, chain, profile.limits, known)

    async def _execute(
        self,
        run: RunRecord,
        profile: AgentProfile,
        plan: Group,
        chain: DelegationChain,
        limits: Limits,
        known: Sequence[StepRecord] = (),
    ) -> RunResult:
        live = LiveRun(
            self._store, self._services, run, profile, plan, chain, self._kinds,
            limits=limits, context=kept_once(run.request).key, known=known, look=self._look,
        )  # fmt: skip
        self._live[run.run_id] = live, asyncio.current_task()
        try:
            return await live.execute()
        finally:
            del self._live[run.run_id]

    @contextlib.contextmanager
    def _at_work(self) -> Iterator[None]:
        """Count a run, so that those at work together are saved together."""
        self._store.live += 1
        if self._beat is None:
            self._beat = asyncio.create_task(self._keep_alive())
        try:
            yield
        finally:
            self._store.live -= 1
            if not self._store.live and self._beat is not None:
                self._beat.cancel()
                self._beat = None

    async def _keep_alive(self) -> None:
        """Say that this process lives, and hear which runs are to be cancelled."""
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            with contextlib.suppress(MetierError):  # a busy file is asked again
                for run_id in self._store.renew(self._owner, time.time()):
                    if run_id in self._live:
                        self.cancel(run_id)

    # Delegation

    async def _delegate_step(
        self, live: LiveRun, one: ReadyStep, names: dict[str, Any], suffix: str, _attempt: int
    ) -> Any:
        key = one.id + suffix
        asked = one.body(names)
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
        if settings.to is not None and target not in settings.to:
            message = f"'{live.profile.agent_id}' may not delegate to '{target}'"
            return _refused(target, "DELEGATION_NOT_ALLOWED", message, chain)
        check = chain.can_delegate(target)
        if not check.allowed:
            return _refused(target, check.code, check.message, chain)
        profile = self._services.profile(target)
        if profile is None or not profile.enabled:
            message = f"there is no agent '{target}'"
            return _refused(target, "DELEGATION_TARGET_NOT_FOUND", message, chain)
        own = profile.delegation
        below = chain.extend(target, own.max_depth if own.states_depth else None)
        started = time.monotonic()
        try:
            limit = settings.timeout_ms / 1e3 if settings.timeout_ms else None
            async with asyncio.timeout(limit):
                child = await self._child(live, step, profile, task, input, below)
        except TimeoutError:
            message = f"'{target}' took over {limit or 0:g} seconds"
            return _refused(target, "DELEGATION_TIMEOUT", message, chain, retryable=True)
        took = (time.monotonic() - started) * 1e3
        live.ledger.add_usage(step, child.usage)
        if child.success:
            return DelegationResult(
                True, target, child.output, "", "", took, below.depth, child.run_id
            )
        why = child.run.failure
        return DelegationResult(
            False, target, None, f"'{target}' {child.state}: {why.message if why else ''}",
            "DELEGATION_FAILED", took, below.depth, child.run_id, bool(why and why.retryable),
        )  # fmt: skip

    async def _child(
        self,
        live: LiveRun,
        step: str,
        profile: AgentProfile,
        task: str,
        input: Any,
        chain: DelegationChain,
    ) -> RunResult:
        """Run the delegate, or go on with the run that this step began before."""
        parent = live.run.run_id, step
        before = [
            one
            for one in self._store.children(live.run.run_id)
            if one.parent_step == step and one.agent_id == profile.agent_id
        ]
        if before and (before[-1].state == "succeeded" or before[-1].is_resumable):
            return await self.resume(before[-1].run_id)
        request = {"input": input, "model": live.run.request.get("model"), "execution": None}
        run = await self._create(profile, task, request, chain, parent)
        limits = _within(profile.limits, live)
        return await self._execute(run, profile, self._plan(profile, None), chain, limits)


def _refused(
    target: str, code: str, message: str, chain: DelegationChain, *, retryable: bool = False
) -> DelegationResult:
    return DelegationResult(
        False, target, error=message, error_code=code, final_depth=chain.depth, retryable=retryable
    )


def _within(limits: Limits, live: LiveRun) -> Limits:
    """A delegate's limits: its own, and no more tokens and cost than its caller has left."""
    left, used = live.ledger.limits, live.ledger.usage
    return limits._replace(
        tokens=_least(limits.tokens, left.tokens, used.tokens),
        cost=_least(limits.cost, left.cost, used.cost),
    )


def _least(own: Any, limit: Any, used: Any) -> Any:
    left = None if limit is None else max(0, limit - used)
    return min((one for one in (own, left) if one is not None), default=None)


def _restored_state(step: StepRecord) -> Any:
    return "skipped" if step.state == "skipped" else "succeeded"
