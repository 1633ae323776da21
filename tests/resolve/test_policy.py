"""The policy of a run: defaults, who overrides whom, what counts as a value."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.errors import UsageError
from metier.resolve import resolve
from metier.values.candidates import Candidate
from metier.values.contracts import Contract, Mode
from metier.values.policy import PRESETS, STRICTNESS, OnMissing, Policy, strictest

MODES: tuple[Mode, ...] = ("strict", "best-effort")
SHARES = ("min-total-score", "min-contract-score", "min-required-coverage")
COUNTS = ("max-candidates", "max-providers")
KEYS = (*SHARES, *COUNTS, "selection-mode", "on-missing-required")
NO_NUMBERS = ["", " ", "nan", "NaN", "inf", "-inf", "Infinity", "-0.1", "-1", "+0.5", "0,5", "1e-1",
              "0x1", "½", "٠", "０.５", "0.5 ", " 0.5", "0.5\n", "1_0", "--", "none", "50%",
              "9" * 5000]  # fmt: skip


def read(key: str, text: str) -> Any:
    """What a contract's `Pol(key=text)` changes; None when it is ignored, with a warning."""
    before = Policy()
    after, warnings = before.with_contract({key: text})
    changed = after._asdict()
    if warnings:
        assert after == before
        assert len(warnings) == 1
        assert len(warnings[0]) < 200
        return None
    return changed[key.replace("-", "_")]


# Defaults


@pytest.mark.invariant(id="DCI-POL-001")
@pytest.mark.invariant(id="DCI-POL-002")
@pytest.mark.invariant(id="DCI-POL-004")
@pytest.mark.invariant(id="DCI-POL-005")
@pytest.mark.invariant(id="DCI-POL-006")
@pytest.mark.parametrize("mode", MODES)
def test_defaults_that_both_modes_share(mode: Mode) -> None:
    policy = Policy.for_mode(mode)
    assert policy.min_total_score == 0.45
    assert policy.min_contract_score == 0.30
    assert policy.max_candidates == 5
    assert policy.selection_mode == "single"
    assert policy.max_providers == 3


@pytest.mark.invariant(id="DCI-POL-003")
def test_required_coverage_is_all_in_strict_and_three_fifths_in_best_effort() -> None:
    assert Policy.for_mode("strict").min_required_coverage == 1.00
    assert Policy.for_mode("best-effort").min_required_coverage == 0.60


@pytest.mark.invariant(id="DCI-POL-007")
def test_what_is_missing_fails_in_strict_and_is_asked_about_in_best_effort() -> None:
    assert Policy.for_mode("strict").on_missing_required == "hard-fail"
    assert Policy.for_mode("best-effort").on_missing_required == "offer-emulation"


@pytest.mark.parametrize("mode", MODES)
def test_a_run_without_overrides_reports_the_defaults_under_their_keys(mode: Mode) -> None:
    one = Candidate(name="s", description="S.", folder="s")
    shown = resolve([one], ["a"], mode=mode).report.data["policy"]
    assert tuple(shown) == (*SHARES, "max-candidates", "selection-mode", "max-providers",
                            "on-missing-required")  # fmt: skip
    assert shown == Policy.for_mode(mode).to_json()


# Values


@pytest.mark.invariant(id="DCI-POL-008")
@pytest.mark.parametrize("mode", MODES)
def test_seven_keys_are_read_and_each_sets_its_own_field(mode: Mode) -> None:
    asked = {
        "min-total-score": "0.1",
        "min-contract-score": "0.2",
        "min-required-coverage": "0.3",
        "max-candidates": "7",
        "selection-mode": "cover",
        "max-providers": "8",
        "on-missing-required": "auto-emulate",
    }
    policy, warnings = Policy.for_mode(mode).with_contract(asked)
    assert warnings == []
    assert {key: str(value) for key, value in policy.to_json().items()} == asked
    assert Policy.for_mode(mode).with_runtime(asked) == policy


