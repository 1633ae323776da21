"""What a character may be taken for: look-alike letters, and text as a reader sees it."""

import unicodedata
from collections.abc import Callable

from metier.safety.confusables import CONFUSABLES

MARK = "\u0300"
"""Stands for every combining mark in `twins`."""
OTHER = "\x1f"
"""Stands in a reading for letters and digits that look like no Latin letter."""
PARAGRAPH, BLOCK = "\x1d", "\x1e"
"""Stand in a reading for the ends of paragraphs, and of sentences and blocks of lines."""
_RESEMBLED = {
    **{"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "6": "bg", "7": "t", "8": "b", "9": "g"},
    **{"@": "a", "$": "s", "!": "i", "|": "i", "+": "t"},
}
"""Digit or sign → the letter, or the letters, that it resembles."""
DIGITS = "".join(_RESEMBLED)
"""Kept in a reading, because they are used in place of letters."""
_GLUE = frozenset("*_~`\\-")
"""What Markdown and hyphenation put inside words."""
_MOST_KEPT = 20_000

_OTHERS = {
    "b": "вьβϐƅ",
    "d": "ժ",
    "e": "єεⲉə",
    "f": "ϝ",
    "g": "ԍ",
    "h": "нⲏ",
    "i": "Ꮖ",
    "k": "кκ",
    "m": "мⲙ",
    "n": "пи",
    "p": "ҏ",
    "r": "я",
    "s": "տƨ",
    "t": "тτⲧ",
    "u": "μʊц",
    "w": "ωⲱ",
    "x": "χⲭ",
    "3": "з",
    ":": "ˑ፡",
    "av": "ΛЛ∧ʌ",
    "bg": "б",
    "nv": "ν",
}
"""What people take for Latin letters though Unicode does not say so."""
_ALIKE = [
    *((key, [chr(int(code, 16)) for code in codes.split()]) for key, codes in CONFUSABLES.items()),
    *_OTHERS.items(),
]
_SEVERAL = sorted({key for key, _ in _ALIKE if len(key) > 1})
_SPARE = [*map(chr, range(0x01, 0x09)), *map(chr, range(0x0E, 0x1C))]
"""Control characters that no text holds which is handed over."""
EITHER = dict(zip(_SPARE, _SEVERAL, strict=False))
"""Stands in a reading for what may be one of several letters → these letters."""
_SIGN = {letters: sign for sign, letters in EITHER.items()}
_LOOKS_LIKE = {ord(other): _SIGN.get(key, key) for key, others in _ALIKE for other in others}
_AS_LETTERS = {ord(one): _SIGN.get(key, key) for one, key in {**_RESEMBLED, "l": "i"}.items()}
_KEPT = frozenset([*DIGITS, *EITHER, PARAGRAPH, BLOCK, OTHER, ":"])


class _Table(dict[int, str]):
    """What each character becomes, worked out when the character is first met."""

    def __init__(self, compute: Callable[[str], str]) -> None:
        self._compute = compute

    def __missing__(self, code: int) -> str:
        if len(self) > _MOST_KEPT:
            self.clear()
        value = self[code] = self._compute(chr(code))
        return value


def twins(text: str) -> str:
    """`text` with each character as the ASCII one that it looks like, where there is one.

    The length stays, so a place in the result is a place in `text`.
    """
    return text if text.isascii() else text.translate(_TWINS)


def readings(text: str) -> str:
    """`text` as it is read: small Latin letters, blanks for what parts words, `:` and `DIGITS`.

    Where several letters may be meant, a sign of `EITHER` stands for them. What nobody sees or
    what only decorates is gone: marks, invisible characters, emphasis, hyphens.
    """
    return text.translate(_READINGS)


def as_letters(reading: str) -> str:
    """A reading with digits and signs as the letters they resemble; an l as the I it may be."""
    return reading.translate(_AS_LETTERS)


def length_read(character: str) -> int:
    """How many characters `readings` makes of one."""
    return len(_READINGS[ord(character)])


def _twin(character: str) -> str:
    if character.isascii():
        return character
    if ord(character) in _LOOKS_LIKE:
        return _LOOKS_LIKE[ord(character)]
    category = unicodedata.category(character)
    if category[0] == "M":
        return MARK
    if category[0] == "Z":
        return " " if category == "Zs" else "\n"
    if category[0] == "C":
        return character
    plain = [one for one in unicodedata.normalize("NFKD", character) if not _is_mark(one)]
    return _ascii_of(plain[0]) or character if len(plain) == 1 else character


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def _ascii_of(character: str) -> str:
    """The ASCII character that one without marks looks like; nothing where there is none."""
    if character.isascii():
        return character
    letter = _LOOKS_LIKE.get(ord(character)) or _LOOKS_LIKE.get(ord(character.casefold()[0]))
    if letter:
        return letter
    digit = unicodedata.decimal(character, None)
    return str(digit) if digit is not None else _named_letter(character)


def _named_letter(character: str) -> str:
    """The letter that the name of a Latin letter or of a flag's half gives: `ø` is an o."""
    name = unicodedata.name(character, "").split()
    if "LATIN" not in name and "REGIONAL" not in name:
        return ""
    return next((word.lower() for word in name if len(word) == 1), "")


def _reading(character: str) -> str:
    if character in (PARAGRAPH, BLOCK, OTHER):
        return character
    if ord(character) in _LOOKS_LIKE:
        return _read(_LOOKS_LIKE[ord(character)])
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn"):
        return " " if character in "\t\n\r" else ""
    if (twin := _twin(character)).isascii():
        return _read(twin)
    return "".join(_read(_twin(one)) for one in unicodedata.normalize("NFKD", character))


def _read(twin: str) -> str:
    if "a" <= (small := twin.lower()) <= "z":
        return small
    if twin in _KEPT:
        return twin
    category = unicodedata.category(twin)
    if twin in _GLUE or category == "Pd" or category[0] == "M":
        return ""
    return OTHER if category[0] in "LN" and not twin.isascii() else " "


_TWINS = _Table(_twin)
_READINGS = _Table(_reading)
