"""`metier doctor` on how often hooks spoke lately."""

import json
import time
from typing import Any

import pytest

from cli.printed import write_log
from conftest import Workspace
from flow.decisions import decision, injecting
from metier.cli import run
from metier.storage.hook_files import DECISIONS

DAY = 86_400


def hooks(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """What the doctor says about hooks."""
    capsys.readouterr()
    run(["doctor", "--json", "--root", str(workspace.root)])
    return [one for one in json.loads(capsys.readouterr().out) if one["name"] == "hooks"]


def test_nothing_is_said_without_decisions(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hooks(workspace, capsys) == []
    write_log(workspace.root, decision(1, at=time.time() - 8 * DAY), b"broken")
    assert hooks(workspace, capsys) == []


def test_prompts_of_the_last_seven_days_count(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    now = time.time()
    write_log(
        workspace.root,
        injecting(1, at=now - 8 * DAY),
        injecting(2, at=now - 6 * DAY),
        *[decision(number, at=now) for number in range(3, 6)],
    )
    (found,) = hooks(workspace, capsys)
    assert found == {
        "name": "hooks",
        "verdict": "ok",
        "detail": "spoke on 1 of 4 prompts in the last 7 days",
        "hint": "",
    }


def test_starts_of_sessions_and_sub_agents_are_no_prompts(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    now = time.time()
    events = ("SessionStart", "sessionStart", "SubagentStart", "session_start")
    starts = [injecting(number, at=now, event=event) for number, event in enumerate(events)]
    write_log(workspace.root, *starts)
    assert hooks(workspace, capsys) == []
    write_log(workspace.root, *starts, decision(9, at=now))
    (found,) = hooks(workspace, capsys)
    assert found["detail"] == "spoke on 0 of 1 prompt in the last 7 days"


def test_what_the_mode_held_back_is_said(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    skills = [["pdf", "skills/pdf/SKILL.md", 4.2, "monitor"]]
    lines = [decision(1, at=time.time(), mode="monitor", skills=skills)]
    write_log(workspace.root, *lines, decision(2, at=time.time(), mode="monitor"))
    (found,) = hooks(workspace, capsys)
    assert found["detail"] == (
        "spoke on 0 of 2 prompts in the last 7 days; their mode held back 1 more"
    )


def test_a_log_that_cannot_be_read_is_a_warning(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    (workspace.state / DECISIONS).mkdir(parents=True)
    (found,) = hooks(workspace, capsys)
    assert found["verdict"] == "warning"
    assert found["detail"].startswith("the log of their decisions cannot be read: ")
