"""The figures behind the scores: with them anybody can compute a report again."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from metier.core import bm25
from metier.core.arrays import Places
from metier.resolve.matching import Matches
from metier.resolve.pool import Pool
from metier.resolve.runtimes import compatibility
from metier.resolve.scores import Question, Scores
from metier.resolve.scoring import BM25, DECIMALS, median_of_others
from metier.resolve.words import Words, contained, stems_of_capability


class Basis:
    """What the scores of one question were computed from."""

    def __init__(
        self, pool: Pool, question: Question, scores: Scores, places: Sequence[int]
    ) -> None:
        """`scores` are those of all candidates; `places` those that are asked about."""
        self._pool = pool
        self._question = question
        self._scores = scores
        self._in_prose = _counts(pool.prose, scores.query_stems, places)
        self._in_labels = _counts(pool.labels, scores.query_stems, places)

    def of_all(self) -> dict[str, Any]:
        """The figures that all candidates share."""
        lengths, consumer = self._pool.prose.lengths, self._question.consumer
        if consumer is not None:
            lengths = self._pool.arrays.delete(lengths, consumer)
        total = len(lengths)
        return {
            "documents": total,
            "average_length": _rounded(lengths.sum() / total if total else 0.0),
            "k1": BM25["k1"],
            "b": BM25["b"],
            "highest_bm25": _rounded(self._scores.bm25.max() if len(self._pool) else 0.0),
            "terms": [self._term(stem, total) for stem in self._scores.query_stems],
        }

    def _term(self, stem: str, total: int) -> dict[str, Any]:
        places, _ = self._pool.prose.posting(stem)
        found = int(self._pool.arrays.count_nonzero(places != self._question.consumer))
        return {"term": stem, "documents": found, "idf": _rounded(bm25.idf(total, found))}

    @property
    def median_of_claims(self) -> float:
        claims = self._pool.claims(self._question.mode)
        return median_of_others(claims.counts, self._question.consumer)

    def of(self, place: int) -> dict[str, Any]:
        """The figures of one candidate."""
        pool, mode = self._pool, self._question.mode
        claims, candidate = pool.claims(mode), pool.candidates[place]
        runtimes = compatibility(candidate.compatibility, self._question.host).runtimes
        is_prose = bool(claims.prose[place])
        counted = mode == "best-effort" and candidate.contract is not None
        return {
            "text_length": int(pool.prose.lengths[place]),
            "term_counts": self._in_prose[place],
            "bm25": _rounded(self._scores.bm25[place]),
            "label_stems": int(pool.labels.distinct[place]),
            "label_terms": list(self._in_labels[place]),
            "runtimes": sorted(runtimes),
            "provides_capability_count": int(
                pool.prose.distinct[place] if is_prose else claims.counts[place]
            ),
            "p_count": int(claims.counts[place]),
            "invalid_tokens": candidate.invalid_tokens() if counted else 0,
            "unknown_clauses": candidate.unknown_clauses() if counted else 0,
            "success_rate": self._question.rates.get(candidate.id),
            "claim": self._claim(place),
        }

    def _claim(self, place: int) -> dict[str, Any] | None:
        """What it claims, and how many of the stems of that its own words have."""
        if not self._question.with_divergence or not self._scores.explicit[place]:
            return None
        found = self._scores.matches.where(
            self._scores.matches.explicit & (self._scores.matches.rows == place)
        )
        stems = _stems_of(found)
        return {
            "score": _rounded(math.fsum(found.scores) / len(found.rows)),
            "stems": len(stems),
            "in_text": _count(self._pool.prose, stems, place),
            "in_labels": _count(self._pool.labels, stems, place),
            "delta": float(self._scores.deltas[place]),
        }


def _counts(
    words: Words, stems: Sequence[str], places: Sequence[int]
) -> Mapping[int, dict[str, int]]:
    """For each of the texts how often it has each of the stems that it has."""
    found: dict[int, dict[str, int]] = {place: {} for place in places}
    for stem in stems:
        having, counts = words.posting(stem)
        wanted: Places = words.arrays.array(places, dtype=int)
        for place in wanted[contained(wanted, having)].tolist():
            found[place][stem] = int(counts[having.searchsorted(place)])
    return found


def _stems_of(matches: Matches) -> list[str]:
    names = [matches.names[token] for token in matches.tokens]
    return list(dict.fromkeys(stem for name in names for stem in stems_of_capability(name)))


def _count(words: Words, stems: Sequence[str], place: int) -> int:
    """How many of the stems a text has."""
    at: Places = words.arrays.array([place], dtype=int)
    return sum(bool(contained(at, words.posting(stem)[0])[0]) for stem in stems)


def _rounded(value: float) -> float:
    return round(float(value), DECIMALS)
