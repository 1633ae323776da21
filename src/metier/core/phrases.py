"""The three phrases with which a text takes over an agent (spec 5), in any disguise.

A text is read as it stands, without its tags, and without all markup that a page does not show.
Each reading is reduced to letters, once as they are and once with digits taken for the letters
that they resemble. Every step takes linear time.
"""

import html
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from metier.core.lookalikes import BLOCK, DIGITS, PARAGRAPH, length_read, readings

FILLERS = ("all", "any", "the", "these", "those", "my", "your", "of")
"""Words that may stand inside a phrase without changing what it says."""
IGNORE, DISREGARD, NEW = (
    "ignore previous instructions",
    "disregard ... above",
    "new instructions:",
)

_ENTITY = (
    r"&(?:amp;)*(?:#0*(?P<decimal>[0-9]{1,7})(?![0-9])"
    r"|#[xX]0*(?P<hexadecimal>[0-9A-Fa-f]{1,6})(?![0-9A-Fa-f])"
    r"|(?P<named>[A-Za-z][A-Za-z0-9]{1,31})(?=;));?"
)
_TAG = r"</?[A-Za-z|?][^<>]*>"
_COMMENT = r"<!--[^<]*?-->"
_ADDRESS = r"\]\([^()\n]*\)"
_MARKUP = tuple(
    re.compile(pattern)
    for pattern in (
        _ENTITY,
        f"{_TAG}|{_ENTITY}",
        f"{_COMMENT}|{_TAG}|{_ADDRESS}|{_ENTITY}",
    )
)
"""What is decoded or left out in each reading: nothing, tags, all that a page does not show."""

_END_OF_PARAGRAPH = re.compile(r"\n(?=[ \t]*\n)")
_END_OF_BLOCK = re.compile(
    r"(?<=[.!?])\n|(?<=[.!?] )\n|\n(?=[ \t>]*(?:[-+*#|]|[0-9]{1,3}[.)])[ \t#])"
)

_LOOSE = str.maketrans(DIGITS + "l", "oieastbasii" + "i")
"""Digits and signs as the letters they resemble; an l as the I it may be."""
_filler = "|".join(sorted({*FILLERS, *(one.replace("l", "i") for one in FILLERS)}, reverse=True))
_BETWEEN_LETTERS = dict.fromkeys(map(ord, f" {DIGITS}{PARAGRAPH}"))
_PATTERNS = (
    (
        {
            IGNORE: re.compile(f"ignore(?:{_filler})*+previous(?:{_filler})*+instructions"),
            DISREGARD: re.compile(f"disregard(?:{_filler})*+above"),
        },
        {**_BETWEEN_LETTERS, ord(":"): None, ord(BLOCK): None},
    ),
    ({NEW: re.compile("newinstructions:")}, _BETWEEN_LETTERS),
)
"""Phrases by name, and what is dropped from a reading before they are looked for."""


def _spaced(word: str) -> str:
    """A pattern for a word, also with all its letters apart."""
    return f"{word}|(?<![a-z]){' +'.join(word)}(?![a-z])"


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
        for letters in {reading.text, reading.text.translate(_LOOSE)} - seen:
            seen.add(letters)
            for name, place in _in_letters(letters):
                at = reading.origin(place)
                found[name] = min(at, found.get(name, at))
    return sorted((Phrase(name, at) for name, at in found.items()), key=lambda one: one.at)


def _marked(text: str) -> str:
    """`text` with a mark in place of each line end that ends a paragraph, or a sentence."""
    lines = text.replace("\r\n", " \n").replace("\r", "\n")
    return _END_OF_BLOCK.sub(BLOCK, _END_OF_PARAGRAPH.sub(PARAGRAPH, lines))


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
    for patterns, dropped in _PATTERNS:
        kept = read.translate(dropped)
        for name, pattern in patterns.items():
            match = pattern.search(kept)
            if match is not None:
                yield name, _nth_kept(read, dropped, match.start())
    place = _disregard_far(read)
    if place is not None:
        yield DISREGARD, place


def _nth_kept(read: str, dropped: Mapping[int, None], number: int) -> int:
    kept = (place for place, character in enumerate(read) if ord(character) not in dropped)
    return next(place for count, place in enumerate(kept) if count == number)


def _disregard_far(read: str) -> int | None:
    """Where `disregard` stands with `above` after it, on its line or in its sentence."""
    if "disregard" not in read.replace(" ", ""):
        return None
    start: int | None = None
    for match in _DISREGARD_FAR.finditer(read):
        if match.lastgroup == "first":
            start = match.start() if start is None else start
        elif match.lastgroup is None:
            start = None
        elif start is not None:
            return start
    return None
