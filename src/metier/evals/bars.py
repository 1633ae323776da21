"""Bars that an evaluation must reach, or the build fails."""

from collections.abc import Mapping
from typing import NamedTuple

from metier.values.evals import Figure


class Bar(NamedTuple):
    """A limit for a figure."""

    figure: str
    is_least: bool
    """Whether the figure must be at least the limit; else at most."""


BARS: Mapping[str, Bar] = {
    "minRecall": Bar("recall", True),
    "maxFalseFires": Bar("falseFires", False),
    "minHit1": Bar("hit1", True),
    "minNdcg": Bar("ndcg10", True),
    "maxSilent": Bar("silent", False),
    "maxSpeaksWrongly": Bar("speaksWrongly", False),
}
"""By their names in the settings."""


class FailedBar(NamedTuple):
    """A bar that was not reached."""

    bar: str
    figure: str
    limit: float
    value: float | None
    """None if there is no case to measure it by."""

    def to_json(self) -> dict[str, object]:
        return self._asdict()


def failed_bars(figures: Mapping[str, Figure], limits: Mapping[str, float]) -> list[FailedBar]:
    """The bars that are not reached; one that no case measures is not."""
    failed = []
    for name, bar in BARS.items():
        if name not in limits:
            continue
        limit, value = limits[name], figures[bar.figure].value
        is_reached = value is not None and (value >= limit if bar.is_least else value <= limit)
        if not is_reached:
            failed.append(FailedBar(name, bar.figure, limit, value))
    return failed
