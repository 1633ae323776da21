"""Ranking and selection: each tie-break by itself, single and cover."""

import hashlib
from collections.abc import Sequence
from typing import Any

import pytest

from metier.parse.contract import parse_contract
from metier.resolve import AliasTable, AliasTables, Resolution, resolve
from metier.values.candidates import Candidate
from metier.values.resolution import TIE_BREAKS

ALIASES = AliasTables([AliasTable.of("runtime", "1", {"web-search": ["net-lookup"]})])
OPEN = {"min-total-score": "0", "min-contract-score": "0", "min-required-coverage": "0"}


def skill(name: str, contract: str = "", description: str = "Plain.", **more: Any) -> Candidate:
    read = parse_contract(contract, "best-effort") if contract else None
    given_ = {"folder": f"skills/{name}", **more}
    return Candidate(name=name, description=description, contract=read, **given_)


def run(candidates: Sequence[Candidate], *requires: str, **options: Any) -> Resolution:
    """A run whose query meets nobody's words, so that S_total is 0.6 of S_contract plus 0.1."""
    given_ = {"query": "kangaroo", "divergence": False, "aliases": ALIASES, **options}
    return resolve(candidates, requires, **given_)


def ranking(made: Resolution) -> list[str]:
    """Names of those that were left, best first."""
    rows = made.full_report().data["candidates"]
    return [one["name"] for one in rows if one["rank"] is not None]


def names(ids: Sequence[str]) -> list[str]:
    return [one.partition("::")[0] for one in ids]


def decided_by(made: Resolution) -> tuple[int, str]:
    """The step that put the first before the second."""
    tie = made.report.data["candidates"][0]["tie_break"]
    return tie["step"], tie["by"]


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


# Each tie-break decides alone; with the names swapped, so that no hash decides in its place.

BOTH_WAYS = pytest.mark.parametrize(("first", "second"), [("anna", "zoe"), ("zoe", "anna")])


@BOTH_WAYS
def test_the_final_score_comes_before_every_tie_break(first: str, second: str) -> None:
    pool = [skill(first, "DCI/1 P(net-lookup,web-search,x,y,z)"), skill(second, "DCI/1 P(nothing)")]
    made = run(pool, "web-search", policy=OPEN)
    assert (ranking(made), decided_by(made)) == ([first, second], (0, "S_total_final"))


@pytest.mark.invariant(id="DCI-TIE-001")
@BOTH_WAYS
def test_of_equal_final_scores_the_higher_contract_score_wins(first: str, second: str) -> None:
    """0.7 less a penalty of 0.12 is what an alias alone gives."""
    bad = ",".join(f"Bad{n}" for n in range(6))
    pool = [skill(second, "DCI/1 P(net-lookup)"), skill(first, f"DCI/1 P(web-search,{bad})")]
    made = run(pool, "web-search")
    assert {one["S_total_final"] for one in made.report.data["candidates"]} == {0.58}
    assert (ranking(made), decided_by(made)) == ([first, second], (1, "S_contract"))


@pytest.mark.invariant(id="DCI-TIE-002")
@BOTH_WAYS
def test_then_the_higher_coverage_wins(first: str, second: str) -> None:
    """Four provisional matches weigh as much as one exact match."""
    pool = [
        skill(second, "DCI/1 P(apple)"),
        skill(first, description="Apple, banana, cherry and lemon, with much more beside them."),
    ]
    made = run(pool, "apple", "banana", "cherry", "lemon", policy=OPEN)
    assert {one["S_contract"] for one in made.report.data["candidates"]} == {0.25}
    assert (ranking(made), decided_by(made)) == ([first, second], (2, "required_coverage"))


@pytest.mark.invariant(id="DCI-TIE-003")
def test_coverage_and_the_number_left_open_never_disagree() -> None:
    """Both are counts over the same requirements, so the third step has nothing left to decide."""
    needs = ["apple", "banana", "cherry", "lemon"]
    pool = [skill(f"s{n}", f"DCI/1 P({','.join(needs[:n])},more)") for n in range(1, 5)]
    rows = run(pool, *needs, policy=OPEN).report.data["candidates"]
    assert [one["unresolved_required"] for one in rows] == [0, 1, 2, 3]
    assert [one["required_coverage"] for one in rows] == [1.0, 0.75, 0.5, 0.25]
    assert TIE_BREAKS.index("unresolved_required") == 3


@pytest.mark.invariant(id="DCI-TIE-004")
@BOTH_WAYS
def test_then_the_more_specific_provider_wins(first: str, second: str) -> None:
    pool = [skill(second, "DCI/1 P(web-search,x,y)"), skill(first, "DCI/1 P(web-search,x)")]
    made = run(pool, "web-search")
    assert [one["S_specificity"] for one in made.report.data["candidates"]] == [0.5, 0.333333333333]
    assert (ranking(made), decided_by(made)) == ([first, second], (4, "S_specificity"))


