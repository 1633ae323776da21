"""Run: one run with its plan, timeline, prompts, calls, checkpoints and delegated runs."""

import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Any

from metier.catalog import Catalog
from metier.core.timestamps import from_iso
from metier.errors import NotFoundError, UsageError
from metier.flow import run_report
from metier.flow.run_plan import base_id, declared_steps
from metier.flow.run_report import LAST, RunReport
from metier.flow.run_watching import follow, progress_of
from metier.values.agents import Checkpoint
from metier.values.runs import OnEvent, RunRecord, StepRecord
from metier.web.page import Action, Ask, Data, Page, Start, Stream, View
from metier.web.query import Query, address
from metier.web.timeline import timeline_of

_LONGEST = 20_000
"""Characters of a text that the page shows; its JSON has all of it."""
_INJECTED = ("abilities", "cards", "providers", "providersLeftOut", "report", "tokens")


def build(view: View) -> Data:
    """As `metier runs show --json`, and what was sent. Runs change, so nothing is cached."""
    wanted = view.query.text("id", LAST)
    try:
        report = run_report.run_report(view.catalog.agency, wanted)
    except NotFoundError:
        if wanted != LAST:
            raise
        return {"run": None}
    run = report.run
    asked = {key: run.request.get(key) for key in ("input", "model", "execution")}
    may_act = not view.is_restricted
    own, from_checkpoint = _own_steps(report)
    plan, steps = report.plan.to_json(), _steps(report)
    timeline = timeline_of(own, is_live=report.is_live)
    if not report.is_executing:
        _mark_interrupted(plan, [*steps, *timeline["bars"]])
    return {
        "run": {**run.to_json(), **asked, "created": run.created, "finished": run.finished},
        "isAbandoned": report.is_interrupted,
        "isUnbegun": report.is_unbegun,
        "isLive": report.is_live,
        "isRollingBack": report.is_live or report.is_resumable,
        "notTakenBack": run_report.not_taken_back(run, report.steps),
        "rollback": run.rollback.to_json() if run.rollback else None,
        "mayResume": may_act and report.is_resumable and not report.is_live,
        "mayCancel": may_act and (report.is_live or run.state == "pending"),
        "mayFork": may_act and bool(report.checkpoints),
        "isRestricted": view.is_restricted,
        "lacksConsent": list(report.lacks_consent),
        "plan": plan,
        "timeline": timeline,
        "steps": steps,
        "fromCheckpoint": from_checkpoint,
        "children": [_child(one) for one in report.children],
        "checkpoints": [_checkpoint(one) for one in reversed(report.checkpoints)],
        "queue": report.facts.queue,
        "notes": [one.to_json() for one in report.facts.notes],
    }


def _own_steps(report: RunReport) -> tuple[list[StepRecord], int]:
    """The steps that a run executed itself, and how many a fork has from its checkpoint."""
    if not report.run.forked_from:
        return list(report.steps), 0
    own = [one for one in report.steps if one.finished is None or one.finished > report.run.created]
    return own, len(report.steps) - len(own)


def _mark_interrupted(plan: Mapping[str, Any], steps: Iterable[dict[str, Any]]) -> None:
    """Call steps `interrupted` that were running when the process of their run ended."""
    planned = [step for layer in plan["layers"] for step in layer]
    for step in [*steps, *planned]:
        if step["state"] == "running":
            step["state"] = "interrupted"
    for group in [group for step in planned for group in step["groups"]]:
        _mark_interrupted(group, [])


def _steps(report: RunReport) -> list[dict[str, Any]]:
    declared = declared_steps(report.run)
    children: dict[str, list[str]] = {}
    for one in report.children:
        children.setdefault(one.parent_step, []).append(one.run_id)
    shown = []
    for step in sorted(report.steps, key=lambda one: (not one.started, one.started, one.seq)):
        planned = declared.get(base_id(step.id))
        given = step.input if isinstance(step.input, Mapping) else {}
        more = {
            "type": planned.type if planned else "",
            "name": planned.name if planned else "",
            "started": step.started or None,
            "seconds": None if step.duration_ms is None else step.duration_ms / 1e3,
            "injected": {key: given[key] for key in _INJECTED if given.get(key)},
            "warnings": list(given.get("warnings") or ()),
            "sent": run_report.sent(report.run, step),
            "runs": children.get(step.id, []),
        }
        shown.append({**step.to_json(), **more})
    return shown


def _child(run: RunRecord) -> dict[str, Any]:
    return {
        "runId": run.run_id,
        "agentId": run.agent_id,
        "stepId": run.parent_step,
        "task": run.task[:400],
        "state": run.state,
        "seconds": max(0.0, run.finished - run.created) if run.finished else None,
        "tokens": run.usage.tokens,
        "cost": run.usage.cost,
    }


def _checkpoint(checkpoint: Checkpoint) -> dict[str, Any]:
    return {
        "checkpointId": checkpoint.checkpoint_id,
        "completedStepId": checkpoint.completed_step_id,
        "stepIndex": checkpoint.step_index,
        "createdAt": checkpoint.created_at,
        "created": from_iso(checkpoint.created_at),
        "expiresAt": checkpoint.expires_at,
    }


# Live


async def _events(ask: Ask, query: Query) -> AsyncGenerator[Data, None]:
    """One event for each change of a run."""
    wanted = query.text("id", LAST)

    def begin(catalog: Catalog) -> tuple[RunRecord, Any]:
        store = catalog.agency.current_store()
        return store.run(wanted), catalog.agency.state

    run, state = await ask(begin)

    async def read() -> Any:
        return await ask(lambda catalog: progress_of(catalog.agency, run))

    async for one in follow(state, run.key, read):
        yield {"state": one.state, "isOver": one.is_over, "steps": len(one.steps)}


# Forms


async def _resume(catalog: Catalog, fields: Mapping[str, str], on_event: OnEvent) -> str:
    return await run_report.resume(catalog.agency, _run_id(fields), on_event)


async def _fork(catalog: Catalog, fields: Mapping[str, str], on_event: OnEvent) -> str:
    run_id, checkpoint = _run_id(fields), fields.get("checkpoint", "")
    return await run_report.fork(catalog.agency, run_id, checkpoint, _input(fields), on_event)


def _cancel(catalog: Catalog, fields: Mapping[str, str]) -> str:
    return address("run", id=run_report.cancel(catalog.agency, _run_id(fields)))


def _run_id(fields: Mapping[str, str]) -> str:
    if not (found := fields.get("id", "").strip()):
        raise UsageError("no run is named", hint="use the form of a run")
    return found


def _input(fields: Mapping[str, str]) -> Any:
    text = fields.get("input", "").strip()
    try:
        return json.loads(text) if text else None
    except ValueError as error:
        hint = 'write JSON, such as {"version": "4.2.0"}'
        raise UsageError(f"the input is not JSON: {error}", hint=hint) from None


def _command(data: Data) -> list[str]:
    return ["runs", "show", data["run"]["runId"]] if data["run"] else ["runs", "list"]


PAGES: Sequence[Page] = [
    Page(name="run", title="Run", build=build, command=_command, under="runs", order=82)
]
ACTIONS = [Action(name="cancel-run", do=_cancel)]
STARTS = [Start(name="resume-run", work=_resume), Start(name="fork-run", work=_fork)]
STREAMS = [Stream(name="run-events", events=_events)]
