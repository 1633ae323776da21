"""`metier reports explain`: each score computed again, in words."""

import json
import math
import re
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from cli.printed import Printed, looked_at
from conftest import REPOSITORY, Workspace
from metier.cli import run

SCHEMA = json.loads(
    (REPOSITORY / "src/metier/schemas/report-explanation.v1.schema.json").read_text()
)
Metier = Callable[..., Printed]


@pytest.fixture
def metier(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> Metier:
    """Run any command on a workspace with an honest skill, a loud one and one of words alone."""
    workspace.skill("web-search", "Search the web. Use it.", extra="capabilities: [web-search]")
    many = ", ".join(["web-search", "Not_A_Name", *(f"n{one}" for one in range(40))])
    contract = f"metadata:\n  contract: 'DCI/1 P({many}) X(y) Pol(min-total-score=0.8)'"
    workspace.skill("loud", "Does all of it. Use it for everything.", extra=contract)
    workspace.skill("prosy", "A search of the web, in words. Use it.")

    def call(*arguments: str) -> Printed:
        looked_at(workspace.root)
        code = run([*arguments, "--root", str(workspace.root)])
        return Printed(code, *capsys.readouterr())

    return call


def computed(formula: str) -> float:
    """What a formula comes to: the signs of people, and nothing but figures."""
    text = formula.replace("×", "*")
    assert re.fullmatch(r"(?:min|max|[0-9.,()+*/ -])+", text), formula
    return float(eval(text, {"min": min, "max": max}))  # figures alone, see above


QUESTIONS = {
    "plain": ["-r", "web-search"],
    "cover": ["-r", "web-search", "-r", "n1", "--policy", "selection-mode=cover"],
    "host": ["-r", "web-search", "--host", "cli"],
    "strict": ["-r", "web-search", "--mode", "strict"],
    "words": ["-r", "zebra", "kangaroo"],
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", ["web-search", "loud", "prosy"])
def test_every_formula_comes_to_the_figure_beside_it(
    metier: Metier, question: str, name: str
) -> None:
    metier("history", "record", "loud", "failure", "-q")
    metier("resolve", *QUESTIONS[question], "--full-report", "-q")
    data: Any = metier("reports", "explain", "last", name, "--json").data
    jsonschema.validate(data, SCHEMA)
    (found,) = data["candidates"]
    parts = {one["name"]: one for one in found["parts"]}
    assert list(parts)[:5] == ["S_contract", "S_desc", "S_namepath", "S_runtime", "S_total"]
    for part in parts.values():
        if part["formula"]:
            assert computed(part["formula"]) == pytest.approx(part["value"], abs=5e-4), part
        for note in part["notes"]:
            for formula, value in re.findall(r"here: (.*) = ([0-9.]+)$", note):
                assert computed(formula) == pytest.approx(float(value), abs=5e-4)
            for inner, value in re.findall(r"idf ln\((.*?)\) = ([0-9.]+)", note):
                assert math.log(computed(inner)) == pytest.approx(float(value), abs=5e-4)
    coverage = [] if question == "cover" else ["min-required-coverage"]
    gates = ["min-contract-score", "min-total-score", *coverage]
    assert [gate["name"] for gate in found["gates"]] == gates
    for gate in found["gates"]:
        assert gate["passed"] is (gate["value"] >= gate["limit"])


def test_people_read_it_in_80_columns(metier: Metier) -> None:
    metier("resolve", "-r", "web-search", "-q")
    made = metier("reports", "explain", "last")
    lines = made.out.splitlines()
    assert (made.code, lines[0]) == (0, "web-search::skills/web-search: rank 1, selected")
    assert all(len(line) <= 80 for line in lines)
    assert any(line.startswith("  S_total = 0.60 × 1 + 0.20 × ") for line in lines)
    assert any(line.startswith("    min-total-score: 0.") and "passed" in line for line in lines)
    assert lines[-1].startswith("  verdict: selected: ") or "verdict: selected" in made.out


def test_one_that_is_rejected_is_told_its_own_limit_and_why(metier: Metier) -> None:
    metier("resolve", "-r", "web-search", "-q")
    out = " ".join(metier("reports", "explain", "last", "loud::skills/loud").out.split())
    assert "loud::skills/loud: not ranked" in out
    assert re.search(r"min-total-score \(its own\): 0\.\d+ < 0\.8, failed", out)
    assert "overclaim_penalty = min(0.25, 0.05 × 5) = 0.25" in out
    assert "verdict: S_total_final 0." in out
    assert "is below the min-total-score 0.80 that it sets itself" in out


def test_without_a_choice_the_best_is_explained(metier: Metier) -> None:
    metier("resolve", "-r", "zebra", "-q")
    assert ": not ranked" in metier("reports", "explain", "last").out.splitlines()[0]


def test_a_candidate_that_is_not_there_is_one_clear_line(metier: Metier) -> None:
    metier("resolve", "-r", "web-search", "-q")
    made = metier("reports", "explain", "last", "web-serch")
    assert (made.code, made.out) == (2, "")
    assert "has no candidate 'web-serch' (NOT_FOUND)" in made.err
    assert "hint: did you mean 'web-search'?" in made.err


def test_without_a_report_the_last_one_is_explained(metier: Metier) -> None:
    none = metier("reports", "explain")
    assert (none.code, "there is no report yet (NOT_FOUND)" in none.err) == (2, True)
    metier("resolve", "-r", "zebra", "-q")
    metier("resolve", "-r", "web-search", "-q")
    made = metier("reports", "explain")
    assert (made.code, made.out) == (0, metier("reports", "explain", "last").out)


def test_one_without_a_rank_has_no_tie_break(metier: Metier) -> None:
    report = metier("resolve", "-r", "web-search", "--full-report", "--json").data
    told = {row["id"]: row for row in report["candidates"]}
    assert any(row["tie_break"] and not row["rank"] for row in told.values())
    for key, row in told.items():
        seen = metier("reports", "explain", "last", key)
        (data,) = metier("reports", "explain", "last", key, "--json").data["candidates"]
        ranked = bool(row["rank"] and row["tie_break"])
        assert ("tie-break:" in seen.out, data["tieBreak"] is not None) == (ranked, ranked), key


def test_one_of_anything_is_told_in_the_singular(metier: Metier) -> None:
    metier("resolve", "everything", "-r", "web-search", "-q")
    out = " ".join(metier("reports", "explain").out.split())
    assert "everyth: 1 text has it, idf " in out
    assert "the query has 1 stem, name and folder" in out
    assert not re.search(r"\b1 (texts|stems)", out)


def test_it_takes_a_report_and_perhaps_a_candidate(metier: Metier) -> None:
    made = metier("reports", "explain", "last", "a", "b")
    assert (made.code, "(USAGE)" in made.err, made.out) == (2, True, "")


def test_a_report_without_the_figures_is_damaged(metier: Metier, workspace: Workspace) -> None:
    metier("resolve", "-r", "web-search", "-q")
    (file,) = (workspace.state / "reports").glob("*.json")
    report = json.loads(file.read_text())
    for row in report["candidates"]:
        del row["basis"]
    file.write_text(json.dumps(report))
    made = metier("reports", "explain", "last")
    assert (made.code, made.out) == (1, "")
    assert f"report '{file.stem}' cannot be read (DOCUMENT_INVALID)" in made.err


def test_an_empty_workspace_has_nobody_to_explain(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["resolve", "-r", "one", "--root", str(workspace.root), "-q"])
    capsys.readouterr()
    assert run(["reports", "explain", "last", "--root", str(workspace.root)]) == 0
    assert "there were no candidates" in capsys.readouterr().err
