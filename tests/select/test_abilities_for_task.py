"""Which abilities a task gets, and in what order: filters, core, limit, signal, ties."""

from typing import Any

import pytest

from metier.errors import UsageError
from metier.select.abilities import abilities_for_task, score_ability
from metier.values.documents import Ability
from metier.values.outcomes import has_errors
from metier.values.selection import AbilitySelection, Skipped


def ability(ability_id: str, **fields: Any) -> Ability:
    return Ability(ability_id=ability_id, **fields)


def ids(selection: AbilitySelection) -> list[str]:
    return [scored.item.id for scored in selection.ranked]


def codes(selection: AbilitySelection) -> list[str]:
    return [issue.code for issue in selection.issues]


def messages(selection: AbilitySelection) -> str:
    return "\n".join(issue.message for issue in selection.issues)


# What can be chosen, and its order


def test_abilities_come_best_score_first_with_their_scores() -> None:
    known = [
        ability("none"),
        ability("word", content="review"),
        ability("category", category="review"),
        ability("tag", tags=("review",)),
        ability("priority", priority=100),
    ]
    selection = abilities_for_task(known, "review")
    assert ids(selection) == ["category", "tag", "priority", "word", "none"]
    assert selection.ranked[1] == score_ability(known[3], "review")
    assert [scored.score for scored in selection.ranked] == [20, 15, 10, 7, 5]
    assert selection == AbilitySelection(selection.ranked, issues=[], skipped=[], rejected=[])


def test_nothing_known_gives_nothing() -> None:
    nothing = AbilitySelection(ranked=[], issues=[], skipped=[], rejected=[])
    assert abilities_for_task([], "review") == nothing


def test_an_ability_without_any_match_is_chosen_as_long_as_there_is_room() -> None:
    assert ids(abilities_for_task([ability("a")], "")) == ["a"]


@pytest.mark.invariant(id="INV-ABL-005")
def test_a_disabled_ability_is_not_chosen() -> None:
    known = [ability("off", enabled=False, tags=("go",)), ability("on")]
    assert ids(abilities_for_task(known, "go")) == ["on"]


@pytest.mark.invariant(id="INV-ABL-004")
def test_an_ability_that_does_not_apply_to_the_agent_is_not_chosen() -> None:
    known = [
        ability("all"),
        ability("star", applicable_to=("*",)),
        ability("named", applicable_to=("writer", "coder")),
        ability("others", applicable_to=("writer",)),
        ability("refused", applicable_to=("*", "coder"), exclude_from=("coder",)),
        ability("star-refused", exclude_from=("*",)),
    ]
    selection = abilities_for_task(known, "", agent="coder")
    assert ids(selection) == ["all", "star", "named", "star-refused"]
    assert codes(selection) == []


@pytest.mark.invariant(id="INV-ABL-004")
def test_applicability_is_not_asked_without_an_agent() -> None:
    known = [ability("a", applicable_to=("writer",)), ability("b", exclude_from=("coder",))]
    assert ids(abilities_for_task(known, "")) == ["a", "b"]


def test_equal_scores_are_settled_by_priority_then_by_the_order_given() -> None:
    known = [
        ability("c", priority=50),
        ability("a", priority=50),
        ability("word", content="review", priority=30),
        ability("b", priority=50),
    ]
    assert ids(abilities_for_task(known, "review")) == ["c", "a", "b", "word"]
    assert ids(abilities_for_task(known[::-1], "review")) == ["b", "a", "c", "word"]


TEN_WORDS = " ".join(f"word{number}" for number in range(10))


