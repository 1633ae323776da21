"""The report of a run: complete, and adding up."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from conftest import REPOSITORY, Workspace
from metier import Catalog
from metier.resolve import Resolution, resolve
from metier.resolve.report import MOST_ROWS
from metier.values.candidates import Candidate
from resolve.contracted import skill

SCHEMA = REPOSITORY / "src/metier/schemas/capability-resolution-report.v1.schema.json"
TOP_LEVEL = """schema_version run_id generated_at mode query host_runtime consumer
    required_capabilities optional_capabilities discovery policy selection_mode max_providers
    selected unresolved_required_capabilities on_missing_required_action degraded_mode
    emulated_capabilities history_state candidates rejected_without_row dependencies
    diagnostics""".split()  # noqa: SIM905  # reads better than 23 quoted words
ROW = """id name source selected rank S_contract S_desc S_namepath S_runtime S_total penalties
    history_multiplier sample_size S_total_final required_coverage unresolved_required
    S_specificity S_skill matches contract_inflated limits rejected tie_break basis""".split()  # noqa: SIM905  # likewise


MIXED = [
    skill("searcher", "DCI/1 P(web-search,page-fetch) R(parsing)", "Searches the web."),
    skill("parser", "DCI/1 P(parsing)", "Parsing of pages.", compatibility="codex, martian"),
    skill("fuzzy", "DCI/1 P(web-searching)", "Nothing much."),
    skill("prose", description="Web search in plain words, größer und schöner."),
    skill("bad", "DCI/1 P(web-search,Not\\ Valid) X(y)", "Odd."),
    skill("broken", description="Web.", contract_problem="unknown version"),
    skill("other", description="Something else."),
]


def crowd(explicit: int, others: int) -> list[Candidate]:
    """Candidates of which only the first have anything to do with the question."""
    pool = [skill(f"able-{n:03}", f"DCI/1 P(one,x{n})") for n in range(explicit)]
    return pool + [skill(f"other-{n:03}", "DCI/1 P(zzz)") for n in range(others)]


def assert_adds_up(made: Resolution) -> None:
    """Every candidate has a row or is counted, once."""
    for report in (made.report.data, made.full_report().data):
        rows = [row["id"] for row in report["candidates"]]
        counted = sum(report["rejected_without_row"].values())
        consumer = made.consumer in made.pool.places
        assert len(rows) == len(set(rows))
        assert len(rows) + counted + consumer == len(made.pool)
        for row in report["candidates"]:
            assert (row["rank"] is None) is bool(row["rejected"])
        ranks = [row["rank"] for row in report["candidates"] if row["rank"] is not None]
        assert ranks == list(range(1, len(ranks) + 1))


RUNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "strict": {"mode": "strict"},
    "failed": {"requires": ["web-search", "nowhere"], "mode": "strict"},
    "cover": {"requires": ["web-search", "parsing"], "policy": {"selection-mode": "cover"}},
    "emulated": {"requires": ["no"], "policy": {"on-missing-required": "auto-emulate"}},
    "aborted": {"requires": ["no"], "decide": lambda _: "abort"},
    "continued": {"requires": ["no"], "decide": lambda _: "continue-with-partial"},
    "host": {"host": "cli", "history": {"searcher::skills/searcher": 0.5}},
    "consumer": {"consumer": MIXED[0], "requires": []},
    "invalid": {"requires": ["Not Valid"], "query": "größer"},
    "nobody": {"candidates": [skill("a", "DCI/1 P(x)")]},
}


def made_by(name: str) -> Resolution:
    given = {"candidates": MIXED, "requires": ["web-search"], **RUNS[name]}
    return resolve(**given)


EVERY_RUN = pytest.mark.parametrize("name", RUNS)


@pytest.mark.invariant(id="DCI-REP-001")
@EVERY_RUN
def test_every_run_has_a_report_that_adds_up(name: str) -> None:
    made = made_by(name)
    report = made.report.data
    assert list(report) == TOP_LEVEL
    for row in report["candidates"]:
        assert [key for key in row if key in ROW] == ROW
    assert_adds_up(made)


@pytest.mark.invariant(id="DCI-REP-001")
@EVERY_RUN
def test_a_report_survives_json(name: str) -> None:
    made = made_by(name)
    for report in (made.report, made.full_report()):
        text = report.to_json()
        assert json.loads(text, parse_constant=pytest.fail) == report.data
        assert json.dumps(json.loads(text), indent=2, ensure_ascii=False) == text


@pytest.mark.invariant(id="DCI-REP-011")
@EVERY_RUN
def test_every_report_is_valid_against_the_schema(name: str) -> None:
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    for report in (made_by(name).report, made_by(name).full_report()):
        jsonschema.validate(report.data, schema)


@pytest.mark.invariant(id="DCI-REP-001")
@pytest.mark.parametrize("pool", [[], [MIXED[0]]])
def test_a_run_without_any_candidate_has_a_report(pool: list[Candidate]) -> None:
    made = resolve(pool, ["one"], consumer=MIXED[0])
    assert made.report.data["candidates"] == []
    assert_adds_up(made)


@pytest.mark.invariant(id="DCI-REP-002")
@pytest.mark.invariant(id="DCI-REP-003")
@EVERY_RUN
def test_the_figures_of_a_row_follow_from_one_another(name: str) -> None:
    rows = made_by(name).full_report().data["candidates"]
    assert rows
    for row in rows:
        parts = [row[key] for key in ("S_contract", "S_desc", "S_namepath", "S_runtime")]
        assert all(0.0 <= one <= 1.0 for one in parts)
        total = 0.6 * parts[0] + 0.2 * parts[1] + 0.1 * parts[2] + 0.1 * parts[3]
        assert row["S_total"] == pytest.approx(total, abs=1e-11)
        costs = dict(row["penalties"])
        assert list(costs) == [
            "invalid_token_penalty",
            "overclaim_penalty",
            "inflation_penalty",
            "unknown_clause_penalty",
            "total",
        ]
        assert costs.pop("total") == pytest.approx(sum(costs.values()), abs=1e-11)
        left = max(0.0, row["S_total"] - row["penalties"]["total"]) * row["history_multiplier"]
        assert row["S_total_final"] == pytest.approx(left, abs=1e-11)
        mean = sum(one["score"] for one in row["matches"]) / max(1, len(row["matches"]))
        assert row["S_contract"] == pytest.approx(mean, abs=1e-11)


@pytest.mark.invariant(id="DCI-REP-004")
def test_a_row_says_which_step_decided_against_the_next() -> None:
    pool = [
        skill("best", "DCI/1 P(one)"),
        skill("wider", "DCI/1 P(one,two)"),
        skill("late", "DCI/1 P(other)"),
        skill("later", "DCI/1 P(other,x)"),
    ]
    rows = resolve(pool, ["one"], query="kangaroo").report.data["candidates"]
    assert [row["name"] for row in rows[:2]] == ["best", "wider"]
    assert rows[0]["tie_break"] == {
        "against": "wider::skills/wider",
        "step": 4,
        "by": "S_specificity",
    }
    assert (rows[0]["S_specificity"], rows[0]["S_skill"]) == (1.0, 0.0)
    assert rows[1]["tie_break"] == {
        "against": rows[2]["id"],
        "step": 0,
        "by": "S_total_final",
    }, "the last one kept, against the next below"
    assert rows[2]["tie_break"]["by"] == "stable_hash"
    assert rows[3]["tie_break"] is None


@pytest.mark.invariant(id="DCI-REP-004")
def test_the_last_one_kept_names_what_put_it_before_the_first_one_cut() -> None:
    """Not before one that ranks higher and was rejected."""
    pool = [
        skill("best", "DCI/1 P(one)"),
        skill("wider", "DCI/1 P(one,two)"),
        skill("widest", "DCI/1 P(one,two,three)"),
        skill("strict-with-itself", "DCI/1 P(one) Pol(min-total-score=0.99)"),
    ]
    made = resolve(pool, ["one"], query="kangaroo", policy={"max-candidates": "2"})
    rows = {row["name"]: row for row in made.report.data["candidates"]}
    assert list(rows) == ["best", "wider", "strict-with-itself", "widest"]
    assert rows["wider"]["tie_break"] == {
        "against": "widest::skills/widest",
        "step": 4,
        "by": "S_specificity",
    }


def test_a_row_has_the_limits_that_hold_for_it() -> None:
    """Its own hints where they are tighter, the policy's where they are not."""
    hints = "Pol(min-total-score=0.9,min-contract-score=0.1,max-candidates=2)"
    made = resolve([skill("a", f"DCI/1 P(one) {hints}"), skill("b", "DCI/1 P(one)")], ["one"])
    rows = {row["name"]: row["limits"] for row in made.report.data["candidates"]}
    usual = {
        "min-contract-score": 0.3,
        "min-required-coverage": 0.6,
        "min-total-score": 0.45,
        "max-candidates": 5,
    }
    assert rows == {"a": {**usual, "min-total-score": 0.9, "max-candidates": 2}, "b": usual}


