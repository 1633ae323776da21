"""Abilities as text for one prompt (spec 1): in order, joined plainly, never over the limit."""

import re
import zlib
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.budget import count_tokens
from metier.errors import UsageError
from metier.inject.abilities import inject_abilities
from metier.values.documents import Ability
from metier.values.outcomes import Issue, has_errors
from metier.values.selection import AbilityInjection, AbilitySelection, Scored, Skipped


def ability(ability_id: str, content: str = "", **fields: Any) -> Ability:
    return Ability(ability_id=ability_id, content=content, **fields)


def selected(*abilities: Ability, core: Sequence[str] = (), **fields: Any) -> AbilitySelection:
    """A selection of these abilities in this order."""
    ranked = [
        Scored(item=one, score=0, parts={"core": 100 if one.id in core else 0}) for one in abilities
    ]
    return AbilitySelection(**{"ranked": ranked, "issues": [], **fields})


def codes(made: AbilityInjection) -> list[str]:
    return [issue.code for issue in made.issues]


HUNDREDS = selected(ability("a", "A" * 100), ability("b", "B" * 100))


# The text


def test_contents_are_joined_by_a_rule_between_blank_lines() -> None:
    made = inject_abilities(selected(ability("alpha", "AAA"), ability("beta", "BBB")))
    assert made == AbilityInjection(
        injected_abilities=["alpha", "beta"],
        combined_content="AAA\n\n---\n\nBBB",
        token_count=4,
        truncated=False,
        skipped=[],
        issues=[],
    )


def test_with_metadata_each_stands_below_its_display_name_else_its_id() -> None:
    selection = selected(ability("alpha", "AAA", display_name="Alpha"), ability("beta", "BBB"))
    made = inject_abilities(selection, include_metadata=True)
    assert made.combined_content == "## Alpha\n\nAAA\n\n---\n\n## beta\n\nBBB"
    assert made.token_count == count_tokens(made.combined_content)
    single = inject_abilities(
        selected(ability("alpha", "AAA", display_name="Alpha")), include_metadata=True
    )
    assert single.combined_content == "## Alpha\n\nAAA"


def test_a_display_name_is_there_byte_for_byte() -> None:
    selection = selected(ability("a", "AAA", display_name=" Al  pha\t!"))
    made = inject_abilities(selection, include_metadata=True)
    assert made.combined_content == "##  Al  pha\t!\n\nAAA"


def test_content_is_handed_over_as_it_is() -> None:
    content = "  # Title\n\n```\n---\n```\n\tend  "
    assert inject_abilities(selected(ability("a", content))).combined_content == content


def test_nothing_selected_gives_an_empty_text() -> None:
    made = inject_abilities(selected())
    assert made == AbilityInjection([], "", 0, False, [], [])


def test_empty_content_is_injected_and_takes_neither_room_nor_a_rule() -> None:
    selection = selected(
        ability("first"), ability("a", "AAAA"), ability("middle"), ability("b", "BBBB")
    )
    made = inject_abilities(selection, max_tokens=4)
    assert made.combined_content == "AAAA\n\n---\n\nBBBB"
    assert made.injected_abilities == ["first", "a", "middle", "b"]
    assert not made.truncated
    assert inject_abilities(selected(ability("a")), max_tokens=0).injected_abilities == ["a"]


def test_empty_content_with_metadata_is_a_heading() -> None:
    selection = selected(ability("a"), ability("b", "BBB"))
    made = inject_abilities(selection, include_metadata=True)
    assert made.combined_content == "## a\n\n---\n\n## b\n\nBBB"


# The limit


@pytest.mark.invariant(id="INV-ABL-003")
def test_a_text_that_fits_exactly_is_handed_over_whole() -> None:
    made = inject_abilities(HUNDREDS, max_tokens=52)
    assert made.injected_abilities == ["a", "b"]
    assert made.token_count == 52
    assert not made.truncated
    assert codes(made) == []


