"""Templates and conditions in a profile: what is wrong with them is found when it is loaded."""

from collections.abc import Iterator
from typing import Any

import pytest

from metier.lint import lint_document, validate_agent
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


def test_a_bad_template_or_condition_is_an_error_of_the_profile_wherever_it_stands() -> None:
    assert [findings(step) for _, step in everywhere("{{ task }}", "task")] == [[]] * 10
    for bad_text, bad_expression in zip(BAD_TEMPLATES, BAD_EXPRESSIONS, strict=True):
        for place, step in everywhere(bad_text, bad_expression):
            assert findings(step) == ["AG707"], (place, bad_text, bad_expression)


@pytest.mark.parametrize("template", ["{{ task | nope }}", "{{ task is nope }}"])
def test_a_filter_or_test_that_nobody_has_is_an_error_of_the_profile(template: str) -> None:
    assert findings(prompt("s", template)) == ["AG707"]


def test_a_name_or_step_that_will_not_be_there_is_found_at_load() -> None:
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
def test_what_can_never_be_there_is_found_at_load(template: str) -> None:
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
def test_what_may_be_there_is_no_error(template: str) -> None:
    steps = [do("before", outputs=["kept"]), prompt("s", template), do("later")]
    data = {"agentId": "a", "description": "d", "workflow": steps}
    assert [issue.message for issue in validate_agent(data)] == []


def test_a_step_of_a_parallel_workflow_may_speak_of_one_that_stands_later() -> None:
    steps = [prompt("s", "{{ steps.later.output }}", dependencies=["later"]), do("later")]
    data = {"agentId": "a", "description": "d", "workflow": steps, "execution": "parallel"}
    assert validate_agent(data) == []


def test_a_compensation_may_speak_of_the_step_that_it_undoes() -> None:
    assert findings(do("s", compensate=do("u", input={"a": "{{ steps.s.output }}"}))) == []


def test_names_of_a_loop_are_known_inside_it_only() -> None:
    inside = prompt("i", "{{ item }} {{ index }} {{ row }}")
    assert findings(loop("s", "input", inside, as_="row")) == []
    assert findings(parallel("s", inside)) == ["AG707"] * 3
    assert findings(loop("s", "item", do("i"))) == ["AG707"]


def test_a_bad_expression_has_its_line_and_leaves_the_profile_out() -> None:
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