@pytest.mark.invariant(id="DCI-REP-005")
def test_discovery_names_the_sources_and_adds_up(workspace: Workspace, tmp_path: Path) -> None:
    mounted = tmp_path / "mounted"
    Workspace(mounted).skill("far", folder="far")
    workspace.write(
        "metier.toml", f'disabled = ["off"]\n[[mounts]]\nlabel = "team"\npath = "{mounted}"\n'
    )
    workspace.skill("one", extra="capabilities: [one]")
    workspace.skill("one", folder="skills/again/one", body="Another.")
    workspace.skill("off")
    workspace.skill("hosted", folder=".claude/skills/hosted")
    workspace.write("skills/broken/SKILL.md", "no front matter")
    workspace.trust()
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        found = catalog.resolve(["one"]).report.data["discovery"]
    assert found == {
        "sources": [
            {"source": "workspace-local", "discovered": 4, "included": 2, "excluded": 2},
            {"source": "runtime-installed", "discovered": 1, "included": 1, "excluded": 0},
            {"source": "external-mounts", "discovered": 1, "included": 1, "excluded": 0},
        ],
        "discovered": 6,
        "included": 4,
        "excluded": 2,
        "excluded_by_reason": {"disabled": 1, "unparseable": 1},
    }


@pytest.mark.invariant(id="DCI-REP-006")
def test_the_report_shows_the_selection_mode_and_the_limit_in_effect() -> None:
    policy = {"selection-mode": "cover", "max-providers": "7"}
    report = resolve(MIXED, ["web-search"], policy=policy).report.data
    assert (report["selection_mode"], report["max_providers"]) == ("cover", 7)
    assert (report["policy"]["selection-mode"], report["policy"]["max-providers"]) == ("cover", 7)
    report = resolve(MIXED, ["web-search"]).report.data
    assert (report["selection_mode"], report["max_providers"]) == ("single", 3)


