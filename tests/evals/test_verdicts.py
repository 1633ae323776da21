"""Verdicts about what was loaded for a case, and their agreement."""

import pytest

from metier.evals.verdicts import Agreement, LiveCase, LiveReport, LiveResult


def result(case: LiveCase, *loaded: list[str], errors: int = 0) -> LiveResult:
    return LiveResult.of(case, loaded, errors, 0)


def test_another_skill_first_is_no_miss() -> None:
    found = result(LiveCase("t", right=("a",)), ["b", "a"], ["a"], ["b"], [])
    assert (found.right, found.other, found.nothing, found.tries) == (2, 1, 1, 4)


def test_each_right_skill_is_needed_only_if_each_is_wanted() -> None:
    one, all_of = (LiveCase("t", right=("a", "b"), every=each) for each in (False, True))
    assert one.judged(["b"]).passes
    assert not all_of.judged(["b"]).passes
    assert all_of.judged(["c", "b", "a"]).passes


@pytest.mark.parametrize(
    "case",
    [
        LiveCase("t", wrong=("a",)),
        LiveCase("t", nothing=True),
        LiveCase("t", most=0),
        LiveCase("t", right=("a",), wrong=("a",)),
    ],
)
def test_a_forbidden_skill_fails_a_case(case: LiveCase) -> None:
    assert case.judged(["a"]).is_forbidden
    assert not case.judged(["a"]).passes


def test_a_case_that_forbids_one_skill_allows_others() -> None:
    assert LiveCase("t", wrong=("a",)).judged(["b"]).passes
    assert LiveCase("t", wrong=("a",)).judged([]).passes


def test_errors_are_no_misses() -> None:
    found = result(LiveCase("t", right=("a",)), ["a"], errors=2)
    assert found.live is True
    report = LiveReport(model="m", host="codex", results=[found])
    assert (report.figures["recall"].value, report.errors) == (1.0, 2)


def test_a_case_without_any_answer_has_no_live_verdict_and_counts_nowhere() -> None:
    report = LiveReport(
        model="m", host="codex", results=[result(LiveCase("t", right=("a",)), errors=3)]
    )
    assert report.figures["recall"].value is None
    assert sum(report.agreement) == 0
    assert report.differing == []


def test_most_tries_decide_the_live_verdict_of_a_case() -> None:
    case = LiveCase("t", right=("a",))
    assert result(case, ["a"], ["a"], []).live is True
    assert result(case, ["a"], [], []).live is False
    assert result(case, ["a"], []).live is False


def test_tries_of_a_case_do_not_make_the_interval_narrower() -> None:
    cases = [LiveCase("t", right=("a",))] * 10
    once = [result(case, ["a"]) for case in cases[:8]] + [result(case, []) for case in cases[8:]]
    often = [result(one.case, *[["a"] if one.right else []] * 9) for one in once]
    first, second = (
        LiveReport(model="m", host="codex", results=one).figures["recall"] for one in (once, often)
    )
    assert (first.low, first.high) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert second == first


def test_agreement_counts_verdicts_and_what_is_beyond_chance() -> None:
    found = Agreement(both_pass=20, only_live=5, only_offline=10, both_fail=15)
    assert found.share.value == 0.7
    assert found.kappa == pytest.approx(0.4)
    assert Agreement(both_pass=3).kappa is None
    assert Agreement().share.value is None


def test_cases_on_which_live_and_offline_differ_are_listed() -> None:
    agreed = result(LiveCase("same", right=("a",), offline=("a",)), ["a"])
    differs = result(LiveCase("differs", right=("a",), offline=("b",)), ["a"])
    report = LiveReport(model="m", host="codex", results=[agreed, differs])
    assert [one.case.task for one in report.differing] == ["differs"]
    assert report.agreement == Agreement(both_pass=1, only_live=1)
    assert report.offline["recall"].value == 0.5
    told = report.to_json()
    assert told["cases"][1]["skills"] == ["a"]
    assert told["differing"] == ["differs"]


def test_a_case_survives_being_stored() -> None:
    case = LiveCase("t", ("a",), ("b",), nothing=False, every=True, most=2, offline=("a",))
    assert LiveCase.of(case.to_json()) == case


def test_figures_have_the_meanings_that_they_have_without_a_model() -> None:
    avoid = result(LiveCase("t", right=("a",), wrong=("b",)), ["b"], ["a", "b"], [], ["c"])
    quiet = result(LiveCase("t", nothing=True), ["c"], [])
    figures = LiveReport(model="m", host="codex", results=[avoid, quiet]).figures
    assert {name: one.value for name, one in figures.items()} == {
        "recall": 0.25, "falseFires": 0.5, "silent": 0.25, "speaksWrongly": 0.5,
    }  # fmt: skip
