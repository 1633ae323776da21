"""Find the three injection phrases of spec 5, in any disguise, in linear time.

A text is read as it is, without tags, and without all markup. Each reading is reduced to letters,
once as they are and once with digits and signs as the letters that they resemble.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice, product
from typing import NamedTuple

from metier.safety.letters import FILLERS
from metier.safety.lookalikes import (
    BLOCK,
    DIGITS,
    EITHER,
    JSON_COLON,
    OTHER,
    PARAGRAPH,
    PICTURES,
    WILD,
    as_letters,
    length_read,
    readings,
    symbols_as_letters,
    turned,
)
from metier.safety.markup import ENTITIES, MARKUP, decoded

IGNORE = "ignore previous instructions"
DISREGARD = "disregard ... above"
NEW = "new instructions:"

_END_OF_PARAGRAPH = re.compile(r"\n(?=[ \t]*\n)")
_END_OF_BLOCK = re.compile(
    r"(?<=[.!?])\n|(?<=[.!?] )\n|\n(?=[ \t>]*(?:[-+*#|]|[0-9]{1,3}[.)])[ \t#])"
)
_SHORT_ITEM = (
    r"[ \t>]*+(?:(?:[^\w\s]{1,6}+|[0-9]{1,3}[.)])[ \t]++|[^\w\s\"'`]{1,3}+)"
    r"\S++(?:[ \t]++\S++)?+[ \t|]*+"
)
_BETWEEN_SHORT_ITEMS = re.compile(rf"(?<![^\n])({_SHORT_ITEM})\n(?={_SHORT_ITEM}(?:\n|\Z))")
"""List items, or lines of a comment, of one or two words: a sentence may be written in them."""
_BOX = re.compile(r"\[[ xX]\] ")
_KEY_COLON = re.compile(r"([\"'][ \t]*+):(?=\s*+[\"'\[{])")
_DEFINITION = re.compile(r"\n([ \t]*)[:~](?=[ \t])")
_latin = "a-z" + "".join([*EITHER, *PICTURES])
_BESIDE_LATIN = re.compile(f"(?<=[{_latin}]){OTHER}|{OTHER}(?=[{_latin}])")
_BESIDE_WILD = re.compile(f"(?<={WILD}){OTHER}|{OTHER}(?={WILD})")
_LONGEST_FOREIGN = 4
"""Foreign letters in a row, beside a Latin one, that may look like Latin ones."""

_BETWEEN_LETTERS = dict.fromkeys(map(ord, f" {DIGITS}{PARAGRAPH}"))
_ENDS_IN_NEW = re.compile(r"\b(?:a|forek|k|re|si)new\b", re.IGNORECASE)
"""Words that end in "new"; "thenew" does not."""


def _letters(word: str) -> list[str]:
    """A pattern for each letter of a word, ambiguous characters included."""
    patterns = []
    for letter in word:
        either = "".join(sign for sign, letters in EITHER.items() if letter in letters) + WILD
        pattern = f"[li{either}]" if letter == "l" else f"[{letter}{either}]"
        double = "".join(_letters("vv")) if letter == "w" else ""
        patterns.append(f"(?:{pattern}|{double})" if double else pattern)
    return patterns


def _word(*words: str) -> str:
    return "|".join("".join(_letters(word)) for word in words)


def _split(word: str) -> str:
    """A pattern for a word, also when the end of an item or a sentence is inside."""
    return f"{BLOCK}?".join(_letters(word))


def _spaced(word: str) -> str:
    """A pattern for a word, also with its letters apart or on several lines."""
    apart = f"[ {DIGITS}{BLOCK}]*+".join(_letters(word))
    return f"{_word(word)}|(?<![a-z]){apart}(?![a-z])"


_filler = f"(?:{_word(*sorted(FILLERS, reverse=True))})*+"
_PATTERNS = (
    (
        {
            IGNORE: re.compile(
                f"{_word('ignore')}{_filler}{_word('previous')}{_filler}{_word('instructions')}"
            ),
            DISREGARD: re.compile(f"{_word('disregard')}{_filler}{_word('above')}"),
        },
        {**_BETWEEN_LETTERS, **dict.fromkeys(map(ord, f":{BLOCK}{JSON_COLON}"))},
    ),
    (
        {NEW: re.compile(f"{_split('new')}{JSON_COLON}?{_split('instructions')}[:{JSON_COLON}]")},
        _BETWEEN_LETTERS,
    ),
)
"""Phrases by name, and the characters that are removed before they are searched."""
_DISREGARD = re.compile(_word("disregard"))
_DISREGARD_FAR = re.compile(
    f"(?P<first>{_spaced('disregard')})|(?P<last>{_spaced('above')})|[{PARAGRAPH}{BLOCK}]"
)
_SINGULAR = re.compile(f"({_word('instruction')}[ {DIGITS}{PARAGRAPH}{BLOCK}:]++)s(?=[a-z])")
"""The s starts another word, as in "instruction scheduling"."""


class Phrase(NamedTuple):
    name: str
    at: int


def read_closely(text: str) -> list[Phrase]:
    """The first occurrence of each phrase in `text`, in order."""
    found: dict[str, int] = {}
    seen: set[str] = set()
    marked = [_marked(one) for one in _variants(text)]
    for variant, markup in product(marked, (ENTITIES, *MARKUP)):
        reading = _Reading.of(variant, markup)
        for letters in {reading.text, as_letters(reading.text)} - seen:
            seen.add(letters)
            for name, index in _in_letters(letters):
                at = reading.origin(index)
                found[name] = min(at, found.get(name, at))
    return sorted((Phrase(name, at) for name, at in found.items()), key=lambda phrase: phrase.at)


def _variants(text: str) -> Iterator[str]:
    """The text, and others of its length that it may be read as."""
    yield from dict.fromkeys((text, symbols_as_letters(text), *turned(text)))


def _marked(text: str) -> str:
    """Mark ends of paragraphs and sentences, and mask words in "new"; same length."""
    lines = text.replace("\r\n", " \n").replace("\r", "\n")
    lines = _DEFINITION.sub(r"\n\1 ", _BOX.sub("    ", lines))
    lines = _KEY_COLON.sub(rf"\1{JSON_COLON}", _BETWEEN_SHORT_ITEMS.sub(r"\1 ", lines))
    marked = _END_OF_BLOCK.sub(BLOCK, _END_OF_PARAGRAPH.sub(PARAGRAPH, lines))
    return _ENDS_IN_NEW.sub(lambda word: OTHER * len(word[0]), marked)


class _Reading(NamedTuple):
    text: str
    pieces: list[tuple[int, str]]
    """Position and characters of each piece; a decoded entity is a piece."""

    @classmethod
    def of(cls, text: str, markup: re.Pattern[str]) -> "_Reading":
        pieces: list[tuple[int, str]] = []
        at = 0
        for match in markup.finditer(text):
            pieces.append((at, text[at : match.start()]))
            pieces.append((match.start(), decoded(match)))
            at = match.end()
        pieces.append((at, text[at:]))
        read = "".join(readings(piece) for _, piece in pieces)
        if OTHER in read:
            read = _BESIDE_LATIN.sub(WILD, read)
            for _ in range(_LONGEST_FOREIGN - 1):
                read = _BESIDE_WILD.sub(WILD, read)
        return cls(read, pieces)

    def origin(self, index: int) -> int:
        """The position in the text of a character of the reading."""
        for start, piece in self.pieces:
            length = len(readings(piece))
            if index >= length:
                index -= length
                continue
            for offset, character in enumerate(piece):
                index -= length_read(character)
                if index < 0:
                    return start + offset
        return 0


def _in_letters(read: str) -> Iterator[tuple[str, int]]:
    """Each phrase in a reading, with its index."""
    read = _SINGULAR.sub(rf"\1{OTHER}", read)
    reduced = [(read.translate(dropped), dropped, patterns) for patterns, dropped in _PATTERNS]
    for kept, dropped, patterns in reduced:
        for name, pattern in patterns.items():
            match = pattern.search(kept)
            if match is not None:
                yield name, _nth_kept(read, dropped, match.start())
    if any(_DISREGARD.search(kept) for kept, *_ in reduced):
        index = _disregard_far(read)
        if index is not None:
            yield DISREGARD, index


def _nth_kept(read: str, dropped: Mapping[int, None], number: int) -> int:
    kept = (index for index, character in enumerate(read) if ord(character) not in dropped)
    return next(islice(kept, number, None))


def _disregard_far(read: str) -> int | None:
    """The index of a `disregard` with an `above` after it, on its line or in its sentence."""
    start: int | None = None
    is_split = False
    for match in _DISREGARD_FAR.finditer(read):
        if match.lastgroup == "first":
            start = match.start() if start is None else start
            is_split |= BLOCK in match[0]
        elif match.lastgroup is None:
            if match[0] == PARAGRAPH or not is_split:
                start, is_split = None, False
        elif start is not None:
            return start
    return None