@pytest.mark.invariant(id="DCI-REP-007")
def test_the_report_lists_what_stayed_open_as_it_was_asked_for() -> None:
    report = resolve(MIXED, ["nowhere", "web-search", "Not Valid"], mode="strict").report.data
    assert report["unresolved_required_capabilities"] == ["nowhere", "web-search", "Not Valid"]
    assert report["required_capabilities"] == ["nowhere", "web-search", "Not Valid"]


@pytest.mark.invariant(id="DCI-REP-008")
@pytest.mark.invariant(id="DCI-REP-009")
@pytest.mark.invariant(id="DCI-REP-010")
@pytest.mark.parametrize(
    ("name", "action", "degraded", "emulated"),
    [
        ("plain", {"policy": "offer-emulation", "outcome": "not-needed"}, False, []),
        ("failed", {"policy": "hard-fail", "outcome": "failed"}, False, []),
        ("emulated", {"policy": "auto-emulate", "outcome": "emulated"}, True, ["no"]),
        ("nobody", {"policy": "offer-emulation", "outcome": "pending-decision"}, False, []),
        (
            "aborted",
            {"policy": "offer-emulation", "outcome": "aborted", "user_decision": "abort"},
            False,
            [],
        ),
        (
            "continued",
            {
                "policy": "offer-emulation",
                "outcome": "continued-partial",
                "user_decision": "continue-with-partial",
            },
            True,
            [],
        ),
    ],
)
def test_the_report_says_what_was_done_about_what_is_missing(
    name: str, action: dict[str, str], degraded: bool, emulated: list[str]
) -> None:
    report = made_by(name).report.data
    assert report["on_missing_required_action"] == action
    assert report["degraded_mode"] is degraded
    assert report["emulated_capabilities"] == emulated