@pytest.mark.invariant(id="DCI-TIE-004")
def test_specificity_counts_what_is_provided_as_written_and_stems_of_prose() -> None:
    pool = [
        skill("twice", "DCI/1 P(web-search,web-search)"),
        skill("in-both", "DCI/1 P(web-search,x)", listed=("web-search", "y")),
        skill("prose", description="Searches searching the web for you."),
        skill("nothing", "DCI/1 E(web-search)", description=""),
    ]
    rows = run(pool, "web-search", policy=OPEN).full_report().data["candidates"]
    found = {one["name"]: one["S_specificity"] for one in rows}
    third = 0.333333333333
    assert found == {"twice": 0.5, "in-both": third, "prose": third, "nothing": 0.0}


@pytest.mark.invariant(id="DCI-TIE-005")
@BOTH_WAYS
def test_then_the_better_words_win(first: str, second: str) -> None:
    """A full description match of 0.20 and ten bad values that cost 0.20."""
    bad = ",".join(f"Bad{n}" for n in range(10))
    pool = [
        skill(second, "DCI/1 P(web-search)"),
        skill(first, f"DCI/1 P(web-search) E({bad})", "Feeds the kangaroo."),
    ]
    made = run(pool, "web-search")
    rows = made.report.data["candidates"]
    assert [(one["S_total_final"], one["S_skill"]) for one in rows] == [(0.7, 0.7), (0.7, 0.0)]
    assert (ranking(made), decided_by(made)) == ([first, second], (5, "S_skill"))


@pytest.mark.invariant(id="DCI-TIE-006")
@pytest.mark.invariant(id="DCI-TIE-007")
@pytest.mark.invariant(id="DCI-TIE-008")
def test_last_the_sha256_of_the_lower_cased_id_decides() -> None:
    called = ["Alpha", "beta", "GAMMA", "Größe", "delta", "Épsilon", "zeta", "数据"]
    pool = [skill(name, "DCI/1 P(web-search)", folder=f"Skills/{name}") for name in called]
    made = run(pool, "web-search", policy={"max-candidates": "8"})
    keys = [f"{name}::Skills/{name}" for name in called]
    by_hash = sorted(keys, key=lambda key: digest(key.lower()))
    assert ranking(made) == names(by_hash)
    assert by_hash != sorted(keys, key=digest), "lower case must make a difference here"
    assert decided_by(made) == (6, "stable_hash")
    assert names(made.selected) == names(by_hash[:1])


@pytest.mark.invariant(id="DCI-TIE-007")
def test_the_folder_is_part_of_what_is_hashed() -> None:
    pool = [skill("same", "DCI/1 P(one)", folder=f"skills/{n}/same") for n in "abcdefgh"]
    made = run(pool, "one", policy={"max-candidates": "8"})
    rows = made.report.data["candidates"]
    assert [one["id"] for one in rows] == sorted((one.id for one in pool), key=digest)


# Single and cover


@pytest.mark.invariant(id="DCI-SEL-001")
def test_single_selects_the_first_and_no_other() -> None:
    pool = [skill("a", "DCI/1 P(one)"), skill("b", "DCI/1 P(two)"), skill("c", "DCI/1 P(one,two)")]
    made = run(pool, "one", "two", policy={"max-providers": "3", **OPEN})
    assert names(made.selected) == ["c"]


@pytest.mark.invariant(id="DCI-SEL-002")
def test_cover_selects_a_set_that_resolves_everything_together() -> None:
    pool = [skill("a", "DCI/1 P(one)"), skill("b", "DCI/1 P(two)"), skill("c", "DCI/1 P(three)")]
    made = run(pool, "one", "two", "three", policy={"selection-mode": "cover"})
    assert sorted(names(made.selected)) == ["a", "b", "c"]
    assert (made.unresolved, made.outcome.name) == ((), "not-needed")


@pytest.mark.invariant(id="DCI-SEL-003")
def test_cover_takes_whoever_resolves_most_of_what_is_open() -> None:
    """Greedy: the one with three comes first, whatever it provides besides."""
    pool = [
        skill("left", "DCI/1 P(one,two)"),
        skill("right", "DCI/1 P(four,five)"),
        skill("middle", "DCI/1 P(two,three,four,more,and-more)"),
    ]
    needs = ("one", "two", "three", "four", "five")
    made = run(pool, *needs, policy={"selection-mode": "cover", **OPEN})
    assert names(made.selected)[0] == "middle"
    assert sorted(names(made.selected)) == ["left", "middle", "right"]


@pytest.mark.invariant(id="DCI-SEL-003")
@BOTH_WAYS
def test_between_equal_gains_the_higher_final_score_comes_first(first: str, second: str) -> None:
    pool = [skill(second, "DCI/1 P(one)"), skill(first, "DCI/1 P(two)")]
    made = run(pool, "one", "two", policy={"selection-mode": "cover"}, history={pool[0].id: 0.5})
    assert names(made.selected) == [first, second]


