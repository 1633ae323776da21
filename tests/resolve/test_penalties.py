"""Penalties, history and divergence: what makes a loud claim worth less."""

import math
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.stems import stems
from metier.resolve import resolve
from metier.resolve.scoring import diverging, history_multiplier, overclaim_penalties
from metier.values.candidates import Candidate
from metier.values.contracts import Mode
from resolve.resolution_scores import aliases_of, candidate, provider, row_of

MODES: list[Mode] = ["strict", "best-effort"]


def penalties_of(pool: Sequence[Candidate], name: str, **more: Any) -> dict[str, float]:
    found: dict[str, float] = row_of(resolve(pool, ["a"], **more), name)["penalties"]
    return found


def names(count: int) -> list[str]:
    return [f"c{number}" for number in range(count)]


# Invalid tokens


@pytest.mark.invariant(id="DCI-TOK-007")
@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("P(a,b-c)", 0.0),
        ("P(Bad)", 0.02),
        ("P(a,Bad,Bad,Bad)", 0.06),
        ("P(Bad) E(Bad) R(Bad) O(Bad)", 0.08),
        ("P(a) A(Key_1=x) Pol(other=Bad)", 0.0),
        (f"P({','.join(['Bad'] * 9)})", 0.18),
        (f"P({','.join(['Bad'] * 10)})", 0.20),
        (f"P({','.join(['Bad'] * 11)})", 0.20),
        (f"P({','.join(['Bad'] * 200)})", 0.20),
    ],
)
def test_each_bad_value_of_a_contract_costs_a_little_up_to_a_limit(
    clauses: str, expected: float
) -> None:
    one = candidate("one", clauses)
    assert penalties_of([one], "one")["invalid_token_penalty"] == expected
    assert penalties_of([one], "one", mode="strict")["invalid_token_penalty"] == 0.0


@pytest.mark.parametrize(("count", "expected"), [(0, 0.0), (1, 0.05), (3, 0.15), (5, 0.20)])
def test_each_unknown_clause_costs_more_up_to_a_limit(count: int, expected: float) -> None:
    one = candidate("one", "P(a)" + " X(y)" * count)
    assert penalties_of([one], "one")["unknown_clause_penalty"] == expected
    assert penalties_of([one], "one", mode="strict")["unknown_clause_penalty"] == 0.0


# Over-claiming


@pytest.mark.invariant(id="DCI-MAN-002")
@pytest.mark.invariant(id="DCI-MAN-003")
@pytest.mark.parametrize(
    ("count", "median", "expected"),
    [
        (0, 0, 0.0),
        (20, 0, 0.0),
        (21, 0, 0.05),
        (25, 0, 0.05),
        (26, 0, 0.10),
        (30, 0, 0.10),
        (31, 0, 0.15),
        (36, 0, 0.20),
        (41, 0, 0.25),
        (45, 0, 0.25),
        (46, 0, 0.25),
        (10_000, 0, 0.25),
        (21, 6.5, 0.05),
        (21, 7, 0.0),
        (22, 7, 0.05),
        (26, 7, 0.05),
        (27, 7, 0.10),
        (300, 100, 0.0),
        (301, 100, 0.05),
        (23, 7.5, 0.05),
        (22, 7.5, 0.0),
    ],
)
def test_over_claiming_costs_by_begun_groups_of_five(
    count: int, median: float, expected: float
) -> None:
    assert list(overclaim_penalties(np.array([float(count)]), median)) == [expected]


@pytest.mark.invariant(id="DCI-MAN-001")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("listed", "provides", "expected"),
    [
        ([], names(20), 0.0),
        ([], names(21), 0.05),
        ([], ["c"] * 21, 0.05),
        ([], ["Bad"] * 21, 0.05),
        (names(21), [], 0.05),
        (["c"] * 21, [], 0.05),
        (["c"] * 21, ["c"], 0.0),
        (names(20), names(20), 0.0),
        (names(20), ["other"], 0.05),
    ],
)
def test_claims_are_counted_as_written_and_a_name_in_list_and_contract_once(
    listed: list[str], provides: list[str], expected: float, mode: Mode
) -> None:
    clauses = f"P({','.join(provides)})" if provides else ""
    pool = [candidate("loud", clauses, listed=tuple(listed)), candidate("b"), candidate("c")]
    assert penalties_of(pool, "loud", mode=mode)["overclaim_penalty"] == expected


@pytest.mark.invariant(id="DCI-MAN-001")
def test_the_median_is_over_all_included_candidates_even_those_that_are_rejected() -> None:
    loud = provider("loud", names(31))
    others = [provider(f"n{one}", names(10), compatibility="copilot") for one in range(3)]
    assert penalties_of([loud, *others], "loud")["overclaim_penalty"] == 0.05
    alone = [loud, *(candidate(f"n{one}", compatibility="copilot") for one in range(3))]
    assert penalties_of(alone, "loud", host="cli", mode="strict")["overclaim_penalty"] == 0.15
    strict = penalties_of([loud, *others], "loud", host="cli", mode="strict")
    assert strict["overclaim_penalty"] == 0.05


