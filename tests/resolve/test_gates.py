"""Who may be chosen at all: gates, their borders, the reasons they give, the hints of providers."""

from collections.abc import Sequence
from typing import Any

import pytest

from metier.resolve import AliasTable, AliasTables, Resolution, resolve
from metier.values.candidates import Candidate
from metier.values.resolution import REASONS
from resolve.contracted import row, skill

ALIASES = AliasTables([AliasTable.of("runtime", "1", {"web-search": ["net-lookup"]})])
OPEN = {"min-total-score": "0", "min-contract-score": "0", "min-required-coverage": "0"}
"""A policy that lets everybody pass."""


def run(candidates: Sequence[Candidate], *requires: str, **options: Any) -> Resolution:
    """A run whose query meets nobody's words, so that S_total is 0.6 of S_contract plus 0.1."""
    given = {"query": "kangaroo", "divergence": False, "aliases": ALIASES, **options}
    return resolve(candidates, requires, **given)


def rejected(made: Resolution, name: str) -> list[str]:
    reasons: list[str] = row(made, name)["rejected"]
    return reasons


def names(ids: Sequence[str]) -> list[str]:
    return [one.partition("::")[0] for one in ids]


@pytest.mark.invariant(id="DCI-GATE-001")
@pytest.mark.parametrize(("least", "reasons"), [("0.7", []), ("0.701", ["below-min-total-score"])])
def test_a_final_score_at_the_minimum_passes_and_one_below_does_not(
    least: str, reasons: list[str]
) -> None:
    made = run([skill("a", "DCI/1 P(web-search)")], "web-search", policy={"min-total-score": least})
    assert row(made, "a")["S_total_final"] == 0.7
    assert rejected(made, "a") == reasons


@pytest.mark.invariant(id="DCI-GATE-001")
@pytest.mark.parametrize(("least", "passes"), [("0.49", True), ("0.4900001", False)])
def test_the_total_gate_looks_at_the_score_after_history(least: str, passes: bool) -> None:
    one = skill("a", "DCI/1 P(web-search)")
    made = run([one], "web-search", policy={"min-total-score": least}, history={one.id: 0.0})
    assert (row(made, "a")["S_total"], row(made, "a")["S_total_final"]) == (0.7, 0.49)
    assert (made.selected == (one.id,)) is passes


def test_the_total_gate_looks_at_the_score_after_penalties() -> None:
    one = skill("a", "DCI/1 P(web-search) E(Bad,Worse)")
    at, above = (
        run([one], "web-search", policy={"min-total-score": least}) for least in ("0.66", "0.67")
    )
    assert (rejected(at, "a"), rejected(above, "a")) == ([], ["below-min-total-score"])


@pytest.mark.invariant(id="DCI-GATE-002")
@pytest.mark.parametrize(
    ("provides", "requires", "border", "above"),
    [
        ("web-search", ["web-search"], "1", None),
        ("net-lookup", ["web-search"], "0.8", "0.801"),
        ("pdf-creation", ["pdf-extraction"], "0.33", "0.331"),
        ("web-search,pdf-creation", ["web-search", "pdf-extraction"], "0.665", "0.666"),
        ("one,two", ["one", "two", "three"], "0.666666666667", "0.666667"),
    ],
)
def test_a_contract_score_at_the_minimum_passes_and_one_below_does_not(
    provides: str, requires: list[str], border: str, above: str | None
) -> None:
    pool = [skill("a", f"DCI/1 P({provides})")]
    made = run(pool, *requires, policy={**OPEN, "min-contract-score": border})
    assert rejected(made, "a") == []
    if above is not None:
        made = run(pool, *requires, policy={**OPEN, "min-contract-score": above})
        assert rejected(made, "a") == ["below-min-contract-score"]


@pytest.mark.invariant(id="DCI-GATE-002")
@pytest.mark.parametrize(("selection", "passes"), [("single", False), ("cover", True)])
def test_in_cover_both_scores_are_over_what_a_candidate_resolves(
    selection: str, passes: bool
) -> None:
    """One of four is 0.25 on the whole, and 1.0 of what it resolves."""
    policy = {"selection-mode": selection, "min-required-coverage": "0.25"}
    made = run([skill("a", "DCI/1 P(one)")], "one", "two", "three", "four", policy=policy)
    found = row(made, "a")
    assert (found["S_contract"], found["S_total_final"]) == (0.25, 0.25)
    assert (made.chosen != ()) is passes
    if passes:
        assert found["S_contract_of_resolved"] == 1.0
        assert found["S_total_final_of_resolved"] == 0.7
    else:
        assert found["rejected"] == ["below-min-contract-score", "below-min-total-score"]


