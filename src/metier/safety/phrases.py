"""The three phrases with which a text takes over an agent (spec 5), in any disguise.

A text is read as it stands, without its tags, and without all markup that a page does not show.
Each reading is reduced to letters, once as they are and once with digits and signs taken for the
letters that they resemble. Every step takes linear time.
"""

import html
import re
from collections.abc import Iterator, Mapping
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
"""Words that may stand inside a phrase without changing what it says."""
IGNORE, DISREGARD, NEW = (
    "ignore previous instructions",
    "disregard ... above",
    "new instructions:",
)

_AMPERSAND = r"&(?:(?:amp|#0*38|#[xX]0*26);)*"
"""Also one that is written as an entity itself, once or more often."""
_ENTITY = (
    rf"{_AMPERSAND}(?:#0*(?P<decimal>[0-9]{{1,7}})(?![0-9])"
    r"|#[xX]0*(?P<hexadecimal>[0-9A-Fa-f]{1,6})(?![0-9A-Fa-f])"
    r"|(?P<named>[A-Za-z][A-Za-z0-9]{1,31})(?=;));?"
)
_TAG = r"</?[A-Za-z|?][^<>]*>"
_COMMENT = r"<!--[^<]*?-->"


def _nested(depth: int) -> str:
    """A pattern for what stands in parentheses, with parentheses up to so deep inside."""
    inner = rf"|\({_nested(depth - 1)}\)" if depth else ""
    return rf"(?:[^()\s]++{inner})*+"


_LINK = (
    r"\[(?=[^\[\]\n]*+\][(\[])"
    rf"|\]\((?:[^()\n]*|{_nested(3)})\)"
    r"|\]\[[^\[\]\n]*\]"
)
"""All of a link but its text: the bracket before it, and where it leads to or its label."""
_MARKUP = tuple(
    re.compile(pattern)
    for pattern in (
        _ENTITY,
        f"{_TAG}|{_ENTITY}",
        f"{_COMMENT}|{_TAG}|{_LINK}|{_ENTITY}",
    )
)
"""What is decoded or left out in each reading: nothing, tags, all that a page does not show."""

_END_OF_PARAGRAPH = re.compile(r"\n(?=[ \t]*\n)")
_END_OF_BLOCK = re.compile(
    r"(?<=[.!?])\n|(?<=[.!?] )\n|\n(?=[ \t>]*(?:[-+*#|]|[0-9]{1,3}[.)])[ \t#])"
)

_BETWEEN_LETTERS = dict.fromkeys(map(ord, f" {DIGITS}{PARAGRAPH}"))
_ENDS_IN_NEW = re.compile(r"\b(?:a|forek|k|re|si)new\b", re.IGNORECASE)
"""Words of which "new" is only the end; in "thenew" it is not."""


def _letters(word: str) -> list[str]:
    """A pattern for each letter of a word, with what may stand for several letters."""
    patterns = []
    for letter in word:
        either = "".join(sign for sign, letters in EITHER.items() if letter in letters)
        pattern = f"[li{either}]" if letter == "l" else f"[{letter}{either}]"
        patterns.append(f"(?:{pattern}|vv)" if letter == "w" else pattern)
    return patterns


def _word(*words: str) -> str:
    return "|".join("".join(_letters(word)) for word in words)


def _spaced(word: str) -> str:
    """A pattern for a word, also with all its letters apart."""
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
"""Phrases by name, and what is dropped from a reading before they are looked for."""
_DISREGARD = re.compile(_word("disregard"))
_DISREGARD_FAR = re.compile(
    f"(?P<first>{_spaced('disregard')})|(?P<last>{_spaced('above')})|[{PARAGRAPH}{BLOCK}]"
)


class Phrase(NamedTuple):
    """One of the three phrases, and where it starts."""

    name: str
    at: int


def find_phrases(text: str) -> list[Phrase]:
    """The first of each of the three phrases in `text`, in order."""
    marked = _marked(text)
    found: dict[str, int] = {}
    seen: set[str] = set()
    for markup in _MARKUP:
        reading = _Reading.of(marked, markup)
        for letters in {reading.text, as_letters(reading.text)} - seen:
            seen.add(letters)
            for name, place in _in_letters(letters):
                at = reading.origin(place)
                found[name] = min(at, found.get(name, at))
    return sorted((Phrase(name, at) for name, at in found.items()), key=lambda one: one.at)


def _marked(text: str) -> str:
    """`text` with a mark in place of each line end that ends a paragraph, or a sentence.

    Words that only end like the start of a phrase are blotted out. The length stays.
    """
    lines = text.replace("\r\n", " \n").replace("\r", "\n")
    marked = _END_OF_BLOCK.sub(BLOCK, _END_OF_PARAGRAPH.sub(PARAGRAPH, lines))
    return _ENDS_IN_NEW.sub(lambda word: OTHER * len(word[0]), marked)


class _Reading(NamedTuple):
    """A text as it is read, and the pieces that it was read from."""

    text: str
    pieces: list[tuple[int, str]]
    """Where a piece starts, and its characters; an entity is one piece, decoded."""

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

    def origin(self, place: int) -> int:
        """Where in the text the character stands that was read at `place`."""
        for start, piece in self.pieces:
            length = len(readings(piece))
            if place >= length:
                place -= length
                continue
            for offset, character in enumerate(piece):
                place -= length_read(character)
                if place < 0:
                    return start + offset
        return 0


def _decoded(match: re.Match[str]) -> str:
    """What an entity stands for; nothing for markup."""
    if match["decimal"]:
        return html.unescape(f"&#{match['decimal']};")
    if match["hexadecimal"]:
        return html.unescape(f"&#x{match['hexadecimal']};")
    return html.unescape(f"&{match['named']};") if match["named"] else ""


def _in_letters(read: str) -> Iterator[tuple[str, int]]:
    """Each phrase in a reading, and where it starts there."""
    reduced = [(read.translate(dropped), dropped, patterns) for patterns, dropped in _PATTERNS]
    for kept, dropped, patterns in reduced:
        for name, pattern in patterns.items():
            match = pattern.search(kept)
            if match is not None:
                yield name, _nth_kept(read, dropped, match.start())
    if any(_DISREGARD.search(kept) for kept, *_ in reduced):
        place = _disregard_far(read)
        if place is not None:
            yield DISREGARD, place


def _nth_kept(read: str, dropped: Mapping[int, None], number: int) -> int:
    kept = (place for place, character in enumerate(read) if ord(character) not in dropped)
    return next(place for count, place in enumerate(kept) if count == number)


def _disregard_far(read: str) -> int | None:
    """Where `disregard` stands with `above` after it, on its line or in its sentence."""
    start: int | None = None
    for match in _DISREGARD_FAR.finditer(read):
        if match.lastgroup == "first":
            start = match.start() if start is None else start
        elif match.lastgroup is None:
            start = None
        elif start is not None:
            return start
    return None
