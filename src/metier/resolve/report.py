"""The result of a resolution, and the report that proves it."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from metier.core.arrays import Mask, Places
from metier.resolve.choice import (
    Dependency,
    Lack,
    OptionalMatch,
    deciding_step,
    gates,
    rank,
)
from metier.resolve.chooser import Verdicts
from metier.resolve.matching import RESOLVING, Match
from metier.resolve.pool import Pool
from metier.resolve.scores import Basis, Question, Scores
from metier.resolve.scoring import compatibility, distinct
from metier.values.candidates import Candidate
from metier.values.policy import Policy
from metier.values.resolution import (
    OWN_TEAM,
    REASONS,
    Outcome,
    ProbeResult,
    Report,
    outcome_fields,
    tie_breaks,
)
from metier.values.score_numbers import MATCH_SCORES

SCHEMA_VERSION = "1"
LIMITS = ("min-contract-score", "min-required-coverage", "min-total-score", "max-candidates")
SWITCH = "disable-model-invocation"
MOST_ROWS = 200
"""The most candidates with an explicit match that get a row."""
MOST_MATCHES = 20_000
"""The most matches in all rows together; it reduces the number of rows."""


class SourceCount(NamedTuple):
    source: str
    """workspace-local · runtime-installed · external-mounts"""
    discovered: int
    included: int

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "excluded": self.discovered - self.included}


class RunFacts(NamedTuple):
    """What only the caller knows, for the report."""

    run_id: str = ""
    generated_at: str = ""
    sources: Sequence[SourceCount] = ()
    excluded: Mapping[str, int] = {}
    """Excluded files by reason."""
    history_state: str = "ephemeral"
    samples: Mapping[str, int] = {}
    warnings: Sequence[str] = ()
    disabled: Mapping[str, Sequence[str]] = {}
    """Unresolved capabilities, and the ids of their disabled providers."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Resolution:
    """Which providers were chosen, and everything its report says about why."""

    question: Question
    policy: Policy
    selected: tuple[str, ...]
    """Ids of the chosen providers; empty after `failed` and `aborted`."""
    chosen: tuple[str, ...]
    """The same before any failure or abort."""
    unresolved: tuple[str, ...]
    outcome: Outcome
    optional: tuple[OptionalMatch, ...]
    dependencies: tuple[Dependency, ...]
    probes: tuple[ProbeResult, ...]
    warnings: tuple[str, ...]
    consumer: str | None = None
    facts: RunFacts
    pool: Pool = field(repr=False)
    verdicts: Verdicts = field(repr=False)
    """Rejections after the gates."""
    lacking: Mapping[int, Lack] = field(repr=False)
    cleared: tuple[int, ...] = field(repr=False)
    """Indexes of flagged candidates whose probes have passed."""
    ranked: tuple[int, ...] = field(repr=False)
    """Indexes of the candidates that passed the gates and the cut, best first."""

    def open_capabilities(self) -> list[str]:
        """Unresolved capabilities, those of providers too."""
        trees = [*self.dependencies, *(one.tree for one in self.lacking.values())]
        below = [name for tree in trees for name in tree.all_unresolved()]
        return list(dict.fromkeys([*self.unresolved, *below]))

    def with_disabled(self, providers: Callable[[str], Sequence[str]]) -> "Resolution":
        """With the disabled skills that provide unresolved capabilities."""
        disabled = {}
        for one in self.open_capabilities():
            names = self.question.aliases.names_of(one)
            ids = list(dict.fromkeys(key for name in names for key in providers(name)))
            disabled.update({one: ids} if ids else {})
        return replace(self, facts=self.facts._replace(disabled=disabled))

    @property
    def degraded_mode(self) -> bool:
        """Whether the run goes on without a required capability."""
        return self.outcome.is_degraded

    @cached_property
    def scores(self) -> Scores:
        return Scores(self.pool, self.question, everyone=True, cleared=self.cleared)

    @cached_property
    def rejections(self) -> "Rejections":
        rejected = dict(gates(self.scores, self.policy))
        for place, reasons in self.verdicts.reasons.items():
            for reason in reasons:
                if reason not in rejected:
                    rejected[reason] = self.pool.arrays.zeros(len(self.pool), dtype=bool)
                rejected[reason][place] = True
        return Rejections(rejected)

    @cached_property
    def report(self) -> Report:
        """With full rows for the candidates that matter."""
        room = MOST_MATCHES // max(1, len(self.question.requires))
        return Report(_report(self, min(MOST_ROWS, max(room, self.policy.max_candidates))))

    def full_report(self) -> Report:
        """The report with a row for every candidate."""
        return Report(_report(self, len(self.pool)))


