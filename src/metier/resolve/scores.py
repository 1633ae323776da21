"""All scores of all candidates for one question, as arrays in the order of the pool."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

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
    invalid_token_penalties,
    label_scores,
    overclaim_penalties,
    rounded,
    skill_score,
    unknown_clause_penalties,
)
from metier.resolve.words import Floats
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """One array a component; one entry for each candidate that was scored."""

    places: NDArray[np.intp]
    """Where the scored candidates stand in the pool, in ascending order."""
    matches: Sequence[Matches]
    """For each required capability."""
    contract: Floats
    desc: Floats
    namepath: Floats
    runtime: Floats
    total: Floats
    invalid_tokens: Floats
    overclaim: Floats
    unknown_clauses: Floats
    inflation: Floats
    multiplier: Floats
    final: Floats
    resolved: Floats
    """How many required capabilities it resolves."""
    resolved_contract: Floats
    """The mean score of those, for the gates of `cover`."""
    specificity: Floats
    skill: Floats
    explicit: Mask
    deltas: Floats
    divergence: Divergence
    flagged: Mask

    @property
    def penalties(self) -> Floats:
        sum_of_two = self.invalid_tokens + self.overclaim
        return rounded(sum_of_two + self.inflation + self.unknown_clauses)

    def final_with(self, contract: Floats) -> Floats:
        """S_total_final if S_contract were `contract`."""
        total = composite(contract, self.desc, self.namepath, self.runtime)
        return rounded(rounded(np.maximum(0.0, total - self.penalties)) * self.multiplier)

    def without_inflation(self, rows: Sequence[int]) -> "Scores":
        """The same after the probes of these candidates have passed."""
        inflation = self.inflation.copy()
        inflation[list(rows)] = 0.0
        cleared = replace(self, inflation=inflation)
        return replace(cleared, final=cleared.final_with(cleared.contract))


def score(
    pool: Pool, question: Question, runtime: Floats, *, everyone: bool, cleared: Sequence[int] = ()
) -> Scores:
    """Score the candidates that match any requirement, or all of them.

    `cleared` are places of candidates whose probes have passed.
    """
    mode, count = question.mode, max(1, len(question.requires))
    in_pool = [match(pool, one, question.aliases, mode) for one in question.requires]
    places = np.arange(len(pool)) if everyone else _matched(in_pool, question.consumer)
    matches = [one.at(places) for one in in_pool]
    contract, resolved, resolved_sum = (np.zeros(len(places)) for _ in range(3))
    explicit = np.zeros(len(places), dtype=bool)
    for one in matches:
        is_resolved, points = one.resolved(mode), one.scores
        contract += points
        resolved += is_resolved
        resolved_sum += is_resolved * points
        explicit |= one.explicit
    if question.consumer is not None:
        explicit &= places != question.consumer
    contract = rounded(contract / count)
    query = list(dict.fromkeys(stems(question.query)))
    desc = description_scores(pool.prose, query, question.consumer)[places]
    namepath = label_scores(pool.labels, query)[places]
    claims = pool.claims(mode)
    claimed = claims.counts[places]
    lenient = 1.0 if mode == "best-effort" else 0.0
    deltas, divergence = _divergence(pool, matches, explicit, places, question)
    flagged = np.zeros(len(places), dtype=bool)
    flagged[explicit] = divergence.flagged
    penalized = flagged & ~np.isin(places, list(cleared)) if cleared else flagged
    provided = np.where(claims.prose[places], pool.prose.distinct[places], claimed)
    scores = Scores(
        places=places,
        matches=matches,
        contract=contract,
        desc=desc,
        namepath=namepath,
        runtime=runtime[places],
        total=composite(contract, desc, namepath, runtime[places]),
        invalid_tokens=lenient * invalid_token_penalties(pool.invalid_tokens[places]),
        overclaim=overclaim_penalties(claimed, claims.median(question.consumer)),
        unknown_clauses=lenient * unknown_clause_penalties(pool.unknown_clauses[places]),
        inflation=np.where(penalized, INFLATION * lenient, 0.0),
        multiplier=_multipliers(pool, question.rates)[places],
        final=contract,
        resolved=resolved,
        resolved_contract=rounded(resolved_sum / np.maximum(1.0, resolved)),
        specificity=rounded(resolved / np.maximum(1.0, provided)),
        skill=skill_score(desc, namepath),
        explicit=explicit,
        deltas=deltas,
        divergence=divergence,
        flagged=flagged,
    )
    return replace(scores, final=scores.final_with(contract))


def _multipliers(pool: Pool, rates: Mapping[str, float]) -> Floats:
    """The history multiplier of every candidate; 1.0 without a record."""
    multipliers = np.ones(len(pool))
    for key, rate in rates.items():
        if key in pool.places:
            multipliers[pool.places[key]] = history_multiplier(rate)
    return multipliers


def _matched(matches: Sequence[Matches], consumer: int | None) -> NDArray[np.intp]:
    """Places of the candidates with any match; the consumer is no candidate."""
    if not matches:
        return np.empty(0, dtype=np.intp)
    found = matches[0].kinds.astype(bool)
    for one in matches[1:]:
        found |= one.kinds.astype(bool)
    if consumer is not None:
        found[consumer] = False
    return np.flatnonzero(found)


def _divergence(
    pool: Pool,
    matches: Sequence[Matches],
    explicit: Mask,
    places: NDArray[np.intp],
    question: Question,
) -> tuple[Floats, Divergence]:
    """How far each claim goes beyond name and description, and whose goes too far."""
    deltas = np.zeros(len(places))
    if not question.with_divergence or not explicit.any():
        unchecked = np.zeros(int(explicit.sum()), dtype=bool)
        return deltas, Divergence(unchecked, None, "not-checked", 0.0, 0.0)
    rows = np.flatnonzero(explicit)
    deltas[rows] = _deltas(pool, [one.at(rows) for one in matches], places[rows])
    return deltas, diverging(deltas[rows])


def _deltas(pool: Pool, matches: Sequence[Matches], places: NDArray[np.intp]) -> Floats:
    """What each candidate claims, less what name, description and folder bear out of it."""
    numbers: dict[str, int] = {}
    pairs: list[NDArray[np.intp]] = []
    claimed, matched = np.zeros(len(places)), np.zeros(len(places))
    size = 1 + sum(len(_stems(name)) for one in matches for name in one.names)
    for one in matches:
        has_one = one.tokens >= 0
        claimed += has_one * one.scores
        matched += has_one
        here = np.flatnonzero(has_one)
        members, wanted = _stems_of_tokens(one.names, one.tokens[here], numbers)
        pairs.append(here[members] * size + wanted)
    member, stem = np.divmod(np.unique(np.concatenate(pairs)), size)
    at, known = places[member].astype(np.int32), list(numbers)
    asked = np.bincount(member, minlength=len(places)).astype(np.float64)
    in_prose = np.bincount(member, pool.prose.has(known, stem, at), minlength=len(places))
    in_labels = np.bincount(member, pool.labels.has(known, stem, at), minlength=len(places))
    borne_out = np.where(asked > 0, in_prose / np.maximum(1.0, asked), 1.0)
    union = pool.labels.distinct[places] + asked - in_labels
    labelled = in_labels / np.maximum(1.0, union)
    return rounded(rounded(claimed / matched) - skill_score(rounded(borne_out), rounded(labelled)))


@lru_cache(maxsize=20_000)
def _stems(name: str) -> tuple[str, ...]:
    return tuple(stems(name))


def _stems_of_tokens(
    names: Sequence[str], tokens: NDArray[np.int32], numbers: dict[str, int]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs of a place in `tokens` and the number of a stem that its name has."""
    by_name = [[numbers.setdefault(stem, len(numbers)) for stem in _stems(name)] for name in names]
    counts = np.array([len(one) for one in by_name], dtype=np.intp)
    starts = np.cumsum(counts) - counts
    flat = np.array([number for one in by_name for number in one], dtype=np.intp)
    repeats = counts[tokens]
    members = np.repeat(np.arange(len(tokens)), repeats)
    within = np.arange(len(members)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return members, flat[np.repeat(starts[tokens], repeats) + within]
