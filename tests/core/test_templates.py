"""Templates and conditions: strict names, values as they are, no way out of the sandbox."""

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

NAMES: dict[str, Any] = {"input": {"items": [1, 2], "none": None}, "task": "go", "steps": {}}


def text(template: str, **names: Any) -> Any:
    return compiled_text(template)({**NAMES, **names})


def value(template: Any, **names: Any) -> Any:
    return compiled_value(template)({**NAMES, **names})


def expression(template: str, **names: Any) -> Any:
    return compiled_expression(template)({**NAMES, **names})


# Names


@pytest.mark.parametrize("name", ["nothing", "input.nothing", "steps.a.output", "input.none.deep"])
def test_an_undefined_name_is_an_error(name: str) -> None:
    with pytest.raises(TemplateError):
        text(f"{{{{ {name} }}}}")
    with pytest.raises(TemplateError):
        expression(name)
    with pytest.raises(TemplateError):
        expression(f"{name} == 1")
    with pytest.raises(TemplateError):
        value({"deep": [f"{{{{ {name} }}}}"]})


@pytest.mark.parametrize("inside", ["[input.nothing]", "{'a': input.nothing}"])
def test_an_undefined_name_inside_a_value_is_an_error(inside: str) -> None:
    with pytest.raises(TemplateError):
        expression(inside)


def test_mappings_and_lists_are_rendered_as_json() -> None:
    data = {"a": [1, None, True, "ä<b>"], "b": {}}
    shown = '{"a": [1, null, true, "ä<b>"], "b": {}}'
    assert text("x {{ data }}", data=data) == f"x {shown}"
    assert text("{{ 'x ' ~ data }}", data=data) == f"x {shown}"
    assert value("{{ data }}", data=data) == data
    with pytest.raises(TemplateError):
        text("x {{ [input.nothing] }}")


def test_default_and_is_defined_accept_undefined_names() -> None:
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
def test_a_single_placeholder_keeps_the_type_of_its_value(given: Any) -> None:
    assert value("{{ input }}", input=given) == given
    assert value(" {{ input }}\n", input=given) == given
    assert value({"a": ["{{ input }}"]}, input=given) == {"a": [given]}


def test_other_texts_are_rendered() -> None:
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
def test_a_single_expression_keeps_its_type(template: str, expected: Any) -> None:
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
def test_the_internals_of_objects_are_out_of_reach(attempt: str) -> None:
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
def test_a_template_cannot_change_its_values(attempt: str) -> None:
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
def test_a_template_cannot_read_files(template: str) -> None:
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
def test_every_failure_is_a_template_error_of_one_line(wrong: str) -> None:
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
def test_an_endless_template_is_an_error(endless: str) -> None:
    with pytest.raises(TemplateError, match="it takes too long"):
        text(endless)


def test_each_template_has_its_own_work_budget() -> None:
    for _ in range(30):
        assert len(text("{% for i in range(90000) %}x{% endfor %}")) == 90_000


def test_undefined_values_can_be_tested_and_given_a_default() -> None:
    assert text("{{ nobody is defined }} {{ nobody | default('d') }}") == "False d"
    assert text("{{ input.a.b.c | default('d') }}") == "d"
    with pytest.raises(TemplateError):
        text("{{ input.a.b.c }}")
    assert References("{{ a is defined }}{{ b | default(1) }}{{ c }}").names == {"c"}
    assert References("{% if a is defined %}{{ a }}{% endif %}").names == {"a"}


# References


def test_references_lists_the_names_and_steps_of_a_template() -> None:
    spoken_of = References("{{ steps.a.output }} {{ steps['b'].state }} {{ task }}")
    assert spoken_of.of("steps") == {"a", "b"}
    assert spoken_of.parts_of_steps == {"output", "state"}
    assert spoken_of.names == {"steps", "task"}
    own = References("{% set steps = 1 %}{% for item in input %}{{ item }}{% endfor %}")
    assert own.names == {"input"}
