"""The scores of the candidates of one question, computed on first use."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from metier.core import bm25
from metier.core.arrays import Array, Floats, Mask, Places, arrays_of
from metier.resolve.aliases import AliasTables
from metier.resolve.matching import Claims, Matches
from metier.resolve.pool import Pool
from metier.resolve.scoring import (
    Divergence,
    Words,
    bm25_scores,
    compatibility,
    composite,
    contained,
    description_scores,
    distinct,
    diverging,
    history_multiplier,
    label_scores,
    median_of_others,
    rounded,
    skill_score,
    stems_of,
    sums,
)
from metier.values.contracts import Mode
from metier.values.score_numbers import BM25, DECIMALS, INFLATION


class Question(NamedTuple):
    """What is asked of the candidates."""

    requires: tuple[str, ...]
    query: str
    mode: Mode
    consumer: int | None
    """The index of the consumer, which is not a candidate."""
    aliases: AliasTables
    rates: Mapping[str, float]
    """Success rates by candidate id."""
    host: str | None = None
    with_divergence: bool = True
    team: str = ""
    """The team that asks, if any."""


class Scores:
    """One array for each component, computed on first use."""

    def __init__(
        self, pool: Pool, question: Question, *, everyone: bool, cleared: Collection[int] = ()
    ) -> None:
        """Score the candidates that match a requirement, or `everyone`.

        `cleared` are indexes of candidates whose probes have passed.
        """
        self.pool = pool
        self.question = question
        self._cleared = cleared
        matches = pool.match(question.requires, question.aliases, question.mode)
        if question.consumer is not None:
            matches = matches.where(matches.rows != question.consumer)
        self._arrays = pool.arrays
        self.places = self._arrays.arange(len(pool)) if everyone else self._matching(matches)
        """The indexes of the scored candidates in the pool, ascending."""
        if not everyone:
            matches = matches._replace(rows=self.places.searchsorted(matches.rows))
        self._everyone = everyone
        self.matches = matches

    def _matching(self, matches: Matches) -> Places:
        is_there = self._arrays.zeros(len(self.pool), dtype=bool)
        is_there[matches.rows] = True
        return self._arrays.flatnonzero(is_there)

    @property
    def claims(self) -> Claims:
        return self.pool.claims(self.question.mode)

    def look_up(self) -> None:
        """Fetch the stems that any score may need, while the catalog is open."""
        if "namepath" not in self.__dict__:
            self.pool.prose.look_up(self.query_stems)
            self.pool.labels.look_up(self.query_stems)
        if "deltas" not in self.__dict__ and self.question.with_divergence:
            claimed = [stem for name in self.matches.names for stem in stems_of(name)]
            self.pool.prose.look_up(claimed)
            self.pool.labels.look_up(claimed)

    def _here(self, values: Array) -> Array:
        """The values of the scored candidates."""
        return values if self._everyone else values[self.places]

    # What it claims

    @cached_property
    def contract(self) -> Floats:
        return rounded(self._sums(self.matches.scores) / max(1, len(self.question.requires)))

    @cached_property
    def resolved(self) -> Floats:
        return self._sums(self._is_resolved)

    @cached_property
    def resolved_contract(self) -> Floats:
        """The mean score of resolved capabilities, for the gates of `cover`."""
        points = self._sums(self.matches.scores * self._is_resolved)
        return rounded(points / self._arrays.maximum(1.0, self.resolved))

    @cached_property
    def coverage(self) -> Floats:
        return rounded(self.resolved / max(1, len(self.question.requires)))

    @cached_property
    def specificity(self) -> Floats:
        """Resolved over provided capabilities: a narrow skill fits better."""
        claims, arrays = self.claims, self._arrays
        found: Floats = arrays.zeros(len(self.places))
        rows = arrays.flatnonzero(self.resolved)
        at = self.places[rows]
        different = self.pool.prose.distinct[at]
        provided = arrays.where(claims.prose[at], different, claims.counts[at])
        found[rows] = rounded(self.resolved[rows] / arrays.maximum(1.0, provided))
        return found

    @property
    def _is_resolved(self) -> Mask:
        return self.matches.resolved(self.question.mode)

    def _sums(self, values: Floats | Mask) -> Floats:
        """The sum of the values of matches for each candidate."""
        return sums(self.matches.rows, values, len(self.places))

    # What it says in words, and where it works

    @cached_property
    def bm25(self) -> Floats:
        """The BM25 of every candidate of the pool."""
        consumer = self.question.consumer
        hits = self.pool.weighted_hits(self.query_stems, consumer)
        return bm25_scores(hits, len(self.pool), consumer)

    @cached_property
    def desc(self) -> Floats:
        highest = float(self.bm25.max()) if len(self.pool) else 0.0
        return description_scores(self._here(self.bm25), highest)

    @cached_property
    def namepath(self) -> Floats:
        labels = self.pool.labels
        hits = labels.hits(self.query_stems).places
        shared = self._arrays.bincount(hits, minlength=len(self.pool))
        return label_scores(self._here(shared), self._here(labels.distinct), self.query_stems)

    @cached_property
    def query_stems(self) -> list[str]:
        return list(dict.fromkeys(stems_of(self.question.query)))

    @cached_property
    def skill(self) -> Floats:
        return skill_score(self.desc, self.namepath)

    @cached_property
    def runtime(self) -> Floats:
        return self._here(self.pool.runtime(self.question.host))

    # Penalties

    @cached_property
    def invalid_tokens(self) -> Floats:
        return self._here(self.claims.invalid_tokens)

    @cached_property
    def unknown_clauses(self) -> Floats:
        return self._here(self.claims.unknown_clauses)

    @cached_property
    def overclaim(self) -> Floats:
        return self._here(self.claims.overclaim(self.question.consumer))

    @cached_property
    def explicit(self) -> Mask:
        return self._sums(self.matches.explicit) > 0

    @cached_property
    def deltas(self) -> Floats:
        """How far claims go beyond name and description."""
        deltas: Floats = self._arrays.zeros(len(self.places))
        rows = self._arrays.flatnonzero(self.explicit)
        if self.question.with_divergence and len(rows):
            claims = self.matches.where(self.matches.explicit)
            claims = claims._replace(rows=rows.searchsorted(claims.rows))
            deltas[rows] = _deltas(self.pool, claims, self.places[rows])
        return deltas

    @cached_property
    def divergence(self) -> Divergence:
        if not self.question.with_divergence or not self.explicit.any():
            unchecked = self._arrays.zeros(int(self.explicit.sum()), dtype=bool)
            return Divergence(unchecked, None, "not-checked", 0.0, 0.0)
        return diverging(self.deltas[self.explicit])

    @cached_property
    def flagged(self) -> Mask:
        flagged: Mask = self._arrays.zeros(len(self.places), dtype=bool)
        flagged[self.explicit] = self.divergence.flagged
        return flagged

    @cached_property
    def inflation(self) -> Floats:
        penalized = self.flagged
        if self._cleared:
            cleared = self._arrays.array(sorted(self._cleared), dtype=int)
            penalized = penalized & ~contained(self.places, cleared)
        is_lenient = self.question.mode == "best-effort"
        return self._arrays.where(penalized, INFLATION if is_lenient else 0.0, 0.0)

    @cached_property
    def penalties(self) -> Floats:
        penalties = self._here(self.claims.penalties(self.question.consumer))
        return rounded(penalties + self.inflation) if self.matches.names else penalties

    # Whose it is

    @cached_property
    def own_team(self) -> Mask:
        """Which candidates belong to the team that asks."""
        places = self.pool.places_of(self.question.team)
        return contained(self.places, self._arrays.array(places, dtype=int))

    def outranked(self, passed: Mask) -> Mask:
        """Which candidates are replaced by a skill of the same name of the team that asks.

        It replaces those that resolve no more than it does, if it `passed` the other gates.
        """
        outranked: Mask = self._arrays.zeros(len(self.places), dtype=bool)
        mode = self.question.mode
        for row in self._arrays.flatnonzero(passed & self.own_team):
            others = self._others_called(self.pool.candidates[int(self.places[row])].name)
            resolved = self.matches.resolved_by(int(row), mode) if others else set()
            for other in others:
                outranked[other] |= self.matches.resolved_by(other, mode) <= resolved
        return outranked

    def _others_called(self, name: str) -> list[int]:
        """The rows of candidates with a name that do not belong to the team that asks."""
        places: Places = self._arrays.array(self.pool.places_called(name), dtype=int)
        rows = self.places.searchsorted(places[contained(places, self.places)])
        return [int(row) for row in rows if not self.own_team[row]]

    def places_of(self, rows: Iterable[int]) -> list[int]:
        """The indexes of these rows in the pool."""
        return [int(self.places[row]) for row in rows]

    def hash_ranks(self, rows: Places) -> Places:
        """The order of these rows by the hash of their ids, which decides last."""
        return self.pool.hash_ranks(self.places[rows])

    # Altogether

    @cached_property
    def multiplier(self) -> Floats:
        rates = self.question.rates
        multipliers: Floats = self._arrays.ones(len(self.pool))
        for key in rates.keys() & self.pool.places.keys() if rates else ():
            multipliers[self.pool.places[key]] = history_multiplier(rates[key])
        return self._here(multipliers)

    @cached_property
    def total(self) -> Floats:
        return composite(self.contract, self.desc, self.namepath, self.runtime)

    @cached_property
    def final(self) -> Floats:
        return self._final_of(self.total)

    @cached_property
    def final_of_resolved(self) -> Floats:
        """S_total_final for the resolved capabilities only, for the gates of `cover`."""
        contract = self.resolved_contract
        return self._final_of(composite(contract, self.desc, self.namepath, self.runtime))

    def _final_of(self, total: Floats) -> Floats:
        penalized = rounded(self._arrays.maximum(0.0, total - self.penalties))
        return rounded(penalized * self.multiplier) if self.question.rates else penalized


def _deltas(pool: Pool, claims: Matches, places: Places) -> Floats:
    """The score of claims less that of name, description and folder."""
    arrays, count = pool.arrays, len(places)
    named = arrays.bincount(claims.rows, minlength=count)
    claimed = sums(claims.rows, claims.scores, count) / named
    known, member, stem = _claimed_stems(claims, count)
    at = places[member]
    asked: Floats = arrays.bincount(member, minlength=count).astype(float)
    in_prose = sums(member, pool.prose.has(known, stem, at), count)
    in_labels = sums(member, pool.labels.has(known, stem, at), count)
    borne_out = arrays.where(asked > 0, in_prose / arrays.maximum(1.0, asked), 1.0)
    union = pool.labels.distinct[places] + asked - in_labels
    labelled = in_labels / arrays.maximum(1.0, union)
    return rounded(rounded(claimed) - skill_score(rounded(borne_out), rounded(labelled)))


def _claimed_stems(claims: Matches, count: int) -> tuple[list[str], Places, Places]:
    """The stems of the matching names; pairs of a row and the number of a stem, by stem."""
    numbers: dict[str, int] = {}
    by_name = [
        [numbers.setdefault(stem, len(numbers)) for stem in stems_of(name)] for name in claims.names
    ]
    arrays = arrays_of(claims.rows)
    counts: Places = arrays.array([len(one) for one in by_name], dtype=int)
    starts = counts.cumsum() - counts
    flat: Places = arrays.array([number for one in by_name for number in one], dtype=int)
    repeats = counts[claims.tokens]
    members = claims.rows.repeat(repeats)
    within = arrays.arange(len(members)) - (repeats.cumsum() - repeats).repeat(repeats)
    wanted = flat[starts[claims.tokens].repeat(repeats) + within]
    pairs = distinct(wanted * count + members)
    return list(numbers), pairs % count, pairs // count


class Basis:
    """The figures behind the scores of one question."""

    def __init__(self, scores: Scores, places: Sequence[int]) -> None:
        """`scores` cover all candidates; `places` are those with a row."""
        pool = self.pool = scores.pool
        self.question = scores.question
        self._scores = scores
        self._in_prose = _counts(pool.prose, scores.query_stems, places)
        self._in_labels = _counts(pool.labels, scores.query_stems, places)

    def of_all(self) -> dict[str, Any]:
        lengths, consumer = self.pool.prose.lengths, self.question.consumer
        if consumer is not None:
            lengths = self.pool.arrays.delete(lengths, consumer)
        total = len(lengths)
        return {
            "documents": total,
            "average_length": _rounded(lengths.sum() / total if total else 0.0),
            "k1": BM25["k1"],
            "b": BM25["b"],
            "highest_bm25": _rounded(self._scores.bm25.max() if len(self.pool) else 0.0),
            "terms": [self._term(stem, total) for stem in self._scores.query_stems],
        }

    def _term(self, stem: str, total: int) -> dict[str, Any]:
        places, _ = self.pool.prose.posting(stem)
        found = int(self.pool.arrays.count_nonzero(places != self.question.consumer))
        return {"term": stem, "documents": found, "idf": _rounded(bm25.idf(total, found))}

    @property
    def median_of_claims(self) -> float:
        claims = self.pool.claims(self.question.mode)
        return median_of_others(claims.counts, self.question.consumer)

    def of(self, index: int) -> dict[str, Any]:
        pool, mode = self.pool, self.question.mode
        claims, candidate = pool.claims(mode), pool.candidates[index]
        runtimes = compatibility(candidate.compatibility, self.question.host).runtimes
        is_prose = bool(claims.prose[index])
        counted = mode == "best-effort" and candidate.contract is not None
        return {
            "text_length": int(pool.prose.lengths[index]),
            "term_counts": self._in_prose[index],
            "bm25": _rounded(self._scores.bm25[index]),
            "label_stems": int(pool.labels.distinct[index]),
            "label_terms": list(self._in_labels[index]),
            "runtimes": sorted(runtimes),
            "provides_capability_count": int(
                pool.prose.distinct[index] if is_prose else claims.counts[index]
            ),
            "p_count": int(claims.counts[index]),
            "invalid_tokens": candidate.invalid_tokens() if counted else 0,
            "unknown_clauses": candidate.unknown_clauses() if counted else 0,
            "success_rate": self.question.rates.get(candidate.id),
            "claim": self._claim(index),
        }

    def _claim(self, index: int) -> dict[str, Any] | None:
        """The score of its claims, and how many of their stems its text has."""
        if not self.question.with_divergence or not self._scores.explicit[index]:
            return None
        matches = self._scores.matches
        found = matches.where(matches.explicit & (matches.rows == index))
        names = [found.names[token] for token in found.tokens]
        stems = list(dict.fromkeys(stem for name in names for stem in stems_of(name)))
        return {
            "score": _rounded(math.fsum(found.scores) / len(found.rows)),
            "stems": len(stems),
            "in_text": _count(self.pool.prose, stems, index),
            "in_labels": _count(self.pool.labels, stems, index),
            "delta": float(self._scores.deltas[index]),
        }


def _counts(
    words: Words, stems: Sequence[str], places: Sequence[int]
) -> Mapping[int, dict[str, int]]:
    """How often each text has each stem."""
    found: dict[int, dict[str, int]] = {place: {} for place in places}
    for stem in stems:
        having, counts = words.posting(stem)
        wanted: Places = words.arrays.array(places, dtype=int)
        for place in wanted[contained(wanted, having)].tolist():
            found[place][stem] = int(counts[having.searchsorted(place)])
    return found


def _count(words: Words, stems: Sequence[str], index: int) -> int:
    at: Places = words.arrays.array([index], dtype=int)
    return sum(bool(contained(at, words.posting(stem)[0])[0]) for stem in stems)


def _rounded(value: float) -> float:
    return round(float(value), DECIMALS)