def with_signal(points: int, priority: int) -> Ability:
    """An ability of so many points for the task `TEN_WORDS`, the priority not counted."""
    content = " ".join(f"word{number}" for number in range(points // 2))
    return ability(f"s{points}p{priority}", content=content, priority=priority)


def test_a_tie_is_a_tie_even_where_float_arithmetic_would_break_it() -> None:
    assert 2 + 23 * 0.1 > 0 + 43 * 0.1, "the danger is real"
    for more, less in [(10, 2), (2, 0), (4, 2), (20, 18), (20, 12), (18, 10)]:
        apart = 10 * (more - less)
        for priority in range(1, 101 - apart):
            known = [with_signal(more, priority), with_signal(less, priority + apart)]
            selection = abilities_for_task(known, TEN_WORDS)
            assert ids(selection) == [known[1].id, known[0].id]
            assert selection.ranked[0].score == selection.ranked[1].score


def test_of_two_with_one_id_the_later_counts_in_the_place_of_the_earlier() -> None:
    known = [ability("a", content="old"), ability("b"), ability("a", content="new")]
    selection = abilities_for_task(known, "")
    assert ids(selection) == ["a", "b"]
    assert selection.ranked[0].item.content == "new"
    off = ability("a", enabled=False)
    assert ids(abilities_for_task([*known, off], "")) == ["b"]


def test_abilities_can_come_from_anything_that_is_walked_once() -> None:
    assert ids(abilities_for_task((ability(name) for name in "ab"), "")) == ["a", "b"]


# Core


@pytest.mark.invariant(id="INV-ABL-SCR-001")
def test_core_abilities_come_first_in_their_own_order_whatever_the_scores() -> None:
    tags = tuple(f"t{number}" for number in range(20))
    known = [
        ability("best", tags=tags, category="t0", content=" ".join(tags), priority=100),
        ability("c1", priority=1),
        ability("c2", priority=99),
        ability("c3", tags=("t1",)),
    ]
    selection = abilities_for_task(known, " ".join(tags), core=["c1", "c3", "c2"])
    assert ids(selection) == ["c1", "c3", "c2", "best"]
    assert selection.ranked[3].score > selection.ranked[0].score
    assert [scored.parts["core"] for scored in selection.ranked] == [100, 100, 100, 0]
    assert codes(selection) == []


@pytest.mark.invariant(id="INV-ABL-SCR-001")
def test_a_core_ability_that_is_named_twice_comes_once() -> None:
    known = [ability("a"), ability("b"), ability("c")]
    selection = abilities_for_task(known, "", core=["b", "c", "b"], limit=3)
    assert ids(selection) == ["b", "c", "a"]


@pytest.mark.invariant(id="INV-ABL-SCR-001")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"enabled": False}, "it is disabled"),
        ({"applicable_to": ("writer",)}, "it does not apply to this agent"),
        ({"exclude_from": ("coder",)}, "it does not apply to this agent"),
    ],
)
def test_a_core_ability_that_is_off_for_the_agent_is_kept_with_a_warning(
    fields: dict[str, Any], reason: str
) -> None:
    known = [ability("a"), ability("core", path="abilities/core.md", **fields)]
    selection = abilities_for_task(known, "", agent="coder", core=["core"])
    assert ids(selection) == ["core", "a"]
    assert codes(selection) == ["ABILITY_CORE_KEPT"]
    assert selection.issues[0].severity == "warning"
    assert selection.issues[0].path == "abilities/core.md"
    assert selection.issues[0].hint
    assert "'core'" in messages(selection)
    assert reason in messages(selection)


def test_a_core_ability_is_kept_without_a_warning_when_no_agent_is_given() -> None:
    selection = abilities_for_task([ability("a", exclude_from=("coder",))], "", core=["a"])
    assert ids(selection) == ["a"]
    assert codes(selection) == []


@pytest.mark.invariant(id="INV-ABL-SCR-001")
@pytest.mark.parametrize("limit", [0, 1, 2])
def test_core_abilities_beyond_the_limit_are_kept(limit: int) -> None:
    known = [ability(name) for name in "abcd"]
    assert ids(abilities_for_task(known, "", core=["d", "b"], limit=limit)) == ["d", "b"]


@pytest.mark.invariant(id="INV-ABL-SCR-001")
def test_core_abilities_without_enough_signal_are_kept() -> None:
    known = [ability("match", tags=("go",)), ability("none"), ability("core")]
    assert ids(abilities_for_task(known, "go", core=["core"], min_signal=10)) == ["core", "match"]


def test_a_missing_core_ability_leaves_the_outcome_empty_with_an_error() -> None:
    known = [ability("review"), ability("other")]
    selection = abilities_for_task(known, "", core=["other", "reveiw", "zzz"])
    assert selection.ranked == ()
    assert codes(selection) == ["ABILITY_NOT_FOUND", "ABILITY_NOT_FOUND"]
    assert has_errors(selection.issues)
    assert "'reveiw'" in selection.issues[0].message
    assert "'review'" in selection.issues[0].hint
    assert "'zzz'" in selection.issues[1].message
    assert selection.issues[1].hint
    assert selection.skipped == [
        Skipped("reveiw", "ability", "not-found"),
        Skipped("zzz", "ability", "not-found"),
    ]


def test_a_missing_core_ability_is_told_once() -> None:
    assert codes(abilities_for_task([], "", core=["a", "a"])) == ["ABILITY_NOT_FOUND"]


# Limit


def test_ten_are_chosen_unless_the_caller_says_otherwise() -> None:
    selection = abilities_for_task([ability(f"a{number}") for number in range(12)], "")
    assert len(selection.ranked) == 10
    assert selection.passed_over == 2


def test_the_limit_cuts_the_ranking() -> None:
    known = [ability("low", priority=1), ability("high", priority=9), ability("mid", priority=5)]
    selection = abilities_for_task(known, "", limit=2)
    assert ids(selection) == ["high", "mid"]
    assert selection.skipped == []
    assert codes(selection) == []


