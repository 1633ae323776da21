"""One run of the protocol: score → policy → gates → ranking → selection → what is missing."""

from collections.abc import Iterable, Mapping, Sequence

from metier.core.names import is_capability_name
from metier.resolve.aliases import AliasTables
from metier.resolve.choice import Choice, rank
from metier.resolve.chooser import Chooser
from metier.resolve.consumer import asked_for, contract_of_consumer
from metier.resolve.missing import settle_missing
from metier.resolve.pool import Pool
from metier.resolve.report import MOST_ROWS, Resolution, RunFacts
from metier.resolve.results import Decide, Lack, MayProbe, OptionalMatch, Probe
from metier.resolve.scores import Question
from metier.values.candidates import Candidate
from metier.values.contracts import Mode
from metier.values.policy import OnMissing, Policy, strictest

DEPTH = 2


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
    contract = contract_of_consumer(consumer, mode)
    mode = mode or (contract.mode if contract is not None else "best-effort")
    wanted, optional = asked_for(requires, contract)
    chooser = Chooser(
        pool,
        policy or {},
        aliases or AliasTables(),
        history or {},
        host,
        probes or {},
        mode,
        divergence,
    )
    place = pool.places.get(consumer.id) if consumer is not None else None
    question = chooser.question(wanted, query, place)
    effective = chooser.policy(contract)
    choice = chooser.choose(question, effective, depth, may_probe)
    choice.scores.look_up()
    on_missing = _on_missing(choice, pool)
    is_short = _is_short(choice)
    decision = None
    if (choice.unresolved or is_short) and on_missing == "offer-emulation" and decide is not None:
        decision = decide(choice.unresolved)
    outcome = settle_missing(on_missing, choice.unresolved, is_short, decision)
    selected = choice.places(choice.selected)
    lacking = _lacking(chooser, choice, pool, depth)
    choice.verdicts.reject("dependency-unresolved", lacking)
    chosen = tuple(pool.ids[one] for one in selected)
    dependencies = [chooser.dependency(one, depth) for one in selected]
    return Resolution(
        question=question,
        policy=effective.with_on_missing(on_missing),
        selected=chosen if outcome.keeps_selection else (),
        chosen=chosen,
        unresolved=choice.unresolved,
        outcome=outcome,
        optional=tuple(
            _optional(chooser, pool, question, effective, one) for one in dict.fromkeys(optional)
        ),
        dependencies=tuple(one for one in dependencies if one is not None),
        probes=chooser.probing.results,
        warnings=tuple(dict.fromkeys([*_no_names(wanted), *chooser.warnings])),
        consumer=consumer.id if consumer is not None else None,
        facts=facts or RunFacts(),
        pool=pool,
        verdicts=choice.verdicts,
        lacking=lacking,
        cleared=tuple(chooser.cleared),
        ranked=tuple(choice.places(choice.kept)),
    )


def _no_names(wanted: Sequence[str]) -> list[str]:
    return [
        f"'{one[:80]}' is no capability name, so nothing can match it"
        for one in wanted
        if not is_capability_name(one)
    ]


def _optional(
    chooser: Chooser, pool: Pool, question: Question, policy: Policy, capability: str
) -> OptionalMatch:
    """The best candidate that resolves an optional capability, if there is one."""
    if not is_capability_name(capability):
        return OptionalMatch(capability, None, "none")
    sub = chooser.question((capability,), "", question.consumer)
    scores = chooser.scores(sub, policy)
    able = scores.resolved > 0
    if question.mode == "strict":
        able = able & ~scores.flagged
    first = next((row for row in chooser.ranked(scores, sub, policy) if able[row]), None)
    if first is None:
        return OptionalMatch(capability, None, "none")
    found = scores.matches.of(first)[0]
    return OptionalMatch(capability, pool.ids[scores.places[first]], found.kind, found.token)


def _lacking(chooser: Chooser, choice: Choice, pool: Pool, depth: int) -> dict[int, Lack]:
    """In strict: who names a required capability and requires what stays open itself."""
    if choice.question.mode != "strict":
        return {}
    scores = choice.scores
    rows = pool.arrays.flatnonzero(scores.explicit)
    if len(rows) > MOST_ROWS:
        rows = pool.arrays.array(rank(pool, scores, rows)[:MOST_ROWS])
    places = dict.fromkeys([*choice.verdicts.lacking(), *choice.places(rows)])
    return chooser.lacking(places, depth)


def _on_missing(choice: Choice, pool: Pool) -> OnMissing:
    """The strictest of the policy in force and of the selected providers' own."""
    value = choice.policy.on_missing_required
    for place in choice.places(choice.selected):
        contract = pool.candidates[place].contract_in(choice.question.mode)
        if contract is not None:
            tight = choice.policy.tightened(contract.policy)
            value = strictest(value, tight.on_missing_required)
    return value


def _is_short(choice: Choice) -> bool:
    """Whether nothing was selected, or a set that covers less than it has to."""
    if not choice.selected:
        return True
    covered = len(choice.question.requires) - len(choice.unresolved)
    share = round(covered / len(choice.question.requires), 12)
    return share < choice.policy.min_required_coverage
