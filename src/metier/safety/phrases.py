"""Find the three injection phrases of spec 5, in any disguise, in linear time.

A text is read as it is, without tags, and without all markup. Each reading is reduced to letters,
once as they are and once with digits and signs as the letters that they resemble.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from metier.safety.lookalikes import (
    BLOCK,
    DIGITS,
    EITHER,
    OTHER,
    PARAGRAPH,
    as_letters,
    length_read,
    readings,
)

FILLERS = ("all", "any", "the", "these", "those", "my", "your", "of")
"""Words that may occur inside a phrase."""
IGNORE = "ignore previous instructions"
DISREGARD = "disregard ... above"
NEW = "new instructions:"

_AMPERSAND = r"&(?:(?:amp|#0*38|#[xX]0*26);)*"
"""May itself be written as an entity, repeatedly."""
_ENTITY = (
    rf"{_AMPERSAND}(?:#0*(?P<decimal>[0-9]{{1,7}})(?![0-9])"
    r"|#[xX]0*(?P<hexadecimal>[0-9A-Fa-f]{1,6})(?![0-9A-Fa-f])"
    r"|(?P<named>[A-Za-z][A-Za-z0-9]{1,31})(?=;));?"
)
_TAG = r"</?[A-Za-z|?][^<>]*>"
_COMMENT = r"<!--[^<]*?-->"


def _nested(depth: int) -> str:
    """A pattern for text in parentheses, nested up to `depth`."""
    inner = rf"|\({_nested(depth - 1)}\)" if depth else ""
    return rf"(?:[^()\s]++{inner})*+"


_LINK = (
    r"\[(?=[^\[\]\n]*+\][(\[])"
    rf"|\]\((?:[^()\n]*|{_nested(3)})\)"
    r"|\]\[[^\[\]\n]*\]"
)
"""A link without its text: the opening bracket, and the target or label."""
_MARKUP = (
    re.compile(_ENTITY),
    re.compile(f"{_TAG}|{_ENTITY}"),
    re.compile(f"{_COMMENT}|{_TAG}|{_LINK}|{_ENTITY}"),
)
"""Removed or decoded in each reading: entities only, tags too, all markup."""

_END_OF_PARAGRAPH = re.compile(r"\n(?=[ \t]*\n)")
_END_OF_BLOCK = re.compile(
    r"(?<=[.!?])\n|(?<=[.!?] )\n|\n(?=[ \t>]*(?:[-+*#|]|[0-9]{1,3}[.)])[ \t#])"
)

_BETWEEN_LETTERS = dict.fromkeys(map(ord, f" {DIGITS}{PARAGRAPH}"))
_ENDS_IN_NEW = re.compile(r"\b(?:a|forek|k|re|si)new\b", re.IGNORECASE)
"""Words that end in "new"; "thenew" does not."""


def _letters(word: str) -> list[str]:
    """A pattern for each letter of a word, ambiguous characters included."""
    patterns = []
    for letter in word:
        either = "".join(sign for sign, letters in EITHER.items() if letter in letters)
        pattern = f"[li{either}]" if letter == "l" else f"[{letter}{either}]"
        patterns.append(f"(?:{pattern}|vv)" if letter == "w" else pattern)
    return patterns


def _word(*words: str) -> str:
    return "|".join("".join(_letters(word)) for word in words)


def _spaced(word: str) -> str:
    """A pattern for a word, also with its letters apart."""
    return f"{_word(word)}|(?<![a-z]){f'[ {DIGITS}]+'.join(_letters(word))}(?![a-z])"


_filler = f"(?:{_word(*sorted(FILLERS, reverse=True))})*+"
_PATTERNS = (
    (
        {
            IGNORE: re.compile(
                f"{_word('ignore')}{_filler}{_word('previous')}{_filler}{_word('instructions')}"
            ),
            DISREGARD: re.compile(f"{_word('disregard')}{_filler}{_word('above')}"),
        },
        {**_BETWEEN_LETTERS, ord(":"): None, ord(BLOCK): None},
    ),
    ({NEW: re.compile(f"{_word('newinstructions')}:")}, _BETWEEN_LETTERS),
)
"""Phrases by name, and the characters that are removed before they are searched."""
_DISREGARD = re.compile(_word("disregard"))
_DISREGARD_FAR = re.compile(
    f"(?P<first>{_spaced('disregard')})|(?P<last>{_spaced('above')})|[{PARAGRAPH}{BLOCK}]"
)


class Phrase(NamedTuple):
    name: str
    at: int


def find_phrases(text: str) -> list[Phrase]:
    """The first occurrence of each phrase in `text`, in order."""
    marked = _marked(text)
    found: dict[str, int] = {}
    seen: set[str] = set()
    for markup in _MARKUP:
        reading = _Reading.of(marked, markup)
        for letters in {reading.text, as_letters(reading.text)} - seen:
            seen.add(letters)
            for name, index in _in_letters(letters):
                at = reading.origin(index)
                found[name] = min(at, found.get(name, at))
    return sorted((Phrase(name, at) for name, at in found.items()), key=lambda phrase: phrase.at)


def _marked(text: str) -> str:
    """Mark ends of paragraphs and sentences, and mask words in "new"; same length."""
    lines = text.replace("\r\n", " \n").replace("\r", "\n")
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
            pieces.append((match.start(), _decoded(match)))
            at = match.end()
        pieces.append((at, text[at:]))
        return cls("".join(readings(piece) for _, piece in pieces), pieces)

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


def _decoded(match: re.Match[str]) -> str:
    """The character of an entity; empty for markup."""
    from html import unescape  # a large table, and few names and descriptions have entities

    if match["decimal"]:
        return unescape(f"&#{match['decimal']};")
    if match["hexadecimal"]:
        return unescape(f"&#x{match['hexadecimal']};")
    return unescape(f"&{match['named']};") if match["named"] else ""


def _in_letters(read: str) -> Iterator[tuple[str, int]]:
    """Each phrase in a reading, with its index."""
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
    for match in _DISREGARD_FAR.finditer(read):
        if match.lastgroup == "first":
            start = match.start() if start is None else start
        elif match.lastgroup is None:
            start = None
        elif start is not None:
            return start
    return None
