"""Requirements and conflicts between abilities, settled in the order of the ranking."""

from dataclasses import replace
from typing import Any

import pytest

from metier.select.abilities import abilities_for_task
from metier.select.settle import Settling
from metier.values.documents import Ability
from metier.values.outcomes import has_errors
from metier.values.selection import AbilitySelection, Skipped


def ability(ability_id: str, **fields: Any) -> Ability:
    return Ability(ability_id=ability_id, **fields)


def ranked(*abilities: Ability) -> list[Ability]:
    """The same abilities with falling priorities, so that they rank as they are written."""
    return [replace(one, priority=99 - place) for place, one in enumerate(abilities)]


def ids(selection: AbilitySelection) -> list[str]:
    return [scored.item.id for scored in selection.ranked]


def codes(selection: AbilitySelection) -> list[str]:
    return [issue.code for issue in selection.issues]


def left_out(selection: AbilitySelection) -> list[tuple[str, str]]:
    return [(one.id, one.reason) for one in selection.skipped]


# Requirements


def test_a_dependency_comes_right_before_its_dependent() -> None:
    known = ranked(ability("a"), ability("b", requires=("d",)), ability("c"), ability("d"))
    selection = abilities_for_task(known, "")
    assert ids(selection) == ["a", "d", "b", "c"]
    assert selection.required_by == {"d": "b"}
    assert selection.skipped == []
    assert codes(selection) == []


def test_dependencies_come_in_the_order_in_which_they_are_required() -> None:
    known = ranked(ability("a", requires=("z", "y", "x")), ability("x"), ability("y"), ability("z"))
    assert ids(abilities_for_task(known, "")) == ["z", "y", "x", "a"]


def test_dependencies_of_dependencies_come_too_the_deepest_first() -> None:
    known = ranked(
        ability("a", requires=("b", "c")),
        ability("b", requires=("d",)),
        ability("c", requires=("d", "e")),
        ability("d"),
        ability("e"),
    )
    selection = abilities_for_task(known, "", limit=1)
    assert ids(selection) == ["d", "b", "e", "c", "a"]
    assert selection.required_by == dict.fromkeys("debc", "a")


def test_what_is_in_already_is_not_brought_in_again() -> None:
    known = ranked(ability("d"), ability("a", requires=("d",)), ability("b", requires=("a", "d")))
    selection = abilities_for_task(known, "")
    assert ids(selection) == ["d", "a", "b"]
    assert selection.required_by == {}


def test_a_dependency_belongs_to_the_first_that_brought_it_in() -> None:
    known = ranked(ability("a", requires=("d",)), ability("b", requires=("d",)), ability("d"))
    assert abilities_for_task(known, "").required_by == {"d": "a"}


def test_a_dependency_shows_its_own_score() -> None:
    known = ranked(ability("a", requires=("d",)), ability("d"))
    selection = abilities_for_task(known, "", core=["a"])
    assert [scored.parts["core"] for scored in selection.ranked] == [0, 100]


@pytest.mark.parametrize(
    ("dependency", "reason"),
    [
        ([], "which does not exist"),
        ([ability("d", enabled=False)], "which is disabled"),
        ([ability("d", applicable_to=("writer",))], "which does not apply to this agent"),
        ([ability("d", exclude_from=("coder",))], "which does not apply to this agent"),
    ],
)
def test_without_its_dependency_an_ability_is_left_out(
    dependency: list[Ability], reason: str
) -> None:
    known = [ability("a", requires=("d",), path="abilities/a.md"), ability("b"), *dependency]
    selection = abilities_for_task(known, "", agent="coder")
    assert ids(selection) == ["b"]
    assert codes(selection) == ["ABILITY_DEPENDENCY_MISSING"]
    assert not has_errors(selection.issues)
    detail = f"it requires 'd', {reason}"
    assert selection.skipped == [Skipped("a", "ability", "dependency-missing", None, detail)]
    assert selection.issues[0].message.endswith(detail)
    assert "'a'" in selection.issues[0].message
    assert selection.issues[0].path == "abilities/a.md"
    assert selection.issues[0].hint


def test_a_group_comes_all_or_nothing() -> None:
    known = ranked(
        ability("a", requires=("b", "c")),
        ability("z"),
        ability("b"),
        ability("c", requires=("ghost",)),
    )
    selection = abilities_for_task(known, "", limit=1)
    assert ids(selection) == ["z"]
    assert left_out(selection) == [("a", "dependency-missing")]
    assert "it requires 'ghost' through 'c', which does not exist" in selection.issues[0].message


