"""Whole sentences from the start of a text."""

import re

_END = re.compile(r"[.!?][\"')\]*_`]*(?=\s)|[。！？][”’）」』]*|\n[ \t]*(?=\n)")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|Dr|Mr|Mrs|No)|\b[A-Za-z])\.$")
_LONGEST_ABBREVIATION = 8


def whole_sentences(text: str, longest: int) -> str:
    """`text`, or as many whole sentences of its start as fit; empty if not even one does."""
    if len(text) <= longest:
        return text
    last = 0
    for end in _END.finditer(text, 0, min(len(text), longest + 1)):
        before = text[max(0, end.end() - _LONGEST_ABBREVIATION) : end.end()]
        if end.end() <= longest and not _ABBREVIATION.search(before):
            last = end.end()
    return text[:last].rstrip()
