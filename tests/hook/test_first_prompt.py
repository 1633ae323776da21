"""What a person meets first: a prompt after `metier refresh`, and the hook typed by hand."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Workspace
from metier.cli import run

ENOUGH = 300.0
SKILL = (
    "---\nname: invoices\ndescription: Reads invoices and extracts totals from them.\n---\nRead.\n"
)


def prompted(root: Path) -> str:
    asked = {"hook_event_name": "UserPromptSubmit", "cwd": str(root)}
    asked["prompt"] = "extract the totals from these invoices"
    return subprocess.run(
        [sys.executable, "-m", "metier", "hook", "claude-code"],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=ENOUGH,
        check=True,
    ).stdout


def test_the_first_prompt_after_a_refresh_is_answered(
    workspace: Workspace, empty_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = empty_home / ".claude" / "skills" / "invoices" / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(SKILL)
    assert run(["refresh", "--root", str(workspace.root)]) == 0
    capfd.readouterr()
    assert "invoices" in prompted(workspace.root)


def test_so_is_that_of_a_workspace_that_may_speak(
    workspace: Workspace, capfd: pytest.CaptureFixture[str]
) -> None:
    workspace.write("metier.toml", "")
    workspace.write("skills/invoices/SKILL.md", SKILL)
    workspace.trust(speak=True)
    assert run(["refresh", "--root", str(workspace.root)]) == 0
    capfd.readouterr()
    assert "invoices" in prompted(workspace.root)


def typed(root: Path, stdin: int) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "metier", "hook", "codex"],
        stdin=stdin,
        capture_output=True,
        text=True,
        timeout=ENOUGH,
        cwd=root,
        check=False,
    )


def test_on_a_terminal_it_says_in_one_line_what_it_waits_for(workspace: Workspace) -> None:
    keyboard, screen = pty.openpty()
    try:
        os.write(keyboard, b"\x04")
        done = typed(workspace.root, screen)
    finally:
        os.close(keyboard)
        os.close(screen)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == (
        "metier hook codex waits for the JSON of its host on standard input; Ctrl-D ends it\n"
    )


def test_to_a_host_it_does_not_say_so(workspace: Workspace) -> None:
    done = typed(workspace.root, subprocess.DEVNULL)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
