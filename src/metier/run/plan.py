"""Workflows ready to run: their order is checked and their templates are compiled once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from metier.core.nearest import did_you_mean
from metier.core.order import cycle_of, layers_of
from metier.core.templates import (
    Compiled,
    TemplateError,
    compiled_expression,
    compiled_text,
    compiled_value,
)
from metier.errors import MetierError, UsageError
from metier.run.services import Services
from metier.run.tools import ToolExecutor
from metier.values.agents import (
    DEFAULT_CONCURRENCY,
    AgentProfile,
    Execution,
    FailureStrategy,
    WorkflowStep,
    allowed_tools,
    delegates,
    named_tools,
    offered_tools,
    walk_steps,
)
from metier.values.runs import DONE, Failure, RunRecord, StepRecord

DEFAULT_ITERATIONS = 100
DEFAULT_TOOL_ROUNDS = 8
_NESTED = {"conditional": ("then", "else"), "loop": ("steps",), "parallel": ("steps",)}


def plan_layers(steps: Iterable[WorkflowStep] | Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Step ids in layers that depend on earlier steps only. Raises `UsageError`."""
    graph = dict(steps) if isinstance(steps, Mapping) else _graph(steps)
    for step, dependencies in graph.items():
        for one in dependencies:
            if one not in graph:
                raise UsageError(f"step '{step}' depends on '{one}', which does not exist")
    if cycle := cycle_of(graph):
        raise UsageError(f"steps depend on each other: {cycle}")
    return layers_of(graph)


def _graph(steps: Iterable[WorkflowStep]) -> dict[str, tuple[str, ...]]:
    graph: dict[str, tuple[str, ...]] = {}
    for step in steps:
        if step.step_id in graph:
            raise UsageError(f"step id '{step.step_id}' is used twice")
        graph[step.step_id] = step.dependencies
    return graph


def check_order(steps: Sequence[WorkflowStep]) -> None:
    """Raise `UsageError` when a step of a sequence depends on a later step."""
    before: set[str] = set()
    for step, dependencies in _graph(steps).items():
        for one in dependencies:
            if one not in before:
                plan_layers(steps)  # raises for a cycle or an unknown step
                raise UsageError(
                    f"step '{step}' depends on '{one}', a later step",
                    hint="move it up, or run with execution: parallel",
                )
        before.add(step)


class Group:
    """Sibling steps, and how they run."""

    def __init__(
        self,
        steps: Sequence[WorkflowStep],
        execution: Execution,
        limit: int,
        strategy: FailureStrategy,
    ) -> None:
        self.is_parallel = execution == "parallel"
        (plan_layers if self.is_parallel else check_order)(steps)
        self.steps = tuple(ReadyStep(step) for step in steps)
        self.limit = limit
        self.strategy = strategy


class ReadyStep:
    """A step with its templates compiled."""

    __slots__ = (
        "body", "compensate", "condition", "declared", "depends", "groups", "id", "kind", "over",
        "test", "timeout",
    )  # fmt: skip

    def __init__(self, step: WorkflowStep) -> None:
        config = step.config
        self.declared = step
        self.id = step.step_id
        self.kind = step.type
        self.depends = step.dependencies
        self.timeout = step.timeout_ms / 1e3 if step.timeout_ms else None
        self.condition = _expression(step.condition)
        self.compensate = ReadyStep(step.compensate) if step.compensate is not None else None
        self.body = _body(step)
        self.test = _expression(config.get("condition") or config.get("while"))
        self.over = _expression(config.get("over")) if step.type == "loop" else None
        self.groups = {key: _inner(step, key) for key in _NESTED.get(step.type, ())}

    def walk(self, *, compensating: bool = False) -> Iterable["ReadyStep"]:
        """This step and all inside it; with `compensating` also those that compensate."""
        yield self
        more = [self.compensate] if compensating and self.compensate is not None else []
        for one in (*more, *self.children()):
            yield from one.walk(compensating=compensating)

    def children(self) -> Iterable["ReadyStep"]:
        return (step for group in self.groups.values() for step in group.steps)


def _expression(text: Any) -> Compiled | None:
    return compiled_expression(text) if text else None


def _body(step: WorkflowStep) -> Compiled:
    """The prompt, the arguments of a tool, or the task and input of a delegate."""
    config = step.config
    if step.type == "prompt":
        return compiled_text(config["prompt"])
    if step.type == "tool":
        return compiled_value(config.get("input") or {})
    if step.type == "delegate":
        given = {"input": config["input"]} if config.get("input") is not None else {}
        return compiled_value({"task": config.get("task") or "{{ task }}", **given})
    return compiled_value(None)


def _inner(step: WorkflowStep, key: str) -> Group:
    config = step.config
    is_parallel = step.type == "parallel"
    return Group(
        step.nested(key),
        "parallel" if is_parallel else "sequential",
        config.get("maxConcurrency", DEFAULT_CONCURRENCY) if is_parallel else 1,
        config.get("failureStrategy") or "failFast",
    )


