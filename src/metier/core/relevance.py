"""Which cards a conversation needs (spec 5): scores and rules. Light: hooks load it."""

from __future__ import annotations

from metier.core.text import is_part_of_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

RATIO_WEIGHT, DENSITY_WEIGHT = 0.7, 0.3
FULL_DENSITY = 100
DECIMALS = 12
LONG_KEYWORD = 100
"""Longer keywords are searched in one pass."""


def folded_text(messages: Iterable[str]) -> str:
    return " ".join(messages).casefold()


def recent(messages: Sequence[str], most: int) -> list[str]:
    """The last `most` messages that are not blank."""
    return [message for message in messages if message.strip()][-most:]


def occurrences(keyword: str, text: str, match: str) -> int:
    """How often `keyword` occurs in `text`, without overlaps; both are folded."""
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
    free = 0
    for at in starts(keyword, text):
        if at >= free and is_alone(text, at, at + len(keyword)):
            yield at
            free = at + len(keyword)


def starts(keyword: str, text: str) -> Iterable[int]:
    """Where a keyword starts in `text`, with overlaps (Knuth, Morris and Pratt)."""
    same = borders(keyword)
    size = 0
    for at, char in enumerate(text):
        while size and (size == len(keyword) or keyword[size] != char):
            size = same[size - 1]
        size += keyword[size] == char
        if size == len(keyword):
            yield at + 1 - size


def borders(keyword: str) -> list[int]:
    """For each prefix of the keyword, the length of its longest border."""
    same = [0]
    for char in keyword[1:]:
        size = same[-1]
        while size and keyword[size] != char:
            size = same[size - 1]
        same.append(size + (keyword[size] == char))
    return same


def is_alone(text: str, start: int, end: int) -> bool:
    """Whether no letter, mark or digit is next to this part of `text`."""
    before = start > 0 and is_part_of_word(text[start - 1])
    return not before and not (end < len(text) and is_part_of_word(text[end]))


def without_messages(priority: float) -> float:
    return round(priority / 100, DECIMALS)


def spec_score(hits: Sequence[int]) -> float:
    """The formula of spec 5; `hits` counts the occurrences of each keyword of a card."""
    matched = sum(1 for count in hits if count)
    if not matched:
        return 0.0
    density = min(sum(hits) / FULL_DENSITY, 1.0)
    return round(matched / len(hits) * RATIO_WEIGHT + density * DENSITY_WEIGHT, DECIMALS)


def saturating_score(hits: Sequence[int]) -> float:
    """The mean over the card's keywords; a keyword that occurs k times counts 1 − 2^−k."""
    return round(sum(1 - 2.0**-count for count in hits) / max(1, len(hits)), DECIMALS)


SCORERS: dict[str, Callable[[Sequence[int]], float]] = {
    "spec": spec_score,
    "saturating": saturating_score,
    "hybrid": saturating_score,
}
"""What keywords give; `hybrid` adds what the ranker finds."""
HALF_EVIDENCE = 2.8
"""The evidence of a card that scores 0.5 by it."""


def hybrid_score(by_keywords: float, evidence: float) -> float:
    """The higher of two scores: of keywords, and of the evidence of a card that fires, or 0."""
    return max(by_keywords, round(evidence / (evidence + HALF_EVIDENCE), DECIMALS))


def match_for(scorer: str, match: str) -> str:
    """How a scorer matches keywords: `saturating` and `hybrid` always take whole words."""
    return "word" if scorer in ("saturating", "hybrid") else match


def time_of_day(hour: int) -> str:
    names = ("night", "morning", "afternoon", "evening")
    return names[(hour >= 5) + (hour >= 12) + (hour >= 18)] if hour < 23 else "night"


def budget_for(length: int, max_tokens: int, budgets: Iterable[tuple[int, int]]) -> int:
    """`budgets` are pairs of a minimum length and its tokens."""
    reached = [(least, tokens) for least, tokens in budgets if least <= length]
    return max(reached)[1] if reached else max_tokens


def objection(
    card: str,
    score: float,
    threshold: float,
    conditions: Iterable[tuple[Collection[str], str]],
    exclude: Collection[str],
    forced: Collection[str],
) -> str:
    """Why a card is not chosen; empty when it is.

    `conditions` are pairs of the values that the card accepts and the value given; the first
    is the session type. A card that accepts none accepts all.
    """
    if card in exclude:
        return "excluded"
    if card in forced:
        return ""
    for number, (accepted, given) in enumerate(conditions):
        if accepted and given not in accepted:
            return "trigger" if number else "session-type"
    return "below-threshold" if score < round(threshold, DECIMALS) else ""


def forced_places(force_include: Iterable[str]) -> dict[str, int]:
    """Card → its position in `force_include`."""
    return {card: place for place, card in enumerate(dict.fromkeys(force_include))}


def rank(
    card: str, priority: float, score: float, forced: Mapping[str, int]
) -> tuple[float, float, float, str]:
    """Sort key: forced cards first, then by priority, score and id."""
    return forced.get(card, len(forced)), -priority, -score, card
