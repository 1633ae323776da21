"""The probes of one run: each candidate is tried once for each capability."""

from collections.abc import Mapping

from metier.resolve.pool import Pool
from metier.resolve.scores import Question, Scores
from metier.values.resolution import Probe, ProbeResult


class Probing:
    """Runs probes, and keeps what they gave."""

    def __init__(self, pool: Pool, probes: Mapping[str, Probe]) -> None:
        self._pool = pool
        self._probes = probes
        self._results: dict[tuple[int, str], ProbeResult] = {}

    @property
    def results(self) -> tuple[ProbeResult, ...]:
        return tuple(self._results.values())

    def wanted(self, row: int, scores: Scores, question: Question) -> list[str]:
        """The required capabilities that this candidate resolves and that have a probe."""
        if not self._probes:
            return []
        resolved = scores.matches.resolved_by(row, question.mode)
        return [
            name
            for number, name in enumerate(question.requires)
            if name in self._probes and number in resolved
        ]

    def run(self, place: int, capability: str) -> ProbeResult:
        key = place, capability
        if key not in self._results:
            probe = self._probes[capability]
            self._results[key] = probe(self._pool.candidates[place], capability)
        return self._results[key]
