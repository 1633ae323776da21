"""The steps of a workflow: their fields, their types, nesting, ids and dependencies."""

from collections.abc import Callable
from typing import Any

import pytest

from metier.lint import lint_document
from metier.lint.agents import validate_agent
from metier.parse.kinds import parse_document
from metier.values.outcomes import Issue

Step = dict[str, Any]


def findings(*steps: object, **fields: Any) -> list[Issue]:
    data = {"agentId": "a", "description": "b", "workflow": list(steps), **fields}
    return validate_agent(data)


def codes(*steps: object, **fields: Any) -> list[str]:
    return [issue.code for issue in findings(*steps, **fields)]


def step(step_id: str = "one", /, **fields: Any) -> Step:
    return {"stepId": step_id, "type": "prompt", "config": {"prompt": "Go."}, **fields}


def typed(kind: str, step_id: str = "one", /, **config: Any) -> Step:
    return {"stepId": step_id, "type": kind, "config": config}


def test_a_workflow_has_at_most_100_steps() -> None:
    assert codes(*(step(f"s{number}") for number in range(100))) == []
    assert codes(*(step(f"s{number}") for number in range(101))) == ["AG702"]


def test_a_step_is_a_mapping_with_id_type_and_config() -> None:
    assert codes("run") == ["AG702"]
    assert codes({}) == ["AG701", "AG701", "AG701"]


@pytest.mark.parametrize("step_id", ["a", "A", "a1", "read_It-2", "a" * 100])
def test_a_step_id_starts_with_a_letter(step_id: str) -> None:
    assert codes(step(step_id)) == []


@pytest.mark.parametrize("step_id", ["", "1a", "_a", "a b", "a.b", "é", "a" * 101])
def test_any_other_step_id_is_an_error(step_id: str) -> None:
    assert codes(step(step_id)) == ["AG702"]


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("name", ["a" * 200], ["a" * 201, 7]),
        ("description", ["a" * 1000], ["a" * 1001, 7]),
        ("condition", ["input".ljust(500)], ["input".ljust(501), True]),
        ("timeoutMs", [1_000, 3_600_000], [999, 3_600_001, 1000.5, "1000"]),
        ("outputs", [["report"], []], ["report", [7]]),
        ("requires", [["web-search"]], ["web-search", [""]]),
        ("checkpoint", [True, False], ["yes", {}]),
        ("retryPolicy", [{}], [3, []]),
        ("dependencies", [[]], ["one", [7]]),
        ("compensate", [step("undo")], ["undo", []]),
    ],
)
def test_the_fields_of_a_step_have_their_limits(
    field: str, good: list[object], bad: list[object]
) -> None:
    assert [codes(step(**{field: value})) for value in good] == [[]] * len(good)
    assert [codes(step(**{field: value})) for value in bad] == [["AG702"]] * len(bad)


def test_a_step_has_at_most_20_dependencies() -> None:
    earlier = [f"s{number}" for number in range(21)]
    steps = [step(name) for name in earlier]
    assert codes(*steps, step("last", dependencies=earlier[:20])) == []
    assert codes(*steps, step("last", dependencies=earlier)) == ["AG702"]


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("maxAttempts", [1, 10], [0, 11, 1.5]),
        ("backoffMs", [100, 60_000], [99, 60_001, 100.5]),
        ("backoffMultiplier", [1, 1.5, 5], [0.9, 5.1, "2"]),
        ("retryOn", [[], ["timeout", "rateLimit", "serverError", "networkError"]], [["x"], "all"]),
    ],
)
def test_a_retry_policy_has_its_limits(field: str, good: list[object], bad: list[object]) -> None:
    assert [codes(step(retryPolicy={field: value})) for value in good] == [[]] * len(good)
    assert [codes(step(retryPolicy={field: value})) for value in bad] == [["AG702"]] * len(bad)


def test_unknown_keys_of_a_step_its_retry_policy_and_its_config_are_errors() -> None:
    assert codes(step(colour="red")) == ["AG703"]
    assert codes(step(retryPolicy={"wait": 1})) == ["AG703"]
    assert codes(typed("prompt", prompt="Go.", model="x")) == ["AG703"]


INNER = [step("inner")]
VALID: dict[str, list[dict[str, Any]]] = {
    "prompt": [
        {"prompt": "Go."},
        {"prompt": "Go.", "tools": ["read"], "outputSchema": {}, "maxToolRounds": 0},
        {"prompt": "Go.", "maxToolRounds": 20},
    ],
    "tool": [{"tool": "read"}, {"tool": "read", "input": {"path": "x"}}],
    "delegate": [{"targetAgent": "writer"}, {"targetAgent": "w", "task": "Go.", "input": 1}],
    "conditional": [
        {"condition": "input", "then": INNER},
        {"condition": "input", "then": [], "else": INNER},
    ],
    "loop": [
        {"over": "input.list", "steps": INNER},
        {"while": "input", "as": "item", "steps": INNER, "maxIterations": 1},
        {"over": "input", "steps": INNER, "maxIterations": 1000},
    ],
    "parallel": [
        {"steps": INNER},
        {"steps": INNER, "maxConcurrency": 10, "failureStrategy": "continueOnError"},
    ],
}


@pytest.mark.parametrize("kind", VALID)
def test_each_step_type_has_its_own_config(kind: str) -> None:
    for config in VALID[kind]:
        assert codes(typed(kind, **config)) == []


