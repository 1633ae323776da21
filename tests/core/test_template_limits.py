"""How large a template may be, and what its values and the work on them may come to."""

import time
from typing import Any

import pytest

from metier.core import template_work
from metier.core.template_work import HEAVIEST, MOST_BITS, OverdueError, Work, until
from metier.core.templates import (
    DEEPEST_LOOPS,
    DEEPEST_TEMPLATE,
    LONGEST_TEMPLATE,
    MOST_PARTS,
    References,
    TemplateError,
    compiled_expression,
    compiled_text,
    compiled_value,
)

pytestmark = pytest.mark.slow

ENDLESS = "{% for i in range(9999) %}" * 4 + "{{ i }}" + "{% endfor %}" * 4


def evaluated(text: str, **names: Any) -> Any:
    return compiled_expression(text)(names)


# The template itself


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ a }}" + "x" * LONGEST_TEMPLATE, "it has 100007 characters, the limit is 100000"),
        ("{{ [" + "1," * MOST_PARTS + "] }}", "it has more than 20000 parts"),
        ("{{ 1" + " + 1" * (DEEPEST_TEMPLATE + 1) + " }}", "it is nested too deeply"),
        ("{{ " + "(" * 500 + "1" + ")" * 500 + " }}", "it is nested too deeply"),
        ("".join(f"{{{{ a{n} }}}}" for n in range(1_001)), "it has more than 1000 different names"),
        ("{{ 0x" + "f" * 300 + " }}", "a number is too large"),
        ("{% autoescape true %}{% endautoescape %}", "autoescape cannot be used"),
        ("{{ f(a=1, a=2) }}", "an argument is given twice"),
        ("{{ f(ﬁ=1, fi=2) }}", "an argument is given twice"),
        ("{% macro m(a, a) %}{% endmacro %}", "an argument is given twice"),
        ("a\n{{ b|nope }}", "No filter named 'nope'. (line 2)"),
    ],
)
def test_what_cannot_be_filled_is_refused_when_it_is_read(template: str, said: str) -> None:
    for read in (References, compiled_text):
        with pytest.raises(TemplateError) as raised:
            read(template)
        assert str(raised.value) == said


def test_a_text_without_places_may_be_longer() -> None:
    text = "x" * (LONGEST_TEMPLATE + 1)
    assert compiled_text(text)({}) == text


NESTED = {
    "lists": ("[", "]"),
    "tuples": ("(", ",)"),
    "filters": ("(", "|string)"),
    "calls": ("'x'.join([", "])"),
    "conditions": ("(1 if 1 else ", ")"),
    "comparisons": ("(1 == ", ")"),
    "chains": ("(1 < ", " < 2)"),
    "slices": ("'x'[:", "|length]"),
    "texts": ("('x' ~ ", ")"),
}


@pytest.mark.parametrize("name", NESTED)
def test_all_that_can_be_read_can_be_compiled(name: str) -> None:
    before, after = NESTED[name]
    deepest = 0
    for depth in range(1, DEEPEST_TEMPLATE + 2):
        text = before * depth + "1" + after * depth
        try:
            References(text, is_expression=True)
        except TemplateError:
            break
        compiled_expression(text)
        deepest = depth
    assert deepest > 10


@pytest.mark.parametrize("recursive", ["", " recursive"])
def test_loops_that_can_be_read_can_be_compiled(recursive: str) -> None:
    def loops(depth: int) -> str:
        inner = "{% if 1 %}" * 15 + "x" + "{% endif %}" * 15
        return f"{{% for i in [1]{recursive} %}}" * depth + inner + "{% endfor %}" * depth

    assert compiled_text(loops(DEEPEST_LOOPS))({}) == "x"
    with pytest.raises(TemplateError, match="nested too deeply"):
        References(loops(DEEPEST_LOOPS + 1))


def test_a_name_in_the_filter_of_a_set_block_is_found() -> None:
    template = "{% set a | replace('x', b) %}x{% endset %}{{ a }}"
    assert compiled_text(template)({"b": "y"}) == "y"


# Values