@pytest.mark.invariant(id="DCI-GATE-002")
def test_in_cover_the_border_is_that_of_the_resolved_mean() -> None:
    pool = [skill("a", "DCI/1 P(net-lookup,one)")]
    policy = {**OPEN, "selection-mode": "cover"}
    at, above = (
        run(pool, "one", "web-search", "two", policy={**policy, "min-contract-score": least})
        for least in ("0.9", "0.901")
    )
    assert (rejected(at, "a"), rejected(above, "a")) == ([], ["below-min-contract-score"])


@pytest.mark.invariant(id="DCI-GATE-003")
@pytest.mark.parametrize(
    ("mode", "provided", "passes"),
    [
        ("best-effort", 3, True),
        ("best-effort", 2, False),
        ("strict", 5, True),
        ("strict", 4, False),
    ],
)
def test_coverage_at_the_minimum_of_the_mode_passes_and_one_below_does_not(
    mode: str, provided: int, passes: bool
) -> None:
    needs = ["alpha", "bravo", "charlie", "delta", "echo"]
    pool = [skill("a", f"DCI/1 P({','.join(needs[:provided])})")]
    policy = {"min-total-score": "0", "min-contract-score": "0"}
    made = run(pool, *needs, mode=mode, policy=policy)
    assert rejected(made, "a") == ([] if passes else ["below-min-required-coverage"])


@pytest.mark.invariant(id="DCI-GATE-003")
def test_a_share_that_no_decimal_hits_still_equals_itself() -> None:
    pool = [skill("a", "DCI/1 P(one,two)")]
    policy = {**OPEN, "min-required-coverage": "0.666666666667"}
    assert rejected(run(pool, "one", "two", "three", policy=policy), "a") == []


@pytest.mark.invariant(id="DCI-GATE-003")
@pytest.mark.parametrize("least", ["0.6", "0.67", "1"])
def test_in_cover_no_single_candidate_is_held_to_the_coverage(least: str) -> None:
    pool = [skill("a", "DCI/1 P(one)"), skill("b", "DCI/1 P(two)")]
    policy = {"selection-mode": "cover", "min-required-coverage": least}
    made = run(pool, "one", "two", "three", policy=policy, decide=lambda _: "continue-with-partial")
    assert sorted(names(made.selected)) == ["a", "b"]
    assert (rejected(made, "a"), rejected(made, "b")) == ([], [])
    assert made.outcome.name == "continued-partial"


@pytest.mark.invariant(id="DCI-GATE-004")
@pytest.mark.parametrize(
    ("kind", "mode", "resolves"),
    [
        ("exact", "strict", True),
        ("alias", "strict", True),
        ("fuzzy", "strict", False),
        ("provisional", "strict", False),
        ("none", "strict", False),
        ("exact", "best-effort", True),
        ("alias", "best-effort", True),
        ("fuzzy", "best-effort", True),
        ("provisional", "best-effort", True),
        ("none", "best-effort", False),
    ],
)
def test_coverage_counts_proofs_in_strict_and_hints_too_in_best_effort(
    kind: str, mode: str, resolves: bool
) -> None:
    contracts = {"exact": "web-search", "alias": "net-lookup", "fuzzy": "web-searches"}
    if kind in contracts:
        one = skill("a", f"DCI/1 P({contracts[kind]})")
    else:
        one = skill("a", description="Searches the web." if kind == "provisional" else "Plain.")
    found = row(run([one], "web-search", mode=mode, policy=OPEN), "a")
    assert found["matches"][0]["match"] == kind
    assert found["matches"][0]["resolved"] is resolves
    assert (found["required_coverage"], found["unresolved_required"]) == (
        (1.0, 0) if resolves else (0.0, 1)
    )


def test_a_fuzzy_match_alone_does_not_pass_in_strict() -> None:
    made = run([skill("a", "DCI/1 P(pdf-creation)")], "pdf-extraction", mode="strict")
    assert made.selected == ()
    assert "below-min-required-coverage" in rejected(made, "a")


def test_prose_alone_stays_below_the_default_contract_gate() -> None:
    made = run([skill("a", description="Searches the web.")], "web-search", query="web search")
    assert rejected(made, "a") == ["below-min-contract-score"]


