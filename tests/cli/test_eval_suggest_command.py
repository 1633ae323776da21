"""`metier eval suggest`: prints drafts, writes them, and overwrites nothing unasked."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.run_workspace import follows
from conftest import Workspace
from metier.cli import run

PDF = "Merges PDF files. Use when joining PDF files into one. Not for drawing charts of sales."


@pytest.fixture
def here(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    workspace.skill("pdf", PDF)
    monkeypatch.chdir(workspace.root)
    return workspace


def suggest(*arguments: str) -> int:
    return run(["eval", "suggest", *arguments])


EXPECTED: list[dict[str, Any]] = [
    {"task": "join PDF files into one", "skills": ["pdf"], "source": "suggested"},
    {"task": "draw charts of sales", "notSkills": ["pdf"], "source": "suggested"},
]


def test_drafts_are_printed_as_yaml(here: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert suggest("pdf") == 0
    out = capsys.readouterr().out
    assert out.startswith("# Evaluation cases, drafted by `metier eval suggest`")
    assert "# near miss: pdf says that it is not for this\n- task: draw charts" in out
    assert yaml.safe_load(out) == {"cases": EXPECTED}
    assert here.root.exists()


@pytest.mark.usefixtures("here")
def test_json_has_the_notes_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert suggest("--json") == 0
    data = json.loads(capsys.readouterr().out)
    follows("eval-suggested", data)
    assert [len(one["notes"]) for one in data["cases"]] == [0, 1]


@pytest.mark.usefixtures("here")
def test_a_file_is_written_and_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cases.yaml"
    assert suggest("--output", str(file)) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"wrote 2 cases to {file}" in printed.err
    assert yaml.safe_load(file.read_text()) == {"cases": EXPECTED}
    file.write_text("mine")
    assert suggest("--output", str(file)) == 2
    err = capsys.readouterr().err
    assert "exists" in err
    assert "hint: --force overwrites it" in err
    assert file.read_text() == "mine"
    assert suggest("--output", str(file), "--force") == 0
    assert yaml.safe_load(file.read_text()) == {"cases": EXPECTED}


def test_nothing_to_draft_from_is_told_and_no_file_is_written(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(workspace.root)
    file = tmp_path / "cases.yaml"
    assert suggest("--output", str(file)) == 1
    assert "there is nothing to draft from" in capsys.readouterr().err
    assert not file.exists()


@pytest.mark.usefixtures("here")
def test_an_unknown_skill_is_an_error_with_the_nearest_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert suggest("pdff") == 2
    assert "pdf" in capsys.readouterr().err.splitlines()[-1]


def test_what_is_drafted_can_be_evaluated(
    here: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    file = here.root / "cases.yaml"
    assert suggest("--output", str(file)) == 0
    capsys.readouterr()
    run(["eval", str(file), "--json"])
    data = json.loads(capsys.readouterr().out)
    assert (data["cases"], data["scored"], data["problems"]) == (2, 2, [])
