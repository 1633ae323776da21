"""A resolution: score → policy → gates → ranking → selection → outcome."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from metier.core.names import is_capability_name
from metier.errors import UsageError
from metier.resolve.aliases import AliasTables
from metier.resolve.choice import Lack, OptionalMatch, rank, ranked
from metier.resolve.chooser import Choice, Chooser
from metier.resolve.pool import Pool
from metier.resolve.report import MOST_ROWS, Resolution, RunFacts
from metier.resolve.scores import Question
from metier.values.candidates import Candidate
from metier.values.contracts import Contract, Mode
from metier.values.policy import Policy
from metier.values.resolution import DEPTH, Decide, MayProbe, Probe, ResolveRequest, settle

MOST_REQUIRED = 1_000


class Inputs(NamedTuple):
    """What a resolution works on, beside the request."""

    pool: Pool
    consumer: Candidate | None
    aliases: AliasTables
    history: Mapping[str, float]
    """Success rates by candidate id."""
    probes: Mapping[str, Probe]
    facts: RunFacts


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
    team: str = "",
    facts: RunFacts | None = None,
) -> Resolution:
    """Choose providers for `requires` among `candidates`, by the rules of spec 4.

    A consumer adds its own requirements, policy and mode, and is not a candidate. `policy`
    overrides the consumer's. `history` gives success rates by candidate id. `team` is the team
    that asks, by default the consumer's: its own candidates come first.
    Raises `UsageError` when nothing is required or the consumer's contract cannot be used.
    """
    request = ResolveRequest(
        requires=requires,
        query=query,
        mode=mode,
        policy=policy or {},
        host=host,
        may_probe=may_probe,
        decide=decide,
        divergence=divergence,
        depth=depth,
        team=team,
    )
    pool = candidates if isinstance(candidates, Pool) else Pool(candidates)
    inputs = Inputs(
        pool, consumer, aliases or AliasTables(), history or {}, probes or {}, facts or RunFacts()
    )
    return run(request, inputs)


def run(request: ResolveRequest, inputs: Inputs) -> Resolution:
    """The resolution of a request. Raises like `resolve`."""
    pool, consumer, depth = inputs.pool, inputs.consumer, request.depth
    contract = _contract_of(consumer, request.mode)
    wanted, optional = _required(request.requires, contract, consumer)
    question = Question(
        requires=wanted,
        query=request.query or " ".join(wanted),
        mode=request.mode or (contract.mode if contract is not None else "best-effort"),
        consumer=pool.places.get(consumer.id) if consumer is not None else None,
        aliases=inputs.aliases,
        rates=inputs.history,
        host=(request.host or "").strip().lower() or None,
        with_divergence=request.divergence,
        team=request.team or (consumer.team if consumer is not None else ""),
    )
    chooser = Chooser(pool, question, request.policy, inputs.probes)
    policy = chooser.policy(contract)
    choice = chooser.choose(question, policy, depth, request.may_probe)
    policy = chooser.final_policy(choice)
    on_missing = policy.on_missing_required
    is_short = _is_short(choice)
    decision = None
    needs_decision = on_missing == "offer-emulation" and (choice.unresolved or is_short)
    if needs_decision and request.decide is not None:
        decision = request.decide(choice.unresolved)
    outcome = settle(on_missing, choice.unresolved, is_short, decision)
    selected = choice.places(choice.selected)
    lacking = _lacking(chooser, choice, pool, depth)
    choice.verdicts.reject("dependency-unresolved", lacking)
    chosen = tuple(pool.ids[place] for place in selected)
    dependencies = [chooser.dependency(place, depth) for place in selected]
    no_names = [
        f"'{name[:80]}' is not a capability name, so nothing can match it"
        for name in wanted
        if not is_capability_name(name)
    ]
    return Resolution(
        question=question,
        policy=policy,
        selected=chosen if outcome.keeps_selection else (),
        chosen=chosen,
        unresolved=choice.unresolved,
        outcome=outcome,
        optional=tuple(
            _optional(chooser, pool, question, policy, name) for name in dict.fromkeys(optional)
        ),
        dependencies=tuple(tree for tree in dependencies if tree is not None),
        probes=chooser.probing.results,
        warnings=tuple(dict.fromkeys([*no_names, *chooser.warnings])),
        consumer=consumer.id if consumer is not None else None,
        facts=inputs.facts,
        pool=pool,
        verdicts=choice.verdicts,
        lacking=lacking,
        cleared=tuple(chooser.cleared),
        ranked=tuple(choice.places(choice.kept)),
    )


def _contract_of(consumer: Candidate | None, mode: Mode | None) -> Contract | None:
    """The consumer's contract, if any. Raises `UsageError` for an unusable one."""
    if consumer is None:
        return None
    wanted = mode or (consumer.contract.mode if consumer.contract is not None else "best-effort")
    problem = consumer.refused_in(wanted)
    if problem:
        raise UsageError(
            f"the contract of '{consumer.handle}' cannot be used: {problem}",
            where=consumer.folder,
            hint="metier lint shows where; or name what you need with -r (Python: requires=[…])",
        )
    return consumer.contract


def _required(
    requires: Sequence[str], contract: Contract | None, consumer: Candidate | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The required capabilities, the consumer's own first, and the optional ones.

    Raises `UsageError` when nothing is required, or too much.
    """
    own = contract.requires if contract is not None else ()
    wanted = tuple(dict.fromkeys([*own, *requires]))
    optional = contract.optional if contract is not None else ()
    if not wanted and consumer is not None:
        hint = "its contract has no R(…); name a capability with -r (Python: requires=[…])"
        raise UsageError(f"'{consumer.handle}' requires nothing", hint=hint)
    if not wanted:
        hint = (
            "name a capability with -r, or --for SKILL (Python: requires=[…], consumer=…);"
            " for a task in words: metier which TASK"
        )
        raise UsageError("nothing is required", hint=hint)
    count = len(wanted) + len(optional)
    if count > MOST_REQUIRED:
        message = f"{count} capabilities are required; the limit is {MOST_REQUIRED}"
        raise UsageError(message, hint="require fewer")
    return wanted, optional


def _optional(
    chooser: Chooser, pool: Pool, question: Question, policy: Policy, capability: str
) -> OptionalMatch:
    if not is_capability_name(capability):
        return OptionalMatch(capability, None, "none")
    sub = chooser.question((capability,), question.consumer)
    scores = chooser.scores(sub, policy)
    able = scores.resolved > 0
    if question.mode == "strict":
        able = able & ~scores.flagged
    first = next((row for row in ranked(scores, policy) if able[row]), None)
    if first is None:
        return OptionalMatch(capability, None, "none")
    found = scores.matches.of(first)[0]
    return OptionalMatch(capability, pool.ids[scores.places[first]], found.kind, found.token)


def _lacking(chooser: Chooser, choice: Choice, pool: Pool, depth: int) -> dict[int, Lack]:
    """In strict: candidates with an explicit match and unresolved requirements."""
    if choice.question.mode != "strict":
        return {}
    scores = choice.scores
    rows = pool.arrays.flatnonzero(scores.explicit)
    if len(rows) > MOST_ROWS:
        rows = pool.arrays.array(rank(scores, rows)[:MOST_ROWS])
    places = dict.fromkeys([*choice.verdicts.open, *choice.places(rows)])
    return chooser.lacking(places, depth)


def _is_short(choice: Choice) -> bool:
    """Whether too little is covered."""
    if not choice.selected:
        return True
    covered = len(choice.question.requires) - len(choice.unresolved)
    share = round(covered / len(choice.question.requires), 12)
    return share < choice.policy.min_required_coverage