@pytest.mark.invariant(id="DCI-POL-008")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "key", ["", "min_total_score", "Min-Total-Score", "minTotalScore", "max-provider", "mode", "é"]
)
def test_another_key_is_ignored_with_a_warning_that_names_it(key: str, mode: Mode) -> None:
    policy, warnings = Policy.for_mode(mode).with_contract({key: "1", "max-candidates": "2"})
    assert policy == Policy.for_mode(mode).with_runtime({"max-candidates": "2"})
    assert len(warnings) == 1
    assert f"'{key}'" in warnings[0]
    assert "ignored" in warnings[0]


@pytest.mark.invariant(id="DCI-POL-008")
@pytest.mark.parametrize("mode", MODES)
def test_the_warnings_of_the_consumer_reach_the_report(mode: Mode) -> None:
    contract = Contract(requires=("a",), policy={"strange": "1", "max-candidates": "0"})
    consumer = Candidate(name="c", description="C.", folder="c", contract=contract)
    other = Candidate(name="s", description="S.", folder="s")
    data = resolve([other], consumer=consumer, mode=mode).report.data
    warnings = data["diagnostics"]["warnings"]
    assert ["strange" in warnings[0], "max-candidates" in warnings[1]] == [True, True]


@pytest.mark.invariant(id="DCI-POL-008")
@pytest.mark.parametrize("key", SHARES)
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0.0),
        ("1", 1.0),
        ("0.0", 0.0),
        ("1.000", 1.0),
        (".5", 0.5),
        ("0.123456789", 0.123456789),
    ],
)
def test_a_share_is_a_plain_number_from_0_to_1(key: str, text: str, value: float) -> None:
    assert read(key, text) == value


@pytest.mark.invariant(id="DCI-POL-008")
@pytest.mark.parametrize("key", SHARES)
@pytest.mark.parametrize("text", [*NO_NUMBERS, "1.01", "2", "10", "0.5.5", ".", "1.", "00.5"])
def test_another_share_is_ignored_with_a_warning(key: str, text: str) -> None:
    assert read(key, text) is None


@pytest.mark.invariant(id="DCI-POL-010")
@pytest.mark.parametrize("key", COUNTS)
@pytest.mark.parametrize(
    ("text", "value"), [("1", 1), ("5", 5), ("10", 10), ("999999999", 999999999)]
)
def test_a_count_is_an_integer_from_1_on(key: str, text: str, value: int) -> None:
    assert read(key, text) == value


@pytest.mark.invariant(id="DCI-POL-010")
@pytest.mark.parametrize("key", COUNTS)
@pytest.mark.parametrize(
    "text", [*NO_NUMBERS, "0", "00", "01", "1.0", "3.5", "1e3", "+1", "１", "²"]
)
def test_another_count_is_ignored_with_a_warning(key: str, text: str) -> None:
    assert read(key, text) is None


@pytest.mark.invariant(id="DCI-POL-009")
@pytest.mark.parametrize(
    "text", ["single", "cover", "Single", "COVER", "", "all", "cover ", "both"]
)
def test_selection_mode_is_single_or_cover(text: str) -> None:
    assert read("selection-mode", text) == (text if text in ("single", "cover") else None)


@pytest.mark.invariant(id="DCI-POL-011")
@pytest.mark.parametrize(
    "text", [*STRICTNESS, "", "Hard-Fail", "hard_fail", "emulate", "auto", "fail"]
)
def test_on_missing_required_is_one_of_three(text: str) -> None:
    assert read("on-missing-required", text) == (text if text in STRICTNESS else None)


@pytest.mark.invariant(id="DCI-POL-008")
@given(st.dictionaries(st.one_of(st.sampled_from(KEYS), st.text(max_size=8)), st.text(max_size=12)))
def test_any_policy_of_a_contract_leaves_a_policy_in_range(pairs: dict[str, str]) -> None:
    policy, warnings = Policy().with_contract(pairs)
    assert 0 <= len(warnings) <= len(pairs)
    for share in (policy.min_total_score, policy.min_contract_score, policy.min_required_coverage):
        assert math.isfinite(share)
        assert 0.0 <= share <= 1.0
    assert policy.max_candidates >= 1
    assert policy.max_providers >= 1
    assert policy.selection_mode in ("single", "cover")
    assert policy.on_missing_required in STRICTNESS


