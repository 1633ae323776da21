"""All scores of all candidates for one question, as arrays in the order of the pool."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from metier.core.stems import stems
from metier.resolve.aliases import AliasTables
from metier.resolve.matching import Matches, match
from metier.resolve.pool import Pool
from metier.resolve.scoring import (
    INFLATION,
    Divergence,
    composite,
    description_scores,
    diverging,
    history_multiplier,
    label_scores,
    rounded,
    skill_score,
)
from metier.resolve.words import Floats, sums
from metier.values.contracts import Mode

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of the pool."""

    requires: tuple[str, ...]
    query: str
    mode: Mode
    consumer: int | None
    """The place of the skill that asks; it is no candidate."""
    aliases: AliasTables
    rates: Mapping[str, float]
    """Success rates by candidate id."""
    host: str | None = None
    with_divergence: bool = True


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Scores:
    """One array a component; one entry for each candidate that was scored."""

    places: NDArray[np.intp]
    """Where the scored candidates stand in the pool, in ascending order."""
    matches: Matches
    """Its rows are places in the arrays here."""
    contract: Floats
    desc: Floats
    namepath: Floats
    runtime: Floats
    invalid_tokens: Floats
    overclaim: Floats
    unknown_clauses: Floats
    inflation: Floats
    multiplier: Floats
    resolved: Floats
    """How many required capabilities it resolves."""
    resolved_points: Floats
    """The sum of the scores of those."""
    provided: Floats
    """How many capabilities it names; without any, how many different words it has."""
    explicit: Mask
    deltas: Floats
    divergence: Divergence
    flagged: Mask

    @cached_property
    def resolved_contract(self) -> Floats:
        """The mean score of what it resolves, for the gates of `cover`."""
        return rounded(self.resolved_points / np.maximum(1.0, self.resolved))

    @cached_property
    def specificity(self) -> Floats:
        return rounded(self.resolved / np.maximum(1.0, self.provided))

    @cached_property
    def skill(self) -> Floats:
        return skill_score(self.desc, self.namepath)

    @cached_property
    def total(self) -> Floats:
        return composite(self.contract, self.desc, self.namepath, self.runtime)

    @cached_property
    def penalties(self) -> Floats:
        sum_of_two = self.invalid_tokens + self.overclaim
        return rounded(sum_of_two + self.inflation + self.unknown_clauses)

    @cached_property
    def final(self) -> Floats:
        return self._final_of(self.total)

    def final_with(self, contract: Floats) -> Floats:
        """S_total_final if S_contract were `contract`."""
        return self._final_of(composite(contract, self.desc, self.namepath, self.runtime))

    def _final_of(self, total: Floats) -> Floats:
        return rounded(rounded(np.maximum(0.0, total - self.penalties)) * self.multiplier)

    def without_inflation(self, rows: Sequence[int]) -> "Scores":
        """The same after the probes of these candidates have passed."""
        inflation = self.inflation.copy()
        inflation[list(rows)] = 0.0
        return replace(self, inflation=inflation)


def score(pool: Pool, question: Question, *, everyone: bool, cleared: Sequence[int] = ()) -> Scores:
    """Score the candidates that match any requirement, or all of them.

    `cleared` are places of candidates whose probes have passed.
    """
    mode, count = question.mode, max(1, len(question.requires))
    matches = match(pool, question.requires, question.aliases, mode)
    if question.consumer is not None:
        matches = matches.where(matches.rows != question.consumer)
    places = np.arange(len(pool))
    if not everyone:
        places = _distinct(matches.rows, len(pool))
        matches = matches._replace(rows=places.searchsorted(matches.rows))
    rows, is_resolved = matches.rows, matches.resolved(mode)
    contract = rounded(sums(rows, matches.scores, len(places)) / count)
    explicit = sums(rows, matches.explicit, len(places)) > 0
    query = list(dict.fromkeys(stems(question.query)))
    desc = description_scores(pool.prose, query, places, question.consumer)
    namepath = label_scores(pool.labels, query, places)
    claims = pool.claims(mode)
    claimed = claims.counts[places]
    lenient = 1.0 if mode == "best-effort" else 0.0
    deltas, divergence = _divergence(pool, matches, explicit, places, question)
    flagged = np.zeros(len(places), dtype=bool)
    flagged[explicit] = divergence.flagged
    penalized = flagged & ~np.isin(places, list(cleared)) if cleared else flagged
    provided = np.where(claims.prose[places], pool.prose.distinct[places], claimed)
    return Scores(
        places=places,
        matches=matches,
        contract=contract,
        desc=desc,
        namepath=namepath,
        runtime=pool.runtime(question.host)[places],
        invalid_tokens=lenient * pool.invalid_tokens[places],
        overclaim=claims.overclaim(question.consumer)[places],
        unknown_clauses=lenient * pool.unknown_clauses[places],
        inflation=np.where(penalized, INFLATION * lenient, 0.0),
        multiplier=_multipliers(pool, question.rates, places),
        resolved=sums(rows, is_resolved, len(places)),
        resolved_points=sums(rows, matches.scores * is_resolved, len(places)),
        provided=provided,
        explicit=explicit,
        deltas=deltas,
        divergence=divergence,
        flagged=flagged,
    )


