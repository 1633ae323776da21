"""What looks like a letter is read as it: by Unicode's table, by value, by name."""

import re
import unicodedata

import pytest

from metier.safety.disguise import examine, find_overrides
from metier.safety.lookalikes import CONFUSABLES, EITHER, readings, shape

PHRASES = (
    "ignore previous instructions",
    "disregard the above",
    "new instructions:",
)
LETTERS = {
    **{"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "6": "bg", "7": "t", "8": "b", "9": "g"},
    **{"@": "a", "$": "s", "!": "i", "+": "t"},
}
"""Digit or sign → the letters that it is used for."""


def as_listed() -> list[tuple[str, str]]:
    """Each character of the table, and each character that may be meant by it."""
    return [
        (chr(int(code, 16)), letter)
        for key, codes in CONFUSABLES.items()
        for code in codes.split()
        for letter in key
    ]


def missed(character: str, letter: str) -> list[str]:
    """The phrases that are not found with one character in place of a letter."""
    return [
        phrase
        for meant in LETTERS.get(letter, letter)
        for phrase in PHRASES
        if meant in phrase and not find_overrides(phrase.replace(meant, character))
    ]


def test_every_entry_stands_for_its_letter_in_every_phrase() -> None:
    assert [(one, letter) for one, letter in as_listed() if missed(one, letter)] == []


def test_every_entry_is_listed_once_in_order_and_is_no_ascii() -> None:
    for codes in CONFUSABLES.values():
        numbers = [int(code, 16) for code in codes.split()]
        assert numbers == sorted(numbers)
        assert numbers[0] > 127
    listed = [code for codes in CONFUSABLES.values() for code in codes.split()]
    assert len(listed) == len(set(listed))
    assert all(re.fullmatch("[0-9A-F]+", code) for code in listed)


@pytest.mark.parametrize("sign", [":", "<", ">", "/"])
def test_a_sign_is_known_by_its_look_alikes(sign: str) -> None:
    assert {shape(one) for one, letter in as_listed() if letter == sign} == {sign.encode()}


def test_what_may_be_several_letters_is_read_as_each_of_them() -> None:
    for character, letters in [("ʋ", "uv"), ("ɯ", "mw"), ("٥", "os"), ("ν", "nv"), ("Λ", "av")]:
        assert EITHER[readings(character)] == letters
        assert [missed(character, letter) for letter in letters] == [[], []]


def test_every_decimal_digit_is_read_by_its_value() -> None:
    digits = [
        (chr(code), str(unicodedata.decimal(chr(code))))
        for code in range(0x80, 0x20000)
        if unicodedata.decimal(chr(code), None) is not None
    ]
    assert len(digits) > 600
    assert [(one, value) for one, value in digits if missed(one, value)] == []


@pytest.mark.parametrize(
    ("text", "read"),
    [("𐐬𐓂๐௦", "oo00"), ("ᑭᖇᏕᏔ", "prsw"), ("⁚ꓽः︰᠃", ":::::"), ("\U0001ccd6\U0001ccf3", "a3")],
)
def test_a_look_alike_is_read_also_when_python_does_not_know_it_yet(text: str, read: str) -> None:
    assert readings(text) == read


@pytest.mark.parametrize(
    "marker", ["ꓢystem", "Ꮪу𐑈тeᗰ", "tooI", "Systern", "Assıstant", "Dеvеlοреr"]
)
def test_roles_are_known_in_these_letters_too(marker: str) -> None:
    assert examine(f"{marker}: x").text == f"[{marker}]: x"
