"""Strict looks closer: probes, inflated claims, and what providers require themselves."""

from collections.abc import Sequence
from typing import Any

import pytest

from metier.resolve import Resolution, resolve
from metier.values.candidates import Candidate
from metier.values.resolution import ProbeResult
from resolve.contracted import row, skill

NEED = "web-search"


class Probes:
    """Probes that pass for the candidates named, and remember whom they looked at."""

    def __init__(self, *passing: str) -> None:
        self.passing = passing
        self.seen: list[tuple[str, str]] = []

    def __call__(self, candidate: Candidate, capability: str) -> ProbeResult:
        self.seen.append((candidate.name, capability))
        return ProbeResult(candidate.id, capability, candidate.name in self.passing)

    @property
    def looked_at(self) -> list[str]:
        return [name for name, _ in self.seen]


def names(ids: Sequence[str]) -> list[str]:
    return [one.partition("::")[0] for one in ids]


HONEST = skill(NEED, f"DCI/1 P({NEED},x,y,z)", "A web search.")
LIAR = skill("liar", f"DCI/1 P({NEED})")
"""It says nothing of the web; without the check it would still rank below."""
RANKED = [skill(f"s{n}", f"DCI/1 P({NEED},{','.join('abcdefgh'[:n])})") for n in range(1, 7)]
"""Six that rank in this order, by specificity alone."""


def probed(probes: Probes, pool: Sequence[Candidate] = RANKED, **options: Any) -> Resolution:
    given = {"mode": "strict", "query": "kangaroo", "divergence": False, **options}
    return resolve(pool, [NEED], probes={NEED: probes}, **given)


# Inflated claims


@pytest.mark.invariant(id="DCI-MAN-010")
def test_in_strict_an_inflated_candidate_is_excluded() -> None:
    made = resolve([LIAR, HONEST], [NEED], mode="strict")
    assert names(made.selected) == [NEED]
    assert (row(made, "liar")["contract_inflated"], row(made, "liar")["rejected"]) == (
        True,
        ["contract-inflated"],
    )
    assert row(made, "liar")["penalties"]["inflation_penalty"] == 0.0


@pytest.mark.invariant(id="DCI-MAN-010")
def test_in_strict_a_passing_probe_clears_an_inflated_candidate() -> None:
    made = resolve([LIAR, HONEST], [NEED], mode="strict", probes={NEED: Probes("liar", NEED)})
    assert row(made, "liar")["rejected"] == []
    assert row(made, "liar")["contract_inflated"] is True


@pytest.mark.invariant(id="DCI-MAN-010")
def test_in_strict_a_failing_probe_of_an_inflated_candidate_is_a_reason_of_its_own() -> None:
    made = resolve([LIAR, HONEST], [NEED], mode="strict", probes={NEED: Probes(NEED)})
    assert row(made, "liar")["rejected"] == ["contract-inflated", "probe-failed"]


@pytest.mark.invariant(id="DCI-MAN-010")
def test_with_several_probes_all_have_to_pass() -> None:
    liar = skill("liar", "DCI/1 P(web-search,page-fetch)")
    honest = skill("both", "DCI/1 P(web-search,page-fetch)", "Web search and page fetch.")
    probes = {NEED: Probes("liar", "both"), "page-fetch": Probes("both")}
    made = resolve([liar, honest], [NEED, "page-fetch"], mode="strict", probes=probes)
    assert row(made, "liar")["rejected"] == ["contract-inflated", "probe-failed"]
    assert names(made.selected) == ["both"]


@pytest.mark.parametrize("mode", ["strict", "best-effort"])
def test_without_the_check_nobody_is_flagged(mode: Any) -> None:
    made = resolve([LIAR, HONEST], [NEED], mode=mode, divergence=False)
    assert row(made, "liar")["rejected"] == []
    assert row(made, "liar")["penalties"]["inflation_penalty"] == 0.0


