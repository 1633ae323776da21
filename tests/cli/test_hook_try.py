"""`metier hook try`: what the hook of a host would say, without a host."""

import json
import subprocess
import sys

import pytest

from conftest import Workspace
from hook.hooks import asked, context_in
from metier.cli import run
from metier.storage.hook_files import DECISIONS
from metier.storage.places import state_room

PROMPT = "extract the tables of this PDF"


@pytest.fixture
def here(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    workspace.skill("pdf-tables", "Extracts tables from PDF files.")
    workspace.skill("for-codex", "Extracts PDF tables.", folder=".agents/skills/for-codex")
    workspace.write("metier.toml", "[capabilities]\nskillThreshold = 0.3\n")
    monkeypatch.chdir(workspace.root)
    return workspace


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_it_prints_what_the_hook_tells_the_model_and_keeps_nothing(
    host: str, here: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    here.trust(speak=True)
    assert run(["hook", "try", host, PROMPT]) == 0
    said = capsys.readouterr().out
    assert "'pdf-tables'" in said
    assert ("'for-codex'" in said) is (host == "codex")
    assert not state_room(str(here.root)).has(DECISIONS)
    hook = [sys.executable, "-m", "metier", "hook", host]
    given = json.dumps(asked(host, here.root, PROMPT)).encode()
    ran = subprocess.run(hook, input=given, capture_output=True, cwd=here.root, check=True)
    assert said == f"{context_in(host, ran.stdout)}\n"


def test_a_silent_hook_exits_with_1_and_says_why(
    here: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["hook", "try", "codex", PROMPT]) == 1
    assert capsys.readouterr().err.splitlines()[-2:] == [
        "hooks may not use the text of this workspace yet: metier trust",
        "the hook would say nothing",
    ]
    here.trust(speak=True)
    monkeypatch.setenv("METIER_CAPABILITIES", "monitor")
    assert run(["hook", "try", "codex", PROMPT, "--json"]) == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["mode"] == "monitor"
    assert printed.err.endswith("the hook would say nothing: its mode is monitor\n")


def test_a_host_that_sends_no_prompt_is_said_to_be_one(
    here: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    here.trust(speak=True)
    assert run(["hook", "try", "cursor", PROMPT]) == 1
    assert "cursor runs its hook when a session starts, without the prompt" in (
        capsys.readouterr().err
    )
