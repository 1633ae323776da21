"""Core abilities in the text of a prompt: first and whole, or nothing is injected."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from metier.inject.abilities import inject_abilities
from metier.select.abilities import abilities_for_task
from metier.values.documents import Ability
from metier.values.outcomes import has_errors
from metier.values.selection import AbilityInjection, AbilitySelection, Scored, Skipped


def ability(ability_id: str, **fields: Any) -> Ability:
    return Ability(ability_id=ability_id, **{"content": ability_id.upper() * 4, **fields})


def selected(
    *names: str, core: Sequence[str] = (), requires: Mapping[str, Sequence[str]] | None = None
) -> AbilitySelection:
    """A selection of abilities of one token each."""
    wanted = requires or {}
    ranked = [
        Scored(
            item=ability(name, requires=tuple(wanted.get(name, ()))),
            score=0,
            parts={"core": 100 if name in core else 0},
        )
        for name in names
    ]
    return AbilitySelection(ranked=ranked, issues=[])


def codes(made: AbilityInjection) -> list[str]:
    return [issue.code for issue in made.issues]


# Order


def test_core_abilities_lead_in_the_order_given_to_the_call() -> None:
    made = inject_abilities(selected("a", "b", "c", "d"), core=["d", "b", "d"])
    assert made.injected_abilities == ["d", "b", "a", "c"]
    assert made.combined_content == "DDDD\n\n---\n\nBBBB\n\n---\n\nAAAA\n\n---\n\nCCCC"


def test_what_was_core_for_the_selection_leads_unasked() -> None:
    made = inject_abilities(selected("a", "b", "c", core=["c"]))
    assert made.injected_abilities == ["c", "a", "b"]


def test_the_core_of_the_call_leads_that_of_the_selection() -> None:
    made = inject_abilities(selected("a", "b", "c", core=["b"]), core=["c"])
    assert made.injected_abilities == ["c", "b", "a"]


def test_a_core_ability_follows_what_it_requires() -> None:
    selection = selected("a", "d", "e", "b", "c", requires={"b": "de"})
    made = inject_abilities(selection, core=["c", "b"])
    assert made.injected_abilities == ["c", "d", "e", "b", "a"]


def test_a_core_ability_that_an_earlier_one_requires_stays_before_it() -> None:
    selection = selected("c", "b", "a", core=["a", "b"], requires={"a": "b", "b": "c"})
    assert inject_abilities(selection, core=["a", "b"]).injected_abilities == ["c", "b", "a"]
    assert inject_abilities(selection).injected_abilities == ["c", "b", "a"]


def test_core_of_the_call_alone_brings_what_others_brought_in() -> None:
    selection = selected("d", "y", "x", requires={"x": "d", "y": "d"})
    assert inject_abilities(selection, core=["x"]).injected_abilities == ["d", "x", "y"]
    assert inject_abilities(selection, 2, core=["x"]).injected_abilities == []


def test_core_of_the_call_in_a_circle_brings_the_circle() -> None:
    selection = selected("z", "a", "b", requires={"a": "b", "b": "a"})
    assert inject_abilities(selection, core=["a"]).injected_abilities == ["b", "a", "z"]


def test_the_order_of_a_selection_with_core_is_kept() -> None:
    known = [
        ability("a", tags=("go",)),
        ability("b", requires=("d",)),
        ability("c"),
        ability("d", enabled=False),
        ability("e", requires=("f",), priority=99),
        ability("f"),
    ]
    core = ["c", "b"]
    selection = abilities_for_task(known, "go", core=core)
    order = ["c", "d", "b", "a", "f", "e"]
    assert [scored.item.id for scored in selection.ranked] == order
    assert inject_abilities(selection).injected_abilities == order
    assert inject_abilities(selection, core=core).injected_abilities == order


# Too large


@pytest.mark.invariant(id="INV-ABL-003")
@pytest.mark.parametrize("told_by", ["call", "selection"])
def test_when_core_does_not_fit_nothing_is_handed_over(told_by: str) -> None:
    core = ["a", "c"]
    selection = selected("a", "b", "c", core=core if told_by == "selection" else ())
    made = inject_abilities(selection, max_tokens=3, core=core if told_by == "call" else ())
    assert (made.combined_content, made.token_count) == ("", 0)
    assert made.injected_abilities == []
    assert made.truncated
    assert codes(made) == ["ABILITY_TOKEN_LIMIT_EXCEEDED"]
    assert has_errors(made.issues)
    assert "need 4 tokens, the limit is 3" in made.issues[0].message
    assert made.issues[0].hint
    assert made.skipped == [Skipped(name, "ability", "over-budget", 1) for name in "acb"]


@pytest.mark.invariant(id="INV-ABL-003")
def test_core_that_fits_exactly_is_handed_over_and_the_rest_is_left_out() -> None:
    made = inject_abilities(selected("a", "b", "c"), max_tokens=4, core=["a", "c"])
    assert made.injected_abilities == ["a", "c"]
    assert made.token_count == 4
    assert codes(made) == ["ABILITY_TRUNCATED"]
    assert not has_errors(made.issues)
    assert made.skipped == [Skipped("b", "ability", "over-budget", 1)]


@pytest.mark.invariant(id="INV-ABL-003")
def test_what_a_core_ability_brought_in_must_fit_too() -> None:
    selection = selected("d", "a", "b", core=["a"], requires={"a": "d"})
    assert inject_abilities(selection, max_tokens=4).injected_abilities == ["d", "a"]
    made = inject_abilities(selection, max_tokens=3)
    assert made.injected_abilities == []
    assert codes(made) == ["ABILITY_TOKEN_LIMIT_EXCEEDED"]


@pytest.mark.invariant(id="INV-ABL-003")
def test_headings_of_core_count_too() -> None:
    selection = selected("a", core=["a"])
    assert inject_abilities(selection, 3, include_metadata=True).token_count == 3
    made = inject_abilities(selection, 2, include_metadata=True)
    assert codes(made) == ["ABILITY_TOKEN_LIMIT_EXCEEDED"]
    assert made.combined_content == ""


def test_the_error_names_the_file_of_a_core_ability() -> None:
    known = [ability("a", path="abilities/a.md"), ability("b", path="abilities/b.md")]
    made = inject_abilities(abilities_for_task(known, "", core=["b"]), max_tokens=0)
    assert [issue.path for issue in made.issues] == ["abilities/b.md"]


def test_an_empty_core_ability_always_fits() -> None:
    selection = abilities_for_task([ability("a", content=""), ability("b")], "", core=["a"])
    made = inject_abilities(selection, max_tokens=0)
    assert made.injected_abilities == ["a"]
    assert codes(made) == ["ABILITY_TRUNCATED"]


# Not there


def test_a_core_ability_that_was_not_selected_leaves_the_outcome_empty() -> None:
    made = inject_abilities(selected("a", "b"), core=["ghost", "a", "gone", "ghost"])
    assert (made.combined_content, made.token_count) == ("", 0)
    assert made.injected_abilities == []
    assert not made.truncated
    assert codes(made) == ["ABILITY_NOT_FOUND", "ABILITY_NOT_FOUND"]
    assert "'ghost'" in made.issues[0].message
    assert "'gone'" in made.issues[1].message
    assert has_errors(made.issues)


def test_a_core_ability_that_the_selection_missed_is_told_once() -> None:
    selection = abilities_for_task([ability("a")], "", core=["ghost", "a"])
    made = inject_abilities(selection, core=["ghost"])
    assert codes(made) == ["ABILITY_NOT_FOUND"]
    assert made.injected_abilities == []
    assert made.skipped == [Skipped("ghost", "ability", "not-found")]
    assert inject_abilities(selection).issues == made.issues
