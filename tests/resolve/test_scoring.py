"""The scores of spec 4: constants, matches, relevance, overlap, total, penalties, history."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.arrays import numpy_arrays
from metier.core.stems import stems
from metier.resolve import AliasTable, AliasTables, resolve
from metier.resolve.scoring import Words, composite, history_multiplier, rounded, skill_score
from metier.values import score_numbers
from metier.values.candidates import Candidate
from metier.values.contracts import Mode
from metier.values.score_numbers import MATCH_SCORES
from resolve.resolution_scores import aliases_of, candidate, provider, row_of
from soak import examples

pytestmark = pytest.mark.slow

Row = dict[str, Any]
COMPONENTS = ("S_contract", "S_desc", "S_namepath", "S_runtime")
WORDS = ("web", "search", "pdf", "table", "read", "the", "plan")
NAMES = ("web-search", "web-searching", "pdf-table", "read-pdf", "to-do", "Bad_Name")
shares = st.floats(min_value=0, max_value=1, allow_nan=False)


def one_row(one: Candidate, requires: Sequence[str], query: str = "", **more: Any) -> Row:
    return row_of(resolve([one], requires, query, **more), one.name)


def rows_of(pool: Sequence[Candidate], *asked: Any, **more: Any) -> dict[str, Row]:
    """Every candidate's row, by its id."""
    report = resolve(pool, *asked, **more).full_report().data
    return {row["id"]: row for row in report["candidates"]}


def match_of(one: Candidate, required: str, **more: Any) -> tuple[str, float]:
    """How a candidate matches a capability, and what S_contract comes to."""
    row = one_row(one, [required], **more)
    assert row["matches"][0]["score"] == row["S_contract"]
    return row["matches"][0]["match"], row["S_contract"]


@st.composite
def pools(draw: st.DrawFn) -> list[Candidate]:
    """Some candidates of all sorts, each with its own folder."""
    texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
    claims = st.lists(st.sampled_from(NAMES), max_size=4)
    out = []
    for number in range(draw(st.integers(1, 7))):
        provides, bad = draw(claims), draw(st.integers(0, 12))
        clauses = [f"P({','.join(provides)})"] if provides else []
        clauses += [f"E({','.join(['Bad'] * bad)})"] if bad else []
        clauses += ["X(y)"] * draw(st.integers(0, 5)) if clauses else []
        folder = f"{draw(st.sampled_from(WORDS))}/{number}"
        fields = {"description": draw(texts), "folder": folder}
        fields["compatibility"] = draw(st.sampled_from(["", "cli", "copilot", "all"]))
        out.append(candidate(draw(st.sampled_from(WORDS)), " ".join(clauses), **fields))
    return out


requirements = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)
queries = st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=5).map(" ".join)


# The numbers


@pytest.mark.invariant(id="DCI-SCO-024")
@pytest.mark.invariant(id="DCI-SCO-018")
@pytest.mark.invariant(id="DCI-MAN-003")
@pytest.mark.invariant(id="DCI-REL-002")
@pytest.mark.invariant(id="DCI-TOK-007")
def test_every_constant_is_the_number_of_the_spec() -> None:
    expected = {
        "WEIGHTS": {"S_contract": 0.60, "S_desc": 0.20, "S_namepath": 0.10, "S_runtime": 0.10},
        "SKILL_WEIGHTS": {"S_desc": 0.7, "S_namepath": 0.3},
        "MATCH_SCORES": {
            "exact": 1.0,
            "alias": 0.8,
            "fuzzy": 0.33,
            "provisional": 0.25,
            "none": 0.0,
        },
        "BM25": {"k1": 1.2, "b": 0.75},
        "INVALID_TOKEN": {"each": 0.02, "most": 0.20},
        "UNKNOWN_CLAUSE": {"each": 0.05, "most": 0.20},
        "OVERCLAIM": {"free": 20, "medians": 3, "step": 5, "each": 0.05, "most": 0.25},
        "INFLATION": 0.15,
        "DIVERGENCE": {"few": 5, "absolute": 0.35, "without_spread": 0.15, "sigmas": 2},
        "HISTORY": {"least": 0.70, "most": 1.00, "slope": 0.30},
        "DECIMALS": 12,
    }
    names = [name for name in vars(score_numbers) if name.isupper() and not name.startswith("_")]
    assert {name: getattr(score_numbers, name) for name in names} == expected


# Matches


