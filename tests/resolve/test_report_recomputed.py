"""From a report alone every score can be computed again."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metier.parse.contract import parse_contract
from metier.resolve import resolve
from metier.values.candidates import Candidate

pytestmark = pytest.mark.slow

Json = dict[str, Any]
WORDS = ["web", "search", "searches", "pages", "fetch", "chart", "the", "draws", "report"]
NAMES = ["web-search", "web-searching", "page-fetch", "bar-chart", "report", "Not_A_Name"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
some = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3)


@st.composite
def candidates(draw: st.DrawFn, number: int) -> Candidate:
    clauses = ""
    if draw(st.booleans()):
        many = [f"n{one}" for one in range(draw(st.sampled_from([0, 0, 0, 24, 40])))]
        clauses = f"P({','.join([*draw(some), *many])})"
        clauses += draw(st.sampled_from(["", " R(page-fetch)", " X(new)", " E(Bad_One,Bad_Two)"]))
    name = f"{draw(st.sampled_from(WORDS))}-{number}"
    return Candidate(
        name=name,
        description=draw(texts),
        folder=f"skills/{name}",
        listed=tuple(draw(st.one_of(st.just([]), some))),
        contract=parse_contract(f"DCI/1 {clauses}", "best-effort") if clauses else None,
        compatibility=draw(st.sampled_from(["", "", "cli", "codex, martian", "all"])),
    )


@st.composite
def reports(draw: st.DrawFn) -> Json:
    count = draw(st.integers(1, 8))
    pool = [draw(candidates(number)) for number in range(count)]
    consumer = draw(st.one_of(st.none(), st.sampled_from(pool)))
    asking = consumer if draw(st.booleans()) else None
    made = resolve(
        pool,
        draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)),
        draw(st.one_of(st.just(""), texts)),
        consumer=asking,
        mode="best-effort" if consumer else draw(st.sampled_from(["strict", "best-effort"])),
        policy=draw(st.sampled_from([{}, {"selection-mode": "cover"}])),
        history=draw(st.dictionaries(st.sampled_from([one.id for one in pool]), st.floats(0, 1))),
        host=draw(st.sampled_from([None, "cli", "codex"])),
        divergence=draw(st.booleans()),
    )
    found: Json = json.loads(made.full_report().to_json())
    assert len(found["candidates"]) == count - (asking is not None)
    return found


def near(value: float) -> Any:
    return pytest.approx(value, abs=1e-9)


def recomputed(row: Json, report: Json) -> Json:
    """The scores of a row by the formulas of spec 4, from what the report says."""
    basis, shared = row["basis"], report["diagnostics"]
    texts, required = shared["texts"], report["required_capabilities"]
    k1, b, total = texts["k1"], texts["b"], texts["documents"]
    bm25 = 0.0
    for term in texts["terms"]:
        often = basis["term_counts"].get(term["term"], 0)
        rarity = math.log(1 + (total - term["documents"] + 0.5) / (term["documents"] + 0.5))
        length = basis["text_length"] / (texts["average_length"] or 1.0)
        bm25 += rarity * often * (k1 + 1) / (often + k1 * (1 - b + b * length))
    highest = texts["highest_bm25"]
    labels = len(basis["label_terms"])
    union = basis["label_stems"] + len(texts["terms"]) - labels
    host = report["host_runtime"]
    works = host is None or not basis["runtimes"] or host in basis["runtimes"]
    contract = sum(one["score"] for one in row["matches"]) / len(required)
    desc = bm25 / highest if highest else 0.0
    namepath = labels / max(1, union)
    score = 0.6 * contract + 0.2 * desc + 0.1 * namepath + 0.1 * works
    free = max(20, 3 * shared["p_median"])
    steps = math.ceil(max(0.0, basis["p_count"] - free) / 5)
    penalties = {
        "invalid_token_penalty": min(0.2, 0.02 * basis["invalid_tokens"]),
        "overclaim_penalty": min(0.25, 0.05 * steps),
        "inflation_penalty": 0.15 * (row["contract_inflated"] and report["mode"] == "best-effort"),
        "unknown_clause_penalty": min(0.2, 0.05 * basis["unknown_clauses"]),
    }
    rate = basis["success_rate"]
    factor = 1.0 if rate is None else 0.7 + 0.3 * rate
    resolved = [one["score"] for one in row["matches"] if one["resolved"]]
    found = {
        "S_contract": contract,
        "S_desc": desc,
        "S_namepath": namepath,
        "S_runtime": float(works),
        "S_total": score,
        "history_multiplier": factor,
        "S_total_final": max(0.0, score - sum(penalties.values())) * factor,
        "required_coverage": len(resolved) / len(required),
        "S_specificity": len(resolved) / max(1, basis["provides_capability_count"]),
        "S_skill": 0.7 * desc + 0.3 * namepath,
    }
    if "S_contract_of_resolved" in row:
        own = sum(resolved) / max(1, len(resolved))
        score += 0.6 * (own - contract)
        found["S_contract_of_resolved"] = own
        left = max(0.0, score - sum(penalties.values()))
        found["S_total_final_of_resolved"] = left * factor
    return {**found, "penalties": {**penalties, "total": sum(penalties.values())}}


@settings(max_examples=150, deadline=None)
@given(report=reports())
def test_every_score_of_every_row_follows_from_the_report(report: Json) -> None:
    assert report["candidates"] or report["consumer"]
    for row in report["candidates"]:
        for key, value in recomputed(row, report).items():
            expected = (
                {one: near(two) for one, two in value.items()}
                if key == "penalties"
                else near(value)
            )
            assert row[key] == expected, (row["id"], key)


@settings(max_examples=150, deadline=None)
@given(report=reports())
def test_how_far_a_claim_goes_follows_from_the_report(report: Json) -> None:
    divergence = report["diagnostics"]["divergence"]
    deltas = []
    for row in report["candidates"]:
        claim = row["basis"]["claim"]
        if claim is not None:
            stems = claim["stems"]
            text = claim["in_text"] / stems if stems else 1.0
            union = row["basis"]["label_stems"] + stems - claim["in_labels"]
            labels = claim["in_labels"] / max(1, union)
            deltas.append(claim["score"] - 0.7 * text - 0.3 * labels)
            assert claim["delta"] == near(deltas[-1]) == divergence["deltas"][row["id"]]
            limit = divergence["limit"]
            assert row["contract_inflated"] is (limit is not None and claim["delta"] > limit)
    if deltas:
        mean = sum(deltas) / len(deltas)
        assert divergence["mean"] == near(mean)
        spread = sum((one - mean) ** 2 for one in deltas) / len(deltas)
        assert divergence["sigma"] == pytest.approx(math.sqrt(spread), abs=1e-6)


@settings(max_examples=100, deadline=None)
@given(report=reports())
def test_every_gate_follows_from_the_report(report: Json) -> None:
    of = "_of_resolved" if report["selection_mode"] == "cover" else ""
    for row in report["candidates"]:
        figures = {
            "min-contract-score": row[f"S_contract{of}"],
            "min-total-score": row[f"S_total_final{of}"],
            **({} if of else {"min-required-coverage": row["required_coverage"]}),
        }
        for key, value in figures.items():
            assert (f"below-{key}" in row["rejected"]) is (value < row["limits"][key]), key