@pytest.mark.invariant(id="INV-ABL-003")
def test_one_token_less_leaves_the_last_one_out() -> None:
    made = inject_abilities(HUNDREDS, max_tokens=51)
    assert made.combined_content == "A" * 100
    assert made.injected_abilities == ["a"]
    assert made.token_count == 25
    assert made.truncated
    assert made.skipped == [Skipped("b", "ability", "over-budget", 25)]


@pytest.mark.invariant(id="INV-ABL-003")
def test_it_stops_at_the_first_that_does_not_fit() -> None:
    selection = selected(
        ability("a", "A" * 40), ability("big", "B" * 400), ability("c", "C"), ability("empty")
    )
    made = inject_abilities(selection, max_tokens=50)
    assert made.injected_abilities == ["a"]
    assert made.combined_content == "A" * 40
    assert made.skipped == [
        Skipped("big", "ability", "over-budget", 100),
        Skipped("c", "ability", "over-budget", 1),
        Skipped("empty", "ability", "over-budget", 0),
    ]


@pytest.mark.invariant(id="INV-ABL-003")
def test_what_was_left_out_for_size_is_told_in_one_warning() -> None:
    selection = selected(ability("a", "A" * 40), ability("b", "B" * 40), ability("c", "C"))
    made = inject_abilities(selection, max_tokens=10)
    assert codes(made) == ["ABILITY_TRUNCATED"]
    assert not has_errors(made.issues)
    assert "limit of 10 tokens" in made.issues[0].message
    assert "skipped: b, c" in made.issues[0].message
    assert "show ability b" in made.issues[0].hint


@pytest.mark.invariant(id="INV-ABL-003")
def test_headings_count_in_the_limit_and_in_the_size_of_what_is_skipped() -> None:
    selection = selected(ability("a", "A" * 34), ability("b", "B" * 34))
    assert inject_abilities(selection, 10, include_metadata=True).token_count == 10
    made = inject_abilities(selection, 9, include_metadata=True)
    assert made.combined_content == ""
    assert made.skipped == [
        Skipped("a", "ability", "over-budget", 10),
        Skipped("b", "ability", "over-budget", 10),
    ]


@pytest.mark.invariant(id="INV-ABL-003")
def test_a_limit_of_zero_hands_nothing_over() -> None:
    made = inject_abilities(HUNDREDS, max_tokens=0)
    assert (made.combined_content, made.token_count, made.truncated) == ("", 0, True)
    assert [one.id for one in made.skipped] == ["a", "b"]


@pytest.mark.invariant(id="INV-ABL-003")
def test_the_limit_is_ten_thousand_tokens_unless_the_caller_says_otherwise() -> None:
    whole = inject_abilities(selected(ability("a", "A" * 40_000)))
    assert (whole.token_count, whole.truncated) == (10_000, False)
    more = inject_abilities(selected(ability("a", "A" * 40_001)))
    assert (more.token_count, more.truncated) == (0, True)


@pytest.mark.invariant(id="INV-ABL-003")
def test_what_the_selection_left_out_is_passed_on_and_is_no_truncation() -> None:
    skipped = [Skipped("x", "ability", "conflict", detail="'x' and 'a' conflict")]
    issues = [Issue("ABILITY_CONFLICT", "ability 'x' is left out", "")]
    selection = selected(ability("a", "AAA"), skipped=skipped, issues=issues, passed_over=7)
    made = inject_abilities(selection)
    assert not made.truncated
    assert made.skipped == skipped
    assert made.issues == issues
    cut = inject_abilities(selection, max_tokens=0)
    assert cut.skipped == [*skipped, Skipped("a", "ability", "over-budget", 1)]
    assert codes(cut) == ["ABILITY_CONFLICT", "ABILITY_TRUNCATED"]


def test_a_negative_limit_is_misuse() -> None:
    with pytest.raises(UsageError):
        inject_abilities(selected(), max_tokens=-1)


