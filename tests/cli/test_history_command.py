"""`metier history record` says why an outcome is not kept."""

from pathlib import Path

import pytest

from conftest import Workspace
from metier.cli import run

Captured = pytest.CaptureFixture[str]


def test_in_a_workspace_that_is_not_trusted_it_says_so(
    workspace: Workspace, capfd: Captured
) -> None:
    workspace.skill("one")
    assert run(["history", "record", "one", "success", "--root", str(workspace.root), "-q"]) == 1
    error, _, hint = capfd.readouterr().err.splitlines()
    assert "the outcome is not stored: a history needs trust, and you have not" in error
    assert error.endswith("(NOT_KEPT)")
    assert hint.strip().startswith("hint: metier trust")


def test_after_a_change_it_says_that(workspace: Workspace, capfd: Captured) -> None:
    workspace.skill("one")
    workspace.trust()
    workspace.write("metier.toml", 'tokenizer = "chars/4"\n')
    assert run(["history", "record", "one", "success", "--root", str(workspace.root), "-q"]) == 1
    assert "have changed since you trusted it" in capfd.readouterr().err


def test_outside_a_workspace_it_says_that_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_mark_above: None, capfd: Captured
) -> None:
    folder = tmp_path / "anywhere"
    Workspace(folder).skill("one", folder="skills/one")
    monkeypatch.chdir(folder)
    assert run(["history", "record", "one", "success", "-q"]) == 1
    error, _, hint = capfd.readouterr().err.splitlines()
    assert "the outcome is not stored: there is no workspace here" in error
    assert hint.strip().startswith("hint: metier init")


def test_in_a_trusted_workspace_it_is_kept(workspace: Workspace, capfd: Captured) -> None:
    workspace.skill("one")
    workspace.trust()
    assert run(["history", "record", "one", "success", "--root", str(workspace.root), "-q"]) == 0
