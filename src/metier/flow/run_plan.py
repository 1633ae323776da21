"""The plan of a run as it is shown: its steps in layers, each with its state."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from metier.errors import UsageError
from metier.run.plan import plan_layers
from metier.values.agents import AgentProfile, WorkflowStep
from metier.values.runs import RunRecord, StepRecord

_ITERATION = re.compile(r"(\[\d+\])+$")
_TELLING = ("running", "failed", "cancelled", "blocked", "compensated", "pending", "succeeded")
"""States of iterations; the first that one of them has is that of the step."""
_NESTED = {"conditional": ("then", "else"), "loop": ("steps",), "parallel": ("steps",)}
_ABOUT = {"tool": "tool", "delegate": "targetAgent", "loop": "over"}


class PlannedStep(NamedTuple):
    id: str
    type: str
    name: str
    about: str
    """The tool that it calls, the agent that it delegates to, or what it loops over."""
    state: str
    """Empty if it has not begun."""
    times: int
    """How often it began: more than once in a loop."""
    depends: Sequence[str]
    groups: Sequence["PlannedGroup"]
    undo: str
    """The step that compensates for it."""

    def to_json(self) -> dict[str, Any]:
        return {
            "stepId": self.id,
            "type": self.type,
            "name": self.name,
            "about": self.about,
            "state": self.state or None,
            "times": self.times,
            "dependencies": list(self.depends),
            "groups": [one.to_json() for one in self.groups],
            "compensatedBy": self.undo or None,
        }


class PlannedGroup(NamedTuple):
    """Steps that belong together; each layer depends on earlier ones only."""

    key: str
    """`steps`, `then` or `else`."""
    is_parallel: bool
    layers: Sequence[Sequence[PlannedStep]]

    @property
    def size(self) -> int:
        """How many steps there are, nested ones too."""
        return sum(1 + sum(one.size for one in step.groups) for row in self.layers for step in row)

    def to_json(self) -> dict[str, Any]:
        layers = [[step.to_json() for step in layer] for layer in self.layers]
        return {"key": self.key, "isParallel": self.is_parallel, "layers": layers}


def plan_of(run: RunRecord, steps: Sequence[StepRecord]) -> PlannedGroup:
    """The plan of a run by the profile that it began with."""
    profile = AgentProfile.of(run.profile)
    records: dict[str, list[StepRecord]] = defaultdict(list)
    for step in steps:
        records[base_id(step.id)].append(step)
    is_parallel = (run.request.get("execution") or profile.execution) == "parallel"
    return _group("steps", profile.workflow, records, is_parallel=is_parallel)


def plan_of_profile(profile: AgentProfile) -> PlannedGroup:
    """The plan of a run that has not begun."""
    return _group("steps", profile.workflow, {}, is_parallel=profile.execution == "parallel")


def base_id(step_id: str) -> str:
    """The id of a step without its iteration: `check` for `check[2]`."""
    return _ITERATION.sub("", step_id)


def declared_steps(run: RunRecord) -> dict[str, WorkflowStep]:
    """Every step of a plan by its id, nested and compensating ones too."""
    found: dict[str, WorkflowStep] = {}
    waiting = list(AgentProfile.of(run.profile).workflow)
    for step in waiting:
        found.setdefault(step.step_id, step)
        waiting += [one for key in _NESTED.get(step.type, ()) for one in step.nested(key)]
        waiting += [step.compensate] if step.compensate is not None else []
    return found


def _group(
    key: str,
    steps: Sequence[WorkflowStep],
    records: Mapping[str, Sequence[StepRecord]],
    *,
    is_parallel: bool,
) -> PlannedGroup:
    planned = {step.step_id: _planned(step, records) for step in steps}
    order = [[one] for one in planned]
    if is_parallel:
        try:
            order = plan_layers(steps)
        except UsageError:
            is_parallel = False
    return PlannedGroup(key, is_parallel, [[planned[one] for one in layer] for layer in order])


def _planned(step: WorkflowStep, records: Mapping[str, Sequence[StepRecord]]) -> PlannedStep:
    found = records.get(step.step_id, ())
    states = {one.state for one in found}
    nested = [(key, step.nested(key)) for key in _NESTED.get(step.type, ())]
    return PlannedStep(
        id=step.step_id,
        type=step.type,
        name=step.name,
        about=str(step.config.get(_ABOUT.get(step.type, "")) or ""),
        state=next((one for one in _TELLING if one in states), "skipped" if found else ""),
        times=len(found),
        depends=step.dependencies,
        groups=[
            _group(key, inner, records, is_parallel=step.type == "parallel")
            for key, inner in nested
            if inner
        ],
        undo=step.compensate.step_id if step.compensate is not None else "",
    )