# The caller


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("text", ["nan", "", "-1", "０"])
def test_a_bad_value_of_the_caller_is_a_usage_error(key: str, text: str) -> None:
    with pytest.raises(UsageError, match=key):
        Policy().with_runtime({key: text})


def test_a_misspelt_key_of_the_caller_is_a_usage_error_with_the_nearest_key() -> None:
    with pytest.raises(UsageError) as caught:
        Policy().with_runtime({"max-candidate": "3"})
    assert caught.value.hint == "did you mean 'max-candidates'?"
    with pytest.raises(UsageError) as caught:
        Policy().with_runtime({"zzzzzzzzzzzz": "3"})
    assert all(key in caught.value.hint for key in KEYS)


def test_the_preset_for_prose_lowers_two_thresholds_and_nothing_else() -> None:
    assert PRESETS == {"prose": {"min-contract-score": "0.15", "min-total-score": "0.30"}}
    for mode in MODES:
        before, after = Policy.for_mode(mode), Policy.for_mode(mode).with_runtime(PRESETS["prose"])
        changed = {key for key in KEYS if before.to_json()[key] != after.to_json()[key]}
        assert changed == {"min-contract-score", "min-total-score"}
        assert (after.min_contract_score, after.min_total_score) == (0.15, 0.30)


# Who overrides whom

shares = st.integers(0, 100).map(lambda number: f"{number / 100:.2f}")
counts = st.integers(1, 50).map(str)
good = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(SHARES, shares),
        **dict.fromkeys(COUNTS, counts),
        "selection-mode": st.sampled_from(["single", "cover"]),
        "on-missing-required": st.sampled_from(STRICTNESS),
    },
)


def shown(policy: Policy) -> dict[str, str]:
    """The policy as one would write it."""
    return {
        key: f"{value:.2f}" if isinstance(value, float) else str(value)
        for key, value in policy.to_json().items()
    }


@pytest.mark.invariant(id="DCI-POL-012")
@given(good, good, st.sampled_from(MODES))
def test_each_key_comes_from_the_caller_then_the_consumer_then_the_defaults(
    runtime: dict[str, str], own: dict[str, str], mode: Mode
) -> None:
    contract = Contract(requires=("a",), policy=own)
    consumer = Candidate(name="c", description="C.", folder="c", contract=contract)
    policy = resolve([], consumer=consumer, mode=mode, policy=runtime).policy
    assert shown(policy) == {**shown(Policy.for_mode(mode)), **own, **runtime}


@pytest.mark.invariant(id="DCI-POL-012")
def test_a_value_of_the_consumer_that_is_ignored_leaves_the_default() -> None:
    contract = Contract(requires=("a",), policy={"max-candidates": "none", "max-providers": "2"})
    consumer = Candidate(name="c", description="C.", folder="c", contract=contract)
    policy = resolve([], consumer=consumer).policy
    assert (policy.max_candidates, policy.max_providers) == (5, 2)


@pytest.mark.invariant(id="DCI-POL-017")
def test_strictness_rises_from_emulating_over_asking_to_failing() -> None:
    assert STRICTNESS == ("auto-emulate", "offer-emulation", "hard-fail")
    pairs: list[tuple[OnMissing, OnMissing, OnMissing]] = [
        ("hard-fail", "offer-emulation", "hard-fail"),
        ("hard-fail", "auto-emulate", "hard-fail"),
        ("offer-emulation", "auto-emulate", "offer-emulation"),
    ]
    for left, right, expected in pairs:
        assert strictest(left, right) == strictest(right, left) == expected
    assert strictest("auto-emulate") == "auto-emulate"
