"""Templates that are made to eat the memory or the time: each ends soon, and says why."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Workspace
from metier.core import template_work
from metier.core.template_work import LONGEST, MOST_WORK
from metier.core.templates import TemplateError, compiled_text
from soak import examples

pytestmark = pytest.mark.slow

FILLS = Path(__file__).with_name("fill_templates.py")
SECONDS = 3.0
"""CPU that one template may take on a slow machine."""
LITTLE_WORK = MOST_WORK // 10
"""Enough to see that all work is counted."""
HARMLESS = 10_000
"""Characters of a result that nobody minds."""

# Read, as at `metier list`, `metier lint` and each refresh

FOLDED = [
    "{{ 'a'|center(1000000) }}",
    "{{ 'a' * 1000000 }}",
    "{{ range(99999)|list }}",
    "{{ [0] * 1000000 }}",
    "{{ 'a'.ljust(1000000) }}",
    "{{ '%999999d' % 1 }}",
    "{{ 2 ** 9999 * 2 ** 9999 }}",
    "{% set a = 'a' * 1000000 %}",
    "{% if 'a' * 1000000 == 'b' %}{% endif %}",
    "{{ ('a' * 1000000) ~ 1 }}",
]
BIG_READS = [
    FOLDED[0] * (19_000 // len(FOLDED[0])),
    "".join(FOLDED) * (19_000 // len("".join(FOLDED))),
    "{% autoescape 'a' * 1000000 %}{% endautoescape %}" * 100,
    "{{ a" + " + a" * 20_000 + " }}",
    "{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}",
    "{{ " + "[" * 5_000 + "]" * 5_000 + " }}",
    "{{ " + "not " * 20_000 + "a }}",
    "{% if a %}" * 1_500 + "{% endif %}" * 1_500,
    "{% for a in a %}" * 1_500 + "{% endfor %}" * 1_500,
    "{{ a }}" * 14_000,
    "{{ [" + "a," * 45_000 + "] }}",
    "{{ a }}" + "x" * 100_000,
    "".join(f"{{{{ a{number} }}}}{{% if a %}}{{% endif %}}" for number in range(3_000)),
    "".join(f"{{% block a{number} scoped %}}{{% endblock %}}" for number in range(2_000)),
    "{{ 0x" + "f" * 90_000 + " }}",
    "{{ " + "9" * 90_000 + " }}",
    "{{ '" + "\\\\" * 45_000 + "' }}",
    "{#" * 45_000,
    "{{" * 45_000,
]

# Filled, as when an agent runs

NESTED = "{% set a = [1] %}" + "{% set a = [a, a] %}" * 40
TUPLES = "{% set a = (1,) %}" + "{% set a = (a, a) %}" * 40
MAPPINGS = "{% set a = {} %}" + "{% set a = {'x': a, 'y': a} %}" * 40
WALKS = [
    "{{ a }}", "{{ a == b }}", "{{ a != b }}", "{{ a < b }}", "{{ a|tojson }}", "{{ 1 in a }}",
    "{{ a in [b] }}", "{{ [a, b]|sort }}", "{{ [a, b]|unique|list }}", "{{ [a]|groupby(0) }}",
    "{{ {a: 1} }}", "{{ '%s' % (a,) }}", "{{ '%s'|format(a) }}", "{{ '{}'.format(a) }}",
    "{{ a ~ '' }}", "{{ a is equalto b }}", "{{ a is in [b] }}", "{{ [a]|join }}", "{{ a|string }}",
    "{{ a|upper }}", "{{ a|list|string }}", "{{ [a]|map('string')|list }}", "{{ [a]|min }}",
    "{{ [a, b]|max }}", "{{ [a].index(b) }}", "{{ [a].count(b) }}", "{{ {}[a] }}",
    "{{ {}.get(a) }}", "{{ [a]|select('eq', b)|list }}", "{{ a|length }}{{ a }}",
    "{{ dict(x=a) }}", "{{ a|e }}", "{{ a|urlencode }}", "{{ a|first|tojson }}",
]  # fmt: skip
MADE = {
    "lists": NESTED,
    "tuples": TUPLES,
    "mappings": MAPPINGS,
    "sums": "{% set a = [[1]] %}" + "{% set a = [a + a] %}" * 40,
    "products": "{% set a = [1] %}" + "{% set a = [a] * 2 %}" * 40,
    "filters": "{% set a = [1] %}" + "{% set a = [a, a]|list %}" * 40,
    "calls": "{% set a = [1] %}" + "{% set a = dict(x=a, y=a) %}" * 40,
    "slices": "{% set a = [1] %}" + "{% set a = [a, a, a][:2] %}" * 40,
    "varargs": "{% set n = namespace(a=[1]) %}{% macro m() %}{% set n.a = varargs %}{% endmacro %}"
    + "{{ m(n.a, n.a) }}" * 40
    + "{% set a = n.a %}",
    "groups": "{% set a = [1] %}" + "{% set a = [[1, a], [2, a]]|groupby(0) %}" * 40,
}
NAMESPACES = (
    "{% set n0 = namespace(a=1) %}"
    + "".join(f"{{% set n{i + 1} = namespace(a=n{i}, b=n{i}) %}}" for i in range(40))
    + "{{ n40 }}"
)
LONG_BODY = "{{ 1 + 1 }}" * 500
GROWTH = [
    "{% set a = 12345678901 %}" + "{% set a = a*a %}" * 40 + "{{ a % 10 }}",
    "{% set a = 3 %}" + "{% set a = a**a %}" * 10 + "{{ a % 10 }}",
    "{% set a = 2 %}" + "{% set a = a ** 9 %}" * 40 + "{{ a % 10 }}",
    "{% set a = 7 %}{% for i in range(90000) %}{% set a = a * 7 %}{% endfor %}{{ a }}",
    "{% set n = namespace(a=7) %}{% for i in range(90000) %}{% set n.a = n.a * 7 %}{% endfor %}",
    "{% set n = namespace(a=7) %}{% for i in range(90000) %}{% set n.a = n.a - -n.a %}{% endfor %}",
    "{% set n = namespace(a=()) %}{% for i in range(99999) %}{% set n.a = (n.a,) %}{% endfor %}"
    "{{ {n.a: 1} }}",
    "{{ 10 ** 9999 ** 9999 }}",
    "{{ 9 ** 9 ** 9 ** 9 }}",
    "{{ 5|round(-1000000000) }}",
    "{{ 5|round(1000000000, 'ceil') }}",
    "{{ 5|round(precision=-1000000000) }}",
    "{{ (1).to_bytes(1000000000, 'big') }}",
    "{{ 'x'.encode().center(1000000000) }}",
    "{{ ('f' * 999999)|int(base=16) }}",
    "{{ 'a'|center(1000000000) }}",
    "{{ 'a'|center(width=1000000000) }}",
    "{{ 'a\n'|indent(1000000000) }}",
    "{{ ('a\n' * 400000)|indent('x' * 900000) }}",
    "{{ ('a\n' * 400000)|indent(width=900000) }}",
    "{{ range(9999)|list|tojson(900000) }}",
    "{{ range(9999)|list|tojson(indent='x' * 900000) }}",
    "{{ '%999999999d' % 1 }}",
    "{{ ('%999999d' * 1000) % ((1,) * 1000) }}",
    "{{ ('%(a(b))999999999d') % {'a(b)': 1} }}",
    "{{ '%%(x%999999999d)' % 1 }}",
    "{{ ('%(a)s' * 1000) % {'a': 'x' * 999999} }}",
    "{{ '%*d' % (1000000000, 1) }}",
    "{{ ('%*d' * 1000) % ((999999, 1) * 1000) }}",
    "{{ '%.*f' % (1000000000, 1) }}",
    "{{ ('%(a)s' * 1000)|format(a='x' * 999999) }}",
    "{{ '{:>{w}}'.format('x', w=1000000000) }}",
    "{{ ('{:999999}' * 1000).format(*range(1000)) }}",
    "{{ ('{0}' * 1000).format('x' * 999999) }}",
    "{{ ('{0!r}' * 1000).format('x' * 999999) }}",
    "{{ ('{a}' * 1000).format_map({'a': 'x' * 999999}) }}",
    "{{ ('{0' ~ '.a' * 400000 ~ '}').format('x') }}" * 30,
    "{{ ('x' * 1000000) * ('y' * 1000000) }}",
    "{{ ('x' * 30000) * ('y' * 30000) }}",
    "{{ ['x' * 999999] * 999999 }}",
    "{{ ('x' * 999999).join(range(9999)|map('string')) }}",
    "{{ range(9999)|map('string')|join('x' * 999999) }}",
    "{{ range(9999)|join('x' * 999999) }}",
    "{{ ('a\t' * 400000).expandtabs(tabsize=900000) }}",
    "{{ ('x' * 999999)|replace('x', 'y' * 999999) }}",
    "{{ ('x' * 999999).replace('x', 'y' * 999999) }}",
    "{% set a = 'ab' %}" + "{% set a = a ~ a %}" * 40 + "{{ a }}",
    "{% set a = 'ab' %}" + "{% set a = a.replace('a', a) %}" * 40 + "{{ a }}",
    "{% set a = 'ab' %}" + "{% set a = [a, a]|join(a) %}" * 40 + "{{ a }}",
    "{% set a = 'ab' %}" + "{% set a %}{{ a }}{{ a }}{% endset %}" * 40 + "{{ a }}",
    "{% set a = 'x' * 999999 %}" + "{{ a }}" * 3_000,
    "{% for i in range(99999) %}" + "x" * 50_000 + "{% endfor %}",
    "{% macro m() %}" + "x" * 50_000 + "{% endmacro %}{% for i in range(99999) %}{{ m() }}"
    "{% endfor %}",
    "{% filter upper %}{% for i in range(99999) %}" + "x" * 9_000 + "{% endfor %}{% endfilter %}",
    "{% set n = namespace(a=[]) %}{% for i in range(99999) %}{% set n.a = n.a + [i] %}{% endfor %}",
    "{% set n = namespace(a='') %}{% for i in range(99999) %}{% set n.a = n.a ~ 'xxxxxxxx' %}"
    "{% endfor %}",
    NAMESPACES,
]
SAME_HASH = "{% set a = range(0, 99999 * 2305843009213693951, 2305843009213693951) %}"
SAME_KEYS = ", ".join(f"{number * (2**61 - 1)}: 0" for number in range(500))
"""Numbers that all have the same hash."""
SLOW = [
    "{% for i in range(99999) %}" + LONG_BODY + "{% endfor %}",
    "{% for i in range(99999) %}{% for j in range(99999) %}" + LONG_BODY + "{% endfor %}"
    "{% endfor %}",
    "{% for i in range(99999) if " + "1 and " * 40 + "0 %}{% endfor %}",
    "{% for i in range(99999) if (" + "1, " * 4_000 + ") == 1 %}{% endfor %}",
    "{% for i in range(99999) %}" + "{% if i %}" + LONG_BODY + "{% endif %}" + "{% endfor %}",
    "{% for i in [1] recursive %}{{ loop(range(99999)) }}{% endfor %}",
    "{% for i in range(300) recursive %}" + LONG_BODY + "{{ loop(range(300)) }}{% endfor %}",
    "{% macro m(n) %}{% if n %}{{ m(n-1) }}{{ m(n-1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{% macro m() %}"
    + LONG_BODY
    + "{% endmacro %}{% for i in range(99999) %}{{ m() }}{% endfor %}",
    "{% macro m(a=(" + "1, " * 4_000 + ")) %}{% endmacro %}{% for i in range(99999) %}{{ m() }}"
    "{% endfor %}",
    "{% set a = range(99999) %}" + "{% set a = a|select %}" * 500 + "{{ a|list }}",
    "{% set a = range(99999) %}" + "{% set a = a|map('default') %}" * 100 + "{{ a|list }}",
    "{{ range(99999)|map(attribute='a.' * 400000 ~ 'a')|list }}",
    "{% set a = range(9999)|list %}" + "{{ a|reverse|sum }}" * 300,
    "{% set a = [[0]] * 9999 %}{{ a|sum(start=[]) }}",
    "{% set a = [range(900)|list] * 900 %}{{ a|sum(start=[]) }}",
    "{% set a = range(9999)|list %}" + "{{ a|sort|first }}" * 300,
    "{% set a = ['x' * 30000] * 30 %}" + "{{ a|sort|first|length }}" * 300,
    "{% set a = range(9999)|list %}{% set b = range(9999)|list %}" + "{{ a == b }}" * 300,
    "{% set a = range(9999)|list %}" + "{{ -1 in a }}" * 300,
    "{% set a = [0] * 99999 %}" + "{% set b = a[:] %}" * 300,
    "{% set a = [0] * 99999 %}" + "{{ (a + a)|length }}" * 300,
    "{% set a = 'x' * 999999 %}" + "{{ (a ~ a[1:])|length }}" * 300,
    "{% set a = 'x' * 999999 %}" + "{{ a[::2]|length }}" * 300,
    "{% set a = 'x' * 999999 %}" + "{{ a|upper|length }}" * 300,
    "{% set a = 'ß' * 999999 %}" + "{{ a|title|length }}" * 300,
    "{% set a = 'a ' * 499999 %}" + "{{ a|title|length }}" * 300,
    "{% set a = 'a ' * 499999 %}" + "{{ a|wordcount }}" * 300,
    "{% set a = '😀' * 40000 %}" + "{{ a|urlencode|length }}" * 300,
    "{{ ('<!---->' * 140000)|striptags }}",
    "{{ ('<x>' * 300000)|striptags }}",
    "{% set a = 'a' * 999999 %}{{ a.rfind('ab' ~ 'a' * 499999) }}",
    "{% set a = 'a' * 999999 %}{{ a.rsplit('ab' ~ 'a' * 499999) }}",
    "{% set a = 'a' * 29999 %}{% set b = 'a' * 98 ~ 'b' %}" + "{{ a.find(b) }}" * 300,
    "{% set a = 'a' * 29999 %}{% set b = 'a' * 98 ~ 'b' %}" + "{{ b in a }}" * 300,
    "{% set a = 'a' * 29999 %}{% set b = 'a' * 98 ~ 'b' %}" + "{{ b is in a }}" * 300,
    "{% set a = 'a' * 29999 %}{% set b = 'a' * 98 ~ 'b' %}" + "{{ b == b in a }}" * 300,
    "{% set a = 'a' * 29999 %}{% set b = 'a' * 98 ~ 'b' %}" + "{{ a|replace(b, '')|length }}" * 300,
    "{{ ('a' * 999999).strip('b' * 999999 ~ 'a') }}",
    "{{ ('a' * 999999)|trim('b' * 999999 ~ 'a') }}",
    "{% set t = (1,) * 99999 %}" + "{{ {t: 1}[t] }}" * 300,
    "{% set t = (1,) * 99999 %}" + "{{ {}[t] is defined }}" * 300,
    "{% set t = (1,) * 9999 %}{% set d = {} %}" + "{{ d.get(t) }}" * 300,
    "{% for i in range(999) %}{{ task|format(*range(9999)) }}{% endfor %}",
    "{% set a = range(99999) %}{% for i in range(999) %}{{ '%s'|format(*a) }}{% endfor %}",
    "{% set a = 'a' * 999999 %}{{ a.rsplit(sep='ab' ~ 'a' * 499999) }}",
    "{% set a = range(99999)|list %}{% set d = {'a': a}.items() %}" + "{{ d - d }}" * 300,
    SAME_HASH + "{{ a|unique|list }}",
    SAME_HASH + "{{ dict(a|groupby(none)) }}",
    SAME_HASH + "{{ namespace(a|groupby(none)) }}",
    SAME_HASH + "{% set d = dict(a|list|groupby(none))[:2000] %}{{ d == d }}",
    "{% set d = {" + SAME_KEYS + "} %}{% set e = {" + SAME_KEYS + "} %}" + "{{ d == e }}" * 300,
    "{% set d = {" + SAME_KEYS + "} %}" + "{{ d[0] }}{{ d.get(0) }}{{ 0 in d }}" * 1_000,
    "{% set d = {" + SAME_KEYS + "} %}" + "{{ d.keys() - d.keys() }}" * 1_000,
    "{% macro m() %}{{ varargs|length }}{% endmacro %}{% set a = [0] * 99999 %}"
    + "{{ m(*a) }}" * 300,
    "{{ ('{}' * 400000).format(*range(99999)) }}",
    "{{ ('%s' * 99999) % ((1,) * 99999) }}" * 20,
    "{% for i in range(99999) %}{{ i.nothing is defined }}{% endfor %}",
    "{% for i in range(99999) %}{{ task.nothing.nothing.nothing is defined }}{% endfor %}",
    "{% for i in range(99999) %}{{ i|string|upper|lower|trim }}{% endfor %}",
    "{% for i in range(99999) %}{{ [i, (i, {i: i})] }}{% endfor %}",
    "{% for i in range(99999) %}{{ i * i + i - i // 3 % 7 }}{% endfor %}",
    "{% for i in range(99999) %}{% set x %}{{ loop.index }}{% endset %}{% endfor %}",
    "{% for i in range(99999) %}{% with a = i, b = i %}{{ a == b }}{% endwith %}{% endfor %}",
    "{% set a = [none] * 9999 %}" + "{% set b = a[:] %}" * 300,
    "{% set a = [[]] * 9999 %}" + "{% set b = a[:] %}" * 300,
    "{% set a = [1.5] * 9999 %}" + "{{ a|tojson(indent=1)|length }}" * 300,
    "{% set a = ('ab,' * 333333).split(',') %}" * 30,
    "{% set a = ('Ā' * 99999)|list %}" * 30,
    "{% set a = 'x' * 999999 %}" + "{{ a.isalpha() }}{{ a is lower }}{{ a|int }}" * 300,
    "{% set a = '&' * 199999 %}" + "{{ a|e|length }}" * 300,
    "{% set a = ('x' * 999,) * 999 %}" + "{{ 'y'.startswith(a) }}" * 300,
    "{% set a = {'a': range(9999)|list} %}" + "{{ a.items()|string|length }}" * 300,
]
SLOWEST = [
    "{% set a = [0] * 99999 %}" + "{{ (a + a)|length }}" * 1_000,
    "{% for i in range(99999) %}{{ [i, (i, {i: i})] }}{% endfor %}",
]


def filled(templates: list[str], kind: str, work: int) -> list[dict[str, Any]]:
    """What came of each of these templates in a process with little memory."""
    done = subprocess.run(
        [sys.executable, str(FILLS), str(work)],
        input=json.dumps([(kind, one) for one in templates]),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == len(templates), (templates[len(rows)][:200], done.stderr[-1_000:])
    return rows


def check_harmless(templates: list[str], kind: str = "text", work: int = MOST_WORK) -> None:
    for template, row in zip(templates, filled(templates, kind, work), strict=True):
        said = (template[:120], template[-80:], row)
        assert row["seconds"] < SECONDS, said
        assert row.get("size", 0) < HARMLESS, said
        assert row.get("error", "-"), said
        assert "MemoryError" not in row.get("error", ""), said


def test_a_template_is_read_without_being_evaluated() -> None:
    check_harmless(BIG_READS, "read")


def test_a_profile_full_of_bombs_is_linted_at_once(workspace: Workspace) -> None:
    prompt = FOLDED[0] * (19_000 // len(FOLDED[0]))
    workspace.write(
        "agents/bomb.yaml",
        "agentId: bomb\ndescription: d\nworkflow:\n  - stepId: one\n    type: prompt\n"
        f"    config:\n      prompt: {json.dumps(prompt)}\n",
    )
    code = (
        "import resource, runpy, sys; sys.argv = ['metier', 'lint']\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "runpy.run_module('metier', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=workspace.root,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_nested_in_itself_is_refused_before_anything_goes_through_it() -> None:
    ways = [("lists", walk) for walk in WALKS]
    ways += [(way, walk) for way in MADE for walk in ("{{ a }}", "{{ a == b }}", "{{ {a: 1} }}")]
    check_harmless([MADE[way] + "{% set b = a %}" + MADE[way] + walk for way, walk in ways])


def test_what_grows_is_refused_before_it_is_made() -> None:
    check_harmless(GROWTH)


def test_what_goes_on_and_on_is_ended() -> None:
    check_harmless(SLOW, work=LITTLE_WORK)


def test_the_most_work_takes_little_time() -> None:
    check_harmless(SLOWEST)


# Templates that nobody has thought of

LEAVES = st.sampled_from(
    ["a", "b", "items", "1", "7", "-3", "999999", "2.5", "'x'", "'%s%9d'", "'{:>{}}'", "[]", "{}"]
)
FILTERS = st.sampled_from(
    ["list", "string", "upper", "length", "sort", "tojson", "join(b)", "center(99999)", "sum", "e",
     "reverse", "unique", "map('string')", "replace('x', a)", "format(a, b)", "int", "round(a)",
     "indent(a)", "trim(a)", "default(b)", "first", "select('in', a)", "title", "groupby(0)"]
)  # fmt: skip


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["+", "-", "*", "**", "//", "%", "~", "==", "<", "in", "and"])
    return st.one_of(
        st.tuples(inner, operators, inner).map(lambda parts: f"({' '.join(parts)})"),
        st.tuples(inner, FILTERS).map(lambda parts: f"({parts[0]})|{parts[1]}"),
        st.tuples(inner, inner).map(lambda parts: f"[{parts[0]}, {parts[1]}]"),
        st.tuples(inner, inner).map(lambda parts: f"({parts[0]}, {parts[1]})"),
        st.tuples(inner, inner).map(lambda parts: f"{{{parts[0]}: {parts[1]}}}"),
        st.tuples(inner, inner).map(lambda parts: f"{parts[0]}.join([{parts[1]}])"),
        inner.map(lambda part: f"({part})[1:]"),
    )


EXPRESSIONS = st.recursive(LEAVES, grown, max_leaves=6)
STATEMENTS = st.one_of(
    EXPRESSIONS.map(lambda one: f"{{{{ {one} }}}}"),
    EXPRESSIONS.map(lambda one: f"{{% set a = {one} %}}" * 20),
    EXPRESSIONS.map(lambda one: f"{{% set n.a = {one} %}}{{% set a = n.a %}}"),
)


def in_loops(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        inner.map(lambda one: f"{{% for b in range(9999) %}}{one}{{% endfor %}}"),
        inner.map(lambda one: f"{{% for b in items if b %}}{one}{{% endfor %}}"),
        inner.map(
            lambda one: f"{{% macro m(a) %}}{one}{{% endmacro %}}{{{{ m(a) }}}}{{{{ m(b) }}}}"
        ),
    )


def outcome(template: str) -> str:
    """What is made of a template, or the error."""
    names = {"a": "ab", "b": 3, "items": list(range(100))}
    try:
        made: str = compiled_text("{% set n = namespace(a=[]) %}" + template)(names)
    except TemplateError as error:
        return str(error)
    return made


@given(st.recursive(STATEMENTS, in_loops, max_leaves=4))
@examples(50)
def test_no_template_goes_on_for_long(template: str) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(template_work, "MOST_WORK", LITTLE_WORK)
        started = time.process_time()
        made = outcome(template)
        assert time.process_time() - started < SECONDS
    assert "MemoryError" not in made
    assert len(made) <= LONGEST