def test_core_abilities_count_towards_the_limit() -> None:
    known = [ability(name) for name in "abcde"]
    assert ids(abilities_for_task(known, "", core=["e", "d"], limit=3)) == ["e", "d", "a"]


def test_no_limit_takes_all_and_a_limit_of_zero_none() -> None:
    known = [ability(f"a{number}") for number in range(30)]
    assert len(abilities_for_task(known, "", limit=None).ranked) == 30
    none = abilities_for_task(known, "", limit=0)
    assert none.ranked == []
    assert none.passed_over == 30


def test_dependencies_take_no_place() -> None:
    known = [
        ability("d", priority=1),
        ability("a", priority=9, requires=("d",)),
        ability("b", priority=8),
        ability("c", priority=7),
    ]
    assert ids(abilities_for_task(known, "", limit=2)) == ["d", "a", "b"]


def test_a_dependency_takes_no_place_when_its_own_turn_comes() -> None:
    known = [
        ability("a", priority=9, requires=("d",)),
        ability("d", priority=8),
        ability("b", priority=7),
        ability("c", priority=6),
    ]
    assert ids(abilities_for_task(known, "", limit=2)) == ["d", "a", "b"]


def test_dependencies_of_core_abilities_take_no_place() -> None:
    known = [ability("a"), ability("core", requires=("d",)), ability("d"), ability("b")]
    assert ids(abilities_for_task(known, "", core=["core"], limit=2)) == ["d", "core", "a"]


def test_losers_of_a_conflict_take_no_place() -> None:
    known = [
        ability("a", priority=9),
        ability("loser", priority=8, conflicts=("a",)),
        ability("b", priority=7),
        ability("c", priority=6),
    ]
    assert ids(abilities_for_task(known, "", limit=2)) == ["a", "b"]


def test_what_misses_a_dependency_takes_no_place() -> None:
    known = [ability("x", priority=9, requires=("ghost",)), ability("a"), ability("b")]
    assert ids(abilities_for_task(known, "", limit=1)) == ["a"]


def test_nothing_is_said_of_abilities_beyond_the_limit() -> None:
    known = [ability("a", priority=9), ability("x", priority=8, requires=("ghost",))]
    selection = abilities_for_task(known, "", limit=1)
    assert ids(selection) == ["a"]
    assert (codes(selection), selection.skipped) == ([], [])


def test_a_negative_limit_is_misuse() -> None:
    with pytest.raises(UsageError):
        abilities_for_task([], "", limit=-1)


# Signal


@pytest.mark.parametrize(
    ("min_signal", "chosen"),
    [
        (None, ["both", "tag", "word", "none"]),
        (0, ["both", "tag", "word", "none"]),
        (0.5, ["both", "tag", "word"]),
        (2, ["both", "tag", "word"]),
        (2.1, ["both", "tag"]),
        (10, ["both", "tag"]),
        (11, ["both"]),
        (27, ["both"]),
        (27.5, []),
    ],
)
def test_the_least_signal_counts_all_but_core_and_priority(
    min_signal: float | None, chosen: list[str]
) -> None:
    known = [
        ability("none", priority=9),
        ability("word", content="review", priority=8),
        ability("tag", tags=("review",), priority=7),
        ability("both", tags=("review",), category="review", content="review", priority=6),
    ]
    selection = abilities_for_task(known, "review", min_signal=min_signal)
    assert ids(selection) == chosen
    assert selection.passed_over == 4 - len(chosen)


@pytest.mark.parametrize("wrong", [-1, -0.1, float("nan")])
def test_a_least_signal_below_zero_is_misuse(wrong: float) -> None:
    with pytest.raises(UsageError):
        abilities_for_task([], "", min_signal=wrong)


def test_a_dependency_needs_no_signal() -> None:
    known = [ability("d"), ability("a", tags=("go",), requires=("d",))]
    assert ids(abilities_for_task(known, "go", min_signal=10)) == ["d", "a"]


# Passed over


def test_passed_over_counts_what_could_have_been_chosen() -> None:
    known = [
        ability("off", enabled=False),
        ability("others", applicable_to=("writer",)),
        ability("core"),
        ability("a", tags=("go",), priority=9, requires=("d",)),
        ability("loser", tags=("go",), priority=8, conflicts=("a",)),
        ability("lacking", tags=("go",), priority=7, requires=("ghost",)),
        ability("b", tags=("go",), priority=6),
        ability("d", priority=99),
        ability("beyond", tags=("go",), priority=5),
        ability("quiet", priority=99),
    ]
    selection = abilities_for_task(
        known, "go", agent="coder", core=["core"], limit=3, min_signal=10
    )
    assert ids(selection) == ["core", "d", "a", "b"]
    assert [one.id for one in selection.skipped] == ["loser", "lacking"]
    assert selection.passed_over == len(["beyond", "quiet"])
