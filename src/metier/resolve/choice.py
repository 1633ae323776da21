"""Gates, ranking and selection."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from metier.core.arrays import Floats, Mask, Places
from metier.resolve.scores import Scores
from metier.values.policy import Policy


def gates(scores: Scores, policy: Policy) -> Iterator[tuple[str, Mask]]:
    """The scored candidates that each gate rejects, cheap gates first."""
    if not scores.question.team:
        yield from _gates(scores, policy)
        return
    passed = scores.pool.arrays.ones(len(scores.places), dtype=bool)
    for reason, rejected in _gates(scores, policy):
        passed &= ~rejected
        yield reason, rejected
    yield "own-team-first", scores.outranked(passed)


def _gates(scores: Scores, policy: Policy) -> Iterator[tuple[str, Mask]]:
    least = partial(scores.claims.hints.least, policy=policy, places=scores.places)
    is_cover = policy.selection_mode == "cover"
    contract = scores.resolved_contract if is_cover else scores.contract
    yield "below-min-contract-score", contract < least("min_contract_score")
    if is_cover:
        yield "nothing-resolved", scores.resolved < 1.0
    else:
        yield "below-min-required-coverage", scores.coverage < least("min_required_coverage")
    if scores.question.mode == "strict":
        yield "runtime-incompatible", scores.runtime < 1.0
    final = scores.final_of_resolved if is_cover else scores.final
    yield "below-min-total-score", final < least("min_total_score")


def ranked(scores: Scores, policy: Policy) -> list[int]:
    """The rows that pass the gates, best first."""
    arrays = scores.pool.arrays
    passed = arrays.ones(len(scores.places), dtype=bool)
    if scores.question.consumer is not None:
        passed &= scores.places != scores.question.consumer
    for _, rejected in gates(scores, policy):
        passed &= ~rejected
        if not passed.any():
            return []
    return rank(scores, arrays.flatnonzero(passed))


def rank(scores: Scores, rows: Places) -> list[int]:
    """These rows of `scores`, best first: by final score, then by the tie-breakers."""
    if len(rows) > 1:
        rows = rows[scores.pool.arrays.lexsort(_rank_keys(scores, rows)[::-1])]
    return [int(row) for row in rows]


def _rank_keys(scores: Scores, rows: Places) -> tuple[Floats | Places | Mask, ...]:
    """One array for each of `tie_breaks`; lower comes first."""
    own_team = (~scores.own_team[rows],) if scores.question.team else ()
    return (
        -scores.final[rows],
        -scores.contract[rows],
        -scores.resolved[rows],
        -scores.resolved[rows],
        -scores.specificity[rows],
        -scores.skill[rows],
        *own_team,
        scores.hash_ranks(rows),
    )


def deciding_step(scores: Scores, upper: int, lower: int) -> int:
    """Which of `tie_breaks` puts `upper` before `lower`."""
    keys = _rank_keys(scores, scores.pool.arrays.array([upper, lower]))
    steps = (step for step, key in enumerate(keys) if key[0] != key[1])
    return next(steps, len(keys) - 1)


def within_hints(order: Sequence[int], scores: Scores) -> tuple[list[int], list[int]]:
    """The rows within the `max-candidates` that they set themselves, and the others."""
    hints = scores.claims.hints
    if not hints.bind:
        return list(order), []
    limits = hints.max_candidates[scores.places[order]]
    beyond = [row for row, limit, at in zip(order, limits, count(1), strict=False) if at > limit]
    dropped = set(beyond)
    return [row for row in order if row not in dropped], beyond


def cut(order: Sequence[int], scores: Scores, policy: Policy) -> tuple[list[int], list[int]]:
    """The first `max-candidates`, and the others.

    In cover the best candidate of each required capability stays, even if they are more.
    """
    if policy.selection_mode == "single":
        return list(order[: policy.max_candidates]), list(order[policy.max_candidates :])
    best = set(_best_of_each(order, scores))
    room = max(policy.max_candidates - len(best), 0)
    others = [row for row in order if row not in best]
    kept = {*best, *others[:room]}
    return [row for row in order if row in kept], [row for row in order if row not in kept]


def _best_of_each(order: Sequence[int], scores: Scores) -> list[int]:
    """The first in `order` that resolves each of the capabilities."""
    arrays, question = scores.pool.arrays, scores.question
    position = arrays.full(len(scores.places), len(order), dtype=int)
    position[order] = arrays.arange(len(order))
    resolved = scores.matches.where(scores.matches.resolved(question.mode))
    positions = position[resolved.rows]
    best_last = (-positions).argsort(kind="stable")
    first = arrays.full(len(question.requires), len(order), dtype=int)
    first[resolved.required[best_last]] = positions[best_last]
    return [order[at] for at in first.tolist() if at < len(order)]


def select(kept: Sequence[int], scores: Scores, policy: Policy) -> list[int]:
    """The first of the ranking, or the set that covers most of what is required."""
    question = scores.question
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


# What providers require


class Refused(NamedTuple):
    """A rejected provider of an unresolved requirement."""

    capability: str
    provider: str
    reasons: tuple[str, ...]
    lacks: tuple[str, ...] = ()
    """Its own unresolved requirements."""

    def to_json(self) -> dict[str, Any]:
        node: dict[str, Any] = {
            "capability": self.capability,
            "provider": self.provider,
            "reasons": list(self.reasons),
        }
        if self.lacks:
            node["unresolved_dependencies"] = list(self.lacks)
        return node


class Dependency(NamedTuple):
    """The requirements of one provider, and who provides them."""

    provider: str
    requires: tuple[str, ...]
    selected: tuple[str, ...]
    unresolved: tuple[str, ...]
    providers: tuple[tuple[str, ...], ...] = ()
    """For each requirement, those of `selected` that provide it."""
    cycle: tuple[str, ...] = ()
    """The ids of a cycle back to a provider above."""
    beyond_depth: bool = False
    below: tuple["Dependency", ...] = ()
    repeated: tuple[str, ...] = ()
    """Providers whose own requirements are described elsewhere in the report."""
    refused: tuple[Refused, ...] = ()
    more_refused: int = 0

    def all_unresolved(self) -> list[str]:
        return [*self.unresolved, *(name for one in self.below for name in one.all_unresolved())]

    def to_json(self) -> dict[str, Any]:
        node: dict[str, Any] = {
            "provider": self.provider,
            "requires": list(self.requires),
            "selected": list(self.selected),
            "providers": {
                name: list(ids) for name, ids in zip(self.requires, self.providers, strict=False)
            },
            "unresolved": list(self.unresolved),
            "cycle": list(self.cycle),
            "beyond_depth": self.beyond_depth,
            "dependencies": [one.to_json() for one in self.below],
        }
        if self.repeated:
            node["repeated"] = list(self.repeated)
        if self.refused:
            node["refused"] = [one.to_json() for one in self.refused]
        if self.more_refused:
            node["more_refused"] = self.more_refused
        return node


class Lack(NamedTuple):
    """The unresolved requirements of a candidate, which strict rejects."""

    open: tuple[str, ...]
    tree: Dependency


class OptionalMatch(NamedTuple):
    """The provider of an optional capability."""

    capability: str
    provider: str | None
    match: str
    token: str | None = None
    """The capability of the provider that matched; None without an explicit match."""