@pytest.mark.invariant(id="DCI-SCO-006")
@pytest.mark.invariant(id="DCI-SCO-007")
@pytest.mark.invariant(id="DCI-SCO-008")
@pytest.mark.invariant(id="DCI-SCO-009")
@pytest.mark.invariant(id="DCI-SCO-010")
@pytest.mark.parametrize(
    ("provides", "expected"),
    [
        (["web-search"], ("exact", 1.0)),
        (["internet-search"], ("alias", 0.8)),
        (["web-searching"], ("fuzzy", 0.33)),
        (["draw"], ("none", 0.0)),
        (["web"], ("none", 0.0)),
        (["web-searching", "internet-search", "web-search"], ("exact", 1.0)),
        (["web-search", "internet-search", "web-searching"], ("exact", 1.0)),
        (["web-searching", "internet-search"], ("alias", 0.8)),
    ],
)
def test_the_best_match_of_a_candidate_gives_its_score(
    provides: list[str], expected: tuple[str, float]
) -> None:
    aliases = aliases_of({"web-search": ["internet-search"]})
    for one in (provider("one", provides), candidate("one", listed=tuple(provides))):
        assert match_of(one, "web-search", aliases=aliases) == expected


@pytest.mark.invariant(id="DCI-SCO-008")
def test_a_fuzzy_match_names_the_most_similar_capability() -> None:
    for provides in (["web-searching", "web-searches"], ["web-searches", "web-searching"]):
        row = one_row(provider("one", provides), ["web-search"])
        assert row["matches"][0]["token"] == "web-searches"
    row = one_row(provider("one", ["web-searchy", "web-searchx"]), ["web-search"])
    assert row["matches"][0]["token"] == "web-searchx"


@pytest.mark.invariant(id="DCI-SCO-010")
def test_s_contract_is_the_mean_of_the_best_matches() -> None:
    tables = AliasTables([AliasTable.of("runtime", "1", {"second": ["zweite"]})])
    one = provider("one", ["first", "zweite", "third-things"])
    row = one_row(one, ["first", "second", "third-thing", "other"], aliases=tables)
    assert [match["score"] for match in row["matches"]] == [1.0, 0.8, 0.33, 0.0]
    assert row["S_contract"] == 0.5325


@pytest.mark.invariant(id="DCI-SCO-001")
def test_a_candidate_without_any_match_is_scored_on_all_components() -> None:
    one = candidate("web", "P(other)", description="Search.", folder="skills")
    row = one_row(one, ["missing"], "web search")
    assert [row[key] for key in COMPONENTS] == [0.0, 1.0, round(1 / 3, 12), 1.0]
    assert row["S_total"] == round(0.2 + 0.1 / 3 + 0.1, 12)
    assert row["S_total_final"] == row["S_total"]


@pytest.mark.invariant(id="DCI-SCO-013")
def test_a_fuzzy_match_weighs_a_little_less_than_a_full_description_match() -> None:
    fuzzy = one_row(candidate("one", "P(web-searching)"), ["web-search"], "zzz")
    none = one_row(candidate("one", "P(other)"), ["web-search"], "zzz")
    told = one_row(candidate("one", "P(other)", description="zzz"), ["web-search"], "zzz")
    assert round(fuzzy["S_total"] - none["S_total"], 12) == 0.198
    assert round(told["S_total"] - none["S_total"], 12) == 0.2


# Provisional capabilities


@pytest.mark.invariant(id="DCI-SCO-003")
@pytest.mark.invariant(id="DCI-SCO-004")
@pytest.mark.parametrize(
    ("name", "description", "required", "expected"),
    [
        ("pdf", "Extracts tables.", "table-extraction", "provisional"),
        ("pdf", "Extracts tables.", "extract-pdf-table", "provisional"),
        ("pdf-tables", "", "tables-pdf", "provisional"),
        ("pdf", "Extracts tables.", "pdf", "provisional"),
        ("web-search", "", "web-search", "provisional"),
        ("pdf", "Extracts tables.", "table-creation", "none"),
        ("web-searching", "", "web-searchable-index", "none"),
        ("to-do", "To do, as it is.", "to-do", "none"),
        ("pdf", "Extracts tables.", "Pdf", "none"),
        ("pdf", "", "skills", "none"),
    ],
)
def test_prose_provides_what_all_stems_of_are_in_name_and_description(
    name: str, description: str, required: str, expected: str
) -> None:
    one = candidate(name, description=description, folder="skills/pdf")
    assert match_of(one, required)[0] == expected


@pytest.mark.invariant(id="DCI-SCO-003")
@pytest.mark.parametrize(
    ("clauses", "listed", "expected"),
    [
        ("", (), "provisional"),
        ("R(other)", (), "provisional"),
        ("E(pdf) O(pdf)", (), "provisional"),
        ("P(other)", (), "none"),
        ("", ("other",), "none"),
        ("P(Bad_Name)", (), "none"),
    ],
)
def test_only_a_skill_that_names_no_capability_has_provisional_ones(
    clauses: str, listed: tuple[str, ...], expected: str
) -> None:
    one = candidate("pdf", clauses, description="Reads pdf.", listed=listed)
    assert match_of(one, "pdf")[0] == expected


