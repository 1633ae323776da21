"""All scores of all candidates for one question, as arrays in the order of the pool."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

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
    invalid_token_penalties,
    label_scores,
    median_of_others,
    overclaim_penalties,
    pool_history,
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
    """One array a component; one entry a candidate."""

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

    def without_inflation(self, places: Sequence[int]) -> "Scores":
        """The same after the probes of these candidates have passed."""
        inflation = self.inflation.copy()
        inflation[list(places)] = 0.0
        cleared = replace(self, inflation=inflation)
        return replace(cleared, final=cleared.final_with(cleared.contract))


def score(pool: Pool, question: Question, runtime: Floats) -> Scores:
    """Score every candidate; the consumer gets scores as well, and is left out by the gates."""
    mode, count = question.mode, len(question.requires)
    claims = pool.claims(mode)
    matches = [match(pool, one, question.aliases, mode) for one in question.requires]
    contract, resolved, resolved_sum = np.zeros(len(pool)), np.zeros(len(pool)), np.zeros(len(pool))
    explicit = np.zeros(len(pool), dtype=bool)
    for one in matches:
        is_resolved = one.resolved(mode)
        contract += one.scores
        resolved += is_resolved
        resolved_sum += np.where(is_resolved, one.scores, 0.0)
        explicit |= one.explicit
    contract = rounded(contract / count)
    query = list(dict.fromkeys(stems(question.query)))
    desc = description_scores(pool.prose, query, question.consumer)
    namepath = label_scores(pool.labels, query)
    lenient = 1.0 if mode == "best-effort" else 0.0
    provided = np.where(claims.prose, pool.prose.distinct, claims.counts)
    if question.consumer is not None:
        explicit[question.consumer] = False
    deltas, divergence, flagged = _divergence(pool, matches, explicit, question)
    scores = Scores(
        matches=matches,
        contract=contract,
        desc=desc,
        namepath=namepath,
        runtime=runtime,
        total=composite(contract, desc, namepath, runtime),
        invalid_tokens=lenient * invalid_token_penalties(pool.invalid_tokens),
        overclaim=overclaim_penalties(
            claims.counts, median_of_others(claims.counts, question.consumer)
        ),
        unknown_clauses=lenient * unknown_clause_penalties(pool.unknown_clauses),
        inflation=np.where(flagged, INFLATION * lenient, 0.0),
        multiplier=pool_history(pool, dict(question.rates)),
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


def _divergence(
    pool: Pool, matches: Sequence[Matches], explicit: Mask, question: Question
) -> tuple[Floats, Divergence, Mask]:
    """How far each claim goes beyond name and description, and whose goes too far."""
    deltas, flagged = np.zeros(len(pool)), np.zeros(len(pool), dtype=bool)
    places = np.flatnonzero(explicit)
    if not question.with_divergence or not len(places):
        return deltas, diverging(np.empty(0)), flagged
    deltas[places] = _deltas(pool, matches, places)
    verdict = diverging(deltas[places])
    flagged[places] = verdict.flagged
    return deltas, verdict, flagged


def _deltas(pool: Pool, matches: Sequence[Matches], places: NDArray[np.intp]) -> Floats:
    """What each candidate claims, less what name, description and folder bear out of it."""
    numbers: dict[str, int] = {}
    pairs: list[NDArray[np.intp]] = []
    claimed, matched = np.zeros(len(places)), np.zeros(len(places))
    size = 1 + sum(len(stems(name)) for one in matches for name in one.names)
    for one in matches:
        tokens = one.tokens[places]
        has_one = tokens >= 0
        claimed += np.where(has_one, one.scores[places], 0.0)
        matched += has_one
        here = np.flatnonzero(has_one)
        members, wanted = _stems_of_tokens(one.names, tokens[here], numbers)
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


def _stems_of_tokens(
    names: Sequence[str], tokens: NDArray[np.int32], numbers: dict[str, int]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs of a place in `tokens` and the number of a stem that its name has."""
    by_name = [[numbers.setdefault(stem, len(numbers)) for stem in stems(name)] for name in names]
    counts = np.array([len(one) for one in by_name], dtype=np.intp)
    starts = np.cumsum(counts) - counts
    flat = np.array([number for one in by_name for number in one], dtype=np.intp)
    repeats = counts[tokens]
    members = np.repeat(np.arange(len(tokens)), repeats)
    within = np.arange(len(members)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return members, flat[np.repeat(starts[tokens], repeats) + within]
