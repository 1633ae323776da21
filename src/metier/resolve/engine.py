"""One run of the protocol: score → policy → gates → ranking → selection → what is missing."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from metier.core.names import is_capability_name
from metier.resolve.aliases import AliasTables
from metier.resolve.choice import Choice, Verdicts, cut, gates, rank, select, within_hints
from metier.resolve.consumer import MOST_REQUIRED, asked_for, contract_of_consumer
from metier.resolve.missing import settle_missing
from metier.resolve.pool import Pool
from metier.resolve.probing import Probing
from metier.resolve.report import Resolution, RunFacts
from metier.resolve.results import (
    Decide,
    Dependency,
    MayProbe,
    OptionalMatch,
    Probe,
)
from metier.resolve.scores import Question, Scores
from metier.values.candidates import Candidate
from metier.values.contracts import Mode
from metier.values.policy import OnMissing, Policy, strictest

DEPTH = 2
MOST_FOLLOWED = 50
"""Ways to a provider on which its own requirements are resolved in one run."""


def resolve(
    candidates: Pool | Iterable[Candidate],
    requires: Sequence[str] = (),
    query: str = "",
    *,
    consumer: Candidate | None = None,
    mode: Mode | None = None,
    policy: Mapping[str, str] | None = None,
    aliases: AliasTables | None = None,
    history: Mapping[str, float] | None = None,
    host: str | None = None,
    probes: Mapping[str, Probe] | None = None,
    may_probe: MayProbe | None = None,
    decide: Decide | None = None,
    divergence: bool = True,
    depth: int = DEPTH,
    facts: RunFacts | None = None,
) -> Resolution:
    """Choose providers for `requires` among `candidates`, by the rules of spec 4 alone.

    A consumer adds its own requirements, policy and mode, and is no candidate. `policy` is the
    caller's word and beats the consumer's. `history` gives success rates by candidate id;
    `facts` are for the report.
    Raises `UsageError` when nothing is required or the consumer's contract cannot be used.
    """
    pool = candidates if isinstance(candidates, Pool) else Pool(candidates)
    host = host.strip().lower() or None if host is not None else None
    run = _Run(pool, policy or {}, aliases or AliasTables(), history or {}, host, probes or {})
    return run.resolve(
        requires, query, consumer, mode, may_probe, decide, divergence, depth, facts or RunFacts()
    )


class _Run:
    """What all questions of one run share."""

    def __init__(
        self,
        pool: Pool,
        overrides: Mapping[str, str],
        aliases: AliasTables,
        rates: Mapping[str, float],
        host: str | None,
        probes: Mapping[str, Probe],
    ) -> None:
        self._pool = pool
        self._overrides = overrides
        self._aliases = aliases
        self._rates = rates
        self._host = host
        self._probing = Probing(pool, probes)
        self._warnings: list[str] = []
        self._scored: dict[tuple[object, ...], Scores] = {}
        """What was scored already: the same provider may be met on several ways."""
        self._followed: dict[tuple[object, ...], Dependency | None] = {}
        """What providers require, by provider, depth and the chain that leads to it."""
        self._cleared: list[int] = []
        """Places of flagged candidates whose probes have passed."""

    def resolve(
        self,
        requires: Sequence[str],
        query: str,
        consumer: Candidate | None,
        mode: Mode | None,
        may_probe: MayProbe | None,
        decide: Decide | None,
        divergence: bool,
        depth: int,
        facts: RunFacts,
    ) -> Resolution:
        contract = contract_of_consumer(consumer, mode)
        mode = mode or (contract.mode if contract is not None else "best-effort")
        wanted, optional = asked_for(requires, contract)
        self._warnings += [
            f"'{one[:80]}' is no capability name, so nothing can match it"
            for one in wanted
            if not is_capability_name(one)
        ]
        place = self._pool.places.get(consumer.id) if consumer is not None else None
        question = self._question(wanted, query, mode, place, divergence)
        effective = self._policy(mode, contract.policy if contract is not None else {})
        choice = self._choose(question, effective, depth, (), may_probe)
        choice.scores.look_up()
        unresolved = choice.unresolved
        on_missing = self._on_missing(choice)
        is_short = self._is_short(choice)
        decision = None
        if (unresolved or is_short) and on_missing == "offer-emulation" and decide is not None:
            decision = decide(unresolved)
        outcome = settle_missing(on_missing, unresolved, is_short, decision)
        selected = choice.places(choice.selected)
        chosen = tuple(self._pool.ids[one] for one in selected)
        return Resolution(
            question=question,
            policy=effective.with_on_missing(on_missing),
            selected=chosen if outcome.keeps_selection else (),
            chosen=chosen,
            unresolved=unresolved,
            outcome=outcome,
            optional=tuple(
                self._optional(question, effective, one) for one in dict.fromkeys(optional)
            ),
            dependencies=tuple(
                one
                for place in selected
                if (one := self._dependency(place, question, depth, (place,))) is not None
            ),
            probes=self._probing.results,
            warnings=tuple(dict.fromkeys(self._warnings)),
            consumer=consumer.id if consumer is not None else None,
            facts=facts,
            pool=self._pool,
            verdicts=choice.verdicts,
            cleared=tuple(self._cleared),
            ranked=tuple(choice.places(choice.kept)),
        )

    def _question(
        self, requires: tuple[str, ...], query: str, mode: Mode, place: int | None, divergence: bool
    ) -> Question:
        return Question(
            requires=requires,
            query=query or " ".join(requires),
            mode=mode,
            consumer=place,
            aliases=self._aliases,
            rates=self._rates,
            host=self._host,
            with_divergence=divergence,
        )

    def _policy(self, mode: Mode, pairs: Mapping[str, str]) -> Policy:
        policy, warnings = Policy.for_mode(mode).with_contract(pairs)
        self._warnings += warnings
        return policy.with_runtime(self._overrides)

    def _choose(
        self,
        question: Question,
        policy: Policy,
        depth: int,
        chain: tuple[int, ...],
        may_probe: MayProbe | None = None,
    ) -> Choice:
        scores = self._score(question, policy)
        if may_probe is not None and question.mode == "best-effort":
            scores = self._after_probes(scores, question, policy, may_probe)
        order, verdicts = self._ranked(scores, question, policy)
        if question.mode == "strict":
            order = self._walk(order, scores, question, policy, verdicts, depth, chain)
        return self._chosen(order, scores, question, policy, verdicts)

    def _score(self, question: Question, policy: Policy) -> Scores:
        """The scores of all who can pass: without any match that takes a contract gate of 0."""
        everyone = policy.min_contract_score <= 0
        key = question.requires, question.query, question.consumer, everyone
        if key not in self._scored:
            self._scored[key] = Scores(self._pool, question, everyone=everyone)
        return self._scored[key]

    def _chosen(
        self,
        order: list[int],
        scores: Scores,
        question: Question,
        policy: Policy,
        verdicts: Verdicts,
    ) -> Choice:
        order = within_hints(order, scores, self._pool.claims(question.mode), verdicts)
        kept, beyond = cut(order, scores, question, policy)
        verdicts.reject("beyond-max-candidates", (int(scores.places[row]) for row in beyond))
        selected = select(kept, scores, question, policy)
        return Choice(question, policy, scores, verdicts, kept, selected)

    def _ranked(
        self, scores: Scores, question: Question, policy: Policy
    ) -> tuple[list[int], Verdicts]:
        """The rows that pass the gates, best first."""
        verdicts = Verdicts()
        passed = np.ones(len(scores.places), dtype=bool)
        if question.consumer is not None:
            passed &= scores.places != question.consumer
        for _, refused in gates(self._pool, scores, question, policy):
            passed &= ~refused
            if not passed.any():
                return [], verdicts
        order = rank(self._pool, scores, np.flatnonzero(passed))
        return order, verdicts

    def _after_probes(
        self, scores: Scores, question: Question, policy: Policy, may_probe: MayProbe
    ) -> Scores:
        """Scores without the penalty of those flagged at the top whose probe passes."""
        order, _ = self._ranked(scores, question, policy)
        kept, _ = cut(order, scores, question, policy)
        for row in kept:
            if scores.flagged[row]:
                place = int(scores.places[row])
                wanted = self._probing.wanted(row, scores, question)
                asked = [one for one in wanted if may_probe(self._pool.candidates[place], one)]
                results = [self._probing.run(place, one) for one in asked]
                if results and all(one.passed for one in results):
                    self._cleared.append(place)
        if not self._cleared:
            return scores
        everyone = policy.min_contract_score <= 0
        return Scores(self._pool, question, everyone=everyone, cleared=self._cleared)

    def _walk(
        self,
        order: list[int],
        scores: Scores,
        question: Question,
        policy: Policy,
        verdicts: Verdicts,
        depth: int,
        chain: tuple[int, ...],
    ) -> list[int]:
        """Strict: look at each candidate that would be kept, from the top; the failing drop out."""
        looked_at: set[int] = set()
        while True:
            kept, _ = cut(order, scores, question, policy)
            row = next((one for one in kept if one not in looked_at), None)
            if row is None:
                return order
            looked_at.add(row)
            reasons = self._objections(row, scores, question, verdicts, depth, chain)
            for reason in reasons:
                verdicts.reject(reason, [int(scores.places[row])])
            if reasons:
                order = [one for one in order if one != row]

    def _objections(
        self,
        row: int,
        scores: Scores,
        question: Question,
        verdicts: Verdicts,
        depth: int,
        chain: tuple[int, ...],
    ) -> list[str]:
        place = int(scores.places[row])
        results = [
            self._probing.run(place, one) for one in self._probing.wanted(row, scores, question)
        ]
        passed = bool(results) and all(one.passed for one in results)
        reasons = []
        if scores.flagged[row] and not passed:
            reasons.append("contract-inflated")
        if results and not passed:
            reasons.append("probe-failed")
        if not reasons:
            dependency = self._dependency(place, question, depth, (*chain, place))
            if dependency is not None and not dependency.is_resolved:
                reasons.append("dependency-unresolved")
                verdicts.leave_open(place, dependency.open)
        return reasons

    def _dependency(
        self, place: int, question: Question, depth: int, chain: tuple[int, ...]
    ) -> Dependency | None:
        """What the provider at `place` requires; None when it requires nothing."""
        key = place, depth, chain
        if key not in self._followed:
            self._followed[key] = self._follow(place, question, depth, chain)
        return self._followed[key]

    def _follow(
        self, place: int, question: Question, depth: int, chain: tuple[int, ...]
    ) -> Dependency | None:
        candidate = self._pool.candidates[place]
        contract = candidate.contract_in(question.mode)
        if contract is None or not contract.requires:
            return None
        requires = tuple(dict.fromkeys(contract.requires))
        if len(requires) > MOST_REQUIRED or len(self._followed) >= MOST_FOLLOWED:
            self._warnings.append(
                f"'{candidate.name}': there is too much to follow what it requires"
            )
            gap = requires[:1] if question.mode == "strict" else ()
            first = requires[:MOST_REQUIRED]
            return Dependency(candidate.id, first, (), gap, beyond_depth=True, open=gap)
        if depth <= 0:
            return Dependency(candidate.id, requires, (), (), beyond_depth=True)
        sub = self._question(requires, "", question.mode, place, question.with_divergence)
        policy = self._policy(question.mode, contract.policy)
        choice = self._choose_below(sub, policy, depth, chain)
        selected = choice.places(choice.selected)
        below: list[Dependency] = []
        cycle: tuple[str, ...] = ()
        for one in selected:
            if one in chain:
                cycle = tuple(self._pool.ids[link] for link in (*chain[chain.index(one) :], one))
                continue
            found = self._dependency(one, question, depth - 1, (*chain, one))
            if found is not None:
                below.append(found)
        return Dependency(
            provider=candidate.id,
            requires=requires,
            selected=tuple(self._pool.ids[one] for one in selected),
            unresolved=choice.unresolved,
            cycle=cycle,
            below=tuple(below),
            open=choice.open(),
        )

    def _choose_below(
        self, question: Question, policy: Policy, depth: int, chain: tuple[int, ...]
    ) -> Choice:
        """The choice for a provider's own requirements; one above it in the chain may serve."""
        scores = self._score(question, policy)
        order, verdicts = self._ranked(scores, question, policy)
        if question.mode == "strict":
            above = {row for row in order if int(scores.places[row]) in chain}
            fresh = [row for row in order if row not in above]
            survivors = set(self._walk(fresh, scores, question, policy, verdicts, depth - 1, chain))
            order = [row for row in order if row in survivors or row in above]
        return self._chosen(order, scores, question, policy, verdicts)

    def _optional(self, question: Question, policy: Policy, capability: str) -> OptionalMatch:
        """The best candidate that resolves an optional capability, if there is one."""
        if not is_capability_name(capability):
            return OptionalMatch(capability, None, "none")
        sub = self._question(
            (capability,), "", question.mode, question.consumer, question.with_divergence
        )
        scores = self._score(sub, policy)
        order, _ = self._ranked(scores, sub, policy)
        able = scores.resolved > 0
        if question.mode == "strict":
            able = able & ~scores.flagged
        first = next((row for row in order if able[row]), None)
        if first is None:
            return OptionalMatch(capability, None, "none")
        kind = scores.matches.of(first)[0].kind
        return OptionalMatch(capability, self._pool.ids[scores.places[first]], kind)

    def _on_missing(self, choice: Choice) -> OnMissing:
        """The strictest of the policy in force and of the selected providers' own."""
        value = choice.policy.on_missing_required
        for place in choice.places(choice.selected):
            contract = self._pool.candidates[place].contract_in(choice.question.mode)
            if contract is not None:
                tight = choice.policy.tightened(contract.policy)
                value = strictest(value, tight.on_missing_required)
        return value

    def _is_short(self, choice: Choice) -> bool:
        """Whether nothing was selected, or a set that covers less than it has to."""
        if not choice.question.requires:
            return False
        if not choice.selected:
            return True
        covered = len(choice.question.requires) - len(choice.unresolved)
        share = round(covered / len(choice.question.requires), 12)
        return share < choice.policy.min_required_coverage
