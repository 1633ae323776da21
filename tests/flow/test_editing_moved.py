"""Findings of an earlier text, in the text of now."""

from hypothesis import given
from hypothesis import strategies as st

from metier.flow.editing import moved
from metier.values.outcomes import Issue

LINES = st.lists(st.text(alphabet="ab", max_size=2), min_size=1, max_size=8)


def at(line: int) -> Issue:
    return Issue("SK327", "gone", "skills/a/SKILL.md", line, 3)


def test_a_finding_follows_its_line() -> None:
    assert moved([at(2)], "a\nb", "a\nnew\nb") == [at(3)]
    assert moved([at(3)], "a\nnew\nb", "a\nb") == [at(2)]


def test_a_finding_in_a_line_that_changed_is_gone() -> None:
    assert moved([at(2)], "a\nb", "a\nc") == []


def test_a_finding_about_the_file_stays() -> None:
    assert moved([at(1)], "a\nb", "c") == [at(1)]


def test_of_equal_lines_the_nearest_counts() -> None:
    assert moved([at(3)], "b\na\nb", "b\na\na\nb") == [at(4)]


@given(LINES, LINES, st.integers(1, 8))
def test_a_finding_is_never_in_another_line(old: list[str], new: list[str], line: int) -> None:
    line = min(line, len(old))
    for one in moved([at(line)], "\n".join(old), "\n".join(new)):
        assert one.line == 1 or new[one.line - 1] == old[line - 1]
