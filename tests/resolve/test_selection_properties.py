"""Ranking and selection for any candidates: a plain re-implementation as a second opinion."""

import hashlib
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.parse.contract import parse_contract
from metier.resolve import AliasTable, AliasTables, resolve
from metier.values.candidates import Candidate
from metier.values.contracts import Mode

pytestmark = pytest.mark.slow

ALIASES = AliasTables([AliasTable.of("runtime", "1", {"web-search": ["net-lookup"]})])
OPEN = {"min-total-score": "0", "min-contract-score": "0", "min-required-coverage": "0"}
Rows = list[dict[str, Any]]
Case = tuple[list[Candidate], list[str], dict[str, Any]]


NEEDS = ["web-search", "page-fetch", "pdf-creation"]
TOKENS = [*NEEDS, "net-lookup", "web-searching", "pdf-extraction", "other-thing", "Bad Token"]
HINTS = [
    "",
    "max-candidates=1",
    "max-candidates=2",
    "min-total-score=0.6",
    "min-contract-score=0.9",
]
TEXTS = ["Plain.", "Searches the web.", "Fetches a page of the web.", "Creation of one PDF."]


@st.composite
def pools(draw: st.DrawFn) -> list[Candidate]:
    pool = []
    for number in range(draw(st.integers(1, 9))):
        provides = draw(st.lists(st.sampled_from(TOKENS), max_size=4))
        hint = draw(st.sampled_from(HINTS))
        text = f"DCI/1 P({','.join(provides)})" + (f" Pol({hint})" if hint else "")
        contract = text.replace("Bad Token", "Bad\\ Token") if provides else ""
        words = draw(st.sampled_from(TEXTS))
        pool.append(
            Candidate(
                name=f"S{number}",
                description=words,
                folder=f"skills/{number}",
                contract=parse_contract(contract, "best-effort") if contract else None,
                compatibility=draw(st.sampled_from(["", "codex", "cursor"])),
            )
        )
    return pool


@st.composite
def runs(draw: st.DrawFn) -> Case:
    pool = draw(pools())
    policy = {
        "selection-mode": draw(st.sampled_from(["single", "cover"])),
        "max-candidates": str(draw(st.integers(1, 4))),
        "max-providers": str(draw(st.integers(1, 3))),
        **draw(st.sampled_from([{}, OPEN, {"min-total-score": "0.3"}])),
    }
    rates = draw(st.dictionaries(st.sampled_from([c.id for c in pool] or ["x"]), st.just(0.5)))
    requires = draw(st.lists(st.sampled_from(NEEDS), min_size=1, max_size=3, unique=True))
    options = {"policy": policy, "history": rates, "host": draw(st.sampled_from([None, "codex"]))}
    return pool, requires, options


def resolved_by(row: dict[str, Any]) -> set[str]:
    return {one["capability"] for one in row["matches"] if one["resolved"]}


def second_opinion(pool: Sequence[Candidate], rows: Rows, policy: Any) -> tuple[Rows, Rows]:
    """Who is left, best first, and who is selected: by the words of spec 4, one at a time."""
    hints = {one.id: one.contract.policy if one.contract else {} for one in pool}
    is_cover = policy.selection_mode == "cover"
    left: Rows = []
    for row in rows:
        own = hints[row["id"]]
        suffix = "_of_resolved" if is_cover else ""
        contract, final = row[f"S_contract{suffix}"], row[f"S_total_final{suffix}"]
        enough = resolved_by(row) if is_cover else True
        enough = enough and contract >= policy.min_contract_score
        enough = enough and contract >= float(own.get("min-contract-score", 0))
        enough = enough and final >= policy.min_total_score
        enough = enough and final >= float(own.get("min-total-score", 0))
        if enough and (is_cover or row["required_coverage"] >= policy.min_required_coverage):
            left.append(row)
    left.sort(
        key=lambda row: (
            -row["S_total_final"],
            -row["S_contract"],
            -row["required_coverage"],
            row["unresolved_required"],
            -row["S_specificity"],
            -row["S_skill"],
            hashlib.sha256(row["id"].lower().encode()).hexdigest(),
        )
    )
    placed = enumerate(left, start=1)
    left = [r for place, r in placed if place <= int(hints[r["id"]].get("max-candidates", 99))]
    needs = [one["capability"] for one in rows[0]["matches"]] if rows else []
    best = [next((r["id"] for r in left if need in resolved_by(r)), None) for need in needs]
    must = {one for one in best if one is not None} if is_cover else set()
    room = policy.max_candidates - len(must)
    kept: Rows = []
    for row in left:
        if row["id"] in must:
            kept.append(row)
        elif room > 0:
            kept.append(row)
            room -= 1
    if not is_cover:
        return kept, kept[:1]
    chosen: Rows = []
    still = set(needs)
    while still and len(chosen) < policy.max_providers:
        gains = [len(resolved_by(row) & still) for row in kept]
        if not any(gains):
            break
        chosen.append(kept[gains.index(max(gains))])
        still -= resolved_by(chosen[-1])
    return kept, chosen


@given(runs())
def test_ranking_and_selection_agree_with_a_plain_reading_of_the_spec(
    case: Case,
) -> None:
    pool, requires, options = case
    made = resolve(pool, requires, aliases=ALIASES, **options)
    rows = made.full_report().data["candidates"]
    kept, chosen = second_opinion(pool, rows, made.policy)
    assert [row["id"] for row in rows if row["rank"]] == [row["id"] for row in kept]
    assert list(made.chosen) == [row["id"] for row in chosen]
    covered = set().union(*(resolved_by(row) for row in chosen))
    assert set(made.unresolved) == set(requires) - covered
    assert (made.outcome.name == "not-needed") is (set(requires) <= covered)


@pytest.mark.invariant(id="DCI-SEL-009")
@pytest.mark.invariant(id="DCI-TIE-006")
@pytest.mark.parametrize("mode", ["strict", "best-effort"])
@given(case=runs(), seed=st.integers(0, 1000))
def test_shuffling_the_candidates_changes_nothing(mode: Mode, case: Case, seed: int) -> None:
    pool, requires, options = case
    shuffled = random.Random(seed).sample(pool, len(pool))
    straight = resolve(pool, requires, mode=mode, **options)
    other = resolve(shuffled, requires, mode=mode, **options)
    assert straight.full_report().to_json() == other.full_report().to_json()