def test_the_dependency_of_one_that_is_left_out_is_chosen_in_its_own_right() -> None:
    known = ranked(ability("a", requires=("b", "ghost")), ability("z"), ability("b"))
    selection = abilities_for_task(known, "")
    assert ids(selection) == ["z", "b"]
    assert selection.required_by == {}


def test_every_ability_that_misses_something_is_told() -> None:
    known = ranked(ability("a", requires=("b",)), ability("b", requires=("ghost",)))
    selection = abilities_for_task(known, "")
    assert ids(selection) == []
    assert left_out(selection) == [("a", "dependency-missing"), ("b", "dependency-missing")]


def test_requirements_can_be_switched_off() -> None:
    known = ranked(ability("a", requires=("ghost", "c")), ability("b"), ability("c"))
    selection = abilities_for_task(known, "", limit=2, include_dependencies=False)
    assert ids(selection) == ["a", "b"]
    assert codes(selection) == []
    core = abilities_for_task(known, "", core=["a"], limit=1, include_dependencies=False)
    assert ids(core) == ["a"]
    assert codes(core) == []


# Circles


def test_members_of_a_circle_are_added_together() -> None:
    known = ranked(
        ability("z"),
        ability("a", requires=("b",)),
        ability("y"),
        ability("b", requires=("c",)),
        ability("c", requires=("a",)),
    )
    selection = abilities_for_task(known, "", limit=2)
    assert ids(selection) == ["z", "c", "b", "a"]
    assert selection.required_by == {"c": "a", "b": "a"}
    assert codes(selection) == []


def test_a_circle_that_is_required_from_outside_is_added_together() -> None:
    known = ranked(
        ability("x", requires=("a",)), ability("a", requires=("b",)), ability("b", requires=("a",))
    )
    assert ids(abilities_for_task(known, "", limit=1)) == ["b", "a", "x"]


def test_a_circle_that_misses_something_is_left_out_whole() -> None:
    known = ranked(ability("a", requires=("b",)), ability("b", requires=("a", "ghost")))
    assert ids(abilities_for_task(known, "")) == []


def test_an_ability_that_requires_itself_is_added_once() -> None:
    selection = abilities_for_task([ability("a", requires=("a",))], "")
    assert ids(selection) == ["a"]
    assert selection.required_by == {}
    assert codes(selection) == []


@pytest.mark.parametrize("core", [(), ("x4999",)])
def test_a_chain_of_thousands_of_requirements_is_followed_to_its_end(core: tuple[str, ...]) -> None:
    length = 5000
    known = [ability("x0")]
    known += [ability(f"x{n}", requires=(f"x{n - 1}",)) for n in range(1, length)]
    known[-1] = ability(f"x{length - 1}", requires=(f"x{length - 2}",), priority=99)
    selection = abilities_for_task(known, "", core=core, limit=1)
    assert ids(selection) == [f"x{n}" for n in range(length)]


# Requirements of core abilities


def test_a_core_ability_follows_its_dependencies_and_stays_before_the_next_core_one() -> None:
    known = ranked(
        ability("best"),
        ability("c2", requires=("d",)),
        ability("c1", requires=("e",)),
        ability("d"),
        ability("e"),
    )
    selection = abilities_for_task(known, "", core=["c1", "c2"])
    assert ids(selection) == ["e", "c1", "d", "c2", "best"]
    assert selection.required_by == {"e": "c1", "d": "c2"}


def test_a_core_ability_that_an_earlier_one_requires_comes_before_it() -> None:
    known = [ability("a", requires=("b",)), ability("b"), ability("c")]
    assert ids(abilities_for_task(known, "", core=["c", "a", "b"])) == ["c", "b", "a"]


def test_a_core_ability_that_an_earlier_one_requires_is_warned_of_once() -> None:
    known = [
        ability("a", requires=("b",)),
        ability("b", enabled=False, requires=("ghost",), conflicts=("a",)),
    ]
    selection = abilities_for_task(known, "", core=["a", "b"])
    assert ids(selection) == ["b", "a"]
    assert sorted(codes(selection)) == [
        "ABILITY_CONFLICT",
        "ABILITY_CORE_KEPT",
        "ABILITY_DEPENDENCY_MISSING",
    ]