@pytest.mark.invariant(id="DCI-SCO-005")
@pytest.mark.invariant(id="DCI-SCO-004")
def test_a_provisional_match_scores_below_every_explicit_one_in_both_modes() -> None:
    modes: list[tuple[Mode, bool]] = [("strict", False), ("best-effort", True)]
    for mode, resolved in modes:
        row = one_row(candidate("web-search"), ["web-search"], mode=mode)
        assert row["matches"][0] == {
            "capability": "web-search",
            "match": "provisional",
            "token": None,
            "score": 0.25,
            "resolved": resolved,
        }
    others = [score for kind, score in MATCH_SCORES.items() if kind not in PROSE]
    assert min(others) > 0.25


PROSE = ("provisional", "none")


# Relevance: S_desc


def bm25(texts: Sequence[str], query: str) -> list[float]:
    """BM25 over the highest, written plainly."""
    documents = [Counter(stems(text)) for text in texts]
    total = len(documents)
    mean = sum(sum(one.values()) for one in documents) / total
    scores = []
    for one in documents:
        score = 0.0
        for term in set(stems(query)):
            found = sum(term in other for other in documents)
            if term in one:
                idf = math.log(1 + (total - found + 0.5) / (found + 0.5))
                norm = 1.2 * (1 - 0.75 + 0.75 * sum(one.values()) / mean)
                score += idf * one[term] * 2.2 / (one[term] + norm)
        scores.append(score)
    highest = max(scores)
    return [score / highest if highest else 0.0 for score in scores]


@pytest.mark.invariant(id="DCI-SCO-018")
@pytest.mark.invariant(id="DCI-SCO-019")
@pytest.mark.invariant(id="DCI-SCO-020")
@given(pools(), queries)
def test_s_desc_is_bm25_over_the_highest(pool: list[Candidate], query: str) -> None:
    rows = rows_of(pool, ["none"], query or "zzz")
    expected = bm25([f"{one.name} {one.description}" for one in pool], query)
    assert [rows[one.id]["S_desc"] for one in pool] == pytest.approx(expected, abs=1e-11)


@pytest.mark.invariant(id="DCI-SCO-018")
def test_a_repeated_query_word_counts_once() -> None:
    pool = [candidate("a", description="web web plan"), candidate("b", description="search web")]
    once = rows_of(pool, ["none"], "web search")
    again = rows_of(pool, ["none"], "web web searching search web")
    assert once.keys() == again.keys() == {one.id for one in pool}
    for key, row in once.items():
        assert [again[key][name] for name in COMPONENTS] == [row[name] for name in COMPONENTS]


@pytest.mark.invariant(id="DCI-SCO-020")
@pytest.mark.parametrize("query", ["zzz", "the of to", "..."])
def test_without_any_relevance_s_desc_is_zero_for_all(query: str) -> None:
    pool = [candidate("web"), candidate("the", description=""), candidate("pdf")]
    assert {row["S_desc"] for row in rows_of(pool, ["none"], query).values()} == {0.0}


@pytest.mark.invariant(id="DCI-SCO-014")
def test_without_a_text_the_query_is_the_capabilities_joined_by_spaces() -> None:
    pool = [candidate("pdf", description="Tables of a pdf."), candidate("web", description="Pdf.")]
    run = resolve(pool, ["pdf-table", "web"])
    assert run.report.data["query"] == "pdf-table web"
    assert rows_of(pool, ["pdf-table", "web"]) == rows_of(
        pool, ["pdf-table", "web"], "pdf-table web"
    )


@pytest.mark.invariant(id="DCI-SCO-014")
def test_a_given_text_takes_the_place_of_the_capabilities() -> None:
    pool = [candidate("pdf", description="x"), candidate("web", description="x")]
    rows = [row_of(resolve(pool, ["pdf"], "web"), name)["S_desc"] for name in ("pdf", "web")]
    assert rows == [0.0, 1.0]


@pytest.mark.invariant(id="DCI-SCO-014")
def test_s_desc_reads_name_and_description_and_not_the_folder() -> None:
    pool = [
        candidate("web", folder="a"),
        candidate("b", description="web", folder="b"),
        candidate("c", folder="web"),
    ]
    rows = resolve(pool, ["none"], "web").full_report().data["candidates"]
    assert {row["name"]: row["S_desc"] > 0 for row in rows} == {"web": True, "b": True, "c": False}


# Overlap: S_namepath


