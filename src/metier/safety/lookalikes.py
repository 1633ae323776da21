"""Look-alike characters: text as a reader sees it."""

import os
import re
import unicodedata
from collections.abc import Callable

_FOREIGN_LETTER = "\u4e00"
MARK = "\u0300"
"""Replaces every combining mark in `as_ascii`."""
OTHER = "\x1f"
"""Replaces letters and digits that look like no Latin letter in a reading."""
PARAGRAPH, BLOCK = "\x1d", "\x1e"
"""The end of a paragraph, and of a sentence or block of lines, in a reading."""
WILD, JSON_COLON = "\x1c", "\x1b"
"""In a reading: a foreign letter beside a Latin one, which may look like any letter; the colon
between a JSON key and its value."""
_PICTURES = {
    **{
        "a": "△▲∆⟁🔺⍺",
        "b": "฿₿",
        "c": "©⊂⊏",
        "d": "∂",
        "e": "€∈∊∃∑⋿≡",
        "g": "⅁₲",
        "i": "¡¦∣‖❗❕❘│",
    },
    **{"n": "∩", "o": "°○◦●◯∘⊙⊚◎☉∅⊘⊗⊕⭕⚬◌⚪⚫🔴🔵❍⌾๏◍⦿◉", "p": "¶⁋℗", "r": "®", "s": "§∫"},
    **{"t": "†‡⟙┬╤⊺", "u": "⊔⨆", "v": "√▽▼∇⌄"},
}
"""Letter → signs that are used for it."""
PICTURES = "".join(_PICTURES.values())
_RESEMBLED = {
    **{"0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "6": "bg", "7": "t", "8": "b", "9": "g"},
    **{"@": "a", "$": "s", "!": "i", "|": "i", "+": "t"},
    **{sign: letter for letter, signs in _PICTURES.items() for sign in signs},
}
"""Digit or sign → the letters that it resembles."""
DIGITS = "".join(_RESEMBLED)
"""Kept in a reading, because they can replace letters."""
_GLUE = frozenset("*_~`\\-")
"""Inside words in Markdown and by hyphenation."""
_TURNED = dict(zip("ɐɔǝɟƃᵷɥᴉɾʞɯɹʇʌʍʎ", "acefgghijkmrtvwy", strict=True))
_FEWEST_TURNED = 2
_TURNED_STARTS = {letter.encode()[:1] for letter in _TURNED}
"""In UTF-8, which is searched fast."""
_TAG = re.compile(r"(<[^<>]*>)")
_UPRIGHT = str.maketrans(_TURNED | dict.fromkeys("bdnpqu", _FOREIGN_LETTER))
_LARGEST_CACHE = 20_000

_OTHERS = {
    "a": "ⲁ卂ꍏᏗคᗩꪖДል",
    "b": "вьβϐƅⲃ乃ცꌃᏰ๒ᗷጌ",
    "c": "ᑕ匚ꉓፈᥴҀር",
    "d": "ᦔժⲇδძꀸᎴↁዕ",
    "e": "єεⲉə乇ꍟᏋꫀᕮቿ",
    "f": "ϝ",
    "g": "ԍմムջᎶꁅﻮᧁኗ",
    "h": "нⲏ卄んɧꃅɦђꫝዘ",
    "i": "Ꮖ丨ﾉꀤเ꠸ጎ",
    "k": "кκⲕ",
    "m": "мⲙ",
    "n": "пиⲛπ几刀ꈤᏁภᑎꪀክ",
    "o": "ㄖのꂦᎧꪮዐ",
    "p": "ҏք卩ｱ℘ꉣᎮקየþ",
    "r": "я尺ཞꋪ᥅Ꮢዪ",
    "s": "տƨⲋ丂ꌗֆรᔕᦓነʃ",
    "t": "тτⲧセㄒｲ꓄ᏖՇꪻፕ",
    "u": "μʊцㄩꀎᏬยꪊሁ",
    "v": "ｳꃴᏉשꪜ",
    "w": "ωⲱщϣ山ꅏᏇฬᗯሠ",
    "x": "χⲭ",
    "y": "ㄚﾘყꌩᎩץꪗሃ",
    "3": "з",
    ":": "ˑ፡",
    "av": "ΛЛ∧ʌ",
    "bg": "б",
    "cs": "ⲥ",
    "et": "եէ",
    "gr": "ⲅ",
    "np": "ⲡ",
    "nr": "ր",
    "nv": "ν",
    "uy": "ⲩ",
}
"""Taken for Latin letters by people, but not by Unicode."""


def _confusables() -> dict[str, str]:
    package = os.path.dirname(os.path.dirname(__file__))
    with open(os.path.join(package, "schemas", "confusables.v1.txt"), encoding="utf-8") as file:
        parts = [line.strip().partition(" ") for line in file if not line.startswith("#")]
    return {key: codes for key, _, codes in parts}


CONFUSABLES = _confusables()
"""ASCII characters → code points, in hexadecimal."""
_ALIKE = [
    *((key, [chr(int(code, 16)) for code in codes.split()]) for key, codes in CONFUSABLES.items()),
    *_OTHERS.items(),
]
_UNCLEAR = frozenset("ﾑɬς๔մГᏆΔሀ")
"""Taken for one Latin letter in one alphabet, and for another in another."""
_SEVERAL = sorted({key for key, _ in _ALIKE if len(key) > 1})
_SPARE = [*map(chr, range(0x01, 0x09)), *map(chr, range(0x0E, 0x1B))]
"""Control characters, which no injected text contains."""
EITHER = dict(zip(_SPARE, _SEVERAL, strict=False))
"""Sign for an ambiguous character in a reading → the letters that may be meant."""
_SIGN = {letters: sign for sign, letters in EITHER.items()}
_LOOKS_LIKE = {ord(other): _SIGN.get(key, key) for key, others in _ALIKE for other in others}
_AS_LETTERS = {ord(one): _SIGN.get(key, key) for one, key in {**_RESEMBLED, "l": "i"}.items()}
_SIGNS_OF_READINGS = (PARAGRAPH, BLOCK, OTHER, JSON_COLON)
_KEPT = frozenset([*DIGITS, *EITHER, *_SIGNS_OF_READINGS, ":"])


class _Table(dict[int, str]):
    """A translation table, computed on demand."""

    def __init__(self, compute: Callable[[str], str]) -> None:
        self._compute = compute

    def __missing__(self, code: int) -> str:
        if len(self) > _LARGEST_CACHE:
            self.clear()
        value = self[code] = self._compute(chr(code))
        return value


def readings(text: str) -> str:
    """Lower-case Latin letters, blanks, `:`, `DIGITS`, and `EITHER` for ambiguous characters."""
    return text.translate(_READINGS)


def as_letters(reading: str) -> str:
    """A reading with digits and signs as the letters they resemble, and l as i."""
    return reading.translate(_AS_LETTERS)


def shape(text: str) -> bytes:
    """A byte for each character: the ASCII character that it resembles, or a code above 127."""
    return text.encode() if text.isascii() else text.translate(_SHAPES).encode("latin-1")


def like(sign: str) -> list[str]:
    """The characters that are shown as an ASCII sign, itself included."""
    others = [chr(code) for code, shown in _LOOKS_LIKE.items() if shown == sign]
    wide = [chr(code) for code in range(0xFE50, 0xFF5F) if _as_ascii(chr(code)) == sign]
    return sorted({sign, *others, *wide})


def without_ligatures(text: str) -> str:
    return text.translate(_EXPANSIONS)


def symbols_as_letters(text: str) -> str:
    """`text` with foreign letters for symbols that look like no Latin letter; same length."""
    return text.translate(_SYMBOLS_AS_LETTERS)


def turned(text: str) -> tuple[str, ...]:
    """`text` with its turned letters upright, and with each line upside down; empty without any.

    Of same length. A letter that is another one when it is turned becomes a foreign letter.
    """
    raw = b"" if text.isascii() else text.encode("utf-8", "surrogatepass")
    if not any(start in raw for start in _TURNED_STARTS):
        return ()
    if sum(map(text.count, _TURNED)) < _FEWEST_TURNED:
        return ()
    parts = _TAG.split(text)
    parts[::2] = [part.translate(_UPRIGHT) for part in parts[::2]]
    upright = "".join(parts)
    return upright, "\n".join(line[::-1] for line in upright.split("\n"))


def length_read(character: str) -> int:
    return len(_READINGS[ord(character)])


def _as_ascii(character: str) -> str:
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
    parts = unicodedata.normalize("NFKD", character)
    plain = [part for part in parts if unicodedata.category(part)[0] != "M"]
    return _ascii_base(plain[0]) or character if len(plain) == 1 else character


def _ascii_base(character: str) -> str:
    """The ASCII character that a character without marks looks like; empty if there is none."""
    if character.isascii():
        return character
    letter = _LOOKS_LIKE.get(ord(character)) or _LOOKS_LIKE.get(ord(character.casefold()[0]))
    if letter:
        return letter
    digit = unicodedata.decimal(character, None)
    return str(digit) if digit is not None else _named_letter(character)


def _named_letter(character: str) -> str:
    """The letter in the name of a Latin letter or regional indicator: `ø` is an o."""
    name = unicodedata.name(character, "").split()
    if "LATIN" not in name and "REGIONAL" not in name:
        return ""
    return next((word.lower() for word in name if len(word) == 1), "")


def _reading(character: str) -> str:
    if character in _SIGNS_OF_READINGS:
        return character
    if character in _UNCLEAR:
        return OTHER
    if ord(character) in _LOOKS_LIKE:
        return _read(_LOOKS_LIKE[ord(character)])
    category = unicodedata.category(character)
    if category == "Cn":
        return OTHER  # a letter of a Unicode version that this Python does not know
    if category in ("Cc", "Cf", "Cs", "Co"):
        return " " if character in "\t\n\r" else ""
    if (shown := _as_ascii(character)).isascii():
        return _read(shown)
    return "".join(_read(_as_ascii(part)) for part in unicodedata.normalize("NFKD", character))


def _read(shown: str) -> str:
    if "a" <= (small := shown.lower()) <= "z":
        return small
    if shown in _KEPT:
        return shown
    category = unicodedata.category(shown)
    if shown in _GLUE or category == "Pd" or category[0] == "M":
        return ""
    return OTHER if category[0] in "LN" and not shown.isascii() else " "


MARK_CODE, VOID_CODE, OTHER_CODE, SIGN_CODE, SEVERAL_CODE, SYMBOL_CODE = range(0x80, 0x86)
"""Codes in a shape: a combining mark, nothing, `OTHER`, a blank, several letters at once, and a
blank that might be drawn as a letter: no punctuation."""
_EITHER_CODE, _PICTURE_CODE = 0xA0, 0xC0
EITHER_CODES = {_EITHER_CODE + at: EITHER[sign] for at, sign in enumerate(EITHER)}
PICTURE_CODES = {_PICTURE_CODE + ord(letter) - ord("a"): letter for letter in _PICTURES}
_CODES = {
    **{sign: _EITHER_CODE + at for at, sign in enumerate(EITHER)},
    **{
        sign: _PICTURE_CODE + ord(letter) - ord("a")
        for letter, signs in _PICTURES.items()
        for sign in signs
    },
    **{" ": SIGN_CODE, OTHER: OTHER_CODE},
}


def _shape(character: str) -> str:
    if character.isascii():
        return character
    if character in _UNCLEAR:
        return chr(OTHER_CODE)
    shown = _as_ascii(character)
    read = shown if shown.isascii() else _reading(character)
    if not read:
        return chr(MARK_CODE if unicodedata.category(character)[0] == "M" else VOID_CODE)
    if len(set(read)) > 1:
        return chr(SEVERAL_CODE)
    if read == " " and unicodedata.category(character)[0] == "S":
        return chr(SYMBOL_CODE)
    return shown if shown.isspace() else chr(_CODES.get(read[0], ord(read[0])))


def _expanded(character: str) -> str:
    """The letters of a ligature; any other character as it is."""
    is_several = not character.isascii() and _SHAPES[ord(character)] == chr(SEVERAL_CODE)
    return unicodedata.normalize("NFKD", character) if is_several else character


def _symbol_as_letter(character: str) -> str:
    is_symbol = not character.isascii() and _SHAPES[ord(character)] == chr(SYMBOL_CODE)
    return _FOREIGN_LETTER if is_symbol else character


_READINGS = _Table(_reading)
_SHAPES = _Table(_shape)
_EXPANSIONS = _Table(_expanded)
_SYMBOLS_AS_LETTERS = _Table(_symbol_as_letter)
