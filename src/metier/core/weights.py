"""What a word weighs: how rare it is, in which field, how often. Light."""

from __future__ import annotations

from math import fsum, log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

K1 = 1.2
LEAST_AGAINST = 1.5
"""How much heavier a word counts against than for."""
WEIGHT_STEP = 50
"""Weights are stored as whole numbers of such parts."""
_LEAST_WEIGHT, _MOST_WEIGHT = -2, 20
MEAN_LENGTHS = {"name": 2.5, "about": 15, "examples": 30, "body": 1_100}
"""Words of an ordinary document, fixed: a document's weights do not depend on the others."""
LENGTH_MATTERS = {"name": 0.3, "about": 0.75, "examples": 0.5, "body": 0.75}


def by_length(field: str, length: int) -> float:
    """What a weight is divided by: a word says less in a long text."""
    share = LENGTH_MATTERS[field]
    return 1 - share + share * length / MEAN_LENGTHS[field]


def idf(total: int, found: float) -> float:
    return log(1 + (total - found + 0.5) / (found + 0.5))


def saturated(weight: float) -> float:
    """Grows less and less with the weight; a negative weight counts more."""
    return weight * (K1 + 1) / (weight + K1) if weight > 0 else LEAST_AGAINST * weight


WEIGHTS = [
    number / WEIGHT_STEP
    for number in range(_LEAST_WEIGHT * WEIGHT_STEP, _MOST_WEIGHT * WEIGHT_STEP + 1)
]
"""The weight of each stored number."""
IMPACTS = [saturated(weight) for weight in WEIGHTS]
"""The saturated weight of each stored number."""
NO_WEIGHT = WEIGHTS.index(0.0)


def stored_weight(weight: float) -> int:
    """A weight outside the body as its place in `WEIGHTS`."""
    place = round((weight - _LEAST_WEIGHT) * WEIGHT_STEP)
    return min(max(place, 0), len(WEIGHTS) - 1)


def z_scores(numbers: Sequence[float]) -> list[float]:
    """How many standard deviations above the mean each number is."""
    if not numbers:
        return []
    mean = fsum(numbers) / len(numbers)
    spread = (fsum((number - mean) ** 2 for number in numbers) / len(numbers)) ** 0.5
    return [(number - mean) / spread if spread > 1e-9 else 0.0 for number in numbers]
