"""The skills that fit a prompt best: BM25 over name and routing text, from stored postings. Light.

A long prompt costs no more than a short one: only its rarest words count, and only so many
postings are read. What that costs in hits is measured in `benchmarks/hooks.py`.
"""

from __future__ import annotations

import sys

from metier.core.bm25 import K1, B, idf
from metier.core.stems import stems
from metier.core.text import routing_text
from metier.hosts.switches import honours_the_switch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from metier.hook.store import ReadOnlyCatalogue

MOST_TERMS = 48
MOST_POSTINGS = 12_000
NAME_BONUS = 0.75
"""What is added for a name that has all words of the prompt; less for one that has a part."""
FEW_TERMS = 8
"""A prompt of more words has more that fit by chance: its scores are worth less."""
_NUMBER_BYTES = 4
_LOOKED_AT = 60
"""Skills whose rows are read: some of them may be hidden, or tell apart equal scores."""


class Suggestion:
    """A skill that may be named."""

    def __init__(self, name: str, description: str, path: str, file: str, score: float) -> None:
        self.name = name
        self.description = description
        self.path = path
        """In the workspace, or behind the label of another root."""
        self.file = file
        """Where it really is, if that is elsewhere."""
        self.score = score
        self.outcome = ""

    def as_row(self) -> list[object]:
        return [self.name, self.path, self.score, self.outcome]


def suggest(
    catalogue: ReadOnlyCatalogue,
    messages: Sequence[str],
    most: int,
    threshold: float,
    host: str | None = None,
) -> list[Suggestion]:
    """The skills that fit the prompt, the last of `messages`; those above the threshold first.

    A score of 1 is what one word says that a single skill has; words in a name count more. Skills
    that only the user starts are left out, unless `host` starts them all the same.
    """
    counted = catalogue.setting("stems")
    if not counted or not messages:
        return []
    total, length = map(int, counted.split())
    if not total:
        return []
    terms = _rarest(catalogue, list(dict.fromkeys(stems(messages[-1]))))
    scores = _scores(catalogue, terms, total, length / total)
    unit = idf(total, 1) * max(1.0, len(terms) / FEW_TERMS) ** 0.5
    best = sorted(scores, key=lambda key: (-scores[key], key))[: max(_LOOKED_AT, 4 * most)]
    offered = "NOT manual" if honours_the_switch(host) else "1"
    rows = catalogue.rows_for(
        "SELECT key, name, description, when_to_use, path, iif(source = 'workspace', '', file)"
        " FROM document JOIN skill_size USING (key)"
        f" WHERE state = 'active' AND origin != 'untrusted' AND safe AND {offered} AND key",
        best,
    )
    weights = {stem: idf(total, found) for stem, found in terms}
    suggestions = [
        Suggestion(
            name,
            routing_text(about, when),
            path,
            file,
            round(scores[key] / unit + _bonus(name, weights), 6),
        )
        for key, name, about, when, path, file in rows
    ]
    suggestions.sort(key=lambda one: (-one.score, one.path))
    return _judged(suggestions[: most + 1], most, threshold)


def _rarest(catalogue: ReadOnlyCatalogue, wanted: Sequence[str]) -> list[tuple[str, int]]:
    """The stems that the fewest skills have, as many as may be looked at, with that number."""
    rows = catalogue.rows_for(
        "SELECT found, stem FROM skill_stem WHERE field = 'prose' AND stem", wanted
    )
    terms: list[tuple[str, int]] = []
    left = MOST_POSTINGS
    for found, stem in sorted(rows)[:MOST_TERMS]:
        if found > left:
            break
        left -= found
        terms.append((stem, found))
    return terms


def _scores(
    catalogue: ReadOnlyCatalogue, terms: Sequence[tuple[str, int]], total: int, mean: float
) -> dict[int, float]:
    scores: dict[int, float] = {}
    per_stem, fixed = K1 * B / mean, K1 * (1 - B)
    for stem, found in terms:
        rarity = idf(total, found) * (K1 + 1)
        numbers = _numbers(
            catalogue.rows(
                "SELECT postings FROM skill_stem WHERE field = 'prose' AND stem = ?", (stem,)
            )[0][0]
        )
        for key, count, length in zip(numbers[0::3], numbers[1::3], numbers[2::3], strict=True):
            part = rarity * count / (count + fixed + per_stem * length)
            scores[key] = scores.get(key, 0.0) + part
    return scores


def _numbers(packed: bytes) -> list[int]:
    if sys.byteorder == "little":
        return memoryview(packed).cast("I").tolist()
    return [
        int.from_bytes(packed[at : at + _NUMBER_BYTES], "little")
        for at in range(0, len(packed), _NUMBER_BYTES)
    ]


def _bonus(name: str, weights: dict[str, float]) -> float:
    """What a name adds: the share of what the prompt's words weigh that are in it."""
    inside = sum(weights.get(stem, 0.0) for stem in dict.fromkeys(stems(name)))
    return NAME_BONUS * inside / sum(weights.values())


def _judged(suggestions: list[Suggestion], most: int, threshold: float) -> list[Suggestion]:
    for place, one in enumerate(suggestions):
        if one.score < threshold:
            one.outcome = "below-threshold"
        elif place >= most:
            one.outcome = "beyond-the-count"
    return suggestions