def test_any_other_step_type_is_an_error() -> None:
    assert codes({"stepId": "a", "type": "shell", "config": {}}) == ["AG702"]
    assert codes({"stepId": "a", "type": ["tool"], "config": {}}) == ["AG702"]


@pytest.mark.parametrize(
    ("kind", "config", "found"),
    [
        ("prompt", {}, ["AG701"]),
        ("prompt", {"prompt": ""}, ["AG702"]),
        ("prompt", {"prompt": "Go.", "maxToolRounds": 21}, ["AG702"]),
        ("prompt", {"prompt": "Go.", "maxToolRounds": -1}, ["AG702"]),
        ("prompt", {"prompt": "Go.", "outputSchema": "text"}, ["AG702"]),
        ("tool", {}, ["AG701"]),
        ("tool", {"tool": ""}, ["AG702"]),
        ("delegate", {}, ["AG701"]),
        ("delegate", {"targetAgent": 7}, ["AG702"]),
        ("conditional", {}, ["AG701", "AG701"]),
        ("conditional", {"condition": "input", "then": "go"}, ["AG702"]),
        ("conditional", {"condition": "input", "then": [], "else": ["go"]}, ["AG702"]),
        ("loop", {"steps": []}, ["AG701"]),
        ("loop", {"over": "input"}, ["AG701"]),
        ("loop", {"over": "", "steps": []}, ["AG702"]),
        ("loop", {"over": "input", "steps": [], "maxIterations": 0}, ["AG702"]),
        ("loop", {"over": "input", "steps": [], "maxIterations": 1001}, ["AG702"]),
        ("parallel", {}, ["AG701"]),
        ("parallel", {"steps": [], "maxConcurrency": 11}, ["AG702"]),
        ("parallel", {"steps": [], "maxConcurrency": 0}, ["AG702"]),
        ("parallel", {"steps": [], "failureStrategy": "retry"}, ["AG702"]),
    ],
)
def test_a_config_that_lacks_or_exceeds_something_is_an_error(
    kind: str, config: dict[str, Any], found: list[str]
) -> None:
    assert codes(typed(kind, **config)) == found


def in_then(inner: Step) -> Step:
    return typed("conditional", "outer", condition="input", then=[inner])


def in_else(inner: Step) -> Step:
    return typed("conditional", "outer", condition="input", then=[], **{"else": [inner]})


def in_loop(inner: Step) -> Step:
    return typed("loop", "outer", over="input", steps=[inner])


def in_parallel(inner: Step) -> Step:
    return typed("parallel", "outer", steps=[inner])


def in_compensate(inner: Step) -> Step:
    return step("outer", compensate=inner)


NESTINGS: list[Callable[[Step], Step]] = [in_then, in_else, in_loop, in_parallel, in_compensate]


@pytest.mark.parametrize("nest", NESTINGS)
def test_nested_steps_are_checked_as_steps(nest: Callable[[Step], Step]) -> None:
    assert codes(nest(step("inner"))) == []
    assert codes(nest(step("1"))) == ["AG702"]
    assert codes(nest(step("inner", colour="red"))) == ["AG703"]
    assert codes(nest(typed("tool", "inner"))) == ["AG701"]


@pytest.mark.parametrize("nest", NESTINGS)
def test_a_step_id_is_used_once_in_the_whole_workflow(nest: Callable[[Step], Step]) -> None:
    assert codes(nest(step("outer"))) == ["AG704"]
    assert codes(step("one"), nest(step("one"))) == ["AG704"]
    assert codes(step("one"), step("one"), step("one")) == ["AG704", "AG704"]


def test_steps_nested_in_nested_steps_are_checked_and_placed() -> None:
    deep = in_loop(typed("parallel", "mid", steps=[step("inner", name=7)]))
    (issue,) = findings(deep)
    assert "workflow[0].config.steps[0].config.steps[0].name" in issue.message


def test_in_order_a_step_depends_on_earlier_steps_only() -> None:
    assert codes(step("one"), step("two", dependencies=["one"])) == []
    (later,) = findings(step("one", dependencies=["two"]), step("two"))
    assert (later.code, later.message) == ("AG705", "depends on 'two', a later step")
    (unknown,) = findings(step("one", dependencies=["none"]))
    assert (unknown.code, unknown.message) == ("AG705", "depends on 'none', an unknown step")
    assert codes(step("one", dependencies=["one"])) == ["AG705"]


def test_in_parallel_a_step_depends_on_any_step_next_to_it() -> None:
    steps = (step("one", dependencies=["two"]), step("two"))
    assert codes(*steps, execution="parallel") == []
    assert codes(typed("parallel", "outer", steps=list(steps))) == []
    assert codes(step("one", dependencies=["none"]), execution="parallel") == ["AG705"]


def test_dependencies_stay_among_siblings() -> None:
    outer = typed("loop", "outer", over="input", steps=[step("inner", dependencies=["one"])])
    assert codes(step("one"), outer) == ["AG705"]
    assert codes(in_loop(step("inner")), step("last", dependencies=["inner"])) == ["AG705"]


def test_findings_in_steps_have_their_line_whatever_the_spelling() -> None:
    text = """\
agent_id: a
description: b
workflow:
  - step_id: one
    type: loop
    config:
      over: input
      max_iterations: 0
      steps:
        - {step-id: two, type: tool, config: {tool: read}, dependencies: [none]}
"""
    parsed = parse_document("agent", text.encode(), "agents/a.yaml")
    found = [(issue.code, issue.line) for issue in lint_document(parsed)]
    assert found == [("AG702", 8), ("AG705", 10)]
