"""Workflows ready to run: their order is checked and their templates are compiled once."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from metier.core.order import cycle_of, layers_of
from metier.core.templates import (
    Compiled,
    TemplateError,
    compiled_expression,
    compiled_text,
    compiled_value,
)
from metier.errors import UsageError
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
)

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
