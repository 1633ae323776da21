"""Token budgets: the one counter, and the one way to fit parts into a limit.

What is counted is always the whole text as it will be sent. The count of a text need not be the
sum of its parts' counts: a tokenizer may join or split at the seams.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from metier.errors import UsageError

CountTokens = Callable[[str], int]
Overflow = Literal["stop", "skip"]
"""After a part that does not fit: end there, or leave it out and try the next."""

CHARACTERS_PER_TOKEN = 4
_BREAKS = ("\n\n", "\n", " ")
"""Where a page ends most gladly."""


def count_tokens(text: str) -> int:
    """The default counter: four characters a token, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


class Fitted(NamedTuple):
    """What went into a budget."""

    text: str
    tokens: int
    """The count of `text`; 0 when nothing is in it."""
    taken: Sequence[int]
    """Places of the parts that are in, in order."""
    left: Sequence[int]
    """Places of the parts that are not."""


def fit(
    parts: Sequence[str],
    limit: int,
    *,
    separator: str,
    count: CountTokens = count_tokens,
    overflow: Overflow = "stop",
    start: str = "",
) -> Fitted:
    """Join `parts` in order, as long as the count of the joined text stays within `limit`.

    An empty part takes neither room nor a separator. `start` stands before the first part and
    counts with it; without any part the text is empty. Raises `UsageError` for a negative limit.
    """
    check_limit(limit)
    text, tokens = "", 0
    taken: list[int] = []
    for place, part in enumerate(parts):
        if part:
            before = len(text)
            text += f"{separator}{part}" if text else f"{start}{part}"
            size = count(text)
            if size > limit:
                text = text[:before]
                if overflow == "stop":
                    break
                continue
            tokens = size
        taken.append(place)
    inside = set(taken)
    left = [place for place in range(len(parts)) if place not in inside]
    return Fitted(text, tokens, taken, left)


def check_limit(limit: int) -> None:
    """Raise `UsageError` for a limit that no text can keep to."""
    if limit < 0:
        raise UsageError("a token limit cannot be negative", hint="give 0 or more")


def pages(text: str, limit: int, count: CountTokens = count_tokens) -> list[str]:
    """`text` cut into pieces of at most `limit` tokens; joined they are `text` again.

    A page ends after a blank line, else a line, else a word, unless that leaves it less than
    half full. Raises `UsageError` when not even one character fits.
    """
    check_limit(limit)
    out: list[str] = []
    start = 0
    while start < len(text):
        end = _end_of_page(text, start, limit, count)
        out.append(text[start:end])
        start = end
    return out or [""]


def _end_of_page(text: str, start: int, limit: int, count: CountTokens) -> int:
    fits, exceeds = start, start + 1
    while exceeds < len(text) and count(text[start:exceeds]) <= limit:
        fits, exceeds = exceeds, min(start + 2 * (exceeds - start), len(text))
    if exceeds == len(text) and count(text[start:]) <= limit:
        return exceeds
    while exceeds - fits > 1:
        middle = (fits + exceeds) // 2
        if count(text[start:middle]) <= limit:
            fits = middle
        else:
            exceeds = middle
    if fits == start:
        raise UsageError(
            f"not one character fits into {limit} tokens", hint="give a larger --max-tokens"
        )
    end = _last_break(text, start, fits)
    return end if count(text[start:end]) <= limit else fits


def _last_break(text: str, start: int, end: int) -> int:
    """Where the page from `start` ends best, at `end` or before."""
    for mark in _BREAKS:
        if mark == " " and text[end].isspace():
            return end
        found = text.rfind(mark, start, end)
        if found >= 0 and 2 * (found + len(mark) - start) >= end - start:
            return found + len(mark)
    return end