@pytest.mark.invariant(id="DCI-MAN-011")
def test_in_best_effort_an_inflated_candidate_carries_a_penalty_and_stays() -> None:
    made = resolve([LIAR, HONEST], [NEED])
    found = row(made, "liar")
    assert (found["penalties"]["inflation_penalty"], found["rejected"]) == (0.15, [])
    assert found["S_total_final"] == round(found["S_total"] - 0.15, 12)


@pytest.mark.invariant(id="DCI-MAN-011")
@pytest.mark.invariant(id="DCI-PRB-002")
def test_in_best_effort_a_passing_probe_removes_the_penalty_and_ranks_again() -> None:
    liars = [skill("first", f"DCI/1 P({NEED})"), skill("second", f"DCI/1 P({NEED},more)")]
    plain = resolve(liars, [NEED])
    assert names(plain.selected) == ["first"]
    made = resolve(liars, [NEED], probes={NEED: Probes("second")}, may_probe=lambda *_: True)
    assert names(made.selected) == ["second"]
    found = row(made, "second")
    assert (found["penalties"]["inflation_penalty"], found["penalties"]["total"]) == (0.0, 0.0)
    assert found["S_total_final"] == found["S_total"]
    assert row(made, "first")["penalties"]["inflation_penalty"] == 0.15


@pytest.mark.invariant(id="DCI-PRB-002")
def test_in_best_effort_a_probe_runs_only_after_a_yes() -> None:
    probes, asked = Probes("liar"), []

    def refuse(candidate: Candidate, capability: str) -> bool:
        asked.append((candidate.name, capability))
        return False

    made = resolve([LIAR, HONEST], [NEED], probes={NEED: probes}, may_probe=refuse)
    assert (asked, probes.seen) == ([("liar", NEED)], [])
    assert row(made, "liar")["penalties"]["inflation_penalty"] == 0.15


@pytest.mark.invariant(id="DCI-PRB-002")
def test_in_best_effort_nothing_is_probed_when_nobody_can_be_asked() -> None:
    probes = Probes("liar")
    made = resolve([LIAR, HONEST], [NEED], probes={NEED: probes})
    assert (probes.seen, made.probes) == ([], ())


@pytest.mark.invariant(id="DCI-PRB-002")
def test_in_best_effort_only_flagged_ones_at_the_top_are_asked_about() -> None:
    asked: list[str] = []

    def refuse(candidate: Candidate, _: str) -> bool:
        asked.append(candidate.name)
        return False

    crowd = [skill(f"web-search-{n}", f"DCI/1 P({NEED})", "A web search.") for n in range(3)]
    made = resolve(
        [LIAR, *crowd],
        [NEED],
        probes={NEED: Probes()},
        may_probe=refuse,
        policy={"max-candidates": "3"},
    )
    assert row(made, "liar")["contract_inflated"] is True
    assert asked == []


# Probes in strict


@pytest.mark.invariant(id="DCI-PRB-001")
def test_in_strict_the_walk_goes_down_from_the_top_until_one_survives() -> None:
    probes = Probes("s3", "s4", "s5", "s6")
    made = probed(probes, policy={"max-candidates": "1"})
    assert probes.looked_at == ["s1", "s2", "s3"]
    assert names(made.selected) == ["s3"]
    assert [row(made, name)["rejected"] for name in ("s1", "s2")] == [["probe-failed"]] * 2
    assert row(made, "s4")["rejected"] == ["beyond-max-candidates"]


@pytest.mark.invariant(id="DCI-PRB-001")
def test_in_strict_as_many_survive_as_are_kept() -> None:
    probes = Probes("s1", "s3", "s4", "s5", "s6")
    made = probed(probes, policy={"max-candidates": "3"})
    assert probes.looked_at == ["s1", "s2", "s3", "s4"]
    ranked = [one["name"] for one in made.report.data["candidates"] if one["rank"]]
    assert ranked == ["s1", "s3", "s4"]