class Rejections(NamedTuple):
    by_reason: Mapping[str, Mask]

    def of(self, index: int) -> list[str]:
        return [one for one in REASONS if one in self.by_reason and self.by_reason[one][index]]

    def first_reasons(self, counted: Mask) -> dict[str, int]:
        """How many of `counted` have each reason as their first."""
        counts: dict[str, int] = {}
        left = counted.copy()
        for reason in REASONS:
            if reason in self.by_reason:
                here = left & self.by_reason[reason]
                if here.any():
                    counts[reason] = int(here.sum())
                left &= ~here
        return counts


def _report(run: Resolution, most: int) -> dict[str, Any]:
    places = _rows_for(run, most)
    basis = Basis(run.scores, places)
    without_row = run.pool.arrays.ones(len(run.pool), dtype=bool)
    without_row[places] = False
    if run.question.consumer is not None:
        without_row[run.question.consumer] = False
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": run.facts.run_id,
        "generated_at": run.facts.generated_at,
        "mode": run.question.mode,
        "query": run.question.query,
        "host_runtime": run.question.host,
        "consumer": run.consumer,
        **({"team": run.question.team} if run.question.team else {}),
        "required_capabilities": list(run.question.requires),
        "optional_capabilities": [one._asdict() for one in run.optional],
        "discovery": _discovery(run),
        "policy": run.policy.to_json(),
        "selection_mode": run.policy.selection_mode,
        "max_providers": run.policy.max_providers,
        "selected": list(run.selected),
        "unresolved_required_capabilities": list(run.unresolved),
        **outcome_fields(run.outcome),
        "history_state": run.facts.history_state,
        "candidates": [
            {**_row(run, place, below), "basis": basis.of(place)}
            for place, below in _with_next(run, places)
        ],
        "rejected_without_row": run.rejections.first_reasons(without_row),
        "dependencies": [one.to_json() for one in run.dependencies],
        "diagnostics": _diagnostics(run, places, basis),
    }


def _rows_for(run: Resolution, most: int) -> list[int]:
    """The candidates that get a row: the ranked ones, then the others by score."""
    pool, scores, arrays = run.pool, run.scores, run.pool.arrays
    others = arrays.ones(len(pool), dtype=bool)
    others[list(run.ranked)] = False
    if run.question.consumer is not None:
        others[run.question.consumer] = False
    if most < len(pool):
        best = _best(run, others, run.policy.max_candidates)
        explicit = _best(run, others & scores.explicit, most)
        wanted = distinct(arrays.concatenate((best, explicit)))
    else:
        wanted = arrays.flatnonzero(others)
    others_ranked = rank(scores, wanted)
    room = max(most - len(run.ranked), run.policy.max_candidates - len(run.ranked), 0)
    return [*run.ranked, *others_ranked[:room]]


def _best(run: Resolution, mask: Mask, most: int) -> Places:
    """The `most` best of those that `mask` names."""
    arrays = run.pool.arrays
    final = arrays.where(mask, run.scores.final, -1.0)  # less than any score
    least = arrays.partition(final, -most)[-most] if most < len(final) else 0.0
    places = arrays.flatnonzero(final >= max(least, 0.0))
    best: Places = arrays.array(rank(run.scores, places)[:most], dtype=int)
    return best


def _with_next(run: Resolution, places: Sequence[int]) -> list[tuple[int, int | None]]:
    """Each row with the next below; for the last one kept, the first one cut."""
    count = len(run.ranked)
    following: list[int | None] = [*places[1:], None][: len(places)]
    if count:
        following[count - 1] = _below_the_last(run, places[count:])
    return list(zip(places, following, strict=True))


def _below_the_last(run: Resolution, others: Sequence[int]) -> int | None:
    """The first of `others` that was cut, else the first that ranks below all kept ones."""
    for one in others:
        if run.rejections.of(one) == ["beyond-max-candidates"]:
            return one
    for one in others:
        pair = run.pool.arrays.array([run.ranked[-1], one])
        if rank(run.scores, pair)[1] == one:
            return one
    return None