@pytest.mark.invariant(id="INV-ABL-003")
def test_the_count_is_that_of_the_whole_text_even_where_more_text_counts_less() -> None:
    sizes = {"AAA": 9, "AAA\n\n---\n\nBBB": 5, "BBB": 9}
    selection = selected(ability("a", "AAA"), ability("b", "BBB"))
    made = inject_abilities(selection, max_tokens=9, count=sizes.__getitem__)
    assert (made.injected_abilities, made.token_count) == (["a", "b"], 5)


# Never more than the limit, whoever counts


def each_character(text: str) -> int:
    return len(text)


def each_byte(text: str) -> int:
    return len(text.encode())


def words_and_signs(text: str) -> int:
    """Two parts can make one word at the seam."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def runs(text: str) -> int:
    """Equal neighbours are one token, so that a sum of the parts counts too much."""
    return len(list(groupby(text)))


def pairs(text: str) -> int:
    """More text can need fewer tokens."""
    return len(text) // 2 + 20 * (len(text) % 2)


def packed(text: str) -> int:
    return len(zlib.compress(text.encode())) if text else 0


counters = st.sampled_from(
    [count_tokens, each_character, each_byte, words_and_signs, runs, pairs, packed]
)
contents = st.one_of(
    st.text(alphabet="ab-\n é検索👍", max_size=40),
    st.integers(0, 60).map(lambda times: "a" * times),
)
chosen = st.lists(
    st.builds(
        Ability,
        ability_id=st.sampled_from("abcdefgh"),
        content=contents,
        display_name=st.sampled_from(["", "Alpha", "検索 要約", "two\nlines"]),
    ),
    max_size=8,
    unique_by=lambda one: one.id,
)


def rendered(one: Ability, include_metadata: bool) -> str:
    heading = f"## {one.display_name or one.id}"
    return "\n\n".join(filter(None, [heading if include_metadata else "", one.content]))


@pytest.mark.invariant(id="INV-ABL-003")
@given(
    abilities=chosen,
    max_tokens=st.integers(0, 120),
    include_metadata=st.booleans(),
    count=counters,
    data=st.data(),
)
def test_the_text_never_exceeds_the_limit(
    abilities: list[Ability],
    max_tokens: int,
    include_metadata: bool,
    count: Callable[[str], int],
    data: st.DataObject,
) -> None:
    names = [one.id for one in abilities]
    core = data.draw(st.lists(st.sampled_from([*names, "ghost"]), max_size=2))
    made = inject_abilities(selected(*abilities), max_tokens, core, include_metadata, count=count)
    assert made.token_count <= max_tokens
    assert made.token_count == (count(made.combined_content) if made.combined_content else 0)
    by_id = {one.id: rendered(one, include_metadata) for one in abilities}
    parts = [by_id[key] for key in made.injected_abilities]
    assert made.combined_content == "\n\n---\n\n".join(filter(None, parts))
    assert made.truncated == any(one.reason == "over-budget" for one in made.skipped)
    assert all(one.tokens == count(by_id[one.id]) for one in made.skipped)
    if has_errors(made.issues):
        assert (made.injected_abilities, made.combined_content) == ([], "")


@pytest.mark.invariant(id="INV-ABL-003")
@given(
    abilities=chosen,
    max_tokens=st.integers(0, 120),
    include_metadata=st.booleans(),
    count=counters,
)
def test_as_many_are_in_as_fit_in_order_and_the_rest_is_skipped(
    abilities: list[Ability], max_tokens: int, include_metadata: bool, count: Callable[[str], int]
) -> None:
    made = inject_abilities(
        selected(*abilities), max_tokens, include_metadata=include_metadata, count=count
    )
    taken = len(made.injected_abilities)
    assert made.injected_abilities == [one.id for one in abilities[:taken]]
    assert [one.id for one in made.skipped] == [one.id for one in abilities[taken:]]
    assert made.truncated == (taken < len(abilities))
    if made.truncated:
        parts = [rendered(one, include_metadata) for one in abilities[: taken + 1]]
        assert parts[-1]
        assert count("\n\n---\n\n".join(filter(None, parts))) > max_tokens
