"""Who is chosen for a question, and what the chosen require themselves.

A provider is met on as many ways as there are chains of providers that lead to it. What it
requires is settled once for each depth that is left: of the chain above it only those count that
could be met again further down, because a circle is not followed a second time.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from metier.resolve.aliases import AliasTables
from metier.resolve.choice import Choice, Verdicts, cut, gates, rank, select, within_hints
from metier.resolve.pool import UNLIMITED, Pool
from metier.resolve.probing import Probing
from metier.resolve.results import Dependency, Lack, MayProbe, Probe, Refused
from metier.resolve.scores import Question, Scores
from metier.values.contracts import Contract, Mode
from metier.values.policy import Policy

Chain = tuple[int, ...]
"""Places of providers, each required by the one before it."""
MOST_REFUSED = 5
"""Rejected providers that are named for each requirement that stays open."""


class Needs(NamedTuple):
    """What one provider requires, and who provides that."""

    requires: tuple[str, ...]
    is_followed: bool = False
    selected: tuple[int, ...] = ()
    providers: tuple[tuple[int, ...], ...] = ()
    """For each requirement those of the selected that provide it."""
    unresolved: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    """What stays open: of these requirements, or of those of their providers."""
    refused: tuple[Refused, ...] = ()
    more_refused: int = 0


class Chooser:
    """Answers the questions of one run: what is required, and what providers require."""

    def __init__(
        self,
        pool: Pool,
        overrides: Mapping[str, str],
        aliases: AliasTables,
        rates: Mapping[str, float],
        host: str | None,
        probes: Mapping[str, Probe],
        mode: Mode,
        divergence: bool,
    ) -> None:
        self._pool = pool
        self._overrides = overrides
        self._aliases = aliases
        self._rates = rates
        self._host = host
        self._mode = mode
        self._divergence = divergence
        self.probing = Probing(pool, probes)
        self.warnings: list[str] = []
        self.cleared: list[int] = []
        """Places of flagged candidates whose probes have passed."""
        self._scored: dict[tuple[object, ...], Scores] = {}
        self._needs: dict[tuple[object, ...], Needs | None] = {}
        self._met: dict[tuple[int, int], frozenset[int]] = {}

    def question(self, requires: tuple[str, ...], query: str, consumer: int | None) -> Question:
        return Question(
            requires=requires,
            query=query or " ".join(requires),
            mode=self._mode,
            consumer=consumer,
            aliases=self._aliases,
            rates=self._rates,
            host=self._host,
            with_divergence=self._divergence,
        )

    def policy(self, contract: Contract | None) -> Policy:
        """The defaults, what a contract says, and what the caller says."""
        pairs = contract.policy if contract is not None else {}
        policy, warnings = Policy.for_mode(self._mode).with_contract(pairs)
        self.warnings += warnings
        return policy.with_runtime(self._overrides)

    # One question

    def choose(
        self, question: Question, policy: Policy, depth: int, may_probe: MayProbe | None
    ) -> Choice:
        """The choice for what the run itself requires."""
        scores = self.scores(question, policy)
        if may_probe is not None and self._mode == "best-effort":
            scores = self._after_probes(scores, question, policy, may_probe)
        return self._choose(scores, question, policy, depth, ())

    def scores(self, question: Question, policy: Policy) -> Scores:
        """The scores of all who can pass: without any match that takes a contract gate of 0."""
        everyone = policy.min_contract_score <= 0
        key = question.requires, question.query, question.consumer, everyone
        if key not in self._scored:
            self._scored[key] = Scores(self._pool, question, everyone=everyone)
        return self._scored[key]

    def ranked(self, scores: Scores, question: Question, policy: Policy) -> list[int]:
        """The rows that pass the gates, best first."""
        passed = self._pool.arrays.ones(len(scores.places), dtype=bool)
        if question.consumer is not None:
            passed &= scores.places != question.consumer
        for _, refused in gates(self._pool, scores, question, policy):
            passed &= ~refused
            if not passed.any():
                return []
        return rank(self._pool, scores, self._pool.arrays.flatnonzero(passed))

    def _choose(
        self, scores: Scores, question: Question, policy: Policy, depth: int, chain: Chain
    ) -> Choice:
        """`depth` says how far the requirements of candidates are followed."""
        order, verdicts = self.ranked(scores, question, policy), Verdicts()
        if self._mode == "strict":
            order = self._walk(order, scores, question, policy, verdicts, depth, chain)
        order, beyond = within_hints(order, scores, self._pool.claims(self._mode))
        verdicts.reject("beyond-max-candidates-hint", (int(scores.places[row]) for row in beyond))
        kept, beyond = cut(order, scores, question, policy)
        verdicts.reject("beyond-max-candidates", (int(scores.places[row]) for row in beyond))
        selected = select(kept, scores, question, policy)
        return Choice(question, policy, scores, verdicts, kept, selected)

    def _after_probes(
        self, scores: Scores, question: Question, policy: Policy, may_probe: MayProbe
    ) -> Scores:
        """Scores without the penalty of those flagged at the top whose probe passes."""
        kept, _ = cut(self.ranked(scores, question, policy), scores, question, policy)
        for row in kept:
            if scores.flagged[row]:
                place = int(scores.places[row])
                wanted = self.probing.wanted(row, scores, question)
                asked = [one for one in wanted if may_probe(self._pool.candidates[place], one)]
                results = [self.probing.run(place, one) for one in asked]
                if results and all(one.passed for one in results):
                    self.cleared.append(place)
        if not self.cleared:
            return scores
        everyone = policy.min_contract_score <= 0
        return Scores(self._pool, question, everyone=everyone, cleared=self.cleared)

    # Strict looks closer

    def _walk(
        self,
        order: list[int],
        scores: Scores,
        question: Question,
        policy: Policy,
        verdicts: Verdicts,
        depth: int,
        chain: Chain,
    ) -> list[int]:
        """Look at each candidate that would be kept, from the top; the failing drop out."""
        claims = self._pool.claims(self._mode)
        order = list(order)
        looked_at: set[int] = set()
        while True:
            within, _ = within_hints(order, scores, claims)
            kept, _ = cut(within, scores, question, policy)
            for row in kept:
                if row in looked_at:
                    continue
                looked_at.add(row)
                if self._drops_out(row, scores, question, verdicts, depth, chain):
                    order.remove(row)
                    break
            else:
                return order

    def _drops_out(
        self,
        row: int,
        scores: Scores,
        question: Question,
        verdicts: Verdicts,
        depth: int,
        chain: Chain,
    ) -> bool:
        """Whether anything speaks against a candidate; all of it is noted."""
        place = int(scores.places[row])
        results = [
            self.probing.run(place, one) for one in self.probing.wanted(row, scores, question)
        ]
        passed = bool(results) and all(one.passed for one in results)
        reasons = []
        if scores.flagged[row] and not passed:
            reasons.append("contract-inflated")
        if results and not passed:
            reasons.append("probe-failed")
        needs = self.needs(place, depth, chain) if place not in chain else None
        if needs is not None and needs.unresolved:
            reasons.append("dependency-unresolved")
            verdicts.leave_open(place, needs.open)
        for reason in reasons:
            verdicts.reject(reason, [place])
        return bool(reasons)

    # What providers require

    def needs(self, place: int, depth: int, chain: Chain) -> Needs | None:
        """What the provider at `place` requires, below `chain`; None when that is nothing."""
        key = self._key(place, depth, chain)
        if key not in self._needs:
            self._needs[key] = self._settle(place, depth, chain)
        return self._needs[key]

    def _key(self, place: int, depth: int, chain: Chain) -> tuple[object, ...]:
        """What the needs of a provider depend on."""
        if not chain or depth < 2 or self._mode == "best-effort":
            return place, depth, frozenset[int]()
        return place, depth, self._can_meet(place, depth - 1).intersection(chain)

    def _can_meet(self, place: int, steps: int) -> frozenset[int]:
        """The candidates whose own requirements may be looked at for those of this provider."""
        key = place, steps
        if key not in self._met:
            asked = self._asked_by(place)
            met: set[int] = set()
            if asked is not None and steps > 0:
                question, policy = asked
                scores = self.scores(question, policy)
                met.update(map(int, scores.places[self.ranked(scores, question, policy)]))
            further = [self._can_meet(one, steps - 1) for one in met]
            self._met[key] = frozenset(met).union(*further)
        return self._met[key]

    def _asked_by(self, place: int) -> tuple[Question, Policy] | None:
        """What a provider asks as a consumer; None when it requires nothing.

        Any number of providers may share its requirements, whatever any policy says.
        """
        contract = self._pool.candidates[place].contract_in(self._mode)
        if contract is None or not contract.requires:
            return None
        requires = tuple(dict.fromkeys(contract.requires))
        policy = self.policy(contract)
        shared = replace(policy, selection_mode="cover", max_providers=UNLIMITED)
        return self.question(requires, "", place), shared

    def _settle(self, place: int, depth: int, chain: Chain) -> Needs | None:
        asked = self._asked_by(place)
        if asked is None:
            return None
        question, policy = asked
        if depth <= 0:
            return Needs(question.requires)
        scores = self.scores(question, policy)
        choice = self._choose(scores, question, policy, depth - 1, (*chain, place))
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
        """For each requirement that stays open the best who were rejected; how many others are."""
        told: list[Refused] = []
        named: Counter[str] = Counter()
        everyone = choice.refused(self._pool)
        for name, place, reasons in everyone:
            named[name] += 1
            if named[name] <= MOST_REFUSED:
                lacks = choice.verdicts.left_open(place)
                told.append(Refused(name, self._pool.ids[place], reasons, lacks))
        return tuple(told), len(everyone) - len(told)

    def lacking(self, places: Iterable[int], depth: int) -> dict[int, Lack]:
        """Those of `places` whose own requirements stay open, and what that is."""
        described: set[tuple[object, ...]] = set()
        found = {}
        for place in places:
            needs = self.needs(place, depth, ())
            if needs is not None and needs.unresolved:
                tree = self._described(place, depth, (), described)
                found.update({place: Lack(needs.open, tree)} if tree is not None else {})
        return found

    def dependency(self, place: int, depth: int) -> Dependency | None:
        """What a provider requires, and what its providers require, as a tree."""
        return self._described(place, depth, (), set())

    def _described(
        self, place: int, depth: int, chain: Chain, described: set[tuple[object, ...]]
    ) -> Dependency | None:
        needs = self.needs(place, depth, chain)
        if needs is None:
            return None
        described.add(self._key(place, depth, chain))
        ids, chain = self._pool.ids, (*chain, place)
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
            provider=ids[place],
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