def _row(run: Resolution, index: int, below: int | None) -> dict[str, Any]:
    scores, candidate = run.scores, run.pool.candidates[index]
    resolved = int(scores.resolved[index])
    row: dict[str, Any] = {
        "id": candidate.id,
        "name": candidate.name,
        "source": candidate.source,
        "selected": candidate.id in run.selected,
        "rank": run.ranked.index(index) + 1 if index in run.ranked else None,
        "S_contract": float(scores.contract[index]),
        "S_desc": float(scores.desc[index]),
        "S_namepath": float(scores.namepath[index]),
        "S_runtime": float(scores.runtime[index]),
        "S_total": float(scores.total[index]),
        "penalties": {
            "invalid_token_penalty": float(scores.invalid_tokens[index]),
            "overclaim_penalty": float(scores.overclaim[index]),
            "inflation_penalty": float(scores.inflation[index]),
            "unknown_clause_penalty": float(scores.unknown_clauses[index]),
            "total": float(scores.penalties[index]),
        },
        "history_multiplier": float(scores.multiplier[index]),
        "sample_size": run.facts.samples.get(candidate.id, 0),
        "S_total_final": float(scores.final[index]),
        "required_coverage": float(scores.coverage[index]),
        "unresolved_required": len(run.question.requires) - resolved,
        "S_specificity": float(scores.specificity[index]),
        "S_skill": float(scores.skill[index]),
        "matches": _matches(run, index),
        "contract_inflated": bool(scores.flagged[index]),
        "limits": _limits(run, candidate),
        "rejected": run.rejections.of(index),
        "tie_break": _tie_break(run, index, below),
    }
    if run.policy.selection_mode == "cover":
        row["S_contract_of_resolved"] = float(scores.resolved_contract[index])
        row["S_total_final_of_resolved"] = float(scores.final_of_resolved[index])
    if candidate.team:
        row["team"] = candidate.team
    if run.question.team:
        row[OWN_TEAM] = bool(scores.own_team[index])
    lack = run.lacking.get(index)
    if lack is not None:
        row["unresolved_dependencies"] = list(lack.open)
        row["dependency"] = lack.tree.to_json()
    problem = candidate.refused_in(run.question.mode)
    if problem:
        row["contract_problem"] = problem
    return row


def _limits(run: Resolution, candidate: Candidate) -> dict[str, Any]:
    """The policy for one candidate, tightened by its own hints."""
    contract = candidate.contract_in(run.question.mode)
    policy = run.policy.tightened(contract.policy) if contract is not None else run.policy
    values = policy.to_json()
    return {key: values[key] for key in LIMITS}


def _matches(run: Resolution, index: int) -> list[dict[str, Any]]:
    found = run.scores.matches.of(index)
    resolving = RESOLVING[run.question.mode]
    return [
        {
            "capability": name,
            "match": one.kind,
            "token": one.token,
            "score": MATCH_SCORES[one.kind],
            "resolved": one.kind in resolving,
        }
        for number, name in enumerate(run.question.requires)
        for one in [found.get(number, Match())]
    ]


def _tie_break(run: Resolution, index: int, below: int | None) -> dict[str, Any] | None:
    if below is None:
        return None
    step = deciding_step(run.scores, index, below)
    return {"against": run.pool.ids[below], "step": step, "by": tie_breaks(run.question.team)[step]}


def _discovery(run: Resolution) -> dict[str, Any]:
    included = len(run.pool)
    excluded = sum(run.facts.excluded.values())
    return {
        "sources": [one.to_json() for one in run.facts.sources],
        "discovered": included + excluded,
        "included": included,
        "excluded": excluded,
        "excluded_by_reason": dict(sorted(run.facts.excluded.items())),
    }


def _diagnostics(run: Resolution, places: Sequence[int], basis: Basis) -> dict[str, Any]:
    divergence = run.scores.divergence
    unknown: Counter[str] = Counter()
    for place in run.pool.restricted:
        field_ = run.pool.candidates[place].compatibility
        unknown.update(compatibility(field_, run.question.host).unknown)
    disabled = [
        {"capability": name, "provider": one, "reason": SWITCH}
        for name, ids in run.facts.disabled.items()
        for one in ids
    ]
    return {
        "chosen": list(run.chosen),
        **({"disabled_providers": disabled} if disabled else {}),
        "warnings": [*run.facts.warnings, *run.warnings],
        "probes": [one._asdict() for one in run.probes],
        "unknown_compatibility_tokens": dict(sorted(unknown.items())),
        "alias_tables": run.question.aliases.versions,
        "texts": basis.of_all(),
        "p_median": basis.median_of_claims,
        "divergence": {
            "checked": run.question.with_divergence,
            "candidates": int(run.scores.explicit.sum()),
            "rule": divergence.rule,
            "mean": divergence.mean,
            "sigma": divergence.sigma,
            "limit": divergence.limit,
            "deltas": {
                run.pool.ids[place]: float(run.scores.deltas[place])
                for place in places
                if run.scores.explicit[place] and run.question.with_divergence
            },
        },
    }
