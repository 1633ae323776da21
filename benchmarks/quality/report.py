"""Bars and tables as text, for the terminal and for the page."""

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.quality.metrics import Interval


class Bar(NamedTuple):
    """One figure with its limit."""

    what: str
    figure: str
    """With its interval."""
    limit: str
    holds: bool | None
    """`None`: not measured."""

    @property
    def verdict(self) -> str:
        return {True: "holds", False: "FAILS", None: "skipped"}[self.holds]


def points(interval: Interval) -> str:
    """A difference in points: hundredths of the metric."""
    figure, low, high = (value * 100 for value in interval)
    return f"{figure:+.1f} ({low:+.1f} to {high:+.1f})"


def percent(interval: Interval) -> str:
    figure, low, high = (value * 100 for value in interval)
    return f"{figure:.1f} % ({low:.1f} to {high:.1f})"


def share(interval: Interval) -> str:
    return f"{interval.figure:.3f} ({interval.low:.2f} to {interval.high:.2f})"


def rows_of(bars: Sequence[Bar]) -> list[list[str]]:
    """The bars as a table, its first row the heading."""
    head = ["what", "figure (95 % interval)", "bar", ""]
    return [head, *([bar.what, bar.figure, bar.limit, bar.verdict] for bar in bars)]


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """A table for the terminal."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join(lines)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table for a page."""
    head, *rest = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|" + "---|" * len(rows[0]), *rest])
