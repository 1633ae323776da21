"""Token budgets: counting tokens, and fitting parts into a limit. Light: hooks load it.

The whole text is counted as it is sent: a tokenizer may join or split where parts meet.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal, TypeAlias

    CountTokens: TypeAlias = Callable[[str], int]
    Overflow: TypeAlias = Literal["stop", "skip"]
else:
    CountTokens = Overflow = object  # for annotations; hooks do not load `typing`

CHARACTERS_PER_TOKEN = 4
_BREAKS = ("\n\n", "\n", " ")
"""Where a page ends, best first."""


def count_tokens(text: str) -> int:
    """The default counter: four characters a token, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


class Fitted:
    """The text that fits, its tokens, and the positions of the parts in and out of it."""

    def __init__(self, text: str, tokens: int, taken: list[int], left: list[int]) -> None:
        self.text = text
        self.tokens = tokens
        self.taken = taken
        self.left = left

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fitted) and vars(self) == vars(other)


def fit(
    parts: Sequence[str],
    limit: int,
    *,
    separator: str,
    count: CountTokens = count_tokens,
    overflow: Overflow = "stop",
    start: str = "",
    fits: Callable[[str], bool] = lambda _: True,
) -> Fitted:
    """Join `parts` in order while the text stays within `limit` tokens and `fits` accepts it.

    A part that does not fit ends the text, or is skipped with `overflow="skip"`. An empty part
    takes no separator. `start` precedes the first part and counts with it. Raises `UsageError`
    for a negative limit.
    """
    check_limit(limit)
    text, tokens = "", 0
    taken: list[int] = []
    for number, part in enumerate(parts):
        if part:
            before = len(text)
            text += f"{separator}{part}" if text else f"{start}{part}"
            size = count(text)
            if size > limit or not fits(text):
                text = text[:before]
                if overflow == "stop":
                    break
                continue
            tokens = size
        taken.append(number)
    inside = set(taken)
    left = [number for number in range(len(parts)) if number not in inside]
    return Fitted(text, tokens, taken, left)


def check_limit(limit: int) -> None:
    if limit < 0:
        raise _usage_error("a token limit cannot be negative", "give 0 or more")


def _usage_error(message: str, hint: str) -> Exception:
    from metier.errors import UsageError  # no hook raises it

    return UsageError(message, hint=hint)


def pages(text: str, limit: int, count: CountTokens = count_tokens) -> list[str]:
    """`text` split into pages of at most `limit` tokens; joined they are `text`.

    A page ends after a blank line, a line or a word, unless it would be less than half full.
    Raises `UsageError` if not even one character fits.
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
        raise _usage_error(
            f"not even one character fits into {limit} tokens", "give a larger --max-tokens"
        )
    end = _last_break(text, start, fits)
    return end if count(text[start:end]) <= limit else fits


def _last_break(text: str, start: int, end: int) -> int:
    for mark in _BREAKS:
        if mark == " " and text[end].isspace():
            return end
        found = text.rfind(mark, start, end)
        if found >= 0 and 2 * (found + len(mark) - start) >= end - start:
            return found + len(mark)
    return end
