"""Offsets and positions, and the smallest edit between two texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol.types import Position

from metier.lsp.positions import Lines
from metier.lsp.protocol_values import changed_part

TEXTS = st.text(st.sampled_from("ab 😀字\u2028\x0c\r\n-:"), max_size=40)
ENCODINGS = st.sampled_from(["utf-8", "utf-16", "utf-32"])


@given(TEXTS, ENCODINGS)
def test_every_offset_comes_back_from_its_position(text: str, encoding: str) -> None:
    lines = Lines(text, encoding)
    for offset in range(len(text) + 1):
        if text[max(offset - 1, 0) : offset + 1] != "\r\n":
            assert lines.offset(lines.position(offset)) == offset


@given(TEXTS, st.integers(0, 50), st.integers(0, 50))
def test_a_position_beyond_the_text_is_inside_of_it(text: str, line: int, character: int) -> None:
    assert 0 <= Lines(text).offset(Position(line, character)) <= len(text)


@given(TEXTS, st.integers(1, 50), st.integers(1, 50))
def test_a_line_of_metier_is_inside_of_the_text(text: str, line: int, column: int) -> None:
    offset = Lines(text).offset_of(line, column)
    assert 0 <= offset <= len(text)
    assert text.count("\n", 0, offset) == min(line - 1, text.count("\n"))


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 8), ("utf-16", 4), ("utf-32", 3)])
def test_columns_count_the_units_of_the_encoding(encoding: str, character: int) -> None:
    assert Lines("😀字x!", encoding).position(3) == Position(0, character)


def test_only_the_line_ends_of_the_protocol_count() -> None:
    lines = Lines("a\u2028b\x0cc\r\nd\re\nf")
    assert lines.position(6) == Position(0, 6)
    assert [lines.position(offset).line for offset in (7, 9, 11)] == [1, 2, 3]


@given(TEXTS, TEXTS)
def test_an_edit_makes_the_other_text_and_cuts_no_line_end(before: str, after: str) -> None:
    start, end, new = changed_part(before, after)
    assert before[:start] + new + before[end:] == after
    for offset in (start, end):
        assert before[max(offset - 1, 0) : offset + 1] != "\r\n"


def test_an_edit_is_as_small_as_it_can_be() -> None:
    assert changed_part("name: x\nrest", "name: y\nrest") == (6, 7, "y")
    assert changed_part("same", "same") == (4, 4, "")