def test_dependencies_of_core_abilities_are_not_filtered() -> None:
    known = [
        ability("core", requires=("d",)),
        ability("d", enabled=False, requires=("e",)),
        ability("e", exclude_from=("coder",), requires=("f",)),
        ability("f"),
    ]
    selection = abilities_for_task(known, "go", agent="coder", core=["core"], limit=0, min_signal=5)
    assert ids(selection) == ["f", "e", "d", "core"]
    assert codes(selection) == ["ABILITY_CORE_KEPT", "ABILITY_CORE_KEPT"]
    told = [issue.message for issue in selection.issues]
    assert "'e'" in told[0]
    assert "'d'" in told[1]


def test_a_core_ability_that_misses_a_dependency_stays_with_a_warning() -> None:
    known = [ability("core", requires=("ghost", "d")), ability("d", requires=("gone",))]
    selection = abilities_for_task(known, "", core=["core"])
    assert ids(selection) == ["d", "core"]
    assert codes(selection) == ["ABILITY_DEPENDENCY_MISSING", "ABILITY_DEPENDENCY_MISSING"]
    assert not has_errors(selection.issues)
    assert selection.skipped == []
    told = [issue.message for issue in selection.issues]
    assert "it requires 'ghost', which does not exist" in told[0]
    assert "it requires 'gone' through 'd', which does not exist" in told[1]


def test_what_core_brought_in_serves_others_even_if_it_is_off_for_the_agent() -> None:
    known = [
        ability("core", requires=("d",)),
        ability("d", enabled=False),
        ability("a", requires=("core", "d")),
    ]
    selection = abilities_for_task(known, "", core=["core"])
    assert ids(selection) == ["d", "core", "a"]
    assert selection.skipped == []


# Conflicts


@pytest.mark.parametrize(
    "known",
    [
        [ability("a", priority=9, conflicts=("b",)), ability("b", priority=8)],
        [ability("a", priority=9), ability("b", priority=8, conflicts=("a",))],
        [ability("b", priority=8, conflicts=("a",)), ability("a", priority=9, conflicts=("b",))],
    ],
)
def test_of_two_that_conflict_the_better_stays_whoever_says_so(known: list[Ability]) -> None:
    selection = abilities_for_task(known, "")
    assert ids(selection) == ["a"]
    assert codes(selection) == ["ABILITY_CONFLICT"]
    assert selection.issues[0].severity == "warning"
    assert selection.issues[0].hint
    assert "'b' is excluded" in selection.issues[0].message
    detail = "'a' and 'b' conflict"
    assert [one.item.id for one in selection.rejected] == ["b"]
    assert selection.rejected[0].parts["priority"] == 0.8
    assert selection.skipped == [Skipped("b", "ability", "conflict", None, detail)]


def test_a_loser_rules_nobody_out() -> None:
    known = ranked(ability("a", conflicts=("b",)), ability("b", conflicts=("c",)), ability("c"))
    assert ids(abilities_for_task(known, "")) == ["a", "c"]


def test_one_that_is_beyond_the_limit_rules_nobody_out() -> None:
    known = ranked(ability("a"), ability("b", conflicts=("a",)))
    assert ids(abilities_for_task(known, "", limit=1)) == ["a"]


def test_a_conflict_with_oneself_or_with_what_is_not_there_is_none() -> None:
    known = ranked(ability("a", conflicts=("a", "ghost")), ability("b", conflicts=("b",)))
    selection = abilities_for_task(known, "", core=["b"])
    assert ids(selection) == ["b", "a"]
    assert codes(selection) == []


def test_a_conflict_with_oneself_does_not_hide_one_with_another() -> None:
    known = ranked(ability("a", conflicts=("b",)), ability("b", conflicts=("b",)))
    assert ids(abilities_for_task(known, "")) == ["a"]


@pytest.mark.parametrize("declaring", ["a", "d"])
def test_an_ability_whose_dependency_conflicts_is_left_out(declaring: str) -> None:
    declared = {"a": ("d",), "d": ("a",)}
    known = ranked(
        ability("a", conflicts=declared["a"] if declaring == "a" else ()),
        ability("x", requires=("d",)),
        ability("d", conflicts=declared["d"] if declaring == "d" else ()),
    )
    selection = abilities_for_task(known, "")
    assert ids(selection) == ["a"]
    assert left_out(selection) == [("x", "conflict"), ("d", "conflict")]


