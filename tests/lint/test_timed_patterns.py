"""Regular expressions of settings run in a process that can be killed."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.lint.timed_patterns import (
    MOST_MATCHES,
    PatternInvalidError,
    Patterns,
    PatternTimeoutError,
)

CATASTROPHIC = r"(a|a|aa)*$"
"""Exponential on a row of `a` with another end."""


@pytest.fixture(scope="module")
def digits() -> Iterator[Patterns]:
    with closing(Patterns([r"[0-9]+", r"x*", r"("], time_limit=30)) as made:
        yield made


def test_matches_are_counted_in_characters(digits: Patterns) -> None:
    assert digits.spans(r"[0-9]+", "😀 12 字 345") == [(2, 4), (7, 10)]


@given(st.text())
def test_a_pattern_finds_what_re_finds(digits: Patterns, text: str) -> None:
    import re

    expected = [match.span() for match in re.finditer(r"[0-9]+", text)][:MOST_MATCHES]
    assert digits.spans(r"[0-9]+", text) == expected


def test_empty_matches_are_no_findings(digits: Patterns) -> None:
    assert digits.spans(r"x*", "axxb") == [(1, 3)]
    assert digits.occurs(r"x*", "")


def test_only_the_first_matches_are_reported(digits: Patterns) -> None:
    assert len(digits.spans(r"[0-9]+", "1 " * 100)) == MOST_MATCHES


def test_an_invalid_pattern_is_named_and_the_others_go_on(digits: Patterns) -> None:
    assert digits.problem("(")
    with pytest.raises(PatternInvalidError, match="unterminated"):
        digits.occurs("(", "")
    assert digits.occurs(r"[0-9]+", "1")


def test_a_catastrophic_pattern_is_stopped_once_and_the_others_go_on() -> None:
    text = "a" * 60 + "b"
    with closing(Patterns([CATASTROPHIC, "b"], time_limit=1)) as patterns:
        with pytest.raises(PatternTimeoutError):
            patterns.occurs(CATASTROPHIC, text)
        assert patterns.spans("b", text) == [(60, 61)]
        with pytest.raises(PatternTimeoutError):  # without another second
            patterns.occurs(CATASTROPHIC, "harmless")


def test_nothing_starts_before_the_first_question() -> None:
    patterns = Patterns(["a"])
    assert patterns._process is None
    patterns.close()
