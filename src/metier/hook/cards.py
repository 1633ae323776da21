"""Cards for one prompt, by the rules of `metier.select.cards`. Light: runs for every prompt."""

from __future__ import annotations

from itertools import pairwise

from metier.core.relevance import (
    SCORERS,
    folded_text,
    match_for,
    occurrences,
    without_messages,
)
from metier.storage.lightjson import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from metier.hook.store import ReadOnlyCatalogue

_GRAM = 4
_COLUMNS = "key, id, priority, threshold, facts FROM card"


class MetCard:
    """One card that was met, and what became of it."""

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
    catalogue: ReadOnlyCatalogue,
    messages: Sequence[str],
    settings: dict[str, Any],
    scorer: str,
    session_type: str,
    time_of_day: str,
) -> list[MetCard]:
    """Every card that was met, those that pass first and in their order; the others say why not."""
    forced = {one: place for place, one in enumerate(dict.fromkeys(settings["forceInclude"]))}
    own = settings["confidenceThreshold"]
    cards = _met(catalogue, messages, scorer, forced, takes_all=own == 0)
    context = {
        "sessionTypes": session_type,
        "timeOfDay": time_of_day,
        "userTier": settings["userTier"],
        "environmentType": settings["environmentType"],
    }
    for card in cards:
        card.threshold = card.threshold if own is None else own
        card.outcome = _objection(card, context, settings["exclude"], forced)
    return sorted(
        cards,
        key=lambda card: (
            card.outcome != "",
            forced.get(card.id, len(forced)) if not card.outcome else 0,
            -card.priority if not card.outcome else 0.0,
            -card.score,
            card.id,
        ),
    )


def _met(
    catalogue: ReadOnlyCatalogue,
    messages: Sequence[str],
    scorer: str,
    forced: Iterable[str],
    *,
    takes_all: bool,
) -> list[MetCard]:
    """The cards that may pass; a threshold of 0 takes cards that no keyword meets."""
    text = folded_text(messages)
    if not messages or takes_all:
        rows = catalogue.rows(f"SELECT {_COLUMNS} JOIN document USING (key) WHERE {_COUNTS}")
    else:
        keys = _keys_met(catalogue, text)
        keys.update(_keys_without_threshold(catalogue))
        sql = f"SELECT {_COLUMNS} JOIN document USING (key) WHERE {_COUNTS} AND key"
        rows = catalogue.rows_for(sql, keys)
    known = {row[1] for row in rows}
    missing = [one for one in forced if one not in known]
    if missing:
        sql = f"SELECT {_COLUMNS} JOIN document USING (key) WHERE {_COUNTS} AND id"
        rows += catalogue.rows_for(sql, missing)
    cards = [MetCard(*row) for row in rows]
    for card in cards:
        card.score = _score(card, text, scorer) if messages else without_messages(card.priority)
    return cards


_COUNTS = "state = 'active' AND origin != 'untrusted' AND json_extract(data, '$.enabled') IS NOT 0"


def _keys_without_threshold(catalogue: ReadOnlyCatalogue) -> list[int]:
    """Keys of the cards that pass without any keyword."""
    found = [row[0] for row in catalogue.rows("SELECT key FROM card WHERE threshold <= 0")]
    if not found:
        return []
    sql = f"SELECT key FROM card JOIN document USING (key) WHERE {_COUNTS} AND key"
    return [row[0] for row in catalogue.rows_for(sql, found)]


def _keys_met(catalogue: ReadOnlyCatalogue, text: str) -> set[int]:
    """Keys of the cards one of whose keywords stands in `text`.

    Keywords are kept by their first two characters; most others are ruled out by their first four.
    """
    if not catalogue.rows("SELECT 1 FROM card LIMIT 1"):
        return set()
    starts = {*text, *(one + two for one, two in set(pairwise(text)))}
    grams = {text[at : at + _GRAM] for at in range(len(text) - _GRAM + 1)}
    keys: set[int] = set()
    for (lines,) in catalogue.rows_for("SELECT keywords FROM card_keyword WHERE start", starts):
        for line in lines.split("\n"):
            keyword, _, owners = line.partition("\t")
            if "\\" in keyword:
                keyword = _unescaped(keyword)
            if (len(keyword) < _GRAM or keyword[:_GRAM] in grams) and keyword in text:
                keys.update(map(int, owners.split()))
    return keys


def _unescaped(keyword: str) -> str:
    marked = keyword.replace("\\\\", "\0").replace("\\t", "\t").replace("\\n", "\n")
    return marked.replace("\0", "\\")


def _score(card: MetCard, text: str, scorer: str) -> float:
    match = match_for(scorer, card.facts["match"])
    hits = [occurrences(keyword, text, match) for keyword in card.facts["keywords"]]
    return SCORERS[scorer](hits)


def _objection(
    card: MetCard, context: dict[str, str], exclude: Sequence[str], forced: dict[str, int]
) -> str:
    """Why a card is not handed over; empty when it is."""
    if card.id in exclude:
        return "excluded"
    if card.id in forced:
        return ""
    for name, given in context.items():
        wanted = card.facts[name]
        if wanted and given not in wanted:
            return "session-type" if name == "sessionTypes" else "trigger"
    return "below-threshold" if card.score < round(card.threshold, 12) else ""