@pytest.mark.invariant(id="DCI-SEL-004")
def test_cover_ends_when_everything_is_resolved() -> None:
    pool = [skill("both", "DCI/1 P(one,two)")]
    pool += [skill("a", "DCI/1 P(one)"), skill("b", "DCI/1 P(two)")]
    made = run(pool, "one", "two", policy={"selection-mode": "cover"})
    assert names(made.selected) == ["both"]


@pytest.mark.invariant(id="DCI-SEL-004")
@pytest.mark.parametrize("most", [1, 2, 3, 4, 9])
def test_cover_ends_at_the_limit_of_providers(most: int) -> None:
    needs = ["one", "two", "three", "four"]
    pool = [skill(name, f"DCI/1 P({name})") for name in needs]
    policy = {"selection-mode": "cover", "max-providers": str(most), "max-candidates": "9"}
    made = run(pool, *needs, policy=policy)
    assert len(made.chosen) == min(most, 4)
    assert len(made.unresolved) == max(0, 4 - most)


def test_cover_selects_nobody_who_adds_nothing() -> None:
    pool = [skill("a", "DCI/1 P(one)"), skill("b", "DCI/1 P(one,more)")]
    made = run(pool, "one", "two", policy={"selection-mode": "cover"})
    assert names(made.chosen) == ["a"]


@pytest.mark.invariant(id="DCI-SEL-005")
@pytest.mark.parametrize(
    ("on_missing", "outcome"),
    [
        ("hard-fail", "failed"),
        ("offer-emulation", "pending-decision"),
        ("auto-emulate", "emulated"),
    ],
)
def test_what_cover_leaves_open_goes_to_the_policy(on_missing: str, outcome: str) -> None:
    policy = {"selection-mode": "cover", "on-missing-required": on_missing}
    made = run([skill("a", "DCI/1 P(one)")], "one", "two", policy=policy)
    assert (made.unresolved, made.outcome.name) == (("two",), outcome)


@pytest.mark.parametrize("least", ["0.5", "0.6"])
def test_an_undecided_cover_that_falls_short_selects_nothing(least: str) -> None:
    policy = {"selection-mode": "cover", "min-required-coverage": least}
    made = run([skill("a", "DCI/1 P(one)")], "one", "two", policy=policy)
    assert (made.outcome.name, names(made.chosen)) == ("pending-decision", ["a"])
    assert names(made.selected) == (["a"] if least == "0.5" else [])
    assert made.report.data["selected"] == list(made.selected)
    assert [one["selected"] for one in made.report.data["candidates"]] == [bool(made.selected)]


@pytest.mark.invariant(id="DCI-SEL-006")
def test_explicit_and_own_requirements_count_together_and_the_consumer_is_no_candidate() -> None:
    asker = skill("asker", "DCI/1 P(one,two) R(two,one)")
    made = run([asker, skill("a", "DCI/1 P(one,two,three)")], "three", consumer=asker)
    assert made.question.requires == ("two", "one", "three")
    assert names(made.selected) == ["a"]
    assert "asker" not in ranking(made)


@pytest.mark.invariant(id="DCI-SEL-007")
def test_the_steps_follow_one_another() -> None:
    """Hints gate before the ranking, the ranking is cut, then selected, then what is missing."""
    pool = [
        skill("gated", "DCI/1 P(one,two) Pol(min-total-score=0.99)"),
        skill("first", "DCI/1 P(one,two,x)"),
        skill("second", "DCI/1 P(one,two,x,y) Pol(max-candidates=2)"),
        skill("cut", "DCI/1 P(one,two,x,y,z)"),
    ]
    made = run(pool, "one", "two", "three", policy={"max-candidates": "2"})
    rows = {one["name"]: one for one in made.full_report().data["candidates"]}
    assert ranking(made) == ["first", "second"]
    assert rows["gated"]["rejected"] == ["below-min-total-score"]
    assert rows["cut"]["rejected"] == ["beyond-max-candidates"]
    assert (names(made.selected), made.unresolved) == (["first"], ("three",))
    assert made.outcome.name == "pending-decision"


@pytest.mark.invariant(id="DCI-SEL-008")
@pytest.mark.parametrize("provides", ["nothing-of-it", "one"])
@pytest.mark.parametrize("selection", ["single", "cover"])
def test_an_empty_or_partial_selection_goes_to_the_policy(provides: str, selection: str) -> None:
    policy = {**OPEN, "selection-mode": selection, "on-missing-required": "hard-fail"}
    made = run([skill("a", f"DCI/1 P({provides})")], "one", "two", policy=policy)
    assert made.outcome.name == "failed"
    assert set(made.unresolved) == {"one", "two"} - {provides}


def test_no_candidate_at_all_goes_to_the_policy() -> None:
    made = run([], "one")
    assert (made.selected, made.unresolved, made.outcome.name) == ((), ("one",), "pending-decision")
