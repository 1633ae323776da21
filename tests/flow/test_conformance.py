"""The conformance suite: sound data, and this implementation passes it."""

import ast
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from conftest import REPOSITORY
from invariants import INVARIANTS
from metier.cli.dev import command
from metier.errors import UsageError
from metier.flow.conformance import CaseResult, compare, run_suite

SUITE = REPOSITORY / "conformance"
FILES = sorted((SUITE / "cases").glob("*.json"))
SCHEMA = json.loads((SUITE / "case.schema.json").read_text())
RULES = {one.id for one in INVARIANTS}


def read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def results() -> dict[str, CaseResult]:
    return {result.id: result for result in run_suite(SUITE)}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A suite of two cases, to be spoilt."""
    suite = tmp_path / "suite"
    (suite / "cases").mkdir(parents=True)
    for name in ("match-exact", "usage-nothing-required"):
        shutil.copy(SUITE / "cases" / f"{name}.json", suite / "cases")
    return suite


def change(suite: Path, name: str, **values: Any) -> None:
    file = suite / "cases" / f"{name}.json"
    file.write_text(json.dumps({**read(file), **values}), encoding="utf-8")


def run(*arguments: str) -> int:
    code: int = command.main(["conformance", *arguments], standalone_mode=False)
    return code


# The data


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_case_is_sound(file: Path) -> None:
    case = read(file)
    jsonschema.Draft202012Validator(SCHEMA).validate(case)
    assert case["id"] == file.stem
    assert set(case["rules"]) <= RULES


@pytest.mark.parametrize(
    "name", ["capability-resolution-report.v1.schema.json", "english-stopwords.v1.txt"]
)
def test_what_the_suite_refers_to_lies_beside_it(name: str) -> None:
    shipped = REPOSITORY / "src" / "metier" / "schemas" / name
    assert (REPOSITORY / "conformance" / name).read_bytes() == shipped.read_bytes()


def test_ids_and_titles_are_unique() -> None:
    cases = [read(file) for file in FILES]
    assert len(cases) >= 40
    assert len({case["id"] for case in cases}) == len(cases)
    assert len({case["title"] for case in cases}) == len(cases)


# This implementation


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_case_passes(file: Path, results: dict[str, CaseResult]) -> None:
    assert results[file.stem].differences == ()


def test_results_come_in_the_order_of_the_ids(results: dict[str, CaseResult]) -> None:
    assert list(results) == [file.stem for file in FILES]


# What the runner finds


def leaves(expected: Any) -> int:
    """How many values a difference can be in."""
    if isinstance(expected, dict) and expected:
        return sum(leaves(one) for one in expected.values())
    if isinstance(expected, list) and expected:
        return sum(leaves(one) for one in expected)
    return 1


def spoilt(expected: Any) -> Any:
    """The same shape with every value wrong."""
    if isinstance(expected, dict) and expected:
        return {key: spoilt(one) for key, one in expected.items()}
    if isinstance(expected, list) and expected:
        return [spoilt(one) for one in expected]
    if isinstance(expected, int | float) and not isinstance(expected, bool):
        return expected + 2e-9
    return "spoilt"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_value_of_a_case_is_compared(file: Path) -> None:
    expected = read(file)["expect"]
    assert list(compare(expected, expected)) == []
    assert len(list(compare(spoilt(expected), expected))) == leaves(expected)


@pytest.mark.parametrize(
    ("expected", "found", "path"),
    [
        ({"a": 1.0}, {"a": 1, "b": 2}, None),
        ({"a": 0.3}, {"a": 0.1 + 0.2}, None),
        ({"a": 1}, {"a": True}, "a"),
        ({"a": 0}, {"a": None}, "a"),
        ({"a": None}, {}, "a"),
        ({"a": {}}, {"a": {}}, None),
        ({"a": {}}, {"a": {"b": 1}}, "a"),
        ({"a": [1, 2]}, {"a": [1, 2, 3]}, "a"),
        ({"a": [1, 2]}, {"a": [3, 2]}, "a[0]"),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}]}, None),
        ({"rows": {"x": {"b": 1}}}, {"rows": [{"id": "y"}, {"id": "x", "b": 1}]}, None),
        ({"rows": {"x": {"b": 1}}}, {"rows": [{"id": "x", "b": 2}]}, "rows[x].b"),
        ({"rows": {"x": {"b": 1}}}, {"rows": []}, "rows[x]"),
        ({"rows": {"x": None}}, {"rows": []}, None),
        ({"rows": {"x": None}}, {"rows": [{"id": "x"}]}, "rows[x]"),
        ({"error": "usage"}, {"selected": []}, "error"),
        ({"selected": []}, {"error": "usage"}, "selected"),
    ],
)
def test_comparing(expected: Any, found: Any, path: str | None) -> None:
    differences = list(compare(expected, found))
    assert [one.path for one in differences] == ([path] if path is not None else [])


def test_a_wrong_expectation_is_found_and_told(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"S_total": 0.8, "S_contract": 1, "rank": 2}
    change(copy, "match-exact", expect={"candidates": {"north::skills/north": row}})
    assert run(str(copy)) == 1
    assert capsys.readouterr().out.splitlines() == [
        "match-exact: candidates[north::skills/north].S_total: expected 0.8, found 0.7"
        " (and 1 more difference)",
        "2 cases: 1 passed, 1 failed",
    ]


def test_an_error_in_place_of_a_report_is_told(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(copy, "usage-nothing-required", expect={"selected": []})
    assert run(str(copy)) == 1
    assert "usage-nothing-required: selected: expected [], found nothing" in capsys.readouterr().out


def test_json_tells_everything(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(copy, "match-exact", expect={"degraded_mode": True, "selected": []})
    assert run(str(copy), "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["passed"], told["failed"]) == (1, 1)
    assert told["cases"][0] == {
        "id": "match-exact",
        "title": read(copy / "cases" / "match-exact.json")["title"],
        "passed": False,
        "differences": [
            {"path": "degraded_mode", "expected": "true", "found": "false"},
            {"path": "selected", "expected": "[]", "found": '["north::skills/north"]'},
        ],
    }


def test_without_a_folder_the_suite_of_the_checkout_is_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run() == 0
    assert capsys.readouterr().out == f"{len(FILES)} cases: {len(FILES)} passed, 0 failed\n"


# Bad suites


def test_a_folder_without_cases_is_no_suite(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        run_suite(tmp_path)
    assert caught.value.exit_code == 2
    (tmp_path / "cases").mkdir()
    with pytest.raises(UsageError, match="no case"):
        run_suite(tmp_path)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"id": "another"}, "not the name of the file"),
        ({"files": {"../outside.md": ""}}, "leaves the folder"),
        ({"files": {"/outside.md": ""}}, "leaves the folder"),
        ({"files": {"C:/outside.md": ""}}, "leaves the folder"),
        ({"files": {"a.md": 1}}, "is text"),
        ({"query": {"require": []}}, "'require' is not a key"),
        ({"query": {"text": 1}}, "'text' of the query"),
        ({"query": {"start": "../.."}}, "leaves the folder"),
        ({"expect": []}, "'expect' is missing"),
    ],
)
def test_a_bad_case_stops_the_suite(copy: Path, values: dict[str, Any], message: str) -> None:
    change(copy, "match-exact", **values)
    with pytest.raises(UsageError, match=message):
        run(str(copy))


@pytest.mark.parametrize("text", ["{", "[]", "\xff"])
def test_a_file_that_is_no_case_stops_the_suite(copy: Path, text: str) -> None:
    (copy / "cases" / "match-exact.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match="the suite cannot be run"):
        run_suite(copy)


# Data alone


def test_the_runner_needs_nothing_but_data(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = copy / "home"
    skill = (SUITE / "cases" / "match-exact.json").read_text(encoding="utf-8")
    (home / ".claude/skills/north").mkdir(parents=True)
    (home / ".claude/skills/north/SKILL.md").write_text(
        json.loads(skill)["files"]["skills/north/SKILL.md"], encoding="utf-8"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("METIER_DISABLED", "north")
    monkeypatch.chdir(copy)
    before = sorted(copy.rglob("*"))
    assert [result.passed for result in run_suite(copy)] == [True, True]
    assert sorted(copy.rglob("*")) == before


def test_a_case_never_runs_in_another_workspace(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(UsageError, match="another workspace"):
        run_suite(copy)


def test_the_runner_imports_no_test_and_no_development_package() -> None:
    source = (REPOSITORY / "src/metier/flow/conformance.py").read_text(encoding="utf-8")
    modules = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(source))
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [one.name for one in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    }
    assert modules - {"metier"} <= sys.stdlib_module_names