@pytest.mark.invariant(id="DCI-GATE-005")
@pytest.mark.parametrize("most", [1, 3, 5, 7, 9])
def test_the_cut_keeps_the_best_after_the_full_sort(most: int) -> None:
    """Equal scores all along: only the later tie-breaks tell who is cut."""
    pool = [skill(f"s{n}", f"DCI/1 P(web-search,{','.join(f'x{i}' for i in range(n))})", listed=())
            for n in range(1, 8)]  # fmt: skip
    made = run(pool, "web-search", policy={"max-candidates": str(most)})
    order = [f"s{n}" for n in range(1, 8)]
    assert [row(made, name)["rank"] for name in order[:most]] == list(range(1, min(most, 7) + 1))
    for name in order[most:]:
        assert rejected(made, name) == ["beyond-max-candidates"]
        assert row(made, name)["rank"] is None


@pytest.mark.invariant(id="DCI-GATE-005")
def test_in_cover_the_best_of_each_capability_survives_the_cut() -> None:
    """Three that provide two each rank above the only ones that provide the other two."""
    pool = [skill(f"both-{n}", "DCI/1 P(one,two)") for n in range(3)]
    pool += [skill(name, f"DCI/1 P({name})") for name in ("three", "four")]
    needs = ("one", "two", "three", "four")
    made = run(pool, *needs, policy={"selection-mode": "cover", "max-candidates": "3"})
    kept = [one for one in made.full_report().data["candidates"] if one["rank"]]
    assert len(kept) == 3
    assert {"three", "four"} < {one["name"] for one in kept}
    assert len(made.selected) == 3
    assert made.unresolved == ()


@pytest.mark.invariant(id="DCI-GATE-005")
def test_in_cover_the_best_of_each_capability_stay_even_beyond_the_limit() -> None:
    needs = ("one", "two", "three")
    pool = [skill(name, f"DCI/1 P({name})") for name in needs]
    more = [skill(f"also-{n}", "DCI/1 P(one,five,six,seven)") for n in range(5)]
    made = run(pool + more, *needs, policy={"selection-mode": "cover", "max-candidates": "1"})
    assert sorted(names(made.selected)) == sorted(needs)
    for one in more:
        assert rejected(made, one.name) == ["beyond-max-candidates"]


@pytest.mark.invariant(id="DCI-RUN-007")
def test_in_strict_a_candidate_for_another_host_is_removed() -> None:
    pool = [
        skill("here", "DCI/1 P(web-search,more)", compatibility="cli, codex"),
        skill("there", "DCI/1 P(web-search)", compatibility="cursor"),
    ]
    made = run(pool, "web-search", mode="strict", host="codex", policy=OPEN)
    assert names(made.selected) == ["here"]
    assert rejected(made, "there") == ["runtime-incompatible"]


@pytest.mark.invariant(id="DCI-RUN-007")
@pytest.mark.parametrize(("mode", "host"), [("best-effort", "codex"), ("strict", None)])
def test_only_a_strict_run_for_a_host_removes_by_runtime(mode: str, host: str | None) -> None:
    pool = [skill("there", "DCI/1 P(web-search)", compatibility="cursor")]
    made = run(pool, "web-search", mode=mode, host=host)
    assert names(made.selected) == ["there"]
    assert row(made, "there")["S_runtime"] == (0.0 if host else 1.0)


HINTS = {
    "min-total-score": ("0.9", "below-min-total-score"),
    "min-contract-score": ("0.9", "below-min-contract-score"),
    "min-required-coverage": ("0.9", "below-min-required-coverage"),
}


@pytest.mark.invariant(id="DCI-POL-014")
@pytest.mark.parametrize("key", HINTS)
def test_a_hint_raises_a_threshold_for_its_own_provider_alone(key: str) -> None:
    value, reason = HINTS[key]
    pool = [skill("modest", f"DCI/1 P(one,two) Pol({key}={value})"), skill("b", "DCI/1 P(one,two)")]
    made = run(pool, "one", "two", "three")
    assert rejected(made, "modest") == [reason]
    assert rejected(made, "b") == []


@pytest.mark.invariant(id="DCI-POL-014")
@pytest.mark.parametrize("key", HINTS)
def test_a_hint_below_the_policy_changes_nothing(key: str) -> None:
    _, reason = HINTS[key]
    made = run([skill("a", f"DCI/1 P(one) Pol({key}=0)")], "one", "two", policy={key: "0.95"})
    assert reason in rejected(made, "a")


