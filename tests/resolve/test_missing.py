"""What happens when a required capability is unresolved."""

from collections.abc import Sequence
from typing import Any, get_args

import pytest

from metier.parse.contract import parse_contract
from metier.resolve import Resolution, resolve
from metier.values.candidates import Candidate
from metier.values.resolution import DECISIONS, Decision, Outcome, settle

PARTIAL = "partial::skills/partial"
AUTO = {"on-missing-required": "auto-emulate"}
HARD = {"on-missing-required": "hard-fail"}
AFTER = {"emulate": "emulated", "continue-with-partial": "continued-partial", "abort": "aborted"}


def skill(name: str, contract: str) -> Candidate:
    read = parse_contract(contract, "best-effort")
    return Candidate(name=name, description="Plain.", folder=f"skills/{name}", contract=read)


def run(**options: Any) -> Resolution:
    """Three capabilities, of which the only provider has two."""
    pool = [skill("partial", "DCI/1 P(one,two)"), skill("poor", "DCI/1 P(one)")]
    return resolve(pool, ["one", "two", "three"], divergence=False, **options)


def action(made: Resolution) -> dict[str, Any]:
    found: dict[str, Any] = made.report.data["on_missing_required_action"]
    return found


@pytest.mark.invariant(id="DCI-MISS-001")
def test_hard_fail_ends_the_run_as_failed_and_selects_nothing() -> None:
    made = run(policy=HARD)
    assert (made.outcome.name, made.selected) == ("failed", ())
    assert made.report.data["selected"] == []
    assert not any(row["selected"] for row in made.report.data["candidates"])
    assert (made.degraded_mode, made.report.data["degraded_mode"]) == (False, False)


@pytest.mark.invariant(id="DCI-MISS-001")
def test_strict_fails_by_default() -> None:
    made = run(mode="strict")
    assert (made.outcome.policy, made.outcome.name) == ("hard-fail", "failed")


@pytest.mark.invariant(id="DCI-MISS-001")
def test_hard_fail_asks_nobody() -> None:
    asked: list[Sequence[str]] = []
    made = run(policy=HARD, decide=asked.append)
    assert (asked, action(made)) == ([], {"policy": "hard-fail", "outcome": "failed"})


@pytest.mark.invariant(id="DCI-MISS-002")
def test_after_hard_fail_the_report_keeps_what_is_open_and_the_top_candidates() -> None:
    made = run(policy=HARD)
    report = made.report.data
    assert report["unresolved_required_capabilities"] == ["three"]
    assert (made.chosen, report["diagnostics"]["chosen"]) == ((PARTIAL,), [PARTIAL])
    assert [(row["name"], row["rank"]) for row in report["candidates"]] == [
        ("partial", 1),
        ("poor", None),
    ]
    kinds = [one["match"] for one in report["candidates"][0]["matches"]]
    assert kinds == ["exact", "exact", "none"]


@pytest.mark.invariant(id="DCI-MISS-002")
def test_after_hard_fail_the_top_candidates_are_there_even_when_all_were_rejected() -> None:
    pool = [skill("near", "DCI/1 P(one)"), skill("far", "DCI/1 P(other)")]
    made = resolve(pool, ["one", "two", "three"], mode="strict")
    rows = made.report.data["candidates"]
    assert [row["name"] for row in rows] == ["near", "far"]
    assert all("below-min-required-coverage" in row["rejected"] for row in rows)
    assert made.report.data["unresolved_required_capabilities"] == ["one", "two", "three"]


@pytest.mark.invariant(id="DCI-MISS-003")
def test_there_are_exactly_three_decisions() -> None:
    assert DECISIONS == get_args(Decision) == ("emulate", "continue-with-partial", "abort")


@pytest.mark.invariant(id="DCI-MISS-003")
@pytest.mark.parametrize("decide", [None, lambda _: None])
def test_without_an_answer_the_run_waits(decide: Any) -> None:
    made = run(decide=decide)
    assert action(made) == {"policy": "offer-emulation", "outcome": "pending-decision"}
    assert (made.degraded_mode, made.outcome.emulated) == (False, ())
    assert made.chosen == (PARTIAL,)


@pytest.mark.invariant(id="DCI-MISS-003")
def test_whoever_decides_is_asked_once_and_told_what_is_open() -> None:
    asked: list[Sequence[str]] = []
    run(decide=asked.append)
    assert asked == [("three",)]


