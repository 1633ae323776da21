"""All that is known about a run: its record, plan, steps, delegated runs, checkpoints, notes."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from metier.errors import NotFoundError
from metier.flow.queueing import (
    Placement,
    RunFacts,
    cancel_run,
    has_workers,
    queue_name,
    resume_detached,
    run_facts,
)
from metier.flow.run_plan import PlannedGroup, base_id, declared_steps, plan_of
from metier.flow.running import Agency
from metier.run.checkpoints import CheckpointStore
from metier.run.store import RunStore
from metier.values.agents import AgentProfile, Checkpoint
from metier.values.runs import OnEvent, RunRecord, StepRecord

LAST = "last"
_MOST_CHILDREN = 200


class RunReport(NamedTuple):
    run: RunRecord
    steps: Sequence[StepRecord]
    plan: PlannedGroup
    children: Sequence[RunRecord]
    checkpoints: Sequence[Checkpoint]
    facts: RunFacts
    is_abandoned: bool
    """Whether its process is gone, although its state is still `running`."""
    lacks_consent: Sequence[str]
    """Tools that it may call and its user has not consented to."""

    @property
    def is_executing(self) -> bool:
        """Whether a process executes it now."""
        return self.run.state == "running" and not self.is_abandoned

    @property
    def is_live(self) -> bool:
        """Whether a process executes it, or a worker will."""
        return self.is_executing or (self.run.state == "pending" and bool(self.facts.queue))

    @property
    def is_interrupted(self) -> bool:
        """Whether its process ended before it did, and no queue has it."""
        return self.is_abandoned or (self._is_unowned and self.run.failure is not None)

    @property
    def is_unbegun(self) -> bool:
        """Whether it was stored to be begun, and neither a process nor a queue has it."""
        return self._is_unowned and self.run.failure is None

    @property
    def _is_unowned(self) -> bool:
        return self.run.state == "pending" and not self.facts.queue

    @property
    def is_resumable(self) -> bool:
        return self.run.is_resumable or self.is_abandoned


def not_taken_back(run: RunRecord, steps: Sequence[StepRecord]) -> list[str]:
    """Steps that a rollback did not undo."""
    if run.state != "rollback_incomplete":
        return []
    done = {step.id for step in steps if step.state == "succeeded"}
    return [one.step_id for one in AgentProfile.of(run.profile).workflow if one.step_id in done]


def run_report(agency: Agency, wanted: str) -> RunReport:
    """The report of a run by its id, the beginning of it, or `last`. Raises `NotFoundError`."""
    store = agency.current_store()
    run = _found(store, wanted)
    steps = store.steps(run.key)
    return RunReport(
        run=run,
        steps=steps,
        plan=plan_of(run, steps),
        children=store.children(run.run_id)[:_MOST_CHILDREN],
        checkpoints=CheckpointStore(store).list(run.run_id),
        facts=run_facts(agency, run.run_id),
        is_abandoned=store.is_abandoned(run, time.time()),
        lacks_consent=agency.tools_without_consent(AgentProfile.of(run.profile)),
    )


def _found(store: RunStore, wanted: str) -> RunRecord:
    if wanted != LAST:
        return store.run(wanted)
    latest = store.runs(limit=1, delegated=False)
    if not latest:
        raise NotFoundError("there is no run yet", hint="metier run AGENT TASK")
    return latest[0]


# Prompts and calls


def sent(run: RunRecord, step: StepRecord) -> dict[str, Any]:
    """What was sent to a model or a tool in a step, as far as it is stored."""
    declared = declared_steps(run).get(base_id(step.id))
    if declared is None:
        return {}
    given = step.input if isinstance(step.input, Mapping) else {}
    if declared.type == "tool":
        return {"tool": declared.config.get("tool"), "args": declared.config.get("input") or {}}
    if declared.type != "prompt" or "prompt" not in given:
        return {}
    system = f"{given.get('text') or ''}\n\n{AgentProfile.of(run.profile).system_prompt}".strip()
    return {"system": system, "prompt": given["prompt"], "calls": list(given.get("calls") or ())}


# Acting


async def resume(agency: Agency, run_id: str, on_event: OnEvent) -> str:
    """Resume a run here, or let a worker do it; its id."""
    agency.require_trust("resuming a run")
    run = agency.store.run(run_id)
    model = str(run.request.get("model") or "")
    if has_workers(agency, queue_name(agency, Placement(), model)):
        return resume_detached(agency, run.run_id, Placement()).run_id
    return (await agency.resume(run.run_id, on_event=on_event)).run_id


async def fork(
    agency: Agency, run_id: str, checkpoint_id: str, given: Any, on_event: OnEvent
) -> str:
    """Start a new run from a checkpoint, by default the latest; its id."""
    result = await agency.fork(run_id, checkpoint_id or None, input=given, on_event=on_event)
    return result.run_id


def cancel(agency: Agency, run_id: str) -> str:
    """Cancel a run, wherever it waits or executes; its id."""
    agency.require_trust("cancelling a run")
    run = agency.store.run(run_id)
    cancel_run(agency, run.run_id)
    return run.run_id
