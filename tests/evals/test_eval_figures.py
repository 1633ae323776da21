"""Figures over results, their intervals, bars, and comparisons."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.evals.bars import BARS, failed_bars
from metier.evals.compare import bootstrap, compared
from metier.evals.figures import (
    FIGURES,
    confusions_of,
    faults_of,
    figures_of,
    normal,
    skill_figures,
    wilson,
)
from metier.values.evals import CaseResult, EvalCase

NAMES = st.lists(st.sampled_from("abcdefgh"), max_size=10, unique=True)


def result(
    *,
    right: Sequence[str] = (),
    wrong: Sequence[str] = (),
    named: Sequence[str] = (),
    ranked: Sequence[str] | None = None,
    nothing: bool = False,
    every: bool = False,
    most: int | None = None,
    agents: Sequence[str] = (),
    cards: Sequence[str] = (),
    came: Sequence[str] = (),
    reasons: Sequence[str] = (),
    lost_to: str = "",
    unknown: Sequence[str] = (),
) -> CaseResult:
    case = EvalCase(
        task="t", skills=right, not_skills=wrong, nothing=nothing, every=every, most=most,
        agents=agents, cards=cards,
    )  # fmt: skip
    return CaseResult(
        case=case,
        right=right,
        wrong=wrong,
        named=named,
        ranked=named if ranked is None else ranked,
        agents=came,
        cards=came,
        reasons=reasons,
        lost_to=lost_to,
        unknown=dict.fromkeys(unknown, "not there"),
    )


def value(name: str, *results: CaseResult) -> float | None:
    return figures_of(results)[name].value


@pytest.mark.parametrize(
    ("name", "one", "wanted"),
    [
        ("recall", result(right="a", named="a"), 1),
        ("recall", result(right="ab", named="b"), 1),
        ("recall", result(right="ab", named="b", every=True), 0),
        ("recall", result(right="a", ranked="a"), 0),
        ("recall", result(wrong="a"), None),
        ("falseFires", result(wrong="a", named="ba"), 1),
        ("falseFires", result(wrong="a", named="b"), 0),
        ("hit1", result(right="a", ranked="ab"), 1),
        ("hit1", result(right="a", ranked="ba"), 0),
        ("recall5", result(right="a", ranked="bcdea"), 1),
        ("recall5", result(right="a", ranked="bcdefa"), 0),
        ("recall5", result(right="ag", ranked="abcdef", every=True), 0),
        ("ndcg10", result(right="a", ranked="ab"), 1),
        ("ndcg10", result(right="a", ranked="ba"), 0.63093),
        ("ndcg10", result(right="ab", ranked="ba"), 1),
        ("ndcg10", result(right="a"), 0),
        ("silent", result(right="a"), 1),
        ("silent", result(right="a", named="b"), 0),
        ("speaksWrongly", result(nothing=True, named="b"), 1),
        ("speaksWrongly", result(nothing=True), 0),
        ("speaksWrongly", result(wrong="a", named="b"), None),
        ("agents", result(agents="a", came="ab"), 1),
        ("agents", result(agents="b", came="ab"), 0),
        ("cards", result(cards="b", came="ab"), 1),
        ("cards", result(cards="bc", came="ab", every=True), 0),
        ("recall", result(right="a", unknown=["b"]), None),
    ],
)
def test_a_case_counts_for_a_figure(name: str, one: CaseResult, wanted: float | None) -> None:
    assert value(name, one) == (None if wanted is None else pytest.approx(wanted, abs=1e-5))


def test_a_share_has_its_counts_and_wilsons_interval() -> None:
    results = [result(right="a", named="a")] * 8 + [result(right="a")] * 2
    figure = figures_of(results)["recall"]
    assert (figure.value, figure.hits, figure.of) == (0.8, 8, 10)
    assert (figure.low, figure.high) == pytest.approx((0.4902, 0.9433), abs=1e-4)


@given(st.integers(0, 500), st.integers(1, 500))
def test_an_interval_of_a_share_contains_it_and_stays_within_bounds(hits: int, of: int) -> None:
    hits = min(hits, of)
    low, high = wilson(hits, of)
    assert 0 <= low <= hits / of <= high <= 1
    assert low < high


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_an_interval_of_a_mean_contains_it_and_stays_within_bounds(values: list[float]) -> None:
    low, high = normal(values)
    mean = sum(values) / len(values)
    assert 0 <= low <= mean + 1e-9
    assert mean - 1e-9 <= high <= 1


RESULTS = st.lists(
    st.builds(
        result,
        right=NAMES,
        wrong=NAMES,
        named=NAMES,
        ranked=NAMES,
        nothing=st.booleans(),
        every=st.booleans(),
    ),
    max_size=12,
)


@given(RESULTS)
def test_every_figure_is_between_0_and_1_and_within_its_interval(results: list[CaseResult]) -> None:
    figures = figures_of(results)
    assert figures
    for figure in figures.values():
        assert 0 <= figure.low <= figure.high <= 1
        if figure.value is not None:
            assert 0 <= figure.value <= 1
            assert figure.low - 1e-9 <= figure.value <= figure.high + 1e-9
            assert figure.hits <= figure.of + 1e-9


@given(RESULTS)
def test_the_order_of_cases_does_not_matter(results: list[CaseResult]) -> None:
    there, back = figures_of(results), figures_of(results[::-1])
    for name, figure in there.items():
        assert figure.value == pytest.approx(back[name].value)


@given(RESULTS)
def test_equal_results_do_not_differ(results: list[CaseResult]) -> None:
    found = compared(results, results, "itself")
    assert (found.better, found.worse) == ([], [])
    for one in found.differences.values():
        assert (one.change, one.low, one.high, one.changed) == (0, 0, 0, 0)
        assert not one.is_clear


@given(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), min_size=1, max_size=40))
def test_a_bootstrap_is_the_same_every_time_and_within_bounds(changes: list[float]) -> None:
    low, high = bootstrap(changes)
    assert (low, high) == bootstrap(changes)
    assert min(changes) <= low <= high <= max(changes)


def test_a_clear_difference_is_told_from_one_of_few_cases() -> None:
    lost, won = result(right="a"), result(right="a", named="a")
    many = compared([lost] * 20 + [won] * 20, [won] * 40, "there").differences["recall"]
    assert (many.there, many.here, many.change, many.changed) == (0.5, 1, 0.5, 20)
    assert many.is_clear
    few = compared([lost] * 5, [won] * 5, "there").differences["recall"]
    assert few.change == 1
    assert not few.is_clear


def test_a_comparison_names_the_cases_that_changed() -> None:
    passed = result(right="a", named="a")
    lost = result(right="a")
    failed = CaseResult(case=lost.case, right="a", faults=faults_of(lost))
    found = compared([failed, passed, failed], [passed, failed, failed], "there")
    assert (list(found.better), list(found.worse)) == ([passed], [failed])


def test_a_case_that_is_not_scored_on_one_side_is_not_compared() -> None:
    found = compared([result(right="a", unknown=["b"])], [result(right="a")], "there")
    assert found.differences == {}


def test_a_difference_of_many_cases_does_not_take_long() -> None:
    changes = [0.0, 1.0] * 20_000
    low, high = bootstrap(changes)
    assert low < 0.5 < high


# What is said about cases


@pytest.mark.parametrize(
    ("one", "faults"),
    [
        (result(right="a", named="a"), []),
        (result(right="ab", named="c"), ["'a' or 'b' is not named"]),
        (result(right="ab", named="a", every=True), ["'b' is not named"]),
        (result(wrong="a", named="a"), ["'a' is named, but should not be"]),
        (result(nothing=True, named="ab"), ["'a' and 'b' are named, but nothing should be"]),
        (result(right="a", named="ab", most=1), ["2 skills are named, but at most 1 should be"]),
        (result(agents="a", came="b"), ["agent 'a' is not first: 'b' is first"]),
        (result(agents="a"), ["agent 'a' is not first: no agent fits"]),
        (result(cards="a", came="b"), ["card 'a' is not injected"]),
    ],
)
def test_what_is_wrong_with_a_case_is_said(one: CaseResult, faults: list[str]) -> None:
    assert faults_of(one) == faults


def test_skills_have_figures_of_their_own_the_worst_first() -> None:
    results = [
        result(right="a", named="a"),
        result(right="b", named="a"),
        result(wrong="a", named="a"),
    ]
    found = skill_figures(results)
    assert [one.name for one in found] == ["b", "a"]
    assert {name: one.value for name, one in found[1].figures.items()} == {
        "recall": 1, "falseFires": 1, "hit1": 1,
    }  # fmt: skip


def test_a_skill_does_not_miss_a_case_for_which_another_was_as_good() -> None:
    found = skill_figures([result(right="ab", named="a"), result(right="ab")])
    assert {one.name: one.figures["recall"].of for one in found} == {"a": 2, "b": 1}


def test_pairs_that_are_confused_are_counted_the_most_frequent_first() -> None:
    lost = result(right="a", named="b", reasons=["too little"], lost_to="b")
    other = result(right="c", reasons=["no word"])
    found = confusions_of([other, lost, lost, result(right="a", named="a")])
    assert [(one.skill, one.lost_to, one.cases, list(one.reasons)) for one in found] == [
        ("a", "b", 2, ["too little"]),
        ("c", "", 1, ["no word"]),
    ]


# Bars


def test_a_bar_fails_on_its_wrong_side_only() -> None:
    figures = figures_of([result(right="a", named="a"), result(right="a"), result(wrong="a")])
    limits = {"minRecall": 0.5, "maxSilent": 0.5, "maxFalseFires": 0.0}
    assert failed_bars(figures, limits) == []
    (failed,) = failed_bars(figures, {**limits, "minRecall": 0.51})
    assert (failed.bar, failed.limit, failed.value) == ("minRecall", 0.51, 0.5)


def test_a_bar_that_no_case_measures_fails() -> None:
    (failed,) = failed_bars(figures_of([]), {"maxSpeaksWrongly": 1.0})
    assert (failed.bar, failed.value) == ("maxSpeaksWrongly", None)


def test_every_bar_limits_a_figure_on_its_bad_side() -> None:
    for name, bar in BARS.items():
        assert bar.figure in FIGURES
        assert name.startswith("min" if bar.is_least else "max")
