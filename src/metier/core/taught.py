"""The order of documents with examples. Light."""

from __future__ import annotations

from metier.core.ranking import CHANCE_EVIDENCE, CLEAR_CHANCE, OWN_EVIDENCE
from metier.core.terms import ASKING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from metier.core.ranking import Ranked, Task

_A_LITTLE = 1e-6


def ordered_by_chance(found: list[Ranked], task: Task) -> list[Ranked]:
    """Documents with examples change places among themselves; likely ones rise by evidence."""
    only_asks = ASKING.issuperset(task.counts)
    taught = [(one.chance, one) for one in found if one.chance is not None]
    scores = sorted((one.score for _, one in taught), reverse=True)
    taught.sort(key=lambda pair: (-pair[0], -pair[1].score, pair[1].document.path))
    for score, (chance, one) in zip(scores, taught, strict=True):
        one.score = score
        one.is_chatter = only_asks
        one.evidence = round(OWN_EVIDENCE * one.evidence + CHANCE_EVIDENCE * chance, 6)
    _raise_likely([one for _, one in reversed(taught)], found)
    found.sort(key=lambda one: (-one.score, one.document.path))
    return found


def _raise_likely(taught: Sequence[Ranked], found: Sequence[Ranked]) -> None:
    """Put likely documents above all that have less evidence, and keep their order."""
    lowest = float("-inf")
    for one in taught:
        if (one.chance or 0.0) >= CLEAR_CHANCE:
            below = max(other.score for other in found if other.evidence <= one.evidence)
            one.score = round(max(one.score, below, lowest) + _A_LITTLE, 6)
        lowest = max(lowest, one.score)
