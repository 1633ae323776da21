"""Gates, ranking and selection."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from metier.resolve.pool import Claims, Pool
from metier.resolve.scores import Mask, Question, Scores
from metier.values.policy import Policy

REASONS = (
    "runtime-incompatible",
    "contract-inflated",
    "probe-failed",
    "dependency-unresolved",
    "nothing-resolved",
    "below-min-contract-score",
    "below-min-required-coverage",
    "below-min-total-score",
    "beyond-max-candidates-hint",
    "beyond-max-candidates",
)
"""Why a candidate is rejected, in the order in which reasons are named."""
TIE_BREAKS = (
    "S_total_final",
    "S_contract",
    "required_coverage",
    "unresolved_required",
    "S_specificity",
    "S_skill",
    "stable_hash",
)
"""What ranks candidates: the final score, then the six tie-breakers as steps 1 to 6."""


@dataclass(slots=True)
class Verdicts:
    """Who is rejected, and for which reasons."""

    by_reason: dict[str, Mask]
    size: int

    def reject(self, reason: str, places: Sequence[int] | NDArray[np.intp]) -> None:
        mask = self.by_reason.setdefault(reason, np.zeros(self.size, dtype=bool))
        mask[places] = True

    @property
    def rejected(self) -> Mask:
        out = np.zeros(self.size, dtype=bool)
        for mask in self.by_reason.values():
            out |= mask
        return out

    def of(self, place: int) -> list[str]:
        return [one for one in REASONS if one in self.by_reason and self.by_reason[one][place]]

    def first_reasons(self, counted: Mask) -> dict[str, int]:
        """How many of the `counted` fall under each reason, each under its first."""
        counts: dict[str, int] = {}
        left = counted.copy()
        for reason in REASONS:
            if reason in self.by_reason:
                here = left & self.by_reason[reason]
                if here.any():
                    counts[reason] = int(here.sum())
                left &= ~here
        return counts


@dataclass(frozen=True, slots=True)
class Ranking:
    """The candidates that passed the gates, best first."""

    order: list[int]
    verdicts: Verdicts
    probed: dict[int, bool] = field(default_factory=dict)


def gate(pool: Pool, scores: Scores, question: Question, policy: Policy) -> Verdicts:
    """Apply the gates; each provider's own hints can only raise them for itself."""
    hints = pool.claims(question.mode).hints
    count = max(1, len(question.requires))
    verdicts = Verdicts({}, len(pool))
    is_cover = policy.selection_mode == "cover"
    contract = scores.resolved_contract if is_cover else scores.contract
    final = scores.final_with(contract) if is_cover else scores.final
    least_contract = np.maximum(policy.min_contract_score, hints.min_contract_score)
    least_total = np.maximum(policy.min_total_score, hints.min_total_score)
    if question.mode == "strict":
        verdicts.by_reason["runtime-incompatible"] = scores.runtime < 1.0
    if is_cover:
        verdicts.by_reason["nothing-resolved"] = scores.resolved < 1.0
    else:
        least_coverage = np.maximum(policy.min_required_coverage, hints.min_required_coverage)
        coverage = np.round(scores.resolved / count, 12)
        verdicts.by_reason["below-min-required-coverage"] = coverage < least_coverage
    verdicts.by_reason["below-min-contract-score"] = contract < least_contract
    verdicts.by_reason["below-min-total-score"] = final < least_total
    return verdicts


def rank(pool: Pool, scores: Scores, places: NDArray[np.intp]) -> list[int]:
    """These candidates, best first: by final score, then by the six tie-breakers."""
    keys = _rank_keys(pool, scores, places)
    return [int(place) for place in places[np.lexsort(keys[::-1])]]


def _rank_keys(
    pool: Pool, scores: Scores, places: NDArray[np.intp]
) -> tuple[NDArray[np.float64] | NDArray[np.intp], ...]:
    """One array for each of `TIE_BREAKS`; lower comes first."""
    return (
        -scores.final[places],
        -scores.contract[places],
        -scores.resolved[places],
        -scores.resolved[places],
        -scores.specificity[places],
        -scores.skill[places],
        pool.hash_ranks(places),
    )


def deciding_step(pool: Pool, scores: Scores, upper: int, lower: int) -> int:
    """Which of `TIE_BREAKS` puts `upper` before `lower`."""
    for step, key in enumerate(_rank_keys(pool, scores, np.array([upper, lower]))):
        if key[0] != key[1]:
            return step
    return len(TIE_BREAKS) - 1


def within_hints(order: Sequence[int], claims: Claims, verdicts: Verdicts) -> list[int]:
    """Without those that rank below the `max-candidates` that they themselves name."""
    kept = []
    for position, place in enumerate(order, start=1):
        if position > claims.hints.max_candidates[place]:
            verdicts.reject("beyond-max-candidates-hint", [place])
        else:
            kept.append(place)
    return kept


def cut(
    order: Sequence[int], scores: Scores, question: Question, policy: Policy
) -> tuple[list[int], list[int]]:
    """The first `max-candidates`, and the others.

    In cover the best candidate of each required capability stays, even if they are more.
    """
    best: dict[int, None] = {}
    if policy.selection_mode == "cover":
        for one in scores.matches:
            resolved = one.resolved(question.mode)
            first = next((place for place in order if resolved[place]), None)
            if first is not None:
                best[first] = None
    room = max(policy.max_candidates - len(best), 0)
    others = [place for place in order if place not in best]
    kept = {*best, *others[:room]}
    return [one for one in order if one in kept], [one for one in order if one not in kept]


def select(kept: Sequence[int], scores: Scores, question: Question, policy: Policy) -> list[int]:
    """The first of the ranking, or the set that covers most of what is required."""
    if policy.selection_mode == "single":
        return list(kept[:1])
    left = set(range(len(question.requires)))
    gains = {
        place: {
            number
            for number, one in enumerate(scores.matches)
            if one.resolved(question.mode)[place]
        }
        for place in kept
    }
    selected: list[int] = []
    while left and len(selected) < policy.max_providers:
        best = max(kept, key=lambda place: len(gains[place] & left), default=None)
        if best is None or not gains[best] & left:
            break
        selected.append(best)
        left -= gains[best]
    return selected