def test_nobody_is_asked_when_nothing_is_open() -> None:
    asked: list[Sequence[str]] = []
    made = resolve([skill("a", "DCI/1 P(one)")], ["one"], decide=asked.append)
    assert (asked, made.outcome.name) == ([], "not-needed")
    assert action(made) == {"policy": "offer-emulation", "outcome": "not-needed"}


@pytest.mark.invariant(id="DCI-MISS-004")
@pytest.mark.parametrize("decision", DECISIONS)
def test_the_decision_is_on_record_with_what_came_of_it(decision: Decision) -> None:
    made = run(decide=lambda _: decision)
    assert action(made) == {
        "policy": "offer-emulation",
        "outcome": AFTER[decision],
        "user_decision": decision,
    }
    assert made.report.data["unresolved_required_capabilities"] == ["three"]


@pytest.mark.parametrize(
    ("decision", "selected", "degraded", "emulated"),
    [
        ("emulate", (PARTIAL,), True, ["three"]),
        ("continue-with-partial", (PARTIAL,), True, []),
        ("abort", (), False, []),
    ],
)
def test_only_abort_empties_the_selection_and_only_emulate_emulates(
    decision: Decision, selected: tuple[str, ...], degraded: bool, emulated: list[str]
) -> None:
    made = run(decide=lambda _: decision)
    report = made.report.data
    assert (made.selected, made.chosen) == (selected, (PARTIAL,))
    assert (made.degraded_mode, report["degraded_mode"]) == (degraded, degraded)
    assert report["emulated_capabilities"] == emulated
    assert [row["selected"] for row in report["candidates"]] == [bool(selected), False]
    assert report["diagnostics"]["chosen"] == [PARTIAL]


@pytest.mark.invariant(id="DCI-MISS-005")
def test_auto_emulate_goes_on_and_asks_nobody() -> None:
    asked: list[Sequence[str]] = []
    made = run(policy=AUTO, decide=asked.append)
    assert (asked, made.outcome.name, made.selected) == ([], "emulated", (PARTIAL,))
    assert action(made) == {"policy": "auto-emulate", "outcome": "emulated"}


@pytest.mark.invariant(id="DCI-MISS-006")
def test_auto_emulate_is_degraded_and_lists_what_is_emulated() -> None:
    report = run(policy=AUTO).report.data
    assert (report["degraded_mode"], report["emulated_capabilities"]) == (True, ["three"])


@pytest.mark.invariant(id="DCI-MISS-006")
def test_auto_emulate_with_nobody_selected_emulates_everything() -> None:
    made = resolve([skill("a", "DCI/1 P(other)")], ["one", "two"], policy=AUTO)
    assert (made.selected, made.outcome.emulated) == ((), ("one", "two"))
    assert made.degraded_mode


@pytest.mark.invariant(id="DCI-MISS-006")
def test_auto_emulate_is_not_degraded_when_nothing_is_missing() -> None:
    made = resolve([skill("a", "DCI/1 P(one)")], ["one"], policy=AUTO)
    assert (made.degraded_mode, made.outcome) == (False, Outcome("auto-emulate", "not-needed"))


@pytest.mark.parametrize("decision", ["emulate", "continue-with-partial"])
def test_a_union_below_the_minimum_is_kept_by_these_decisions_alone(decision: Decision) -> None:
    pool = [skill("a", "DCI/1 P(one)")]
    policy = {"selection-mode": "cover", "min-required-coverage": "0.9"}
    kept = resolve(pool, ["one", "two"], policy=policy, decide=lambda _: decision)
    assert kept.selected == ("a::skills/a",)
    dropped = resolve(pool, ["one", "two"], policy=policy, decide=lambda _: "abort")
    assert (dropped.selected, dropped.chosen) == ((), ("a::skills/a",))


@pytest.mark.parametrize("decision", [None, *DECISIONS])
def test_a_decision_counts_only_where_one_is_asked_for(decision: Decision | None) -> None:
    assert settle("hard-fail", ["one"], False, decision) == Outcome("hard-fail", "failed")
    emulated = settle("auto-emulate", ["one"], False, decision)
    assert emulated == Outcome("auto-emulate", "emulated", None, ("one",))
    done = settle("offer-emulation", [], False, decision)
    assert done == Outcome("offer-emulation", "not-needed")


def test_too_little_selected_goes_to_the_policy_even_with_nothing_open() -> None:
    assert settle("hard-fail", [], True, None).name == "failed"
    assert settle("offer-emulation", [], True, None).name == "pending-decision"
    assert settle("auto-emulate", [], True, None).is_degraded
