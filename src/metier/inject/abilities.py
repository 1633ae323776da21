"""Abilities as text for one prompt (spec 1): never more than the limit, core first."""

from collections.abc import Iterable, Sequence

from metier.core.budget import CountTokens, Fitted, count_tokens, fit
from metier.core.order import dependencies_first
from metier.core.render import SEPARATOR, with_heading
from metier.values.documents import Ability
from metier.values.outcomes import Issue
from metier.values.selection import AbilityInjection, AbilitySelection, Skipped

DEFAULT_MAX_TOKENS = 10_000
_MOST_NAMED = 5


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
    and those that were core for the selection, come first. When one of them is not there or
    they do not fit, nothing is handed over and `issues` says why.
    """
    by_score = [scored.item.id for scored in selection.ranked if scored.parts.get("core")]
    wanted = tuple(dict.fromkeys([*core, *by_score]))
    absent = set(wanted).difference(scored.item.id for scored in selection.ranked)
    lead = [] if absent else _lead(selection, wanted)
    led = {ability.id for ability in lead}
    rest = [scored.item for scored in selection.ranked if scored.item.id not in led]
    abilities = [] if absent else [*lead, *rest]

    parts = [_rendered(ability, include_metadata) for ability in abilities]
    fitted = fit(parts, max_tokens, separator=SEPARATOR, count=count)
    issues = [*selection.issues, *_not_found(wanted, absent, selection)]
    core_fits = len(fitted.taken) >= len(lead)
    if not core_fits:
        issues.append(_core_exceeds(lead, parts, max_tokens, count))
        fitted = Fitted("", 0, (), range(len(parts)))
    left = [
        Skipped(abilities[place].id, "ability", "over-budget", count(parts[place]))
        for place in fitted.left
    ]
    if left and core_fits:
        issues.append(_truncation(left, max_tokens))
    return AbilityInjection(
        injected_abilities=[abilities[place].id for place in fitted.taken],
        combined_content=fitted.text,
        token_count=fitted.tokens,
        truncated=bool(left),
        skipped=[*selection.skipped, *left],
        issues=issues,
    )


def _lead(selection: AbilitySelection, core: Iterable[str]) -> list[Ability]:
    """The core abilities in their order, each after what it requires of the selected ones."""
    items = {scored.item.id: scored.item for scored in selection.ranked}
    lead: dict[str, Ability] = {}
    for one in core:
        for other in dependencies_first(
            one, lambda key: [wanted for wanted in items[key].requires if wanted in items]
        ):
            lead[other] = items[other]
    return list(lead.values())


def _rendered(ability: Ability, include_metadata: bool) -> str:
    if not include_metadata:
        return ability.content
    return with_heading(ability.name, ability.content)


def _not_found(core: Sequence[str], absent: set[str], selection: AbilitySelection) -> list[Issue]:
    """One error for each core ability that is not there, unless the selection says so already."""
    told = {one.id for one in selection.skipped if one.reason == "not-found"}
    return [
        Issue("ABILITY_NOT_FOUND", f"core ability '{one}' is not among the selected ones", "")
        for one in core
        if one in absent - told
    ]


def _core_exceeds(
    lead: Sequence[Ability], parts: Sequence[str], limit: int, count: CountTokens
) -> Issue:
    needed = count(SEPARATOR.join(part for part in parts[: len(lead)] if part))
    return Issue(
        "ABILITY_TOKEN_LIMIT_EXCEEDED",
        f"the core abilities need {needed} tokens, the limit is {limit}: nothing is handed over",
        lead[-1].path,
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
        f" {limit} tokens; left out: {names}{more}",
        "",
        hint=f"raise the limit, or read it in pages: {pages}",
    )
