"""Which patterns of others are tried: those that are fast for every short text."""

import re
from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metier.core.bounded_patterns import (
    LONGEST_TEXT,
    is_bounded,
    patterns_in,
    without_unbounded,
)
from metier.core.json_values import Schema

ATOMS = st.sampled_from(["a", "b", ".", "[ab]", r"\w", "(a|b)", "(?:ab)", "^", "$", "a?"])
QUANTIFIERS = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "+?"])
PATTERNS = st.lists(st.tuples(ATOMS, QUANTIFIERS), max_size=6).map(
    lambda parts: "".join(map("".join, parts))
)


@pytest.mark.parametrize(
    "pattern",
    ["^[a-z0-9-]+$", r"^\d{4}-\d{2}-\d{2}$", "^(GET|POST)$", "[A-Z]{1,5}", r"^https?://\S+$", ""],
)
def test_an_ordinary_pattern_is_bounded(pattern: str) -> None:
    assert is_bounded(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$", "(a|aa)*", "a*a*a*b", r"(a)\1", "(?=a)b", "(?<!a)b", "(ab){2,9}", "(a*){9}",
        "(", "[", "a{0,300}a{0,300}", "a" * 501,
    ],
)  # fmt: skip
def test_a_pattern_that_could_take_long_is_not(pattern: str) -> None:
    assert not is_bounded(pattern)


@settings(max_examples=150, deadline=None)
@given(PATTERNS, st.sampled_from(["a", "b", "ab", "ba"]))
def test_a_bounded_pattern_is_fast_for_every_short_text(pattern: str, unit: str) -> None:
    if not is_bounded(pattern):
        return
    text = (unit * LONGEST_TEXT)[: LONGEST_TEXT - 1] + "!"
    started = thread_time()
    re.search(pattern, text)
    assert thread_time() - started < 2


def test_patterns_for_names_are_left_out_with_what_depends_on_them() -> None:
    data = {
        "type": "object",
        "properties": {"a": {"pattern": "^a$"}, "b": {"pattern": "(a+)+"}},
        "patternProperties": {"^x-": {}},
        "additionalProperties": False,
    }
    assert list(patterns_in(data)) == ["^x-", "^a$", "(a+)+"]
    left = {"a": {"pattern": "^a$"}, "b": {}}
    assert without_unbounded(data) == {"type": "object", "properties": left}
    schema = Schema(data, bounded=True)
    assert schema.problems({"a": "a", "b": "x", "x-y": 1}) == []
    assert len(schema.problems({"a": "b"})) == 1


def test_a_pattern_is_not_tried_on_a_long_text() -> None:
    schema = Schema({"properties": {"a": {"pattern": "^a$"}}}, bounded=True)
    assert schema.problems({"a": "b" * (LONGEST_TEXT + 1)}) == []
    assert Schema({"properties": {"a": {"pattern": "^a$"}}}).problems({"a": "b"})
