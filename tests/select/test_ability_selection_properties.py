"""What holds for every selection of abilities, whatever the abilities, the task and the core."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.text import words
from metier.select.abilities import abilities_for_task, score_ability
from metier.values.documents import Ability
from metier.values.selection import AbilitySelection

pytestmark = pytest.mark.slow

IDS = "abcdefg"
WORDS = ["go", "ci", "review", "clean", "code", "straße", "検索", "日本語"]
texts = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
agents = st.lists(st.sampled_from(["coder", "writer", "*"]), max_size=1).map(tuple)
linked = st.sampled_from([*IDS, "ghost"])
links = (st.lists(linked, max_size=1) | st.lists(linked, max_size=2)).map(tuple)
abilities = st.builds(
    Ability,
    ability_id=st.sampled_from(IDS),
    content=texts,
    category=st.sampled_from(["", "review", "clean-code"]),
    tags=st.lists(st.sampled_from(["go", "ci", "clean code", "!"]), max_size=2).map(tuple),
    requires=links,
    conflicts=links,
    applicable_to=agents,
    exclude_from=agents,
    priority=st.sampled_from([1, 21, 41, 50, 81, 100]),
    enabled=st.sampled_from([True, True, True, False]),
)


class Case(NamedTuple):
    known: list[Ability]
    task: str
    options: dict[str, Any]

    def select(self, **changes: Any) -> AbilitySelection:
        return abilities_for_task(self.known, self.task, **{**self.options, **changes})


@st.composite
def cases(draw: st.DrawFn) -> Case:
    fewest = draw(st.sampled_from([0, 6]))
    known = draw(st.lists(abilities, min_size=fewest, max_size=7, unique_by=lambda one: one.id))
    names = [one.id for one in known]
    most = draw(st.sampled_from([0, 3])) if names else 0
    core = draw(st.lists(st.sampled_from(names), max_size=most, unique=True)) if most else []
    options = {
        "agent": draw(st.sampled_from([None, "coder"])),
        "core": core,
        "limit": draw(st.sampled_from([None, None, 0, 1, 2, 3, 10])),
        "min_signal": draw(st.sampled_from([None, None, 0, 2, 10, 12])),
    }
    return Case(known, draw(texts), options)


def ids(selection: AbilitySelection) -> list[str]:
    return [scored.item.id for scored in selection.ranked]


def standings(selection: AbilitySelection) -> list[tuple[float, int]]:
    return [(scored.score, scored.item.priority) for scored in selection.ranked]


def outline(selection: AbilitySelection) -> list[Any]:
    """All of a selection but the fields of its abilities: short enough to be read when it fails."""
    scores = [(one.item.id, one.score, dict(one.parts)) for one in selection.ranked]
    told = [(issue.code, issue.message) for issue in selection.issues]
    required_by = dict(selection.required_by)
    return [scores, told, list(selection.skipped), required_by, selection.passed_over]


def by_core(case: Case, selection: AbilitySelection) -> set[str]:
    """Core abilities and what they brought in."""
    core = set(case.options["core"])
    return core | {key for key, owner in selection.required_by.items() if owner in core}


def reaches(known: dict[str, Ability], start: str, goal: str) -> bool:
    met: set[str] = set()
    waiting = [start]
    while waiting:
        one = waiting.pop()
        if one == goal:
            return True
        if one not in met and one in known:
            met.add(one)
            waiting += known[one].requires
    return False


@given(cases())
def test_equal_calls_give_equal_results_and_change_no_argument(case: Case) -> None:
    before = deepcopy(case)
    selection = case.select()
    assert case == before
    assert outline(case.select()) == outline(selection)
    assert outline(deepcopy(case).select()) == outline(selection)


@given(cases(), st.data())
def test_without_full_ties_the_order_of_the_input_does_not_matter(
    case: Case, data: st.DataObject
) -> None:
    places = data.draw(st.permutations(range(len(case.known))))
    known = [replace(one, priority=1 + 7 * place) for place, one in enumerate(case.known)]
    shuffled = [known[place] for place in places]
    selection = case._replace(known=known).select()
    assert outline(case._replace(known=shuffled).select()) == outline(selection)


@given(cases(), st.data())
def test_full_ties_keep_the_order_of_the_input_and_nothing_else_depends_on_it(
    case: Case, data: st.DataObject
) -> None:
    known = [replace(one, requires=(), conflicts=()) for one in case.known]
    shuffled = data.draw(st.permutations(known))
    selection = case._replace(known=known).select()
    other = case._replace(known=shuffled).select()
    assert standings(other) == standings(selection)
    places = [shuffled.index(scored.item) for scored in other.ranked]
    tail = list(zip(standings(other), places, strict=True))[len(case.options["core"]) :]
    assert tail == sorted(tail, key=lambda pair: (-pair[0][0], -pair[0][1], pair[1]))


@given(cases())
def test_two_that_conflict_are_never_both_in_unless_core_brought_them(case: Case) -> None:
    selection = case.select()
    exempt = by_core(case, selection)
    chosen = [scored.item for scored in selection.ranked]
    for one in chosen:
        for other in chosen:
            if one is not other and not {one.id, other.id} <= exempt:
                assert other.id not in one.conflicts


@given(cases())
def test_everything_an_ability_requires_comes_before_it_unless_in_a_circle(case: Case) -> None:
    selection = case.select()
    known = {one.id: one for one in case.known}
    order = ids(selection)
    exempt = by_core(case, selection)
    for place, key in enumerate(order):
        for required in known[key].requires:
            if key not in exempt:
                assert required in order
            if required in order and not reaches(known, required, key):
                assert required in order[:place]


@pytest.mark.invariant(id="INV-ABL-SCR-001")
@given(cases())
def test_core_abilities_are_all_there_first_and_in_order(case: Case) -> None:
    selection = case.select()
    core = case.options["core"]
    order = ids(selection)
    assert set(core) <= set(order)
    assert len(order) == len(set(order))
    assert set(order[: len(by_core(case, selection))]) == by_core(case, selection)
    unbidden = [key for key in core if key not in selection.required_by]
    assert [key for key in order if key in unbidden] == unbidden


@given(cases())
def test_only_so_many_are_chosen_by_rank_as_the_limit_leaves_to_core(case: Case) -> None:
    selection = case.select()
    limit = case.options["limit"]
    chosen = [
        key
        for key in ids(selection)
        if key not in selection.required_by and key not in case.options["core"]
    ]
    if limit is not None:
        assert len(chosen) <= max(0, limit - len(case.options["core"]))
    least = case.options["min_signal"] or 0
    for scored in selection.ranked:
        if scored.item.id in chosen:
            assert sum(scored.parts.values()) - scored.parts["priority"] >= least


@pytest.mark.invariant(id="INV-ABL-004")
@pytest.mark.invariant(id="INV-ABL-005")
@given(cases())
def test_nothing_that_is_off_for_the_agent_is_in_unless_core_brought_it(case: Case) -> None:
    selection = case.select()
    agent = case.options["agent"]
    for scored in selection.ranked:
        if scored.item.id not in by_core(case, selection):
            assert scored.item.enabled
            assert agent is None or scored.item.applies_to(agent)


@given(cases())
def test_a_count_of_shared_words_gives_the_same_as_the_content(case: Case) -> None:
    keywords = {word for word in words(case.task) if len(word) >= 3}
    shared = {one.id: len(keywords & set(words(one.content))) for one in case.known}
    bare = [replace(one, content="") for one in case.known]

    def counted(some: Sequence[Ability]) -> list[int]:
        return [shared[one.id] for one in some]

    selection = case._replace(known=bare).select(shared_words=counted)
    assert outline(selection) == outline(case.select())


# The rules once more, the slow way


class Outcome(NamedTuple):
    order: list[str]
    skipped: list[tuple[str, str]]
    required_by: dict[str, str]


def naive_selection(case: Case) -> Outcome:
    """Filter, sort, then add one after the other with everything it requires."""
    known = {one.id: one for one in case.known}
    agent, core = case.options["agent"], case.options["core"]
    limit, least = case.options["limit"], case.options["min_signal"] or 0
    usable = {
        key for key, one in known.items() if one.enabled and (not agent or one.applies_to(agent))
    }
    outcome = Outcome([], [], {})

    def group_of(key: str, allowed: set[str], met: list[str]) -> tuple[list[str], bool]:
        """Everything that has to come with `key`, and whether all of it can."""
        group, whole = [], True
        for required in known[key].requires:
            if required in outcome.order or required in met:
                continue
            met.append(required)
            if required not in allowed:
                whole = False
                continue
            inner, inner_whole = group_of(required, allowed, met)
            group += inner
            whole = whole and inner_whole
        return [*group, key], whole

    def conflict(left: str, right: str) -> bool:
        return left != right and (right in known[left].conflicts or left in known[right].conflicts)

    def add(key: str, group: list[str]) -> None:
        outcome.order.extend(group)
        outcome.required_by.update({one: key for one in group if one != key})

    for key in core:
        if key not in outcome.order:
            add(key, group_of(key, set(known), [key])[0])

    def standing(one: Ability) -> tuple[float, int]:
        return -round(score_ability(one, case.task).score, 9), -one.priority

    places = len(known) if limit is None else limit - len(core)
    for one in sorted(case.known, key=standing):
        signal = score_ability(one, case.task).score - one.priority / 10
        if one.id not in usable or one.id in core or round(signal, 9) < least:
            continue
        if places <= 0:
            break
        if one.id in outcome.order:
            continue
        group, whole = group_of(one.id, usable, [one.id])
        together = [*outcome.order, *group]
        if not whole:
            outcome.skipped.append((one.id, "dependency-missing"))
        elif any(conflict(left, right) for left in group for right in together):
            outcome.skipped.append((one.id, "conflict"))
        else:
            add(one.id, group)
            places -= 1
    return outcome


@given(cases())
def test_a_selection_is_what_the_rules_say(case: Case) -> None:
    selection = case.select()
    expected = naive_selection(case)
    assert ids(selection) == expected.order
    assert [(one.id, one.reason) for one in selection.skipped] == expected.skipped
    assert selection.required_by == expected.required_by
    known = {one.id: one for one in case.known}
    for scored in selection.ranked:
        alone = score_ability(known[scored.item.id], case.task, case.options["core"])
        assert (scored.score, scored.parts) == (alone.score, alone.parts)
