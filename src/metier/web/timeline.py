"""When the steps of a run ran: bars on one axis, on which long pauses are cut short."""

import math
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from metier.values.runs import StepRecord

_LONG_PAUSE = 0.25
"""A pause longer than this part of the busy time is cut short."""
_SHOWN_PAUSE = 0.04
_MOST_TICKS = 5
_LEAST_STEP = 0.001
"""Times are in milliseconds."""


class Span(NamedTuple):
    start: float
    end: float


def timeline_of(steps: Sequence[StepRecord], *, is_live: bool) -> dict[str, Any]:
    """A bar for each step that began: its start and end as parts of the whole from 0 to 1."""
    now = time.time() if is_live else max((_end(one, 0.0) for one in steps), default=0.0)
    begun = [one for one in steps if one.started and one.state not in ("skipped", "blocked")]
    begun.sort(key=lambda one: (one.started, one.seq or len(steps)))
    spans = [Span(one.started, max(one.started, _end(one, now))) for one in begun]
    if not spans:
        return {"bars": [], "pauses": [], "ticks": [], "seconds": 0.0}
    axis = _Axis(spans)
    bars = [
        {
            "stepId": step.id,
            "state": step.state,
            "start": axis.part(span.start),
            "end": axis.part(span.end),
            "after": round(max(0.0, span.start - axis.first), 3),
            "seconds": round(span.end - span.start, 3),
        }
        for step, span in zip(begun, spans, strict=True)
    ]
    seconds = round(axis.last - axis.first, 3)
    return {"bars": bars, "pauses": axis.pauses(), "ticks": axis.ticks(), "seconds": seconds}


def _end(step: StepRecord, now: float) -> float:
    return step.finished if step.finished is not None else max(now, step.started)


class _Axis:
    """Maps moments to parts of the whole."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._busy = _merged(spans)
        self.first, self.last = self._busy[0].start, self._busy[-1].end
        total = sum(one.end - one.start for one in self._busy) or 1e-9
        self._longest = max(total * _LONG_PAUSE, 0.5)
        self._short = total * _SHOWN_PAUSE
        self._whole = self._place(self.last) or 1e-9

    def part(self, moment: float) -> float:
        return round(min(1.0, self._place(moment) / self._whole), 5)

    def pauses(self) -> list[dict[str, float]]:
        """The pauses that are cut short: where they are, and how long they were."""
        return [
            {"at": self.part(before.end), "seconds": round(after.start - before.end, 1)}
            for before, after in pairwise(self._busy)
            if after.start - before.end > self._longest
        ]

    def ticks(self) -> list[dict[str, float]]:
        """Round numbers of seconds along the axis; none if a pause is cut out of it."""
        whole = self.last - self.first
        if self.pauses() or whole <= 0:
            return []
        step = _round_step(max(whole / _MOST_TICKS, _LEAST_STEP))
        times = [number * step for number in range(int(whole / step) + 1)]
        return [{"at": self.part(self.first + one), "seconds": round(one, 6)} for one in times]

    def _place(self, moment: float) -> float:
        at, before = 0.0, self.first
        for one in self._busy:
            pause = max(0.0, one.start - before)
            is_cut = pause > self._longest
            if moment < one.start and not is_cut:
                return at + moment - before
            at += self._short if is_cut else pause
            if moment <= one.end:
                return at + max(0.0, moment - one.start)
            at, before = at + one.end - one.start, one.end
        return at


def _round_step(least: float) -> float:
    """The smallest of 1, 2, 5, 10, 20 … and their fractions that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(step for one in (1, 2, 5, 10, 20) if (step := one * power) >= least)


def _merged(spans: Sequence[Span]) -> list[Span]:
    """Spans without overlaps, in order."""
    merged: list[Span] = []
    for one in sorted(spans):
        if merged and one.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, one.end))
        else:
            merged.append(one)
    return merged