@pytest.mark.invariant(id="DCI-MISS-002")
def test_a_failed_run_reports_what_is_open_and_who_came_closest() -> None:
    report = made_by("failed").report.data
    assert "nowhere" in report["unresolved_required_capabilities"]
    assert report["selected"] == []
    best = report["candidates"][0]
    assert (best["name"], best["rejected"]) == ("searcher", ["below-min-required-coverage"])


def test_diagnostics_tell_of_unknown_runtimes_contracts_and_divergence() -> None:
    made = resolve(MIXED, ["web-search"], host="cli", divergence=False)
    told = made.report.data["diagnostics"]
    assert told["unknown_compatibility_tokens"] == {"martian": 1}
    assert told["divergence"]["checked"] is False
    rows = {row["name"]: row for row in made.full_report().data["candidates"]}
    assert rows["broken"]["contract_problem"] == "unknown version"
    assert "contract_problem" not in rows["searcher"]


def test_the_host_itself_is_no_unknown_runtime_however_it_is_typed() -> None:
    pool = [skill("a", "DCI/1 P(one)", compatibility="martian")]
    told = resolve(pool, ["one"], host=" Martian").report.data
    assert told["candidates"][0]["S_runtime"] == 1.0
    assert told["diagnostics"]["unknown_compatibility_tokens"] == {}


# How many rows


@pytest.mark.parametrize(("explicit", "others"), [(10, 300), (150, 100), (199, 2), (260, 40)])
def test_explicit_matches_have_a_row_up_to_a_limit_and_the_rest_are_counted(
    explicit: int, others: int
) -> None:
    made = resolve(crowd(explicit, others), ["one"])
    rows = made.report.data["candidates"]
    able = [row for row in rows if row["name"].startswith("able")]
    kept = made.policy.max_candidates
    assert min(explicit, MOST_ROWS) <= len(able) <= min(explicit, MOST_ROWS + kept)
    assert len(rows) - len(able) <= kept
    assert made.report.data["rejected_without_row"]["below-min-contract-score"] >= others - kept
    assert_adds_up(made)


def test_a_candidate_without_a_row_is_counted_under_its_first_reason() -> None:
    made = resolve(crowd(260, 40), ["one"])
    assert made.report.data["rejected_without_row"] == {
        "below-min-contract-score": 40,
        "beyond-max-candidates": 260 - sum(row["S_contract"] > 0 for row in rows_of(made)),
    }


def rows_of(made: Resolution) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = made.report.data["candidates"]
    return rows


def test_the_full_report_has_a_row_for_everybody_and_begins_with_the_same() -> None:
    made = resolve(crowd(30, 400), ["one"])
    full = made.full_report().data
    assert (len(full["candidates"]), full["rejected_without_row"]) == (430, {})
    short = [row["id"] for row in rows_of(made) if row["S_contract"] > 0]
    assert [row["id"] for row in full["candidates"][: len(short)]] == short
