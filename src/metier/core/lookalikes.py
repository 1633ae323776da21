"""What a character may be taken for: look-alike letters, and text as a reader sees it."""

import unicodedata
from collections.abc import Callable

MARK = "\u0300"
"""Stands for every combining mark in `twins`."""
OTHER = "\x1f"
"""Stands in a reading for letters and digits that look like no Latin letter."""
PARAGRAPH, BLOCK = "\x1d", "\x1e"
"""Stand in a reading for the ends of paragraphs, and of sentences and blocks of lines."""
DIGITS = "0134578@$!|"
"""Kept in a reading, because they are used in place of letters."""
_GLUE = frozenset("*_~`\\-")
"""What Markdown and hyphenation put inside words."""
_KEPT = frozenset(DIGITS + PARAGRAPH + BLOCK + OTHER + ":")
_MOST_KEPT = 20_000

_LETTERS = {
    "a": "аαΑᎪꓮɑ⍺",
    "b": "вьΒβϐᏴꓐƅᏏ",
    "c": "сϲϹᏟꓚⲥ",
    "d": "ԁᎠꓓժⅾ",
    "e": "еєҽεΕᎬꓰ℮ⲉ",
    "f": "ϝϜꓝք",
    "g": "ɡցԍᏀꓖᏳ",
    "h": "һнΗհᎻꓧⲏ",
    "i": "іӏιΙıɩᎥꓲꙇⲓ",
    "j": "јϳᎫꓙ",
    "k": "кκΚᏦꓗ",
    "l": "ǀᏞꓡ",
    "m": "мΜᎷꓟⲙ",
    "n": "пηΝոռꓠи",
    "o": "оөοΟσθօסဝ०০੦૦ⲟꓳ",
    "p": "рρΡҏᏢꓑⲣ",
    "q": "ԛգզ",
    "r": "гяᎡᏒꓣⲅ",
    "s": "ѕտᏚꓢ",
    "t": "тτΤᎢꓔⲧ",
    "u": "υսμʊꓴ",
    "v": "νѵᏙꓦ∨",
    "w": "шѡԝωաᎳꓪⲱ",
    "x": "хχΧꓫⲭ",
    "y": "уүγΥყᎩꓬɣ",
    "z": "ΖᏃꓜ",
}
"""Latin letter → letters of other alphabets that are read as it, in either case."""
_LOOKS_LIKE = {ord(other): letter for letter, others in _LETTERS.items() for other in others}
_COLONS = "∶꞉ː˸׃։"


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

    What nobody sees or what only decorates is gone: marks, invisible characters, emphasis, hyphens.
    """
    return text.translate(_READINGS)


def length_read(character: str) -> int:
    """How many characters `readings` makes of one."""
    return len(_READINGS[ord(character)])


def _twin(character: str) -> str:
    if character.isascii():
        return character
    category = unicodedata.category(character)
    if category[0] == "M":
        return MARK
    if category[0] == "Z":
        return " " if category == "Zs" else "\n"
    if category[0] == "C":
        return character
    if ord(character) in _LOOKS_LIKE:
        return _LOOKS_LIKE[ord(character)]
    plain = [one for one in unicodedata.normalize("NFKD", character) if not _is_mark(one)]
    return _ascii_of(plain[0]) or character if len(plain) == 1 else character


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def _ascii_of(character: str) -> str:
    """The ASCII character that one without marks looks like; nothing where there is none."""
    if character.isascii():
        return character
    if character in _COLONS:
        return ":"
    letter = _LOOKS_LIKE.get(ord(character)) or _LOOKS_LIKE.get(ord(character.casefold()[0]))
    return letter or _named_letter(character)


def _named_letter(character: str) -> str:
    """The letter that the name of a Latin letter or of a flag's half gives: `ø` is an o."""
    name = unicodedata.name(character, "").split()
    if "LATIN" not in name and "REGIONAL" not in name:
        return ""
    return next((word.lower() for word in name if len(word) == 1), "")


def _reading(character: str) -> str:
    if character in (PARAGRAPH, BLOCK):
        return character
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
