"""What providers may demand of themselves: hints tighten, never loosen."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.resolve import Resolution, resolve
from metier.values.candidates import Candidate
from metier.values.contracts import Contract, Mode
from metier.values.policy import STRICTNESS, OnMissing, Policy
from soak import examples

SHARES = ("min-total-score", "min-contract-score", "min-required-coverage")
KEYS = (*SHARES, "max-candidates", "max-providers", "selection-mode", "on-missing-required")

shares = st.integers(0, 100).map(lambda number: f"{number / 100:.2f}")
counts = st.integers(1, 12).map(str)
odd = st.sampled_from(["", "nan", "-1", "2", "inf", "０", "1e9", "loosest", "auto"])
hints = st.dictionaries(
    st.one_of(st.sampled_from(KEYS), st.just("strange")),
    st.one_of(shares, counts, st.sampled_from([*STRICTNESS, "single", "cover"]), odd),
    max_size=7,
)
policies = st.builds(
    Policy,
    min_total_score=st.floats(0, 1),
    min_contract_score=st.floats(0, 1),
    min_required_coverage=st.floats(0, 1),
    max_candidates=st.integers(1, 12),
    selection_mode=st.sampled_from(["single", "cover"]),
    max_providers=st.integers(1, 5),
    on_missing_required=st.sampled_from(STRICTNESS),
)


def provider(name: str, *provides: str, policy: Mapping[str, str] | None = None) -> Candidate:
    return Candidate(
        name=name,
        description=" ".join(provides).replace("-", " "),
        folder=f"skills/{name}",
        contract=Contract(provides=provides, policy=policy or {}),
    )


def rejected(run: Resolution, name: str) -> list[str]:
    rows = run.full_report().data["candidates"]
    found: list[str] = next(row["rejected"] for row in rows if row["name"] == name)
    return found


def names(run: Resolution) -> list[str]:
    return [one.split("::")[0] for one in run.selected]


# One policy


@pytest.mark.invariant(id="DCI-POL-013")
@given(policies, hints)
@examples(75)
def test_no_hint_ever_loosens_a_policy(policy: Policy, asked: dict[str, str]) -> None:
    tight = policy.tightened(asked)
    assert tight.min_total_score >= policy.min_total_score
    assert tight.min_contract_score >= policy.min_contract_score
    assert tight.min_required_coverage >= policy.min_required_coverage
    assert tight.max_candidates <= policy.max_candidates
    assert STRICTNESS.index(tight.on_missing_required) >= STRICTNESS.index(
        policy.on_missing_required
    )
    assert tight.selection_mode == policy.selection_mode
    assert tight.max_providers == policy.max_providers
    assert tight.tightened(asked) == tight
    assert policy.tightened({}) == policy


@pytest.mark.invariant(id="DCI-POL-013")
@given(policies, hints, hints)
def test_the_order_of_two_hints_does_not_matter(
    policy: Policy, one: dict[str, str], other: dict[str, str]
) -> None:
    assert policy.tightened(one).tightened(other) == policy.tightened(other).tightened(one)


@pytest.mark.invariant(id="DCI-POL-014")
@pytest.mark.parametrize("key", SHARES)
def test_a_hint_raises_a_threshold_and_cannot_lower_it(key: str) -> None:
    policy = Policy(min_total_score=0.5, min_contract_score=0.5, min_required_coverage=0.5)
    assert policy.tightened({key: "0.7"}).to_json() == {**policy.to_json(), key: 0.7}
    for text in ("0.3", "0.5", "0", "nan", "-1", "9"):
        assert policy.tightened({key: text}) == policy


@pytest.mark.invariant(id="DCI-POL-015")
def test_a_hint_lowers_max_candidates_and_cannot_raise_it() -> None:
    assert Policy().tightened({"max-candidates": "2"}).max_candidates == 2
    for text in ("5", "6", "100", "0", "-1"):
        assert Policy().tightened({"max-candidates": text}) == Policy()


@pytest.mark.invariant(id="DCI-POL-016")
@pytest.mark.parametrize("before", STRICTNESS)
@pytest.mark.parametrize("asked", STRICTNESS)
def test_a_hint_moves_on_missing_required_to_stricter_values_only(
    before: OnMissing, asked: OnMissing
) -> None:
    tight = Policy(on_missing_required=before).tightened({"on-missing-required": asked})
    assert tight.on_missing_required == max(before, asked, key=STRICTNESS.index)


def test_hints_for_mode_and_number_of_providers_are_ignored() -> None:
    assert Policy().tightened({"selection-mode": "cover", "max-providers": "1"}) == Policy()


# A run

EASY = {"min-total-score": "0.01", "min-contract-score": "0.01", "min-required-coverage": "0.01"}


@pytest.mark.invariant(id="DCI-POL-014")
@pytest.mark.parametrize(
    ("hint", "reason"),
    [
        ({"min-total-score": "1"}, "below-min-total-score"),
        ({"min-contract-score": "0.9"}, "below-min-contract-score"),
        ({"min-required-coverage": "0.9"}, "below-min-required-coverage"),
    ],
)
def test_a_raised_threshold_binds_the_provider_that_asks_for_it_alone(
    hint: dict[str, str], reason: str
) -> None:
    pool = [provider("plain", "web-search"), provider("proud", "web-search", policy=hint)]
    run = resolve(pool, ["web-search", "pdf-export"], policy=EASY)
    assert rejected(run, "proud") == [reason]
    assert rejected(run, "plain") == []
    assert run.report.data["policy"] == {**Policy().to_json(), **dict.fromkeys(EASY, 0.01)}


@pytest.mark.invariant(id="DCI-POL-013")
@pytest.mark.parametrize("mode", ["strict", "best-effort"])
def test_a_loose_hint_saves_nobody(mode: Mode) -> None:
    loose = {**dict.fromkeys(SHARES, "0"), "max-candidates": "99"}
    pool = [provider("plain", "web-search"), provider("loose", "web-search", policy=loose)]
    run = resolve(pool, ["web-search", "pdf-export"], mode=mode)
    assert rejected(run, "loose") == rejected(run, "plain") != []


@pytest.mark.invariant(id="DCI-POL-015")
def test_a_provider_with_a_max_candidates_hint_must_rank_within_it() -> None:
    first = provider("first", "web-search")
    for limit, reasons in (("1", ["beyond-max-candidates-hint"]), ("2", [])):
        modest = provider("modest", "web-search", "other-thing", policy={"max-candidates": limit})
        run = resolve([first, modest], ["web-search"])
        assert rejected(run, "modest") == reasons
        assert rejected(run, "first") == []
        assert names(run) == ["first"]
    alone = resolve([modest], ["web-search"])
    assert names(alone) == ["modest"]


@pytest.mark.invariant(id="DCI-POL-016")
@pytest.mark.parametrize("hint", STRICTNESS)
@pytest.mark.parametrize("policy", STRICTNESS)
def test_the_strictest_of_policy_and_selected_provider_applies(
    policy: OnMissing, hint: OnMissing
) -> None:
    pool = [provider("one", "web-search", policy={"on-missing-required": hint})]
    overrides = {**EASY, "on-missing-required": policy}
    run = resolve(pool, ["web-search", "pdf-export"], policy=overrides)
    assert run.chosen == ("one::skills/one",)
    assert run.policy.on_missing_required == max(policy, hint, key=STRICTNESS.index)


@pytest.mark.invariant(id="DCI-POL-016")
def test_the_hint_of_a_provider_that_is_not_selected_does_not_count() -> None:
    strict = provider("strict", "web-search", "more", policy={"on-missing-required": "hard-fail"})
    pool = [provider("one", "web-search"), strict]
    run = resolve(pool, ["web-search", "pdf-export"], policy=EASY)
    assert names(run) == ["one"]
    assert run.policy.on_missing_required == "offer-emulation"


@pytest.mark.invariant(id="DCI-POL-016")
def test_in_cover_the_strictest_of_all_selected_applies() -> None:
    pool = [
        provider("one", "web-search"),
        provider("two", "pdf-export", policy={"on-missing-required": "hard-fail"}),
    ]
    overrides = {**EASY, "selection-mode": "cover", "on-missing-required": "auto-emulate"}
    run = resolve(pool, ["web-search", "pdf-export", "nobody-has-it"], policy=overrides)
    assert {one.split("::")[0] for one in run.chosen} == {"one", "two"}
    assert run.policy.on_missing_required == "hard-fail"


@pytest.mark.invariant(id="DCI-POL-006")
def test_max_providers_counts_in_cover_only() -> None:
    pool = [provider(f"s-{one}", one) for one in ("alpha", "bravo", "charlie", "delta")]
    wanted = ["alpha", "bravo", "charlie", "delta"]
    for limit, expected in (({}, 3), ({"max-providers": "1"}, 1), ({"max-providers": "4"}, 4)):
        cover = resolve(pool, wanted, policy={**EASY, "selection-mode": "cover", **limit})
        assert len(cover.chosen) == expected
        single = resolve(pool, wanted, policy={**EASY, **limit})
        assert len(single.chosen) == 1
