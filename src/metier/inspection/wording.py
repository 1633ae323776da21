"""Wording that turns an agent against its user: known phrases and what resembles them.

Patterns, written after public collections of attacks: new wording passes. The time grows with the
text only.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from metier.inspection.code import line_around
from metier.inspection.patterns import sections
from metier.safety.disguise import find_overrides
from metier.safety.naming import may_be_named

_COMMENT = re.compile(r"<!--(.*?)(?:-->|\Z)", re.DOTALL)
_MOST_COMMENT = 200
_WORD = re.compile(r"[^\W\d_]{3,}")
_BLANKS = r"[\s*_\"'`]{1,6}"


class Wording(NamedTuple):
    code: str
    message: str
    line: int
    quote: str


@cache
def _kinds() -> dict[str, re.Pattern[str]]:
    """Message → pattern."""
    found = sections("wording")
    return {one.heading.partition(" ")[2]: one.compiled(_prepared) for one in found}


def _prepared(pattern: str) -> str:
    """A pattern at the start of a word, in which blanks may be several, or marks of Markdown."""
    return r"(?<!\w)(?:" + pattern.replace(" ", _BLANKS) + ")"


def wordings(text: str, *, is_markdown: bool) -> Iterator[Wording]:
    """What a text says against its reader, and what it hides; each kind once."""
    if not may_be_named(text):
        yield from _overrides(text)
    for message, pattern in _kinds().items():
        match = pattern.search(text)
        if match is not None:
            yield _wording("IN102", message, text, match.start())
    if is_markdown:
        yield from _comments(text)


def _overrides(text: str) -> Iterator[Wording]:
    """Injection phrases, and the first of the invisible characters."""
    found = find_overrides(text)
    lines = text.split("\n")
    for one in found:
        if one.code == "SZ801":
            yield Wording("IN101", one.message, one.line, lines[one.line - 1])
    hidden = [one for one in found if one.code != "SZ801"]
    if hidden:
        more = f", and {len(hidden) - 1} others" if len(hidden) > 1 else ""
        yield Wording("IN103", f"{hidden[0].message}{more}", hidden[0].line, "")


def _wording(code: str, message: str, text: str, at: int) -> Wording:
    return Wording(code, message, text.count("\n", 0, at) + 1, line_around(text, at))


def _comments(text: str) -> Iterator[Wording]:
    """Comments with words in them: a reader of the page does not see these."""
    found = [one for one in _COMMENT.finditer(text) if _WORD.search(one[1])]
    if found:
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        number = text.count("\n", 0, found[0].start()) + 1
        quote = " ".join(found[0][1][:_MOST_COMMENT].split())
        yield Wording("IN104", f"an HTML comment, which a page does not show{more}", number, quote)