@pytest.mark.invariant(id="DCI-SCO-021")
@pytest.mark.invariant(id="DCI-SCO-022")
@pytest.mark.invariant(id="DCI-SCO-023")
@given(pools(), queries)
def test_s_namepath_is_the_overlap_of_query_and_name_and_folder(
    pool: list[Candidate], query: str
) -> None:
    rows = rows_of(pool, ["none"], query or "zzz")
    wanted = set(stems(query or "zzz"))
    for one in pool:
        own = set(stems(f"{one.name} {one.folder}"))
        expected = len(wanted & own) / len(wanted | own) if wanted | own else 0.0
        assert rows[one.id]["S_namepath"] == round(expected, 12)


@pytest.mark.invariant(id="DCI-SCO-023")
def test_s_namepath_is_zero_when_neither_side_has_a_token() -> None:
    assert one_row(candidate("the", folder="."), ["none"], "of to")["S_namepath"] == 0.0


@pytest.mark.invariant(id="DCI-SCO-021")
def test_name_and_folder_are_split_and_stemmed_like_all_text() -> None:
    one = candidate("web_searching", description="zzz", folder="the/Table-Readers")
    assert one_row(one, ["none"], "search tables reader web")["S_namepath"] == 1.0


# The total


@pytest.mark.invariant(id="DCI-SCO-024")
@given(st.lists(st.tuples(shares, shares, shares, shares), min_size=1, max_size=5))
def test_s_total_is_the_weighted_sum(parts: list[tuple[float, float, float, float]]) -> None:
    found = composite(*(np.array(column) for column in zip(*parts, strict=True)))
    expected = [0.6 * one[0] + 0.2 * one[1] + 0.1 * one[2] + 0.1 * one[3] for one in parts]
    assert list(found) == pytest.approx(expected, abs=1e-11)


def test_scores_are_rounded_so_that_borders_are_met_exactly() -> None:
    parts = (0.2, 0.0, 0.8, 1.0)
    assert 0.6 * 0.2 + 0.2 * 0.0 + 0.1 * 0.8 + 0.1 * 1.0 != 0.3
    assert list(composite(*(np.array([value]) for value in parts))) == [0.3]
    assert list(rounded(np.array([0.1 + 0.2, 1 / 3]))) == [0.3, 0.333333333333]
    assert list(skill_score(np.array([0.1]), np.array([0.1]))) == [0.1]
    assert history_multiplier(0.9) == 0.97


@pytest.mark.invariant(id="DCI-SCO-002")
@pytest.mark.invariant(id="DCI-SCO-025")
@pytest.mark.invariant(id="DCI-SCO-026")
@pytest.mark.invariant(id="DCI-SCO-027")
@examples(50)
@given(pools(), requirements, queries, shares, st.sampled_from(["strict", "best-effort"]))
def test_all_scores_lie_between_0_and_1_and_add_up_as_the_spec_says(
    pool: list[Candidate], requires: list[str], query: str, rate: float, mode: Mode
) -> None:
    history = {one.id: rate for one in pool[::2]}
    rows = rows_of(pool, requires, query, mode=mode, history=history, host="cli")
    assert len(rows) == len(pool)
    for key, row in rows.items():
        parts = row["penalties"]
        assert all(0.0 <= row[name] <= 1.0 for name in COMPONENTS)
        assert all(row[name] == round(row[name], 12) for name in (*COMPONENTS, "S_total"))
        total = math.fsum(value for name, value in parts.items() if name != "total")
        assert len(parts) == 5
        assert parts["total"] == round(total, 12)
        skill = 0.7 * row["S_desc"] + 0.3 * row["S_namepath"]
        assert row["S_skill"] == pytest.approx(skill, abs=1e-11)
        multiplier = 0.7 + 0.3 * rate if key in history else 1.0
        assert row["history_multiplier"] == round(multiplier, 12)
        final = max(0.0, row["S_total"] - parts["total"]) * row["history_multiplier"]
        assert row["S_total_final"] == pytest.approx(final, abs=1e-11)
        assert 0.0 <= row["S_total_final"] <= 1.0
        if mode == "strict":
            assert parts["total"] == parts["overclaim_penalty"]


def test_a_stem_is_found_in_one_text_and_in_many_with_its_counts() -> None:
    texts: tuple[list[str], ...] = (
        ["rare", "page", "page"],
        [],
        ["page"],
        ["often", "often", "page", "last"],
    )
    words = Words.of_texts(numpy_arrays(), texts)
    found = {
        stem: [column.tolist() for column in words.posting(stem)]
        for stem in ("rare", "page", "often", "last", "nowhere")
    }
    assert found == {
        "rare": [[0], [1.0]],
        "page": [[0, 2, 3], [2.0, 1.0, 1.0]],
        "often": [[3], [2.0]],
        "last": [[3], [1.0]],
        "nowhere": [[], []],
    }
    assert words.lengths.tolist() == [3.0, 0.0, 1.0, 4.0]
    assert words.distinct.tolist() == [2.0, 0.0, 1.0, 3.0]