def _multipliers(pool: Pool, rates: Mapping[str, float], places: NDArray[np.intp]) -> Floats:
    """The history multipliers of these candidates; 1.0 without a record."""
    if not rates:
        return np.ones(len(places))
    multipliers = np.ones(len(pool))
    for key, rate in rates.items():
        if key in pool.places:
            multipliers[pool.places[key]] = history_multiplier(rate)
    return multipliers[places]


def _distinct(places: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """The different ones of `places`, in ascending order."""
    is_there = np.zeros(size, dtype=bool)
    is_there[places] = True
    return np.flatnonzero(is_there)


def _divergence(
    pool: Pool, matches: Matches, explicit: Mask, places: NDArray[np.intp], question: Question
) -> tuple[Floats, Divergence]:
    """How far each claim goes beyond name and description, and whose goes too far."""
    deltas = np.zeros(len(places))
    rows = np.flatnonzero(explicit)
    if not question.with_divergence or not len(rows):
        unchecked = np.zeros(len(rows), dtype=bool)
        return deltas, Divergence(unchecked, None, "not-checked", 0.0, 0.0)
    claims = matches.where(matches.explicit)
    claims = claims._replace(rows=rows.searchsorted(claims.rows))
    deltas[rows] = _deltas(pool, claims, places[rows])
    return deltas, diverging(deltas[rows])


def _deltas(pool: Pool, claims: Matches, places: NDArray[np.intp]) -> Floats:
    """What each candidate claims, less what name, description and folder bear out of it."""
    count = len(places)
    claimed = sums(claims.rows, claims.scores, count) / np.bincount(claims.rows, minlength=count)
    known, member, stem = _claimed_stems(claims)
    at = places[member].astype(np.int32)
    asked = np.bincount(member, minlength=count).astype(np.float64)
    in_prose = sums(member, pool.prose.has(known, stem, at), count)
    in_labels = sums(member, pool.labels.has(known, stem, at), count)
    borne_out = np.where(asked > 0, in_prose / np.maximum(1.0, asked), 1.0)
    union = pool.labels.distinct[places] + asked - in_labels
    labelled = in_labels / np.maximum(1.0, union)
    return rounded(rounded(claimed) - skill_score(rounded(borne_out), rounded(labelled)))


def _claimed_stems(
    claims: Matches,
) -> tuple[list[str], NDArray[np.intp], NDArray[np.intp]]:
    """The stems of the matching names; pairs of a row and the number of a stem, each once."""
    numbers: dict[str, int] = {}
    by_name = [
        [numbers.setdefault(stem, len(numbers)) for stem in _stems(name)] for name in claims.names
    ]
    counts = np.array([len(one) for one in by_name], dtype=np.intp)
    starts = counts.cumsum() - counts
    flat = np.array([number for one in by_name for number in one], dtype=np.intp)
    repeats = counts[claims.tokens]
    members = claims.rows.repeat(repeats)
    within = np.arange(len(members)) - (repeats.cumsum() - repeats).repeat(repeats)
    wanted = flat[starts[claims.tokens].repeat(repeats) + within]
    size = max(1, len(numbers))
    member, stem = np.divmod(np.unique(members * size + wanted), size)
    return list(numbers), member, stem


@lru_cache(maxsize=20_000)
def _stems(name: str) -> tuple[str, ...]:
    return tuple(stems(name))
