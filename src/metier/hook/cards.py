"""Cards for one prompt, from the tables of `metier.index.cards`. Light: runs for every prompt."""

from __future__ import annotations

from itertools import pairwise

from metier.core.relevance import (
    SCORERS,
    folded_text,
    forced_places,
    hybrid_score,
    match_for,
    objection,
    occurrences,
    rank,
    without_messages,
)
from metier.storage.lightjson import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from metier.hook.catalog_file import ReadOnlyCatalog

_GRAM = 4
_SELECT = (
    "SELECT key, id, priority, threshold, facts FROM card JOIN document USING (key)"
    " WHERE state = 'active' AND origin != 'untrusted'"
    " AND json_extract(data, '$.enabled') IS NOT 0"
)


class ConsideredCard:
    """One card, its score and its outcome."""

    def __init__(self, key: int, id: str, priority: float, threshold: float, facts: str) -> None:
        self.key = key
        self.id = id
        self.priority = priority
        self.threshold = threshold
        self.facts: dict[str, Any] = parse(facts)
        self.score = 0.0
        self.outcome = ""
        self.tokens = 0

    def as_row(self) -> list[Any]:
        return [self.id, self.score, self.threshold, self.outcome, self.tokens]


def choose_cards(
    catalog: ReadOnlyCatalog,
    messages: Sequence[str],
    settings: dict[str, Any],
    scorer: str,
    session_type: str,
    time_of_day: str,
) -> list[ConsideredCard]:
    """The chosen cards in order, then the others with a reason as outcome."""
    forced = forced_places(settings["forceInclude"])
    own = settings["confidenceThreshold"]
    given = (session_type, time_of_day, settings["userTier"], settings["environmentType"])
    text = folded_text(messages)
    is_ranked = scorer == "hybrid" and bool(messages)
    fitting = _fitting(catalog, messages[-1], settings["skillThreshold"]) if is_ranked else {}
    cards = _considered(catalog, text if messages and own != 0 else None, forced, fitting)
    for card in cards:
        card.score = _score(card, text, scorer) if messages else without_messages(card.priority)
        if is_ranked:
            card.score = hybrid_score(card.score, fitting.get(card.key, 0.0))
        card.threshold = card.threshold if own is None else own
        conditions = zip(card.facts["conditions"], given, strict=True)
        card.outcome = objection(
            card.id, card.score, card.threshold, conditions, settings["exclude"], forced
        )
    chosen = [card for card in cards if not card.outcome]
    others = [card for card in cards if card.outcome]
    chosen.sort(key=lambda card: rank(card.id, card.priority, card.score, forced))
    others.sort(key=lambda card: (-card.score, card.id))
    return chosen + others


def _fitting(catalog: ReadOnlyCatalog, message: str, threshold: float) -> dict[int, float]:
    """The keys of the cards that fire for a message, with their evidence."""
    from metier.core.ranking import evidence_of  # only where the scorer is hybrid
    from metier.storage.rank_pool import StoredPool

    return evidence_of(message, StoredPool(catalog.rows, "card"), threshold)


def _considered(
    catalog: ReadOnlyCatalog, text: str | None, forced: Iterable[str], fitting: Iterable[int]
) -> list[ConsideredCard]:
    """The cards that may be chosen for `text`; all without a text."""
    if text is None:
        rows = catalog.rows(_SELECT)
    else:
        keys = _keys_by_keyword(catalog, text).union(fitting)
        keys.update(key for (key,) in catalog.rows("SELECT key FROM card WHERE threshold <= 0"))
        rows = catalog.rows_for(f"{_SELECT} AND key", keys)
    known = {row[1] for row in rows}
    rows += catalog.rows_for(f"{_SELECT} AND id", [one for one in forced if one not in known])
    return [ConsideredCard(*row) for row in rows]


def _keys_by_keyword(catalog: ReadOnlyCatalog, text: str) -> set[int]:
    """Keys of the cards with a keyword in `text`.

    Keywords are stored by their first two characters; most are ruled out by their first four.
    """
    if not catalog.rows("SELECT 1 FROM card LIMIT 1"):
        return set()
    starts = {*text, *(one + two for one, two in set(pairwise(text)))}
    grams = {text[at : at + _GRAM] for at in range(len(text) - _GRAM + 1)}
    keys: set[int] = set()
    for (lines,) in catalog.rows_for("SELECT keywords FROM card_keyword WHERE start", starts):
        for line in lines.split("\n"):
            keyword, _, owners = line.partition("\t")
            if "\\" in keyword:
                keyword = keyword.replace("\\\\", "\0").replace("\\t", "\t").replace("\\n", "\n")
                keyword = keyword.replace("\0", "\\")
            if (len(keyword) < _GRAM or keyword[:_GRAM] in grams) and keyword in text:
                keys.update(map(int, owners.split()))
    return keys


def _score(card: ConsideredCard, text: str, scorer: str) -> float:
    match = match_for(scorer, card.facts["match"])
    return SCORERS[scorer]([occurrences(one, text, match) for one in card.facts["keywords"]])