@pytest.mark.parametrize(
    "large",
    ["2 ** 1025", "(2 ** 1000) * (2 ** 1000)", "-(2 ** 1023) - 2 ** 1023 - 2 ** 1023",
     "('f' * 300)|int(base=16)", "5|round(-301)", "a + a", "a - -a", "a // 1", "a % (a + 1)"],
)  # fmt: skip
def test_a_number_has_a_largest_size(large: str) -> None:
    with pytest.raises(TemplateError, match="too large"):
        evaluated(large, a=1 << MOST_BITS)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 ** 1000", 2**1000),
        ("1 ** 9999", 1),
        ("0 ** 9999", 0),
        ("2 ** -1", 0.5),
        ("(-2) ** 3", -8),
        ("7 // 2 - 1", 2),
        ("2.5|round", 2),
        ("2.5|round(none)", 2),
        ("2.5|round(method='ceil')", 3),
        ("[{'a': {'b': 1}}]|sum(attribute='a.b')", 1),
        ("[{'a': {'b': 1}}]|join(attribute='a.b')", "1"),
        ("['a', 'A', 'b']|unique|list", ["a", "b"]),
        ("[{'a': 1}, {'a': 1}]|unique(attribute='a')|list", [{"a": 1}]),
        ("{1: 2, (1, 2): 3}[(1, 2)]", 3),
        ("dict([['a', 1], ['b', 2]])", {"a": 1, "b": 2}),
        ("dict({'a': 1}, b=2)", {"a": 1, "b": 2}),
        ("dict({'a': 1}.items()|map('list'))", {"a": 1}),
        ("[[1], [2]]|sum(start=[])", [1, 2]),
        ("[{'a': 1}, {'a': 2}]|sum(attribute='a')", 3),
        ("[3, 1]|sort", [1, 3]),
        ("1 < 2 < 3 in [3]", True),
        ("1 < 2 > 3", False),
        ("'b' not in 'abc'", False),
        ("'x' is in ['x']", True),
        ("'x' is eq 'x' and 'x' is lower", True),
        ("{'a': {'b': 1}}.a.b", 1),
        ("{'a': 1}.get('a')", 1),
        ("(1, 2).index(2)", 1),
        ("'abc'[1:]", "bc"),
        ("','.join(['a', 'b']|map('upper'))", "A,B"),
        ("'%(a)s-%(b)5d' % {'a': 'x', 'b': 1}", "x-    1"),
        ("'{a.b}|{0[0]:>3}|{1!r}'.format([1], 'y', a={'b': 2})", "2|  1|'y'"),
        ("'{a}'.format_map({'a': 1})", "1"),
        ("('<b>{}</b>'|safe).format('<')", "<b>&lt;</b>"),
        ("range(3).stop", 3),
        ("'ab'|replace('b', 'cd')", "acd"),
        ("[1, 2, 1]|unique|list", [1, 2]),
    ],
)
def test_ordinary_expressions_give_what_they_always_did(text: str, value: Any) -> None:
    assert evaluated(text) == value


def test_ordinary_statements_do_what_they_always_did() -> None:
    template = (
        "{% macro m(a, obj=1) %}"
        "[{{ a }}{{ obj }}{{ caller() if caller is defined else '' }}]{% endmacro %}"
        "{% set n = namespace(total=0) %}"
        "{% for x in [1, 2, 3] if x != 2 %}{% set n.total = n.total + x %}"
        "{{ loop.index }}/{{ loop.length }} {% else %}none{% endfor %}"
        "{{ n.total }}{{ m('x', obj=2) }}{% call m('y') %}!{% endcall %}"
        "{% for x in [[1, [2]]] recursive %}{{ x if x is number else loop(x) }}{% endfor %}"
        "{% for key, group in [{'a': 1}]|groupby('a') %}{{ key }}{{ group|length }}{% endfor %}"
        "{% filter upper %}f{% endfilter %}"
    )
    assert compiled_text(template)({}) == "1/2 2/2 4[x2][y1!]1211F"


@pytest.mark.parametrize(
    "attempt",
    ["(1).to_bytes(1)", "(1).bit_length()", "(1.5).hex()", "'x'.encode()", "'x'.translate({})",
     "'x'.maketrans({})", "{}.fromkeys([1])", "dict.fromkeys([1])", "[].copy()", "[].append(1)",
     "range(3).count(1)"],
)  # fmt: skip
def test_only_some_methods_can_be_called(attempt: str) -> None:
    with pytest.raises(TemplateError, match="unsafe"):
        evaluated(attempt)


def test_a_value_weighs_what_it_holds_as_often_as_it_holds_it() -> None:
    work = Work()
    one = [1, "x" * 80]
    assert work.weight(one) == 1 + 1 + 11
    assert work.weight([one, one]) == 1 + 2 * 13
    assert work.weight({"a": one}) == 1 + 1 + 13
    assert work.weight({"a": one}.values()) == 1 + 13
    assert work.depth([one]) == 2
    with pytest.raises(OverflowError):
        work.weight([0] * HEAVIEST)


def test_a_value_that_was_handed_in_may_be_larger() -> None:
    large = [0] * (HEAVIEST + 1)
    assert evaluated("a", a=large) is large
    assert evaluated("a|length", a=large) == len(large)
    with pytest.raises(TemplateError, match="too large"):
        evaluated("[a]", a=large)


# Work and time


def test_all_templates_of_a_value_share_the_work_that_one_may_do() -> None:
    slow = "{% for i in range(9999) %}{{ i }}{% endfor %}"
    assert len(compiled_value([slow] * 3)({})) == 3
    with pytest.raises(TemplateError, match="it takes too long"):
        compiled_value({"a": [slow] * 100})({})


def test_what_is_rendered_ends_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_work, "MOST_WORK", 10**15)
    with until(time.monotonic() + 0.05), pytest.raises(OverdueError):
        compiled_text(ENDLESS)({})


def test_of_several_limits_the_earliest_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_work, "MOST_WORK", 10**15)
    now = time.monotonic()
    with until(now + 0.02), until(now + 1_000), pytest.raises(OverdueError):
        compiled_value({"a": ENDLESS})({})
    with until(now - 1):
        pass
    assert compiled_text("{% for i in range(5000) %}x{% endfor %}")({}) == "x" * 5_000


def test_a_small_template_is_filled_even_when_time_is_over() -> None:
    """Whoever set the limit sees that for himself."""
    with until(time.monotonic() - 1):
        assert compiled_text("{{ a }}")({"a": 1}) == "1"
