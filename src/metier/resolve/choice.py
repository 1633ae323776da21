"""Gates, ranking and selection."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from metier.core.arrays import Floats, Mask, Places, arrays_of
from metier.core.once import once
from metier.resolve.pool import Claims, Pool
from metier.resolve.scores import Question, Scores
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


class Verdicts:
    """Who is rejected after the gates, and for which reasons; by place in the pool."""

    def __init__(self) -> None:
        self._by_place: defaultdict[int, set[str]] = defaultdict(set)
        self._open: dict[int, tuple[str, ...]] = {}

    def reject(self, reason: str, places: Iterable[int]) -> None:
        for place in places:
            self._by_place[place].add(reason)

    def leave_open(self, place: int, capabilities: tuple[str, ...]) -> None:
        """Note what stays open of what a candidate requires."""
        self._open[place] = capabilities

    def left_open(self, place: int) -> tuple[str, ...]:
        return self._open.get(place, ())

    def lacking(self) -> list[int]:
        """The places of those that require what stays open."""
        return list(self._open)

    def items(self) -> Iterable[tuple[int, set[str]]]:
        return self._by_place.items()


def gates(
    pool: Pool, scores: Scores, question: Question, policy: Policy
) -> Iterator[tuple[str, Mask]]:
    """Which of the scored candidates each gate refuses; a provider's hints can only raise them.

    The cheap gates come first: who needs no more than those never pays for the others.
    """
    least = partial(pool.claims(question.mode).hints.least, policy=policy, places=scores.places)
    is_cover = policy.selection_mode == "cover"
    contract = scores.resolved_contract if is_cover else scores.contract
    yield "below-min-contract-score", contract < least("min_contract_score")
    if is_cover:
        yield "nothing-resolved", scores.resolved < 1.0
    else:
        yield "below-min-required-coverage", scores.coverage < least("min_required_coverage")
    if question.mode == "strict":
        yield "runtime-incompatible", scores.runtime < 1.0
    final = scores.final_of_resolved if is_cover else scores.final
    yield "below-min-total-score", final < least("min_total_score")


def rank(pool: Pool, scores: Scores, rows: Places) -> list[int]:
    """These rows of `scores`, best first: by final score, then by the six tie-breakers."""
    if len(rows) < 2:
        return [int(row) for row in rows]
    keys = _rank_keys(pool, scores, rows)
    return [int(row) for row in rows[pool.arrays.lexsort(keys[::-1])]]


def _rank_keys(pool: Pool, scores: Scores, rows: Places) -> tuple[Floats | Places, ...]:
    """One array for each of `TIE_BREAKS`; lower comes first."""
    return (
        -scores.final[rows],
        -scores.contract[rows],
        -scores.resolved[rows],
        -scores.resolved[rows],
        -scores.specificity[rows],
        -scores.skill[rows],
        pool.hash_ranks(scores.places[rows]),
    )


def deciding_step(pool: Pool, scores: Scores, upper: int, lower: int) -> int:
    """Which of `TIE_BREAKS` puts `upper` before `lower`."""
    for step, key in enumerate(_rank_keys(pool, scores, pool.arrays.array([upper, lower]))):
        if key[0] != key[1]:
            return step
    return len(TIE_BREAKS) - 1


def within_hints(
    order: Sequence[int], scores: Scores, claims: Claims
) -> tuple[list[int], list[int]]:
    """Those that rank within the `max-candidates` that they themselves name, and the others."""
    if not claims.hints.bind:
        return list(order), []
    limits = claims.hints.max_candidates[scores.places[order]]
    is_within = [position <= limit for position, limit in enumerate(limits, start=1)]
    return [row for row, within in zip(order, is_within, strict=True) if within], [
        row for row, within in zip(order, is_within, strict=True) if not within
    ]


def cut(
    order: Sequence[int], scores: Scores, question: Question, policy: Policy
) -> tuple[list[int], list[int]]:
    """The first `max-candidates`, and the others.

    In cover the best candidate of each required capability stays, even if they are more.
    """
    if policy.selection_mode == "single":
        return list(order[: policy.max_candidates]), list(order[policy.max_candidates :])
    best = set(_best_of_each(order, scores, question))
    room = max(policy.max_candidates - len(best), 0)
    others = [row for row in order if row not in best]
    kept = {*best, *others[:room]}
    return [row for row in order if row in kept], [row for row in order if row not in kept]


def _best_of_each(order: Sequence[int], scores: Scores, question: Question) -> list[int]:
    """The first in `order` that resolves it, for each capability that anybody there resolves."""
    arrays = arrays_of(scores.places)
    position = arrays.full(len(scores.places), len(order), dtype=int)
    position[order] = arrays.arange(len(order))
    resolved = scores.matches.where(scores.matches.resolved(question.mode))
    positions = position[resolved.rows]
    best_last = (-positions).argsort(kind="stable")
    first = arrays.full(len(question.requires), len(order), dtype=int)
    first[resolved.required[best_last]] = positions[best_last]
    return [order[at] for at in first.tolist() if at < len(order)]


def select(kept: Sequence[int], scores: Scores, question: Question, policy: Policy) -> list[int]:
    """The first of the ranking, or the set that covers most of what is required."""
    if policy.selection_mode == "single":
        return list(kept[:1])
    left = set(range(len(question.requires)))
    gains = {row: scores.matches.resolved_by(row, question.mode) for row in kept}
    selected: list[int] = []
    while left and len(selected) < policy.max_providers:
        best = max(kept, key=lambda row: len(gains[row] & left), default=None)
        if best is None or not gains[best] & left:
            break
        selected.append(best)
        left -= gains[best]
    return selected


@dataclass
class Choice:
    """What one question came to, before anybody is asked."""

    question: Question
    policy: Policy
    scores: Scores
    verdicts: Verdicts
    kept: list[int]
    """Rows of `scores`, best first."""
    selected: list[int]
    """Those of them that are chosen."""

    @once
    def unresolved(self) -> tuple[str, ...]:
        """What is required and not resolved by the selected."""
        matches, mode = self.scores.matches, self.question.mode
        resolved: set[int] = set().union(*(matches.resolved_by(row, mode) for row in self.selected))
        return tuple(
            name for number, name in enumerate(self.question.requires) if number not in resolved
        )

    def open(self) -> tuple[str, ...]:
        """What stays open: a requirement itself, or what its rejected providers lack."""
        found: list[str] = []
        for number, name in enumerate(self.question.requires):
            if name in self.unresolved:
                found += self._lacking(number) or [name]
        return tuple(dict.fromkeys(found))

    def _lacking(self, number: int) -> list[str]:
        """What those lack that resolve this requirement and were rejected for it."""
        places = sorted(self.places(self._able(number)))
        return [one for place in places for one in self.verdicts.left_open(place)]

    def _able(self, number: int) -> Places:
        """The rows that resolve this requirement."""
        matches = self.scores.matches
        resolved = matches.resolved(self.question.mode) & (matches.required == number)
        rows: Places = matches.rows[resolved]
        return rows

    def providers(self) -> tuple[tuple[int, ...], ...]:
        """For each requirement the places of the selected that resolve it."""
        found: list[list[int]] = [[] for _ in self.question.requires]
        for row, place in zip(self.selected, self.places(self.selected), strict=True):
            for number in self.scores.matches.resolved_by(row, self.question.mode):
                found[number].append(place)
        return tuple(map(tuple, found))

    def refused(self, pool: Pool) -> list[tuple[str, int, tuple[str, ...]]]:
        """Who resolves what is unresolved, and why each was rejected; the best first."""
        if not self.unresolved:
            return []
        masks = dict(gates(pool, self.scores, self.question, self.policy))
        verdicts = dict(self.verdicts.items())
        found = []
        for number, name in enumerate(self.question.requires):
            if name in self.unresolved:
                for row in rank(pool, self.scores, self._able(number)):
                    place = int(self.scores.places[row])
                    why = {one for one, refused in masks.items() if refused[row]}
                    why |= verdicts.get(place, set())
                    found.append((name, place, tuple(one for one in REASONS if one in why)))
        return found

    def places(self, rows: Iterable[int]) -> list[int]:
        """Where these rows stand in the pool."""
        return [int(self.scores.places[row]) for row in rows]
