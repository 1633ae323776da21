"""Workflows made ready to run: every template and condition read once."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from metier.core.templates import (
    Compiled,
    TemplateError,
    compiled_expression,
    compiled_text,
    compiled_value,
)
from metier.errors import UsageError
from metier.run.plan import check_order, plan_layers
from metier.values.agents import AgentProfile, Execution, FailureStrategy, WorkflowStep

DEFAULT_ITERATIONS = 100
DEFAULT_TOOL_ROUNDS = 8


class Group:
    """Sibling steps, and how they run."""

    def __init__(
        self,
        steps: Iterable[WorkflowStep],
        execution: Execution,
        limit: int,
        strategy: FailureStrategy,
    ) -> None:
        given = tuple(steps)
        if execution == "parallel":
            plan_layers(given)
        else:
            check_order(given)
        self.steps = tuple(ReadyStep(one) for one in given)
        self.is_parallel = execution == "parallel"
        self.limit = limit
        self.strategy = strategy


class ReadyStep:
    """A step whose parts can be called."""

    __slots__ = (
        "body", "compensate", "condition", "depends", "groups", "id", "kind", "over", "step",
        "test", "timeout",
    )  # fmt: skip

    def __init__(self, step: WorkflowStep) -> None:
        config = step.config
        self.step = step
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

    def walk(self) -> Iterable["ReadyStep"]:
        """This step and all inside it."""
        yield self
        for one in self.children():
            yield from one.walk()

    def children(self) -> Iterable["ReadyStep"]:
        """The steps right inside this one."""
        return (one for group in self.groups.values() for one in group.steps)


_NESTED = {"conditional": ("then", "else"), "loop": ("steps",), "parallel": ("steps",)}


def _expression(text: Any) -> Compiled | None:
    return compiled_expression(text) if text else None


def _body(step: WorkflowStep) -> Compiled:
    """What a leaf is given: the prompt, the arguments of a tool, the task of a delegate."""
    config = step.config
    if step.type == "prompt":
        return compiled_text(config["prompt"])
    if step.type == "tool":
        return compiled_value(config.get("input") or {})
    if step.type == "delegate":
        return compiled_value({"task": config.get("task") or "{{ task }}", **_input_of(config)})
    return compiled_value(None)


def _input_of(config: Any) -> dict[str, Any]:
    return {"input": config["input"]} if config.get("input") is not None else {}


def _inner(step: WorkflowStep, key: str) -> Group:
    config = step.config
    return Group(
        step.nested(key),
        "parallel" if step.type == "parallel" else "sequential",
        config.get("maxConcurrency", 5) if step.type == "parallel" else 1,
        config.get("failureStrategy") or "failFast",
    )


class Workflow(Group):
    """All steps of a profile."""

    def __init__(self, profile: AgentProfile, execution: Execution) -> None:
        limit = profile.max_concurrency if execution == "parallel" else 1
        super().__init__(profile.workflow, execution, limit, profile.failure_strategy)
        self.tools = allowed_tools(profile)
        """What the agent may call."""
        self.offered = offered_tools(profile)
        """What prompt steps without a list of their own are offered."""
        self.named = named_tools(profile)
        self.delegates = sorted(delegates(profile))


def ready(profile: AgentProfile, execution: Execution | None = None) -> Workflow:
    """The workflow of a profile. Raises `UsageError` for an order or a template that cannot be."""
    how = execution or profile.execution
    if how not in ("sequential", "parallel"):
        raise UsageError(f"'{how}' is no execution", hint="sequential or parallel")
    try:
        return Workflow(profile, how)
    except TemplateError as error:
        raise UsageError(f"a template cannot be read: {error}", hint="metier lint") from None


def allowed_tools(profile: AgentProfile) -> Collection[str]:
    """The tools that the profile lists; without a list, those that its own steps name."""
    return named_tools(profile) if profile.data.get("tools") is None else profile.tools


def offered_tools(profile: AgentProfile) -> Collection[str]:
    """The tools that the profile lists; without a list, those of its tool steps.

    What one prompt step lists is for that step alone.
    """
    if profile.data.get("tools") is not None:
        return profile.tools
    return [one["config"]["tool"] for one in _all_steps(profile) if one["type"] == "tool"]


def named_tools(profile: AgentProfile) -> list[str]:
    """Every tool that the profile or one of its steps names, once."""
    names = list(profile.tools)
    for step in _all_steps(profile):
        config = step["config"]
        names += [config["tool"]] if step["type"] == "tool" else config.get("tools") or ()
    return list(dict.fromkeys(names))


def delegates(profile: AgentProfile) -> set[str]:
    """The agents that the steps of a profile name."""
    steps = [inner for one in profile.workflow for inner in _walk(one)]
    return {one.config["targetAgent"] for one in steps if one.type == "delegate"}


def _walk(step: WorkflowStep) -> Iterable[WorkflowStep]:
    yield step
    nested = [one for key in _NESTED.get(step.type, ()) for one in step.nested(key)]
    for one in (*nested, *([step.compensate] if step.compensate is not None else ())):
        yield from _walk(one)


def _all_steps(profile: AgentProfile) -> Iterator[Mapping[str, Any]]:
    """The steps of a profile as they are written, with all inside them."""
    waiting = list(profile.data.get("workflow") or ())
    for step in waiting:
        yield step
        for key in ("then", "else", "steps"):
            waiting += step["config"].get(key) or ()
        waiting += [step["compensate"]] if step.get("compensate") else []
