"""Templates and conditions: strict names, values as they are, no way out of the sandbox."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.template_work import LONGEST
from metier.core.templates import (
    References,
    TemplateError,
    compiled_expression,
    compiled_text,
    compiled_value,
)
from metier.errors import UsageError
from metier.lint import lint_document, validate_agent
from metier.parse.kinds import parse_document
from run.world import World, agent, choose, delegate, do, hurried, loop, parallel, prompt

NAMES: dict[str, Any] = {"input": {"items": [1, 2], "none": None}, "task": "go", "steps": {}}


def text(template: str, **names: Any) -> Any:
    return compiled_text(template)({**NAMES, **names})


def value(template: Any, **names: Any) -> Any:
    return compiled_value(template)({**NAMES, **names})


def expression(template: str, **names: Any) -> Any:
    return compiled_expression(template)({**NAMES, **names})


# Names


@pytest.mark.parametrize("name", ["nothing", "input.nothing", "steps.a.output", "input.none.deep"])
def test_a_name_that_is_not_there_is_an_error(name: str) -> None:
    with pytest.raises(TemplateError):
        text(f"{{{{ {name} }}}}")
    with pytest.raises(TemplateError):
        expression(name)
    with pytest.raises(TemplateError):
        expression(f"{name} == 1")
    with pytest.raises(TemplateError):
        value({"deep": [f"{{{{ {name} }}}}"]})


@pytest.mark.parametrize("inside", ["[input.nothing]", "{'a': input.nothing}"])
def test_a_name_that_is_not_there_is_an_error_also_inside_a_value(inside: str) -> None:
    with pytest.raises(TemplateError):
        expression(inside)


def test_mappings_and_lists_stand_in_a_text_as_json() -> None:
    data = {"a": [1, None, True, "ä<b>"], "b": {}}
    shown = '{"a": [1, null, true, "ä<b>"], "b": {}}'
    assert text("x {{ data }}", data=data) == f"x {shown}"
    assert text("{{ 'x ' ~ data }}", data=data) == f"x {shown}"
    assert value("{{ data }}", data=data) == data
    with pytest.raises(TemplateError):
        text("x {{ [input.nothing] }}")


def test_default_and_is_defined_work_on_names_that_are_not_there() -> None:
    assert text("{{ input.nothing | default('-') }}") == "-"
    assert expression("input.nothing is defined") is False
    assert expression("input.items is defined") is True
    assert expression("nothing | default(3)") == 3
    assert text("{% if input.nothing is defined %}yes{% else %}no{% endif %}") == "no"


def test_a_key_of_a_mapping_comes_before_its_methods() -> None:
    assert expression("input.items") == [1, 2]
    assert text("{{ input.values }}", input={"values": 3}) == "3"
    assert expression("input.keys() | list") == ["items", "none"]


# Values


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=5,
    )
)
def test_a_text_that_is_one_place_becomes_the_value_itself(given: Any) -> None:
    assert value("{{ input }}", input=given) == given
    assert value(" {{ input }}\n", input=given) == given
    assert value({"a": ["{{ input }}"]}, input=given) == {"a": [given]}


def test_every_other_text_is_filled() -> None:
    assert value("{{ task }}!") == "go!"
    assert value("{{ task }}{{ task }}") == "gogo"
    assert value("{{ task }} {{ task }}") == "go go"
    assert value("{% if task %}{{ task }}{% endif %}") == "go"
    assert value("plain }} text") == "plain }} text"
    assert value(["{{ task }}", 7, None, {"k": "a{{ task }}"}]) == ["go", 7, None, {"k": "ago"}]
    assert value("a\n{{ task }}\n") == "a\ngo\n"


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ 1 + 2 }}", 3),
        ("{{- task -}}", "go"),
        ("{{ input['items'][1] }}", 2),
        ("{{ {'a': 1} }}", {"a": 1}),
        ("{{ '}}' }}", "}}"),
        ("{{ not task }}", False),
        ("{{ -5 }}", -5),
        ("{{ -input['items'][0] }}", -1),
        ("{{- -5 -}}", -5),
        ("{{ + 5 }}", 5),
    ],
)
def test_an_expression_in_a_place_keeps_its_type(template: str, expected: Any) -> None:
    found = value(template)
    assert found == expected
    assert type(found) is type(expected)


# The sandbox

ESCAPES = [
    "''.__class__",
    "().__class__.__mro__",
    "input.__init__.__globals__",
    "input['__class__']",
    "('' | attr('__class__'))",
    "'{0.__class__}'.format(input)",
    "'{x.__class__}'.format_map({'x': input})",
    "range.__self__",
    "cycler.__init__.__globals__",
    "lipsum.__globals__['os']",
    "task.__doc__.__len__()",
    "input['items'] | map(attribute='__class__') | join",
]


@pytest.mark.parametrize("attempt", ESCAPES)
def test_there_is_no_way_to_the_inside_of_objects(attempt: str) -> None:
    with pytest.raises(TemplateError):
        expression(attempt)
    with pytest.raises(TemplateError):
        text(f"{{{{ {attempt} }}}}")


@pytest.mark.parametrize(
    "attempt",
    [
        "input['items'].append(3)",
        "input['items'].clear()",
        "input.update({'a': 1})",
        "input.pop('items')",
        "input.setdefault('x', 1)",
    ],
)
def test_what_a_template_sees_cannot_be_changed_by_it(attempt: str) -> None:
    names = {"input": {"items": [1, 2]}}
    with pytest.raises(TemplateError):
        compiled_expression(attempt)(names)
    assert names == {"input": {"items": [1, 2]}}


@pytest.mark.parametrize(
    "template",
    [
        "{% include 'x' %}",
        "{% import 'x' as y %}",
        "{% extends 'x' %}",
        "{% from 'x' import y %}",
    ],
)
def test_a_template_reads_no_other_file(template: str) -> None:
    with pytest.raises(TemplateError):
        text(template)


# Bounds


@pytest.mark.parametrize(
    "attempt",
    [
        f"'x' * {LONGEST + 1}",
        f"{LONGEST + 1} * 'x'",
        f"[1] * {LONGEST + 1}",
        "2 ** 10001",
        "10001 ** 2",
        "range(1000000000) | list",
        f"'x'.ljust({LONGEST + 1})",
        f"'x' | center({LONGEST + 1})",
        f"'%{LONGEST + 1}d' % 1",
        f"'{{:{LONGEST + 1}}}'.format(1)",
    ],
)
def test_a_value_that_is_too_large_is_an_error(attempt: str) -> None:
    with pytest.raises(TemplateError):
        expression(attempt)


@pytest.mark.parametrize(
    "attempt",
    [
        f"'%*d' % ({LONGEST + 1}, 1)",
        f"'%.{LONGEST + 1}d' % 1",
        f"'%.*f' % ({LONGEST + 1}, 1)",
        f"'%(a){LONGEST + 1}d' | format(a=1)",
        f"'x' | tojson({LONGEST + 1})",
        f"'{{:{{w}}}}'.format(1, w={LONGEST + 1})",
        f"'%{LONGEST + 1}d' | format(1)",
        f"'x' | indent({LONGEST + 1}, true)",
        "'ab'.replace('', 'y' * 600000)",
        "('x' * 600000) ~ ('y' * 600000)",
        "('x' * 600000) + ('y' * 600000)",
        "['x' * 600000, 'y' * 600000] | join",
        "(['a'] * 900000) | join('x' * 900)",
        "['a', 'b'] | join(d='x' * 900000) | replace('x', 'yy')",
        "('x' * 1000).join(['a'] * 900000)",
        "('a\t' * 1000).expandtabs(900000)",
        "'x'.translate({120: 'y'})",
        "(['a'] * 900000) | map('upper') | join('x' * 900)",
        "('x' * 600000) | replace('x', 'yyy')",
        "input.items | batch(900000000, 'x') | list",
    ],
)
def test_no_text_made_in_an_expression_is_too_large(attempt: str) -> None:
    with pytest.raises(TemplateError):
        expression(attempt)


def test_a_product_at_the_bound_is_made() -> None:
    assert len(expression(f"'x' * {LONGEST}")) == LONGEST
    assert text(f"{{{{ 'x' * {LONGEST} }}}}") == "x" * LONGEST


def test_a_rendered_text_has_a_bound() -> None:
    half = LONGEST // 2
    assert len(text(f"{{{{ 'x' * {half} }}}}" * 2)) == LONGEST
    with pytest.raises(TemplateError, match=f"the limit is {LONGEST}"):
        text(f"{{{{ 'x' * {half} }}}}" * 2 + "!")


@pytest.mark.parametrize("wrong", ["1 / 0", "'a' + 1", "input.items.deep", "task()", "1 | nope"])
def test_whatever_goes_wrong_is_one_error_of_one_line(wrong: str) -> None:
    with pytest.raises(TemplateError) as raised:
        expression(wrong)
    assert str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("template", "made"),
    [
        ("{{ 5000000 | tojson }}", "5000000"),
        ("{{ 5000000 | round }}", "5000000"),
        ("{{ '{:,}'.format(5000000) }}", "5,000,000"),
        ("{{ '{:>{w}}'.format('x', w=3) }}", "  x"),
        ("{{ '{x}'.format(x=5000000) }}", "5000000"),
        ("{{ '20261115: {}'.format(1) }}", "20261115: 1"),
        ("{{ '12345678 %s' % 'x' }}", "12345678 x"),
        ("{{ '%*d' % (3, 1) }}", "  1"),
        ("{{ '%(a)5d' | format(a=5000000) }}", "5000000"),
    ],
)
def test_large_numbers_are_values_like_others(template: str, made: str) -> None:
    assert text(template) == made


@pytest.mark.parametrize(
    "endless",
    [
        "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
        "{% for i in range(100000) %}{{ range(100000) | sum }}{% endfor %}",
        "{% macro m(n) %}{% if n %}{{ m(n-1) }}{{ m(n-1) }}{% endif %}{% endmacro %}{{ m(60) }}",
        "{% for i in range(9999) if i is even %}{% for j in range(9999) %}{% endfor %}{% endfor %}",
    ],
)
def test_a_template_that_would_not_end_is_an_error(endless: str) -> None:
    with pytest.raises(TemplateError, match="goes on for too long"):
        text(endless)


def test_what_one_template_did_is_not_counted_for_the_next() -> None:
    for _ in range(30):
        assert len(text("{% for i in range(90000) %}x{% endfor %}")) == 90_000


def test_what_is_not_there_can_be_asked_for_and_given_a_default() -> None:
    assert text("{{ nobody is defined }} {{ nobody | default('d') }}") == "False d"
    assert text("{{ input.a.b.c | default('d') }}") == "d"
    with pytest.raises(TemplateError):
        text("{{ input.a.b.c }}")
    assert References("{{ a is defined }}{{ b | default(1) }}{{ c }}").names == {"c"}
    assert References("{% if a is defined %}{{ a }}{% endif %}").names == {"a"}


# Found at load

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


def test_what_a_template_speaks_of_is_known() -> None:
    spoken_of = References("{{ steps.a.output }} {{ steps['b'].state }} {{ task }}")
    assert spoken_of.of("steps") == {"a", "b"}
    assert spoken_of.parts_of_steps == {"output", "state"}
    assert spoken_of.names == {"steps", "task"}
    own = References("{% set steps = 1 %}{% for item in input %}{{ item }}{% endfor %}")
    assert own.names == {"input"}


# Time

ENDLESS = "{% for i in range(9999) %}" * 4 + "{{ i }}" + "{% endfor %}" * 4


@pytest.fixture
def endless_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metier.core.template_work.MOST_WORK", 10**15)


def slow_steps() -> Iterator[dict[str, Any]]:
    """A step for each place in which a template may take long."""
    over = f"range(9999)|map('string')|list if ({ENDLESS_EXPRESSION}) else []"
    yield prompt("s", ENDLESS, timeoutMs=1000)
    yield do("s", input={"a": [ENDLESS]}, timeoutMs=1000)
    yield choose("s", over, [do("i")], timeoutMs=1000)
    yield loop("s", over, do("i"), timeoutMs=1000)
    yield loop("s", None, do("i"), while_=over, timeoutMs=1000)
    yield parallel("s", prompt("i", ENDLESS), timeoutMs=1000)
    yield parallel("s", do("i", condition=over), timeoutMs=1000)


ENDLESS_EXPRESSION = " + ".join(["range(99999)|map('string')|map('length')|sum"] * 8)


@pytest.mark.usefixtures("endless_work")
def test_a_step_whose_template_takes_too_long_is_over_its_time() -> None:
    for step in slow_steps():
        started = time.monotonic()
        result = World().run(hurried(agent(step)))
        assert result.run.failure is not None
        failure = result.run.failure
        assert (failure.code, failure.step, failure.kind) == ("STEP_TIMEOUT", "s", "timeout"), step
        assert time.monotonic() - started < 1, step


@pytest.mark.usefixtures("endless_work")
def test_a_run_whose_template_takes_too_long_is_over_its_time() -> None:
    for step in slow_steps():
        del step["timeoutMs"]
        profile = agent(do("a", compensate=do("u", input={"a": "{{ steps.a.state }}"})), step,
                        limits={"seconds": 0.1}, failureStrategy="rollback")  # fmt: skip
        world = World()
        result = world.run(profile)
        assert result.run.failure is not None
        assert (result.state, result.run.failure.code) == ("rolled_back", "RUN_TIMEOUT"), step
        assert world.kept(result.run).get("s", "cancelled") == "cancelled"


def test_a_template_that_cannot_be_compiled_is_wrong_use(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = agent(prompt("s", "{{ task }} is not compiled yet"))
    monkeypatch.setattr("metier.core.templates.environment.from_string", _broken)
    with pytest.raises(UsageError, match="a template cannot be read: invalid syntax"):
        World().run(profile)


def _broken(_tree: Any) -> Any:
    raise SyntaxError("invalid syntax")