@pytest.mark.parametrize(
    "known",
    [
        ranked(ability("x", requires=("d",), conflicts=("d",)), ability("d")),
        ranked(ability("x", requires=("d",)), ability("d", conflicts=("x",))),
        ranked(ability("x", requires=("d", "e")), ability("d", conflicts=("e",)), ability("e")),
    ],
)
def test_a_group_with_a_conflict_inside_is_left_out(known: list[Ability]) -> None:
    selection = abilities_for_task(known, "", limit=1)
    assert left_out(selection)[0] == ("x", "conflict")
    assert ids(selection) == ["d"]


def test_a_dependency_that_was_brought_in_rules_others_out() -> None:
    known = ranked(ability("x", requires=("d",)), ability("b"), ability("d", conflicts=("b",)))
    selection = abilities_for_task(known, "")
    assert ids(selection) == ["d", "x"]
    assert left_out(selection) == [("b", "conflict")]


def test_a_missing_dependency_is_told_before_a_conflict() -> None:
    known = ranked(ability("a"), ability("b", requires=("ghost",), conflicts=("a",)))
    assert left_out(abilities_for_task(known, "")) == [("b", "dependency-missing")]


@pytest.mark.parametrize("declaring", ["c1", "c2"])
def test_two_core_abilities_that_conflict_both_stay_with_a_warning(declaring: str) -> None:
    other = {"c1": "c2", "c2": "c1"}[declaring]
    known = [ability(other), ability(declaring, conflicts=(other,)), ability("a")]
    selection = abilities_for_task(known, "", core=["c1", "c2"])
    assert ids(selection) == ["c1", "c2", "a"]
    assert codes(selection) == ["ABILITY_CONFLICT"]
    assert not has_errors(selection.issues)
    assert "'c2'" in selection.issues[0].message
    assert "'c1'" in selection.issues[0].message
    assert selection.skipped == []


def test_what_conflicts_with_core_or_its_dependencies_is_left_out() -> None:
    known = [
        ability("a", conflicts=("core",)),
        ability("b", conflicts=("d",)),
        ability("c"),
        ability("core", requires=("d",), conflicts=("c",)),
        ability("d"),
    ]
    selection = abilities_for_task(known, "", core=["core"])
    assert ids(selection) == ["d", "core"]
    assert left_out(selection) == [("a", "conflict"), ("b", "conflict"), ("c", "conflict")]


def test_conflicts_can_be_switched_off() -> None:
    known = ranked(ability("a", conflicts=("b",)), ability("b", requires=("c",)), ability("c"))
    selection = abilities_for_task(known, "", settle_conflicts=False)
    assert ids(selection) == ["a", "c", "b"]
    assert codes(selection) == []
    core = abilities_for_task(known, "", core=["a", "b"], settle_conflicts=False)
    assert ids(core) == ["a", "c", "b"]
    assert codes(core) == []


def test_a_conflict_that_both_core_abilities_name_is_told_once() -> None:
    known = [ability("a", conflicts=("b",)), ability("b", conflicts=("a",))]
    assert codes(abilities_for_task(known, "", core=["a", "b"])) == ["ABILITY_CONFLICT"]


def test_a_conflict_within_one_core_group_is_told_once() -> None:
    known = [ability("a", requires=("b",), conflicts=("b",)), ability("b", conflicts=("a",))]
    assert codes(abilities_for_task(known, "", core=["a"])) == ["ABILITY_CONFLICT"]


def test_a_disabled_dependency_of_core_is_told_with_the_core_ability_that_needs_it() -> None:
    known = [ability("a", requires=("d",)), ability("d", enabled=False)]
    (issue,) = abilities_for_task(known, "", core=["a"]).issues
    assert issue.code == "ABILITY_CORE_KEPT"
    assert "core ability 'a'" in issue.message
    assert "'d', which it requires, is disabled" in issue.message


@pytest.mark.parametrize("direction", [1, -1])
def test_a_long_chain_that_misses_its_end_is_left_out_without_walking_it_again_and_again(
    direction: int,
) -> None:
    chain = [ability(f"x{n}", requires=(f"x{n - 1}" if n else "ghost",)) for n in range(2_000)]
    looked_up = 0

    class Counted(dict[str, Ability]):
        def __getitem__(self, key: str) -> Ability:
            nonlocal looked_up
            looked_up += 1
            return super().__getitem__(key)

    known = Counted({one.id: one for one in chain[::direction]})
    settling = Settling(known, set(known), with_dependencies=True, with_conflicts=True)
    for one in chain[::direction]:
        assert not settling.add(one)
    assert len(settling.skipped) == len(chain)
    assert looked_up < 10 * len(chain)
