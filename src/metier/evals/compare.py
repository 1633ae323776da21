"""Compare two evaluations of the same cases, by a paired bootstrap."""

from collections.abc import Sequence
from random import Random

from metier.evals.figures import FIGURES
from metier.values.evals import CaseResult, Comparison, Difference

_SEED = 20_240_229
"""The same comparison gives the same interval every time."""
_SAMPLES = 2_000
_LEAST_SAMPLES = 200
_MOST_DRAWS = 2_000_000
"""Draws of cases in all samples: fewer samples of many cases."""


def compared(there: Sequence[CaseResult], here: Sequence[CaseResult], against: str) -> Comparison:
    """What changed; both have the results of the same cases in the same order."""
    pairs = [
        (old, new) for old, new in zip(there, here, strict=True) if old.is_scored and new.is_scored
    ]
    differences = {}
    for name, kind in FIGURES.items():
        added = ((kind.value(old), kind.value(new)) for old, new in pairs)
        both = [(old, new) for old, new in added if old is not None and new is not None]
        if both:
            differences[name] = _difference(both)
    return Comparison(
        against=against,
        differences=differences,
        better=[new for old, new in pairs if new.passed and not old.passed],
        worse=[new for old, new in pairs if old.passed and not new.passed],
        left_out=len(here) - len(pairs),
    )


def _difference(pairs: Sequence[tuple[float, float]]) -> Difference:
    count = len(pairs)
    there = sum(old for old, _ in pairs) / count
    here = sum(new for _, new in pairs) / count
    changes = [new - old for old, new in pairs]
    low, high = bootstrap(changes)
    changed = sum(change != 0 for change in changes)
    return Difference(there, here, here - there, low, high, count, changed)


def bootstrap(changes: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a mean, by percentiles of means of samples with replacement."""
    count = len(changes)
    if len(set(changes)) < 2:
        return changes[0], changes[0]
    random = Random(_SEED)
    times = max(_LEAST_SAMPLES, min(_SAMPLES, _MOST_DRAWS // count))
    means = sorted(sum(random.choices(changes, k=count)) / count for _ in range(times))
    edge = round(times * 0.025)
    return means[edge], means[times - 1 - edge]
