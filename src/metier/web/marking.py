"""Texts in pieces, with those words marked that matched."""

import re
from collections.abc import Collection
from functools import lru_cache

from metier.core.terms import terms

_WORD = re.compile(r"\w+")


@lru_cache(maxsize=50_000)
def _stems(word: str) -> tuple[str, ...]:
    return tuple(terms(word))


def marked_words(
    text: str, matched: Collection[str], related: Collection[str]
) -> list[dict[str, str]]:
    """The pieces of a text: each has `text` and `mark`: `matched`, `related` or empty."""
    pieces: list[dict[str, str]] = []
    at = 0
    for found in _WORD.finditer(text):
        stems = _stems(found[0])
        is_matched = any(stem in matched for stem in stems)
        mark = "matched" if is_matched else "related" if _any(stems, related) else ""
        if mark:
            if found.start() > at:
                pieces.append({"text": text[at : found.start()], "mark": ""})
            pieces.append({"text": found[0], "mark": mark})
            at = found.end()
    if at < len(text):
        pieces.append({"text": text[at:], "mark": ""})
    return pieces


def _any(stems: Collection[str], wanted: Collection[str]) -> bool:
    return any(stem in wanted for stem in stems)
