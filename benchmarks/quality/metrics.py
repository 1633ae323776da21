"""Metrics of ranked answers, and 95 % intervals that resample queries."""

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
"""One value a query."""
DEPTH = 10
RESAMPLES = 5_000
SEED = 20
_AT_ONCE = 250
_Z = 1.959964
"""Standard deviations on each side of the mean that hold 95 % of a normal distribution."""


class Interval(NamedTuple):
    """A figure with its 95 % interval."""

    figure: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Of a difference: `better`, `worse`, or `level` if the interval contains 0."""
        if self.low > 0:
            return "better"
        return "worse" if self.high < 0 else "level"


def ndcg(ranked: Sequence[str], relevant: Collection[str], depth: int = DEPTH) -> float:
    """nDCG with gain 1 for each relevant document; 0 if nothing is relevant."""
    gain = sum(
        1 / math.log2(place + 2) for place, one in enumerate(ranked[:depth]) if one in relevant
    )
    ideal = sum(1 / math.log2(place + 2) for place in range(min(depth, len(relevant))))
    return gain / ideal if ideal else 0.0


def hit(ranked: Sequence[str], relevant: Collection[str], depth: int = 1) -> float:
    """1 if a relevant document is among the first `depth`, else 0."""
    return float(any(one in relevant for one in ranked[:depth]))


def mean_interval(values: Scores) -> Interval:
    """The mean; pass differences of two systems on the same queries to compare them in pairs."""
    return macro_interval([values])


def macro_interval(sets: Sequence[Scores]) -> Interval:
    """The mean of the sets' means; each set is resampled by itself."""
    rng = np.random.default_rng(SEED)
    means = np.mean([_resampled_means(values, rng) for values in sets], axis=0)
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(float(np.mean([values.mean() for values in sets])), float(low), float(high))


def _resampled_means(values: Scores, rng: np.random.Generator) -> Scores:
    parts = [
        values[rng.integers(0, len(values), (_AT_ONCE, len(values)))].mean(axis=1)
        for _ in range(RESAMPLES // _AT_ONCE)
    ]
    return np.concatenate(parts)


def share_interval(count: int, total: int) -> Interval:
    """A share with Wilson's interval, which has a width even if nothing or all is counted."""
    share, square = count / total, _Z * _Z
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = _Z * math.sqrt(share * (1 - share) / total + square / (4 * total * total))
    half /= 1 + square / total
    return Interval(share, max(0.0, middle - half), min(1.0, middle + half))
