"""How relevant a card is for a text (spec 5): keywords, nothing else. Light: hooks load it."""

from __future__ import annotations

from metier.core.text import is_part_of_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

RATIO_WEIGHT, DENSITY_WEIGHT = 0.7, 0.3
FULL_DENSITY = 100
"""So many occurrences make the density 1."""
DECIMALS = 12
LONG_KEYWORD = 100
"""Characters from which on a keyword is looked for in another way."""


def folded_text(messages: Iterable[str]) -> str:
    """What keywords are looked for in."""
    return " ".join(messages).casefold()


def recent(messages: Sequence[str], most: int) -> list[str]:
    """The last `most` messages that are not blank, in their order."""
    return [message for message in messages if message.strip()][-most:]


def occurrences(keyword: str, text: str, match: str) -> int:
    """How often `keyword` stands in `text`, without overlaps; both are folded."""
    if match != "word" or keyword not in text:
        return text.count(keyword)
    return sum(1 for _ in _standing_alone(keyword, text))


def _standing_alone(keyword: str, text: str) -> Iterable[int]:
    if len(keyword) > LONG_KEYWORD:
        yield from _long_ones_alone(keyword, text)
        return
    at = text.find(keyword)
    while at >= 0:
        end = at + len(keyword)
        if is_alone(text, at, end):
            yield at
            at = text.find(keyword, end)
        else:
            at = text.find(keyword, at + 1)


def _long_ones_alone(keyword: str, text: str) -> Iterable[int]:
    """The same in one pass: to compare a long keyword at each place of a text takes too long."""
    free = 0
    for at in starts(keyword, text):
        if at >= free and is_alone(text, at, at + len(keyword)):
            yield at
            free = at + len(keyword)


def starts(keyword: str, text: str) -> Iterable[int]:
    """Where a keyword starts in `text`, overlaps and all (Knuth, Morris and Pratt)."""
    same = borders(keyword)
    size = 0
    for at, char in enumerate(text):
        while size and (size == len(keyword) or keyword[size] != char):
            size = same[size - 1]
        size += keyword[size] == char
        if size == len(keyword):
            yield at + 1 - size


def borders(keyword: str) -> list[int]:
    """For each beginning of the keyword, how much of its end is also its beginning."""
    same = [0]
    for char in keyword[1:]:
        size = same[-1]
        while size and keyword[size] != char:
            size = same[size - 1]
        same.append(size + (keyword[size] == char))
    return same


def is_alone(text: str, start: int, end: int) -> bool:
    """Whether no letter, mark or digit stands next to this part of `text`."""
    before = start > 0 and is_part_of_word(text[start - 1])
    return not before and not (end < len(text) and is_part_of_word(text[end]))


def without_messages(priority: float) -> float:
    """The score of a card when there is nothing to compare it with."""
    return round(priority / 100, DECIMALS)


def spec_score(hits: Sequence[int]) -> float:
    """The formula of spec 5; `hits` says for each keyword of a card how often it stands there."""
    matched = sum(1 for count in hits if count)
    if not matched:
        return 0.0
    density = min(sum(hits) / FULL_DENSITY, 1.0)
    return round(matched / len(hits) * RATIO_WEIGHT + density * DENSITY_WEIGHT, DECIMALS)


def saturating_score(hits: Sequence[int]) -> float:
    """A keyword that stands there k times counts 1 − 2^−k; the mean over the card's keywords."""
    return round(sum(1 - 2.0**-count for count in hits) / max(1, len(hits)), DECIMALS)


SCORERS: dict[str, Callable[[Sequence[int]], float]] = {
    "spec": spec_score,
    "saturating": saturating_score,
}


def match_for(scorer: str, match: str) -> str:
    """How keywords are matched for a scorer: `saturating` always takes whole words."""
    return "word" if scorer == "saturating" else match


def time_of_day(hour: int) -> str:
    """The part of the day that a card may ask for."""
    names = ("night", "morning", "afternoon", "evening")
    return names[(hour >= 5) + (hour >= 12) + (hour >= 18)] if hour < 23 else "night"


def budget_for(length: int, max_tokens: int, budgets: Iterable[tuple[int, int]]) -> int:
    """The token budget of a conversation of `length` characters.

    `budgets` are pairs of the length from which one holds and its tokens.
    """
    reached = [(least, tokens) for least, tokens in budgets if least <= length]
    return max(reached)[1] if reached else max_tokens
