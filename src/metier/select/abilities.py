"""Which abilities a task needs (spec 1): scores, dependencies, conflicts. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from metier.core.arguments import check_text, checked, list_of
from metier.core.nearest import Nearest
from metier.core.text import words
from metier.errors import UsageError
from metier.select.settle import Settling
from metier.values.capabilities import DEFAULT_ABILITIES
from metier.values.documents import Ability
from metier.values.outcomes import Issue
from metier.values.selection import AbilitySelection, Scored, Skipped

POINTS = {"core": 100, "tags": 10, "category": 15, "keywords": 2}
"""For being core; for each tag; for the category; for each word that the content shares."""
MOST_FOR_KEYWORDS = 20
PRIORITY_DIVISOR = 10

SharedWords = Callable[[Sequence[Ability]], Sequence[int]]
"""How many words of three or more characters a task shares with the content of each ability."""


def score_ability(ability: Ability, task: str, core: Iterable[str] = ()) -> Scored[Ability]:
    """The score of one ability for one task, with its parts."""
    return _Scorer(task, frozenset(core)).scored([ability])[0]


@checked(abilities=list_of("Ability"), task=check_text)
def abilities_for_task(
    abilities: Iterable[Ability],
    task: str,
    *,
    agent: str | None = None,
    core: Sequence[str] = (),
    limit: int | None = DEFAULT_ABILITIES,
    min_signal: float | None = None,
    include_dependencies: bool = True,
    settle_conflicts: bool = True,
    shared_words: SharedWords | None = None,
) -> AbilitySelection:
    """The abilities for `task` in the order of the injection.

    First the core abilities, in their order and unfiltered; then, by score, priority and order of
    registration, those that are enabled and apply to `agent`, if given. `min_signal` is the least
    score of the latter, without core and priority. `limit` counts core and ranked abilities, not
    dependencies. `shared_words` answers for abilities without content. If a core ability does not
    exist nothing is selected, with `ABILITY_NOT_FOUND`.
    """
    if limit is not None and limit < 0:
        raise UsageError("limit cannot be negative", hint="give 0 or more")
    if min_signal is not None and not min_signal >= 0:
        raise UsageError("min_signal must be a number of at least 0")
    known = {ability.ability_id: ability for ability in abilities}
    core = (core,) if isinstance(core, str) else tuple(dict.fromkeys(core))
    if absent := [one for one in core if one not in known]:
        return _without_core(absent, known)

    eligible = {
        key: ability
        for key, ability in known.items()
        if ability.enabled and (agent is None or ability.applies_to(agent))
    }
    settling = Settling(
        known,
        eligible,
        with_dependencies=include_dependencies,
        with_conflicts=settle_conflicts,
    )
    for one in core:
        settling.add_core(known[one])
    scorer = _Scorer(task, frozenset(core), shared_words)
    places = len(known) if limit is None else limit - len(core)
    for ability in scorer.ranked(eligible.values(), min_signal or 0.0) if places > 0 else ():
        places -= settling.add(ability)
        if places == 0:
            break
    return AbilitySelection(
        ranked=scorer.scored(settling.added.values()),
        issues=settling.issues,
        skipped=settling.skipped,
        required_by=settling.required_by,
        passed_over=len(eligible) - sum(one in eligible for one in settling.met()),
        rejected=scorer.scored(known[one.id] for one in settling.skipped),
    )


def _without_core(absent: Sequence[str], known: Mapping[str, Ability]) -> AbilitySelection:
    issues = []
    names = Nearest(known)
    for one in absent:
        hint = names.did_you_mean(one, "metier list abilities shows what there is")
        message = f"core ability '{one}' does not exist"
        issues.append(Issue("ABILITY_NOT_FOUND", message, "", hint=hint))
    skipped = [Skipped(one, "ability", "not-found") for one in absent]
    return AbilitySelection(ranked=(), issues=issues, skipped=skipped)


class _Scorer:
    """The scores of abilities for one task."""

    def __init__(
        self, task: str, core: frozenset[str], shared_words: SharedWords | None = None
    ) -> None:
        self._words = frozenset(words(task))
        self._core = core
        self._shared_words = shared_words or (
            lambda abilities: [len(self._words & ability.words) for ability in abilities]
        )

    def scored(self, abilities: Iterable[Ability]) -> list[Scored[Ability]]:
        abilities = list(abilities)
        keywords = self._for_keywords(abilities)
        return [self._scored(*pair) for pair in zip(abilities, keywords, strict=True)]

    def _scored(self, ability: Ability, keywords: int) -> Scored[Ability]:
        parts = {
            "core": POINTS["core"] if ability.ability_id in self._core else 0,
            "tags": self._for_tags(ability),
            "category": self._for_category(ability),
            "keywords": keywords,
        }
        tenths = PRIORITY_DIVISOR * sum(parts.values()) + ability.priority
        priority = ability.priority / PRIORITY_DIVISOR
        score = tenths / PRIORITY_DIVISOR
        return Scored(item=ability, score=score, parts={**parts, "priority": priority})

    def ranked(self, abilities: Iterable[Ability], min_signal: float) -> Iterable[Ability]:
        """Those with enough signal, best first: by score, priority, order given.

        Scores are compared in tenths of a point: whole numbers, so that equal scores are equal.
        """
        abilities = list(abilities)
        signals = [
            keywords
            if ability.label_words.isdisjoint(self._words)
            else keywords + self._for_tags(ability) + self._for_category(ability)
            for ability, keywords in zip(abilities, self._for_keywords(abilities), strict=True)
        ]
        priorities = [ability.priority for ability in abilities]
        tenths = [
            PRIORITY_DIVISOR * signal + priority
            for signal, priority in zip(signals, priorities, strict=True)
        ]
        places = sorted(range(len(abilities)), key=priorities.__getitem__, reverse=True)
        places.sort(key=tenths.__getitem__, reverse=True)
        return (abilities[place] for place in places if signals[place] >= min_signal)

    def _for_tags(self, ability: Ability) -> int:
        distinct = {_label(tag) for tag in ability.tags}
        return POINTS["tags"] * sum(self._has(tag) for tag in distinct)

    def _for_category(self, ability: Ability) -> int:
        return POINTS["category"] * self._has(_label(ability.category))

    def _for_keywords(self, abilities: Sequence[Ability]) -> list[int]:
        each = POINTS["keywords"]
        return [
            each * shared if each * shared < MOST_FOR_KEYWORDS else MOST_FOR_KEYWORDS
            for shared in self._shared_words(abilities)
        ]

    def _has(self, label: tuple[str, ...]) -> bool:
        """Whether the task has all words of `label`, and there is any."""
        return bool(label) and self._words.issuperset(label)


@lru_cache(maxsize=65_536)
def _label(label: str) -> tuple[str, ...]:
    return tuple(words(label))