# History


@pytest.mark.invariant(id="DCI-REL-002")
@pytest.mark.parametrize(
    ("rate", "expected"),
    [(0.0, 0.7), (0.05, 0.715), (0.5, 0.85), (1.0, 1.0), (-1.0, 0.7), (2.0, 1.0)],
)
def test_the_multiplier_goes_from_070_to_100_with_the_success_rate(
    rate: float, expected: float
) -> None:
    assert history_multiplier(rate) == expected


@pytest.mark.invariant(id="DCI-REL-002")
def test_only_a_candidate_with_a_record_is_multiplied_and_strangers_are_ignored() -> None:
    pool = [candidate("a"), candidate("b")]
    run = resolve(pool, ["x"], history={pool[0].id: 0.0, "gone::skills/gone": 0.0})
    found = [row_of(run, name)["history_multiplier"] for name in ("a", "b")]
    assert found == [0.7, 1.0]


# Divergence: the rules


@pytest.mark.invariant(id="DCI-MAN-006")
@pytest.mark.invariant(id="DCI-MAN-007")
@pytest.mark.invariant(id="DCI-MAN-008")
@pytest.mark.invariant(id="DCI-MAN-009")
@pytest.mark.parametrize(
    ("deltas", "rule", "limit", "flagged"),
    [
        ([], "one-candidate", None, []),
        ([1.0], "one-candidate", None, []),
        ([0.35, 0.36], "absolute", 0.35, [1]),
        ([0.35 + 1e-14, 0.35], "absolute", 0.35, []),
        ([0.9, 0.9, 0.9, 0.9], "absolute", 0.35, [0, 1, 2, 3]),
        ([0.9] * 5, "no-spread", 1.05, []),
        ([0.9] * 4 + [0.9 + 1e-13], "no-spread", 1.05, []),
        ([0.1] * 4 + [0.9], "two-sigma", 0.9, []),
        ([0.1] * 5 + [0.9], "two-sigma", None, [5]),
        ([-0.2] * 9 + [0.0], "two-sigma", None, [9]),
        ([0.0, 0.2, 0.4, 0.6, 0.8], "two-sigma", None, []),
    ],
)
def test_how_far_a_delta_may_go_depends_on_how_many_there_are(
    deltas: list[float], rule: str, limit: float | None, flagged: list[int]
) -> None:
    found = diverging(np.array(deltas))
    assert found.rule == rule
    assert [place for place, one in enumerate(found.flagged) if one] == flagged
    if rule != "two-sigma" or limit is not None:
        assert found.limit == (None if limit is None else pytest.approx(limit, abs=1e-11))


@pytest.mark.invariant(id="DCI-MAN-009")
@given(st.lists(st.floats(min_value=-1, max_value=1, allow_nan=False), min_size=5, max_size=30))
def test_with_five_or_more_the_limit_is_the_mean_and_two_population_sigmas(
    deltas: list[float],
) -> None:
    found = diverging(np.array(deltas))
    assert found.mean == pytest.approx(statistics.fmean(deltas), abs=1e-11)
    assert found.sigma == pytest.approx(statistics.pstdev(deltas), abs=1e-9)
    assert found.rule == ("two-sigma" if found.sigma else "no-spread")
    width = 2 * found.sigma if found.sigma else 0.15
    limit = found.limit if found.limit is not None else math.nan
    assert limit == pytest.approx(found.mean + width, abs=1e-11)
    assert list(found.flagged) == [round(delta, 12) > limit for delta in deltas]


# Divergence: the deltas


def plain_delta(one: Candidate, matches: Sequence[tuple[str, float]]) -> float:
    """The claim less what is borne out; `matches` are tokens of the candidate and their scores."""
    asked = {stem for token, _ in matches for stem in stems(token)}
    prose, label = set(stems(f"{one.name} {one.description}")), stems(f"{one.name} {one.folder}")
    said = len(asked & prose) / len(asked) if asked else 1.0
    named = len(asked & set(label)) / len(asked | set(label)) if asked | set(label) else 0.0
    claim = math.fsum(score for _, score in matches) / len(matches)
    return claim - (0.7 * said + 0.3 * named)


