"""Texts in pieces, with those words marked that matched."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from markupsafe import Markup, escape

from metier.core.terms import terms
from metier.web.words import shown

_WORD = re.compile(r"\w+")


@lru_cache(maxsize=50_000)
def stems(word: str) -> tuple[str, ...]:
    return tuple(terms(word))


def pieces_html(pieces: Sequence[Mapping[str, str]]) -> Markup:
    """The pieces of a text, escaped, with marks around those that matched."""
    parts = [
        f'<mark class="{one["mark"]}">{escape(shown(one["text"]))}</mark>'
        if one["mark"]
        else str(escape(shown(one["text"])))
        for one in pieces
    ]
    return Markup("".join(parts))


def marked_words(
    text: str, matched: Collection[str], related: Collection[str]
) -> list[dict[str, str]]:
    """The pieces of a text: each has `text` and `mark`: `matched`, `related` or empty."""
    pieces: list[dict[str, str]] = []
    starts, at = {stem[:2] for stem in (*matched, *related)}, 0
    for found in _WORD.finditer(text):
        word = found[0]
        if word[:2].lower() not in starts and (word.islower() or word.istitle()):
            continue  # a stem starts as its words do
        own = stems(word)
        mark = "matched" if _any(own, matched) else "related" if _any(own, related) else ""
        if mark:
            if found.start() > at:
                pieces.append({"text": text[at : found.start()], "mark": ""})
            pieces.append({"text": found[0], "mark": mark})
            at = found.end()
    if at < len(text):
        pieces.append({"text": text[at:], "mark": ""})
    return pieces


def _any(own: tuple[str, ...], wanted: Collection[str]) -> bool:
    return own[0] in wanted if len(own) == 1 else any(stem in wanted for stem in own)