@pytest.mark.invariant(id="DCI-POL-014")
def test_a_score_equal_to_a_hint_passes() -> None:
    one = skill("a", "DCI/1 P(net-lookup) Pol(min-contract-score=0.8,min-total-score=0.58)")
    assert names(run([one], "web-search").selected) == ["a"]


@pytest.mark.invariant(id="DCI-POL-015")
@pytest.mark.parametrize(("rival", "stays"), [("web-search", False), ("web-search,more,yet", True)])
def test_a_provider_must_rank_within_the_number_that_it_names(rival: str, stays: bool) -> None:
    hinted = skill("hinted", "DCI/1 P(web-search,other) Pol(max-candidates=1)")
    made = run([hinted, skill("rival", f"DCI/1 P({rival})")], "web-search")
    assert rejected(made, "hinted") == ([] if stays else ["beyond-max-candidates-hint"])
    assert names(made.selected) == ["hinted" if stays else "rival"]
    assert rejected(made, "rival") == []


@pytest.mark.invariant(id="DCI-POL-015")
def test_a_hint_cannot_widen_the_number_of_candidates() -> None:
    pool = [skill("a", "DCI/1 P(one)"), skill("b", "DCI/1 P(one,two) Pol(max-candidates=9)")]
    made = run(pool, "one", policy={"max-candidates": "1"})
    assert rejected(made, "b") == ["beyond-max-candidates"]


@pytest.mark.invariant(id="DCI-POL-016")
@pytest.mark.parametrize(
    ("policy", "hint", "effective"),
    [
        ("auto-emulate", "hard-fail", "hard-fail"),
        ("auto-emulate", "offer-emulation", "offer-emulation"),
        ("offer-emulation", "hard-fail", "hard-fail"),
        ("offer-emulation", "auto-emulate", "offer-emulation"),
        ("hard-fail", "auto-emulate", "hard-fail"),
    ],
)
def test_what_happens_on_missing_moves_only_to_stricter_values(
    policy: str, hint: str, effective: str
) -> None:
    one = skill("a", f"DCI/1 P(one,two) Pol(on-missing-required={hint})")
    made = run([one], "one", "two", "three", policy={"on-missing-required": policy})
    assert (made.outcome.policy, made.policy.on_missing_required) == (effective, effective)


@pytest.mark.invariant(id="DCI-POL-016")
def test_only_the_selected_providers_hints_on_missing_count() -> None:
    hinting = skill("z", "DCI/1 P(one,two,more) Pol(on-missing-required=hard-fail)")
    auto = {"on-missing-required": "auto-emulate"}
    made = run([skill("a", "DCI/1 P(one,two)"), hinting], "one", "two", "three", policy=auto)
    assert (names(made.selected), made.outcome.name) == (["a"], "emulated")


@pytest.mark.invariant(id="DCI-POL-016")
def test_in_cover_the_strictest_of_the_selected_applies() -> None:
    pool = [
        skill("a", "DCI/1 P(one)"),
        skill("b", "DCI/1 P(two) Pol(on-missing-required=hard-fail)"),
        skill("c", "DCI/1 P(three) Pol(on-missing-required=offer-emulation)"),
    ]
    policy = {"selection-mode": "cover", "on-missing-required": "auto-emulate"}
    made = run(pool, "one", "two", "three", "four", policy=policy)
    assert (made.outcome.name, len(made.chosen), made.selected) == ("failed", 3, ())


def test_a_row_names_every_reason_in_the_fixed_order() -> None:
    one = skill("a", "DCI/1 P(other)", compatibility="cursor")
    made = run([one], "web-search", mode="strict", host="codex")
    single = ["below-min-contract-score", "below-min-required-coverage", "below-min-total-score"]
    assert rejected(made, "a") == ["runtime-incompatible", *single]
    made = run([one], "web-search", mode="strict", host="codex", policy={"selection-mode": "cover"})
    cover = ["nothing-resolved", "below-min-contract-score", "below-min-total-score"]
    assert rejected(made, "a") == ["runtime-incompatible", *cover]


def test_the_reasons_are_those_that_were_agreed() -> None:
    agreed = """runtime-incompatible contract-inflated probe-failed dependency-unresolved
    nothing-resolved below-min-contract-score below-min-required-coverage below-min-total-score
    beyond-max-candidates-hint beyond-max-candidates own-team-first"""
    assert list(REASONS) == agreed.split()
