"""Abilities as text for one prompt (spec 1): within the limit, core first."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from metier.core.arguments import checked, count, instance_with, texts
from metier.core.budget import CountTokens, count_tokens, fit
from metier.core.order import dependencies_first
from metier.core.render import SEPARATOR, with_heading
from metier.values.capabilities import DEFAULT_MAX_TOKENS
from metier.values.documents import Ability
from metier.values.outcomes import Issue, has_errors
from metier.values.selection import AbilityInjection, AbilitySelection, Skipped

_MOST_NAMED = 5


@checked(
    selection=instance_with("ranked", "what abilities_for_task returned"),
    max_tokens=count(0),
    core=texts("house-style"),
)
def inject_abilities(
    selection: AbilitySelection,
    max_tokens: int = DEFAULT_MAX_TOKENS,
    core: Sequence[str] = (),
    include_metadata: bool = False,
    *,
    count: CountTokens = count_tokens,
) -> AbilityInjection:
    """The text of the selected abilities, in order, until the next would exceed `max_tokens`.

    The count is that of the whole text, headings and separators included. Abilities in `core`,
    and those that were core for the selection, come first. If one of them is missing or they
    do not fit, nothing is injected and `issues` says why.
    """
    return compose(arrange(selection, core, include_metadata), max_tokens, count=count)


class Arranged(NamedTuple):
    """Selected abilities in the order of the injection, and the text of each."""

    abilities: Sequence[Ability]
    parts: Sequence[str]
    core: int
    """How many of the first must be injected."""
    issues: Sequence[Issue]
    skipped: Sequence[Skipped]


def arrange(
    selection: AbilitySelection, core: Sequence[str] = (), include_metadata: bool = False
) -> Arranged:
    """Core abilities first, then the others; none if a core ability is missing."""
    by_score = [scored.item.id for scored in selection.ranked if scored.parts.get("core")]
    wanted = tuple(dict.fromkeys([*core, *by_score]))
    absent = set(wanted).difference(scored.item.id for scored in selection.ranked)
    lead = [] if absent else _lead(selection, wanted)
    led = {ability.id for ability in lead}
    rest = [scored.item for scored in selection.ranked if scored.item.id not in led]
    abilities = [] if absent else [*lead, *rest]
    return Arranged(
        abilities=abilities,
        parts=[
            with_heading(ability.name, ability.content) if include_metadata else ability.content
            for ability in abilities
        ],
        core=len(lead),
        issues=[*selection.issues, *_not_found(wanted, absent, selection)],
        skipped=selection.skipped,
    )


def compose(
    arranged: Arranged,
    max_tokens: int,
    between: Callable[[Callable[[str], bool]], str] = lambda _: "",
    *,
    shared: bool = True,
    count: CountTokens = count_tokens,
) -> AbilityInjection:
    """Core abilities, then what `between` gives, then the others, within the limit.

    `between` is called with a function that says whether a text fits. Unless the limit is
    `shared` it applies to the abilities alone.
    """
    lead, rest = arranged.parts[: arranged.core], arranged.parts[arranged.core :]
    first = fit(lead, max_tokens, separator=SEPARATOR, count=count)
    issues = list(arranged.issues)
    if has_errors(issues):
        return _nothing_fits(arranged, issues, count)
    if len(first.taken) < len(lead):
        issues.append(_core_exceeds(arranged, max_tokens, count))
        return _nothing_fits(arranged, issues, count)

    def fits(text: str) -> bool:
        return not shared or count(_joined(first.text, text)) <= max_tokens

    middle = between(fits)
    above = _joined(first.text, middle if shared else "")
    start = f"{above}{SEPARATOR}" if above else ""
    others = fit(rest, max_tokens, separator=SEPARATOR, count=count, start=start)
    tail = others.text[len(start) :]
    text = _joined(_joined(first.text, middle), tail)
    left = [
        _over_budget(arranged.abilities[arranged.core + place], rest[place], count)
        for place in others.left
    ]
    if left:
        issues.append(_truncation(left, max_tokens))
    taken = [*range(arranged.core), *(arranged.core + place for place in others.taken)]
    return AbilityInjection(
        injected_abilities=[arranged.abilities[place].id for place in taken],
        combined_content=text,
        token_count=count(text) if text else 0,
        truncated=bool(left),
        skipped=[*arranged.skipped, *left],
        issues=issues,
    )


def _joined(above: str, below: str) -> str:
    return f"{above}{SEPARATOR}{below}" if above and below else above or below


def _over_budget(ability: Ability, part: str, count: CountTokens) -> Skipped:
    return Skipped(ability.id, "ability", "over-budget", count(part))


def _nothing_fits(
    arranged: Arranged, issues: Sequence[Issue], count: CountTokens
) -> AbilityInjection:
    left = [
        _over_budget(ability, part, count)
        for ability, part in zip(arranged.abilities, arranged.parts, strict=True)
    ]
    return AbilityInjection([], "", 0, bool(left), [*arranged.skipped, *left], issues)


def _lead(selection: AbilitySelection, core: Iterable[str]) -> list[Ability]:
    """The core abilities in their order, each after what it requires of the selected abilities."""
    items = {scored.item.id: scored.item for scored in selection.ranked}
    lead: dict[str, Ability] = {}
    for one in core:
        for other in dependencies_first(
            one, lambda key: [wanted for wanted in items[key].requires if wanted in items]
        ):
            lead[other] = items[other]
    return list(lead.values())


def _not_found(core: Sequence[str], absent: set[str], selection: AbilitySelection) -> list[Issue]:
    """An error for each missing core ability that the selection does not report."""
    reported = {one.id for one in selection.skipped if one.reason == "not-found"}
    return [
        Issue("ABILITY_NOT_FOUND", f"core ability '{one}' is not among the selected abilities", "")
        for one in core
        if one in absent - reported
    ]


def _core_exceeds(arranged: Arranged, limit: int, count: CountTokens) -> Issue:
    lead = [part for part in arranged.parts[: arranged.core] if part]
    needed = count(SEPARATOR.join(lead))
    return Issue(
        "ABILITY_TOKEN_LIMIT_EXCEEDED",
        f"the core abilities need {needed} tokens, the limit is {limit}: nothing is injected",
        arranged.abilities[arranged.core - 1].path,
        hint="raise the limit, or make fewer abilities core",
    )


def _truncation(left: Sequence[Skipped], limit: int) -> Issue:
    first = left[0]
    names = ", ".join(one.id for one in left[:_MOST_NAMED])
    more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
    pages = f"metier show ability {first.id} --page 1 --max-tokens {limit}"
    return Issue(
        "ABILITY_TRUNCATED",
        f"'{first.id}' ({first.tokens} tokens) does not fit into what is left of the limit of"
        f" {limit} tokens; skipped: {names}{more}",
        "",
        hint=f"raise the limit, or read it in pages: {pages}",
    )