@pytest.mark.invariant(id="DCI-MAN-004")
@pytest.mark.invariant(id="DCI-MAN-005")
@pytest.mark.parametrize("query", ["", "quite other words", "pdf table pdf"])
def test_delta_compares_the_claimed_tokens_with_name_description_and_folder(query: str) -> None:
    aliases = aliases_of({"web-search": ["internet-lookup"]})
    cases: list[tuple[Candidate, list[tuple[str, float]]]] = [
        (provider("honest", ["web-search"]), [("web-search", 1.0)]),
        (candidate("silent", "P(web-search)", description="x"), [("web-search", 1.0)]),
        (candidate("half", "P(web-search)", description="the web"), [("web-search", 1.0)]),
        (candidate("web", "P(web-search)", folder="a/search"), [("web-search", 1.0)]),
        (provider("alias", ["internet-lookup"]), [("internet-lookup", 0.8)]),
        (
            candidate("alias-of", "P(internet-lookup)", description="web search"),
            [("internet-lookup", 0.8)],
        ),
        (provider("fuzzy", ["web-searching"]), [("web-searching", 0.33)]),
        (
            candidate("both", "P(web-search,pdf-table,pdf)", description="web pdf"),
            [("web-search", 1.0), ("pdf-table", 1.0)],
        ),
    ]
    pool = [one for one, _ in cases]
    run = resolve([*pool, candidate("prose")], ["web-search", "pdf-table"], query, aliases=aliases)
    found = run.full_report().data["diagnostics"]["divergence"]["deltas"]
    expected = {one.id: round(plain_delta(one, matches), 12) for one, matches in cases}
    assert found == pytest.approx(expected, abs=1e-11)


@pytest.mark.invariant(id="DCI-MAN-004")
def test_a_token_without_stems_counts_as_borne_out() -> None:
    pool = [candidate(name, "P(to-do)", description="x") for name in ("b", "c")]
    found = resolve(pool, ["to-do"]).report.data["diagnostics"]["divergence"]["deltas"]
    assert set(found.values()) == {0.3}


def flagged(pool: Sequence[Candidate], **more: Any) -> set[str]:
    rows = resolve(pool, ["web-search"], **more).full_report().data["candidates"]
    found = {row["name"] for row in rows if row["contract_inflated"]}
    best_effort = more.get("mode") != "strict"
    for row in rows:
        expected = 0.15 if row["name"] in found and best_effort else 0.0
        assert row["penalties"]["inflation_penalty"] == expected
    return found


LIAR = candidate("liar", "P(web-search)", description="Paints.")
PROSE = [candidate(f"prose-{number}", description="Search the web.") for number in range(9)]


@pytest.mark.invariant(id="DCI-MAN-006")
@pytest.mark.invariant(id="DCI-MAN-008")
@pytest.mark.parametrize("mode", MODES)
def test_a_liar_is_flagged_beside_honest_providers_and_never_alone(mode: Mode) -> None:
    honest = [provider(f"h{number}", ["web-search"]) for number in range(9)]
    assert flagged([LIAR], mode=mode) == set()
    assert flagged([LIAR, *PROSE], mode=mode) == set()
    for count in (1, 2, 3, 5, 9):
        assert flagged([LIAR, *honest[:count], *PROSE], mode=mode) == {"liar"}
    assert flagged([LIAR, *honest], mode=mode, divergence=False) == set()


# The consumer


NUMBERS = ("S_contract", "S_desc", "S_namepath", "S_total", "penalties", "S_total_final")


@pytest.mark.invariant(id="DCI-SCO-018")
@pytest.mark.invariant(id="DCI-SCO-019")
@pytest.mark.invariant(id="DCI-MAN-001")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "asker",
    [
        candidate("asker", "R(web-search)", description="web search " * 30),
        candidate("web-search", "P(web-search) R(web-search)", description="Paints. " * 50),
        provider("loud", ["web-search", *names(90)], listed=("other",)),
        candidate("the", description="of to"),
        candidate("asker", "R(web-search)", description="web"),
    ],
    ids=["long", "liar", "loud", "wordless", "one word"],
)
def test_who_asks_changes_nobodys_scores(asker: Candidate, mode: Mode) -> None:
    others = [
        provider("a", ["web-search"]),
        candidate("b", "P(web-search)", description="plan things"),
        candidate("c", description="search the web, then search again"),
        provider("d", names(25)),
    ]
    with_it = resolve([asker, *others], ["web-search"], consumer=asker, mode=mode)
    without = resolve(others, ["web-search"], consumer=asker, mode=mode)
    reports = [run.full_report().data for run in (with_it, without)]
    figures = [
        [(row["id"], *(row[name] for name in NUMBERS)) for row in report["candidates"]]
        for report in reports
    ]
    assert figures[0] == figures[1]
    assert asker.id not in {row[0] for row in figures[0]}
    divergences = [report["diagnostics"]["divergence"] for report in reports]
    assert divergences[0] == divergences[1]


@pytest.mark.invariant(id="DCI-MAN-001")
def test_who_asks_is_not_counted_in_the_median() -> None:
    asker = candidate("asker", "R(a)")
    pool = [asker, provider("loud", names(31)), provider("b", names(10)), provider("c", names(4))]
    assert penalties_of(pool, "loud", consumer=asker)["overclaim_penalty"] == 0.05
    assert penalties_of(pool, "loud")["overclaim_penalty"] == 0.10


@pytest.mark.invariant(id="DCI-SCO-018")
def test_one_who_asks_alone_in_the_pool_finds_nobody() -> None:
    asker = candidate("asker", "P(a) R(a)", description="a")
    run = resolve([asker], consumer=asker)
    assert run.selected == ()
    assert run.unresolved == ("a",)
    assert run.report.data["candidates"] == []
