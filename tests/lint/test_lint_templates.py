"""Templates and conditions in a profile: what is wrong with them is found when it is loaded."""

from collections.abc import Iterator
from typing import Any

import pytest

from metier.lint import lint_document
from metier.lint.agents import validate_agent
from metier.parse.kinds import parse_document
from run.world import choose, delegate, do, loop, parallel, prompt

BAD_TEMPLATES = ["{{ input.", "{% if task %}", "{% for %}", "{{ 1 +* 2 }}", "{{ task }", "{% x %}"]
BAD_EXPRESSIONS = ["input.", "1 +", "a b", "input == ", "}} {{", "task | nope"]


def everywhere(template: str, condition: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """A step for each place in which a template or an expression may stand."""
    yield "prompt", prompt("s", template)
    yield "tool input", do("s", input={"a": [{"b": template}]})
    yield "delegate task", delegate("s", "other", task=template)
    yield "delegate input", delegate("s", "other", input=[template])
    yield "compensate", do("s", compensate=do("u", input={"a": template}))
    yield "nested", parallel("s", loop("l", "input", prompt("i", template)))
    yield "condition", do("s", condition=condition)
    yield "conditional", choose("s", condition, [do("i")])
    yield "loop over", loop("s", condition, do("i"))
    yield "loop while", loop("s", None, do("i"), while_=condition)


def findings(step: dict[str, Any]) -> list[str]:
    data = {"agentId": "a", "description": "d", "workflow": [step]}
    return [issue.code for issue in validate_agent(data)]


def test_a_bad_template_or_condition_is_reported_in_every_field() -> None:
    assert [findings(step) for _, step in everywhere("{{ task }}", "task")] == [[]] * 10
    for bad_text, bad_expression in zip(BAD_TEMPLATES, BAD_EXPRESSIONS, strict=True):
        for place, step in everywhere(bad_text, bad_expression):
            assert findings(step) == ["AG707"], (place, bad_text, bad_expression)


@pytest.mark.parametrize("template", ["{{ task | nope }}", "{{ task is nope }}"])
def test_an_unknown_filter_or_test_is_reported(template: str) -> None:
    assert findings(prompt("s", template)) == ["AG707"]


def test_an_unknown_name_or_step_is_reported_in_every_field() -> None:
    for place, step in everywhere("{{ nothing }}", "nothing"):
        assert findings(step) == ["AG707"], place
    for place, step in everywhere("{{ steps.x.output }}", "steps['x'].output"):
        assert findings(step) == ["AG707"], place


@pytest.mark.parametrize(
    "template",
    [
        "{{ steps.s.output }}",
        "{{ steps.later.output }}",
        "{{ steps.before.outptu }}",
        "{{ memory.nobody }}",
        "{% include 'x' %}",
        "{% import 'x' as y %}",
        "{{ ''.__class__ }}",
    ],
)
def test_a_reference_that_can_never_resolve_is_reported(template: str) -> None:
    steps = [do("before", outputs=["kept"]), prompt("s", template), do("later")]
    data = {"agentId": "a", "description": "d", "workflow": steps}
    assert [issue.code for issue in validate_agent(data)] == ["AG707"]


@pytest.mark.parametrize(
    "template",
    [
        "{{ steps.s.output | default('none') }}",
        "{{ steps.before.output }}{{ steps.before.state }}",
        "{{ memory.kept }}{{ memory.nobody | default(1) }}",
        "{% if steps.later is defined %}x{% endif %}",
        "{% for name, value in memory.items() %}{{ name }}{% endfor %}{{ memory.get('x') }}",
        "{% for step in steps.keys() %}{{ step }}{% endfor %}",
    ],
)
def test_a_reference_that_may_resolve_is_not_reported(template: str) -> None:
    steps = [do("before", outputs=["kept"]), prompt("s", template), do("later")]
    data = {"agentId": "a", "description": "d", "workflow": steps}
    assert [issue.message for issue in validate_agent(data)] == []


def test_a_parallel_step_may_refer_to_a_later_dependency() -> None:
    steps = [prompt("s", "{{ steps.later.output }}", dependencies=["later"]), do("later")]
    data = {"agentId": "a", "description": "d", "workflow": steps, "execution": "parallel"}
    assert validate_agent(data) == []


def test_a_compensation_may_refer_to_the_step_it_undoes() -> None:
    assert findings(do("s", compensate=do("u", input={"a": "{{ steps.s.output }}"}))) == []


def test_loop_variables_are_known_only_inside_the_loop() -> None:
    inside = prompt("i", "{{ item }} {{ index }} {{ row }}")
    assert findings(loop("s", "input", inside, as_="row")) == []
    assert findings(parallel("s", inside)) == ["AG707"] * 3
    assert findings(loop("s", "item", do("i"))) == ["AG707"]


def test_a_bad_expression_is_an_error_at_its_line() -> None:
    source = """\
agentId: a
description: d
workflow:
  - stepId: one
    type: prompt
    condition: "input."
    config:
      prompt: "{{ nothing }}"
"""
    parsed = parse_document("agent", source.encode(), "agents/a.yaml")
    issues = lint_document(parsed)
    assert [(one.code, one.line) for one in issues] == [("AG707", 6), ("AG707", 8)]
    assert all(one.is_error for one in issues)