class Workflow(Group):
    """All steps of a profile."""

    def __init__(self, profile: AgentProfile, execution: Execution) -> None:
        limit = profile.max_concurrency if execution == "parallel" else 1
        super().__init__(profile.workflow, execution, limit, profile.failure_strategy)
        self.tools = allowed_tools(profile)
        self.offered = offered_tools(profile)
        """The tools for prompt steps that list none."""
        self.named = named_tools(profile)
        self.requires = profile.requires
        self.checkpoint = profile.checkpoint
        self.delegates = sorted(delegates(profile))


def ready(profile: AgentProfile, execution: Execution | None = None) -> Workflow:
    """The workflow of a profile. Raises `UsageError` for a wrong order or template."""
    how = execution or profile.execution
    if how not in ("sequential", "parallel"):
        raise UsageError(f"'{how}' is not an execution mode", hint="sequential or parallel")
    try:
        return Workflow(profile, how)
    except TemplateError as error:
        raise UsageError(f"a template cannot be read: {error}", hint="metier lint") from None


# What must be there before the first step begins: the tools and the models of all steps


def missing_tools(
    run: RunRecord, profile: AgentProfile, plan: Workflow, services: Services
) -> Failure | None:
    """Why a run cannot go on: the agent, or a delegate, names an unknown tool."""
    named = {profile.agent_id: plan.named}
    waiting = list(plan.delegates)
    for target in waiting:
        other = services.profile(target) if target not in named else None
        if other is not None and other.enabled:
            named[target] = named_tools(other)
            waiting += delegates(other)
    for agent_id, names in named.items():
        tools = services.tools_of(agent_id)
        missing = [name for name in names if not tools.is_tool_available(name)]
        if missing:
            is_gone = run.epoch > 1 and services.profile(agent_id) is None
            return _missing(agent_id, missing, tools, _ADD_FIRST if is_gone else "")
    return None


_ADD_FIRST = "if the agent is written in Python, add it first: catalog.add(agent)"


def _missing(agent_id: str, missing: Sequence[str], tools: ToolExecutor, hint: str) -> Failure:
    quoted = [f"'{one}'" for one in missing]
    listed = " and ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))
    what = "tool" if len(missing) == 1 else "tools"
    verb = "does" if len(missing) == 1 else "do"
    message = f"agent '{agent_id}' names the {what} {listed}, which {verb} not exist"
    set_up = f"set it up as [tools.{missing[0]}] in metier.toml, or give the agent such a function"
    meant = did_you_mean(missing[0], tools.names(), hint or set_up)
    return Failure("TOOL_NOT_FOUND", message, hint=meant)


_PASS_AGAIN = "if it was an object, pass it again: resume(run_id, model=…)"


def unknown_model(
    run: RunRecord,
    profile: AgentProfile,
    records: Mapping[str, StepRecord],
    services: Services,
) -> Failure | None:
    """Why a run cannot go on: a prompt, of the agent or a delegate, is for an unknown model."""
    asked = run.request.get("model") or ""
    for one in _asking(profile, records, services):
        try:
            services.check_model(asked or one.model, one.agent_id)
        except MetierError as error:
            origin = f"agent '{one.agent_id}': " if one.model else "[models] default: "
            message = error.message if asked else origin + error.message
            hint = _PASS_AGAIN if run.epoch > 1 else error.hint
            return Failure(error.code, message, hint=hint)
    return None


def unknown_price(
    run: RunRecord,
    profile: AgentProfile,
    records: Mapping[str, StepRecord],
    services: Services,
) -> Failure | None:
    """Why a run with a limit of cost fails: the price of one of its models is not known."""
    for one in _asking(profile, records, services):
        try:
            services.check_price(run.request.get("model") or one.model, one.agent_id)
        except MetierError as error:
            return Failure(error.code, f"agent '{one.agent_id}': {error.message}", hint=error.hint)
    return None


def _asking(
    profile: AgentProfile, records: Mapping[str, StepRecord], services: Services
) -> Iterator[AgentProfile]:
    """The agent and its delegates, if they have prompts left.

    A delegate whose step has begun is left out: its own run is checked when it goes on.
    """
    steps = [one for one in _steps(profile) if _is_left(one, records)]
    begun = {key.partition("[")[0] for key in records}
    reached = {profile.agent_id}
    waiting = [(profile, steps)]
    for one, steps in waiting:
        walked = list(walk_steps(steps))
        if any(step["type"] == "prompt" for step in walked):
            yield one
        for step in walked:
            target = step["config"]["targetAgent"] if step["type"] == "delegate" else ""
            if not target or target in reached or (one is profile and step["stepId"] in begun):
                continue
            other = services.profile(target)
            if other is not None and other.enabled:
                reached.add(target)
                waiting.append((other, _steps(other)))


def _steps(profile: AgentProfile) -> list[Mapping[str, Any]]:
    """The workflow, or the one prompt of a profile without any."""
    return list(profile.data.get("workflow") or [_ONLY_A_PROMPT])


_ONLY_A_PROMPT: Mapping[str, Any] = {"stepId": "answer", "type": "prompt", "config": {}}


def _is_left(step: Mapping[str, Any], records: Mapping[str, StepRecord]) -> bool:
    record = records.get(step["stepId"])
    return record is None or record.state not in DONE
