"""Names that a template does not set itself: found as Jinja finds them, without compiling."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import TemplateSyntaxError, meta

from metier.core.bounded_jinja import environment
from metier.core.template_names import free_names
from metier.core.templates import read_expression, read_text


@pytest.mark.parametrize(
    ("template", "names"),
    [
        ("{{ a }}{{ b.c[d] }}", "a b d"),
        ("{% set a = b %}{{ a }}", "b"),
        ("{{ a }}{% set a = 1 %}", "a"),
        ("{% set a = a %}", "a"),
        ("{% for a in b if a == c %}{{ a }}{{ loop.index }}{% else %}{{ a }}{% endfor %}", "a b c"),
        ("{% for a, (b, c) in d %}{{ a }}{{ b }}{{ c }}{% endfor %}", "d"),
        ("{% for a in b %}{{ c }}{% endfor %}{% set c = 1 %}", "b"),
        ("{% for a in b %}{% set c = 1 %}{% endfor %}{{ c }}", "b c"),
        ("{% if a %}{% set b = 1 %}{% endif %}{{ b }}", "a b"),
        ("{% set b = 0 %}{% if a %}{% set b = 1 %}{% elif c %}{% set b = 2 %}{% endif %}", "a c"),
        (
            "{% macro m(a, b=c) %}{{ a }}{{ b }}{{ varargs }}{{ caller() }}{% endmacro %}{{ m() }}",
            "c",
        ),
        ("{% call(a) m(b) %}{{ a }}{{ c }}{% endcall %}", "b c m"),
        ("{% with a = b %}{{ a }}{% endwith %}{{ a }}", "a b"),
        ("{% filter replace(a, b) %}{{ c }}{% endfilter %}", "a b c"),
        ("{% set a | replace(b, c) %}{{ d }}{% endset %}{{ a }}", "b c d"),
        ("{% set n = namespace(a=b) %}{% set n.a = c %}{{ range(d) }}", "b c d"),
        ("{% set n.a = 1 %}", "n"),
        ("{{ self }}", ""),
    ],
)
def test_names_that_are_not_set(template: str, names: str) -> None:
    assert free_names(read_text(template)) == set(names.split())


def test_an_expression_is_read_as_one() -> None:
    assert free_names(read_expression("a.b == c")) == {"a", "c"}
    with pytest.raises(TemplateSyntaxError):
        read_expression("a }} {{ b")


NAMES = st.sampled_from(["a", "b", "c"])
EXPRESSIONS = st.recursive(
    NAMES | st.just("loop"),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda two: f"({two[0]} + {two[1]}.x)"),
        st.tuples(inner, inner).map(lambda two: f"({two[0]} if {two[1]} is defined else 1)"),
        st.tuples(inner, inner).map(lambda two: f"f({two[0]}, k={two[1]}|default(1))"),
    ),
    max_leaves=3,
)


def statements(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    some = st.lists(inner, max_size=3).map("".join)

    def made(shape: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.tuples(*parts).map(lambda given: _filled(shape, given))

    return st.one_of(
        some,
        made("{% if $ %}$$$${% elif $ %}$$$${% else %}$$$${% endif %}".replace("$$$$", "$"),
             EXPRESSIONS, some, EXPRESSIONS, some, some),
        made("{% for $ in $ if $ %}${% else %}${% endfor %}",
             NAMES, EXPRESSIONS, EXPRESSIONS, some, some),
        made("{% for $, $ in $ recursive %}${% endfor %}", NAMES, NAMES, EXPRESSIONS, some),
        made("{% macro $($, b=$) %}${% endmacro %}",
             NAMES, st.sampled_from("ac"), EXPRESSIONS, some),
        made("{% call($) m($) %}${% endcall %}", NAMES, EXPRESSIONS, some),
        made("{% with $ = $ %}${% endwith %}", NAMES, EXPRESSIONS, some),
        made("{% filter replace($, 1) %}${% endfilter %}", EXPRESSIONS, some),
        made("{% set $ %}${% endset %}", NAMES, some),
    )  # fmt: skip


def _filled(shape: str, parts: Iterable[str]) -> str:
    for one in parts:
        shape = shape.replace("$", one, 1)
    return shape


LEAVES = st.one_of(
    EXPRESSIONS.map(lambda one: f"{{{{ {one} }}}}"),
    st.tuples(NAMES, EXPRESSIONS).map(lambda two: f"{{% set {two[0]} = {two[1]} %}}"),
    NAMES.map(lambda one: f"{{% set {one}.x = 1 %}}"),
)


@given(st.recursive(LEAVES, statements, max_leaves=8))
def test_the_names_are_those_that_jinja_finds(template: str) -> None:
    found = free_names(read_text(template))
    assert found == meta.find_undeclared_variables(environment.parse(template)), template


@pytest.mark.parametrize(
    ("template", "is_error"),
    [
        ("{{ a|nope }}", True),
        ("{{ a is nope }}", True),
        ("{% if a %}{{ a|nope }}{% endif %}", False),
        ("{{ a|nope if a else a }}", False),
        ("{% if a %}{% for b in a|nope %}{% endfor %}{% endif %}", False),
        ("{% if a %}{% for b in a %}{{ b|nope }}{% endfor %}{% endif %}", True),
        ("{% filter nope %}{% endfilter %}", True),
        ("{% set a | nope %}{% endset %}", True),
        ("{% macro m(a=b|nope) %}{% endmacro %}", True),
    ],
)
def test_a_filter_that_nobody_has_is_found_where_jinja_finds_it(
    template: str, is_error: bool
) -> None:
    tree = read_text(template)
    for find in (free_names, meta.find_undeclared_variables):
        if is_error:
            with pytest.raises(TemplateSyntaxError, match="named 'nope'"):
                find(tree)
        else:
            find(tree)
