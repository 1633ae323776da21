"""The glance that spares most texts the search for phrases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.safety import plain
from metier.safety.disguise import find_overrides
from metier.safety.letters import SIX_AS_G, letters

PIECES = [
    *("ignore all previous ", "1gnore ", "prev1ous", "instruct10ns", "d1sregard", "the above"),
    *("new instructions:", "nevv", "\u200b", "\u0430", "<b>", "[x] ", "\\", "&lt;", "\x07", "\n"),
    *("%65", "=65", "0x65", "U+0065", ":x:", "{# x #}", "/* x */", "igno", "re", "prev", "ious "),
    *("l", "L", "6", "!", "|", "+", "$", "@", "a", " ", "-", "."),
]


@pytest.mark.parametrize("code", range(128))
def test_each_character_is_read_as_in_a_close_look(code: int) -> None:
    shown = bytes([code])
    written = shown.translate(plain._AS_WRITTEN, plain._NO_LETTERS)
    assert written == letters(shown, False).replace(b":", b"")
    resembled = shown.translate(plain._AS_RESEMBLED, plain._NOT_RESEMBLED)
    assert resembled == letters(shown, True).translate(SIX_AS_G).replace(b":", b"")


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_nothing_is_found_in_a_plain_text(text: str) -> None:
    assert not plain.is_plain(text) or find_overrides(text) == []


@pytest.mark.parametrize(
    "text", ["Draws charts of numbers. Use it for reports!", "v1.2 (beta)\n", ""]
)
def test_an_ordinary_text_is_plain(text: str) -> None:
    assert plain.is_plain(text)