@pytest.mark.invariant(id="DCI-PRB-001")
def test_in_strict_nobody_is_left_when_every_probe_fails() -> None:
    made = probed(Probes())
    assert (made.selected, made.chosen, made.outcome.name) == ((), (), "failed")
    assert made.unresolved == (NEED,)


@pytest.mark.invariant(id="DCI-PRB-001")
def test_in_strict_a_probe_is_for_what_is_required_and_resolved() -> None:
    probes = Probes("a", "b")
    pool = [skill("a", "DCI/1 P(one,other)"), skill("b", "DCI/1 P(two)")]
    resolve(
        pool,
        ["one", "two"],
        mode="strict",
        probes=dict.fromkeys(("one", "two", "other"), probes),
        policy={"selection-mode": "cover"},
        divergence=False,
    )
    assert sorted(probes.seen) == [("a", "one"), ("b", "two")]


def test_rejected_candidates_are_never_probed() -> None:
    probes = Probes("a")
    pool = [skill("a", f"DCI/1 P({NEED})"), skill("b", "DCI/1 P(web-searching)")]
    probed(probes, pool)
    assert probes.looked_at == ["a"]


def test_a_probe_runs_once_for_a_candidate_however_often_it_is_met() -> None:
    """`top` is chosen for its own sake and needs the web search that is chosen as well."""
    probes = Probes("a")
    pool = [skill("a", f"DCI/1 P({NEED})"), skill("top", f"DCI/1 P(report) R({NEED})")]
    made = resolve(
        pool,
        ["report", NEED],
        mode="strict",
        probes={NEED: probes},
        policy={"selection-mode": "cover"},
        divergence=False,
    )
    assert sorted(names(made.selected)) == ["a", "top"]
    assert probes.seen == [("a", NEED)]
    assert made.probes == (ProbeResult("a::skills/a", NEED, True),)


@pytest.mark.parametrize("works", [True, False])
def test_one_above_in_a_circle_is_probed_for_what_it_serves_below(works: bool) -> None:
    """`b` needs the two of `a`, by which it is required itself."""
    probes = Probes(*["a"] * works)
    pool = [skill("a", "DCI/1 P(one,two) R(three)"), skill("b", "DCI/1 P(three) R(two)")]
    made = resolve(pool, ["one"], mode="strict", probes={"two": probes}, divergence=False)
    assert probes.seen == [("a", "two")]
    assert names(made.selected) == ["a"] * works
    assert row(made, "a")["rejected"] == ([] if works else ["dependency-unresolved"])


def test_who_moves_up_past_one_that_its_own_hint_drops_is_looked_at_as_well() -> None:
    pool = [
        skill("first", "DCI/1 P(one)"),
        skill("proud", "DCI/1 P(one,a) Pol(max-candidates=1)"),
        skill("bad", "DCI/1 P(one,a,b) R(nowhere)"),
    ]
    made = resolve(pool, ["one"], mode="strict", policy={"max-candidates": "2"}, divergence=False)
    assert row(made, "bad")["rejected"] == ["dependency-unresolved"]


def test_what_probes_gave_is_in_the_report() -> None:
    made = probed(Probes("s2"), RANKED[:2])
    given = made.report.data["diagnostics"]["probes"]
    assert [(one["candidate"], one["passed"]) for one in given] == [
        ("s1::skills/s1", False),
        ("s2::skills/s2", True),
    ]


@pytest.mark.invariant(id="DCI-PRB-001")
def test_in_cover_the_next_best_of_a_capability_takes_the_place_of_one_that_fails() -> None:
    pool = [
        skill("one", "DCI/1 P(one)"),
        skill("bad", "DCI/1 P(two)"),
        skill("spare", "DCI/1 P(two,much,more)"),
    ]
    made = resolve(
        pool,
        ["one", "two"],
        mode="strict",
        probes={"two": Probes("spare")},
        policy={"selection-mode": "cover", "max-candidates": "1"},
        divergence=False,
    )
    assert sorted(names(made.selected)) == ["one", "spare"]
    assert row(made, "bad")["rejected"] == ["probe-failed"]
