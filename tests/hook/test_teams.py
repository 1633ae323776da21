"""Hooks in a workspace where skills of several teams have one name."""

from pathlib import Path

import pytest

from hook.hooks import Hooks, context_in, name_in, skill_lines
from metier.flow.hook_figures import documents_known, statistics
from metier.flow.hook_log import read_decisions
from metier.hook.journal import Journal
from metier.storage.places import state_room

TASK = "calibrate the barometer"


@pytest.fixture
def hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hooks:
    """Two teams with a skill `tune` each; the task is for that of team b."""
    monkeypatch.setattr(Journal, "_spawn", lambda _: None)
    hooks = Hooks(tmp_path)
    hooks.workspace.write("metier.toml", '[teams."teams/a"]\n[teams."teams/b"]\n')
    hooks.workspace.skill("tune", "Tunes a violin.", folder="teams/a/.claude/skills/tune")
    about = "Calibrates a barometer."
    hooks.workspace.skill("tune", about, folder="teams/b/.claude/skills/tune")
    hooks.prepare()
    return hooks


def test_only_skills_that_were_never_injected_count_as_unused(hooks: Hooks) -> None:
    hooks.served("claude-code", hooks.asked("claude-code", TASK))
    with hooks.as_user():
        room = state_room(str(hooks.root))
        _, skills = documents_known(room)
        usage = statistics(read_decisions(room), skills=skills).skills
    assert [one.name for one in usage.most_used] == ["b/tune"]
    assert usage.unused == ("a/tune",)


def test_the_skill_that_was_suggested_earlier_is_that_of_its_team(hooks: Hooks) -> None:
    first = hooks.served("claude-code", hooks.asked("claude-code", TASK))
    again = {"hook_event_name": "SessionStart", "source": "compact", "prompt": ""}
    second = hooks.served("claude-code", hooks.asked("claude-code", **again))
    for answer in (first, second):
        [line] = skill_lines(context_in("claude-code", answer or ""))
        assert name_in(line) == "tune"
        assert "barometer" in line
