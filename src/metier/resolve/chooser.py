"""Choosing providers for a question, and for what those providers require.

Many chains of providers may lead to one provider. Its requirements are settled once per remaining
depth and per set of providers above it that it can reach again: a cycle is not followed twice.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from metier.core.arrays import Places
from metier.resolve.choice import (
    Dependency,
    Lack,
    Refused,
    cut,
    gates,
    rank,
    ranked,
    select,
    within_hints,
)
from metier.resolve.matching import UNLIMITED
from metier.resolve.pool import Pool
from metier.resolve.scores import Question, Scores
from metier.values.contracts import Contract
from metier.values.policy import Policy, strictest
from metier.values.resolution import REASONS, MayProbe, Probe, ProbeResult

Chain = tuple[int, ...]
"""Indexes of providers, each required by the previous one."""
MOST_REFUSED = 5
"""Rejected providers listed per unresolved requirement."""
ITSELF = "requires-itself"
"""Why a provider does not provide its own requirement."""


class Probing:
    """Runs each probe once."""

    def __init__(self, pool: Pool, probes: Mapping[str, Probe]) -> None:
        self._pool = pool
        self._probes = probes
        self._results: dict[tuple[int, str], ProbeResult] = {}

    @property
    def results(self) -> tuple[ProbeResult, ...]:
        return tuple(self._results.values())

    def wanted(self, row: int, scores: Scores) -> list[str]:
        """The required capabilities that this candidate resolves and that have a probe."""
        if not self._probes:
            return []
        question = scores.question
        resolved = sorted(scores.matches.resolved_by(row, question.mode))
        return [name for number in resolved if (name := question.requires[number]) in self._probes]

    def run(self, index: int, capability: str) -> ProbeResult:
        key = index, capability
        if key not in self._results:
            probe = self._probes[capability]
            self._results[key] = probe(self._pool.candidates[index], capability)
        return self._results[key]


class Needs(NamedTuple):
    """The requirements of one provider, by index."""

    requires: tuple[str, ...]
    is_followed: bool = False
    selected: tuple[int, ...] = ()
    providers: tuple[tuple[int, ...], ...] = ()
    """For each requirement, those of `selected` that provide it."""
    unresolved: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    """Unresolved requirements, or what their rejected providers lack."""
    refused: tuple[Refused, ...] = ()
    more_refused: int = 0


class Verdicts:
    """Rejections after the gates, by index in the pool."""

    def __init__(self) -> None:
        self.reasons: defaultdict[int, set[str]] = defaultdict(set)
        self.open: dict[int, tuple[str, ...]] = {}

    def reject(self, reason: str, places: Iterable[int]) -> None:
        for place in places:
            self.reasons[place].add(reason)


@dataclass
class Choice:
    """The answer to one question, before any decision."""

    policy: Policy
    scores: Scores
    verdicts: Verdicts
    kept: list[int]
    """Rows of `scores`, best first."""
    selected: list[int]
    """Those of them that are chosen."""

    @property
    def question(self) -> Question:
        return self.scores.question

    @cached_property
    def unresolved(self) -> tuple[str, ...]:
        matches, mode = self.scores.matches, self.question.mode
        resolved: set[int] = set().union(*(matches.resolved_by(row, mode) for row in self.selected))
        return tuple(
            name for number, name in enumerate(self.question.requires) if number not in resolved
        )

    def open(self) -> tuple[str, ...]:
        """Unresolved requirements, or what their rejected providers lack."""
        found: list[str] = []
        for number, name in enumerate(self.question.requires):
            if name in self.unresolved:
                places = sorted(self.places(self._able(number)))
                lacking = [one for place in places for one in self.verdicts.open.get(place, ())]
                found += lacking or [name]
        return tuple(dict.fromkeys(found))

    def _able(self, number: int) -> Places:
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

    def refused(self) -> list[tuple[str, int, tuple[str, ...]]]:
        """The rejected providers of unresolved requirements, best first, with the reasons."""
        if not self.unresolved:
            return []
        masks = dict(gates(self.scores, self.policy))
        found = []
        for number, name in enumerate(self.question.requires):
            if name in self.unresolved:
                for row in rank(self.scores, self._able(number)):
                    place = int(self.scores.places[row])
                    why = {one for one, refused in masks.items() if refused[row]}
                    why |= self.verdicts.reasons.get(place, set())
                    found.append((name, place, tuple(one for one in REASONS if one in why)))
        return found

    def places(self, rows: Iterable[int]) -> list[int]:
        """The places of these rows in the pool."""
        return self.scores.places_of(rows)


class Chooser:
    """Answers the questions of one resolution: its own, and those of its providers."""

    def __init__(
        self,
        pool: Pool,
        question: Question,
        overrides: Mapping[str, str],
        probes: Mapping[str, Probe],
    ) -> None:
        self._pool = pool
        self._asked = question
        self._mode = question.mode
        self._contracts = pool.claims(question.mode).contracts
        self._overrides = overrides
        self.probing = Probing(pool, probes)
        self.warnings: list[str] = []
        self.cleared: list[int] = []
        """Places of flagged candidates whose probes have passed."""
        self._scored: dict[tuple[object, ...], Scores] = {}
        self._needs: dict[tuple[object, ...], Needs | None] = {}
        self._met: dict[tuple[int, int], frozenset[int]] = {}

    def question(self, requires: tuple[str, ...], consumer: int | None) -> Question:
        return self._asked._replace(requires=requires, query=" ".join(requires), consumer=consumer)

    def policy(self, contract: Contract | None) -> Policy:
        """The defaults, then the contract's values, then the caller's."""
        pairs = contract.policy if contract is not None else {}
        policy, warnings = Policy.for_mode(self._mode).with_contract(pairs)
        self.warnings += warnings
        return policy.with_runtime(self._overrides)

    # One question

    def choose(
        self, question: Question, policy: Policy, depth: int, may_probe: MayProbe | None
    ) -> Choice:
        """Answer the question of the resolution itself."""
        scores = self.scores(question, policy)
        if may_probe is not None and self._mode == "best-effort":
            scores = self._after_probes(scores, policy, may_probe)
        choice = self._choose(scores, policy, depth, ())
        scores.look_up()
        return choice

    def final_policy(self, choice: Choice) -> Policy:
        """The policy, with the strictest rule for missing capabilities of a selected provider."""
        value = choice.policy.on_missing_required
        for place in choice.places(choice.selected):
            contract = self._contracts.get(place)
            if contract is not None:
                tight = choice.policy.tightened(contract.policy)
                value = strictest(value, tight.on_missing_required)
        return choice.policy.with_on_missing(value)

    def scores(self, question: Question, policy: Policy) -> Scores:
        """The scores of all that can pass; without a match only a contract gate of 0 lets pass."""
        everyone = policy.min_contract_score <= 0
        key = question.requires, question.query, question.consumer, everyone
        if key not in self._scored:
            self._scored[key] = Scores(self._pool, question, everyone=everyone)
        return self._scored[key]

    def _choose(self, scores: Scores, policy: Policy, depth: int, chain: Chain) -> Choice:
        """`depth` says how far the requirements of candidates are followed."""
        order, verdicts = ranked(scores, policy), Verdicts()
        if self._mode == "strict":
            order = self._walk(order, scores, policy, verdicts, depth, chain)
        order, beyond = within_hints(order, scores)
        verdicts.reject("beyond-max-candidates-hint", scores.places_of(beyond))
        kept, beyond = cut(order, scores, policy)
        verdicts.reject("beyond-max-candidates", scores.places_of(beyond))
        return Choice(policy, scores, verdicts, kept, select(kept, scores, policy))

    def _after_probes(self, scores: Scores, policy: Policy, may_probe: MayProbe) -> Scores:
        """Scores without the penalty of top candidates whose probes pass."""
        kept, _ = cut(ranked(scores, policy), scores, policy)
        for row in kept:
            if scores.flagged[row]:
                place = int(scores.places[row])
                wanted = self.probing.wanted(row, scores)
                asked = [one for one in wanted if may_probe(self._pool.candidates[place], one)]
                results = [self.probing.run(place, one) for one in asked]
                if results and all(one.passed for one in results):
                    self.cleared.append(place)
        if not self.cleared:
            return scores
        everyone = policy.min_contract_score <= 0
        return Scores(self._pool, scores.question, everyone=everyone, cleared=self.cleared)

    # Strict looks closer

    def _walk(
        self,
        order: list[int],
        scores: Scores,
        policy: Policy,
        verdicts: Verdicts,
        depth: int,
        chain: Chain,
    ) -> list[int]:
        """Check each candidate that would be kept, from the top, and drop those that fail."""
        looked_at: set[int] = set()
        while True:
            kept, _ = cut(within_hints(order, scores)[0], scores, policy)
            for row in kept:
                if row in looked_at:
                    continue
                looked_at.add(row)
                if self._drops_out(row, scores, verdicts, depth, chain):
                    order.remove(row)
                    break
            else:
                return order

    def _drops_out(
        self, row: int, scores: Scores, verdicts: Verdicts, depth: int, chain: Chain
    ) -> bool:
        """Whether a candidate is rejected; every reason is recorded."""
        place = int(scores.places[row])
        results = [self.probing.run(place, one) for one in self.probing.wanted(row, scores)]
        passed = bool(results) and all(one.passed for one in results)
        reasons = []
        if scores.flagged[row] and not passed:
            reasons.append("contract-inflated")
        if results and not passed:
            reasons.append("probe-failed")
        needs = self.needs(place, depth, chain) if place not in chain else None
        if needs is not None and needs.unresolved:
            reasons.append("dependency-unresolved")
            verdicts.open[place] = needs.open
        for reason in reasons:
            verdicts.reject(reason, [place])
        return bool(reasons)

    # What providers require

    def needs(self, index: int, depth: int, chain: Chain) -> Needs | None:
        """The requirements of the provider at `place`, below `chain`; None without any."""
        key = self._key(index, depth, chain)
        if key not in self._needs:
            self._needs[key] = self._settle(index, depth, chain)
        return self._needs[key]

    def _key(self, index: int, depth: int, chain: Chain) -> tuple[object, ...]:
        if not chain or depth < 2 or self._mode == "best-effort":
            return index, depth, frozenset[int]()
        return index, depth, self._can_meet(index, depth - 1).intersection(chain)

    def _can_meet(self, index: int, steps: int) -> frozenset[int]:
        """The candidates that following the requirements of this provider can reach."""
        key = index, steps
        if key not in self._met:
            asked = self._question_of(index)
            met: set[int] = set()
            if asked is not None and steps > 0:
                question, policy = asked
                scores = self.scores(question, policy)
                met.update(map(int, scores.places[ranked(scores, policy)]))
            further = [self._can_meet(one, steps - 1) for one in met]
            self._met[key] = frozenset(met).union(*further)
        return self._met[key]

    def _question_of(self, index: int) -> tuple[Question, Policy] | None:
        """What a provider asks as a consumer; None when it requires nothing.

        Any number of providers may share its requirements, whatever any policy says.
        """
        contract = self._contracts.get(index)
        if contract is None or not contract.requires:
            return None
        requires = tuple(dict.fromkeys(contract.requires))
        policy = self.policy(contract)
        shared = policy._replace(selection_mode="cover", max_providers=UNLIMITED)
        return self.question(requires, index), shared

    def _settle(self, index: int, depth: int, chain: Chain) -> Needs | None:
        asked = self._question_of(index)
        if asked is None:
            return None
        question, policy = asked
        if depth <= 0:
            return Needs(question.requires)
        scores = self.scores(question, policy)
        choice = self._choose(scores, policy, depth - 1, (*chain, index))
        refused, more = self._refused(choice)
        return Needs(
            requires=question.requires,
            is_followed=True,
            selected=tuple(choice.places(choice.selected)),
            providers=choice.providers(),
            unresolved=choice.unresolved,
            open=choice.open(),
            refused=refused,
            more_refused=more,
        )

    def _refused(self, choice: Choice) -> tuple[tuple[Refused, ...], int]:
        """The best rejected providers of each unresolved requirement; the number of others."""
        best: list[Refused] = []
        named: Counter[str] = Counter()
        everyone = choice.refused()
        for name, place, reasons in everyone:
            named[name] += 1
            if named[name] <= MOST_REFUSED:
                lacks = choice.verdicts.open.get(place, ())
                best.append(Refused(name, self._pool.ids[place], reasons, lacks))
        others = len(everyone) - len(best)
        consumer = choice.question.consumer
        if consumer is not None:
            own = self._pool.candidates[consumer].provides_in(self._mode)
            for name in choice.unresolved:
                if name in own and not named[name]:
                    best.append(Refused(name, self._pool.ids[consumer], (ITSELF,)))
        return tuple(best), others

    def lacking(self, places: Iterable[int], depth: int) -> dict[int, Lack]:
        """The unresolved requirements of each of `places` that has any."""
        described: set[tuple[object, ...]] = set()
        found = {}
        for place in places:
            needs = self.needs(place, depth, ())
            if needs is not None and needs.unresolved:
                tree = self._described(place, depth, (), described)
                found.update({place: Lack(needs.open, tree)} if tree is not None else {})
        return found

    def dependency(self, index: int, depth: int) -> Dependency | None:
        """The requirements of a provider and of its providers, as a tree."""
        return self._described(index, depth, (), set())

    def _described(
        self, index: int, depth: int, chain: Chain, described: set[tuple[object, ...]]
    ) -> Dependency | None:
        needs = self.needs(index, depth, chain)
        if needs is None:
            return None
        described.add(self._key(index, depth, chain))
        ids, chain = self._pool.ids, (*chain, index)
        below: list[Dependency] = []
        repeated: list[str] = []
        cycle: tuple[str, ...] = ()
        lacking = [self._pool.places[one.provider] for one in needs.refused if one.lacks]
        for one in dict.fromkeys([*needs.selected, *lacking]):
            if one in chain:
                cycle = tuple(ids[link] for link in (*chain[chain.index(one) :], one))
            elif self._key(one, depth - 1, chain) in described:
                repeated.append(ids[one])
            else:
                found = self._described(one, depth - 1, chain, described)
                below += [found] if found is not None else []
        return Dependency(
            provider=ids[index],
            requires=needs.requires,
            selected=tuple(ids[one] for one in needs.selected),
            unresolved=needs.unresolved,
            providers=tuple(tuple(ids[one] for one in some) for some in needs.providers),
            cycle=cycle,
            beyond_depth=not needs.is_followed,
            below=tuple(below),
            repeated=tuple(repeated),
            refused=needs.refused,
            more_refused=needs.more_refused,
        )
