"""What a hook says when a session goes on after a compaction, a resume, or in a sub-agent."""

import json
from pathlib import Path
from typing import Any

import pytest

from hook.hooks import Hooks, context_in, name_in, skill_lines
from metier.hook.journal import Journal
from metier.hook.used import used_skills

KETTLE = "Mends a kettle that leaks."
FIRED = {
    "claude-code": {
        "type": "assistant",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "t", "name": "Skill", "input": {"skill": "kettle"}}
            ],
        },
    },
    "codex": {
        "type": "response_item",
        "payload": {
            "role": "user",
            "content": [{"text": "<skill>\n<name>kettle</name>\n<path>x</path>"}],
        },
    },
    "codex-shell": {
        "type": "response_item",
        "payload": {
            "type": "function_call",
            "name": "exec_command",
            "arguments": '{"cmd":"sed -n 1,200p /home/me/.agents/skills/kettle/SKILL.md"}',
        },
    },
    "gemini": {"toolCalls": [{"name": "activate_skill", "args": {"name": "kettle"}}]},
}


def transcript(folder: Path, *entries: Any) -> Path:
    file = folder / "session.jsonl"
    lines = (json.dumps(entry, separators=(",", ":")) for entry in entries)
    file.write_text("\n".join(lines) + "\n")
    return file


def started(hooks: Hooks, host: str, file: Path | None, **more: Any) -> str:
    given = {
        "session_id": "s1",
        "transcript_path": str(file) if file else None,
        "cwd": str(hooks.root),
        "hook_event_name": "SessionStart",
        "source": "compact",
        **more,
    }
    answer = hooks.served(host, given)
    return context_in(host, answer) if answer else ""


def said(hooks: Hooks, host: str) -> str:
    answer = hooks.served(host, hooks.asked(host, "mend this kettle"))
    return context_in(host, answer) if answer else ""


@pytest.fixture
def hooks_with_kettle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hooks:
    monkeypatch.setattr(Journal, "_spawn", lambda _: None)
    hooks = Hooks(tmp_path)
    hooks.workspace.skill("kettle", KETTLE)
    hooks.workspace.skill("violin", "Tunes a violin.")
    hooks.prepare()
    return hooks


@pytest.mark.parametrize("host", list(FIRED))
@pytest.mark.parametrize("source", ["compact", "resume"])
def test_the_skills_that_the_session_used_are_named(
    host: str, source: str, hooks_with_kettle: Hooks, tmp_path: Path
) -> None:
    file = transcript(tmp_path, FIRED[host], {"type": "user", "message": "Read violin/SKILL.md"})
    text = started(hooks_with_kettle, host.partition("-shell")[0], file, source=source)
    assert [name_in(line) for line in skill_lines(text)] == ["kettle"]
    assert "used before" in text


def test_a_sub_agent_is_told_what_its_session_used(
    hooks_with_kettle: Hooks, tmp_path: Path
) -> None:
    file = transcript(tmp_path, FIRED["claude-code"])
    text = started(
        hooks_with_kettle, "claude-code", file,
        hook_event_name="SubagentStart", source="", agent_id="a", agent_type="general",
    )  # fmt: skip
    assert [name_in(line) for line in skill_lines(text)] == ["kettle"]


def test_a_new_session_is_told_nothing(hooks_with_kettle: Hooks, tmp_path: Path) -> None:
    file = transcript(tmp_path, FIRED["claude-code"])
    assert started(hooks_with_kettle, "claude-code", file, source="startup") == ""


def test_without_a_transcript_the_skills_that_were_suggested_are_named(
    hooks_with_kettle: Hooks,
) -> None:
    asked = {"session_id": "s1", "cwd": str(hooks_with_kettle.root)}
    prompt = {**asked, "hook_event_name": "UserPromptSubmit", "prompt": "mend this kettle"}
    assert "kettle" in context_in("claude-code", hooks_with_kettle.served("claude-code", prompt))
    text = started(hooks_with_kettle, "claude-code", None)
    assert [name_in(line) for line in skill_lines(text)] == ["kettle"]
    assert "suggested earlier" in text
    assert started(hooks_with_kettle, "claude-code", None, session_id="another") == ""


@pytest.mark.parametrize(
    "command", ["rm kettle/SKILL.md", "grep -r x kettle/SKILL.md", "cat > kettle/SKILL.md", "ls"]
)
def test_a_command_that_does_not_read_a_skill_is_no_use(command: str, tmp_path: Path) -> None:
    call = {"type": "function_call", "arguments": json.dumps({"cmd": command})}
    file = transcript(tmp_path, {"type": "response_item", "payload": call})
    assert used_skills(str(file)) == []


def test_a_text_that_mentions_a_skill_is_no_use(tmp_path: Path) -> None:
    said = {"message": {"content": [{"type": "text", "text": '"name":"Skill" "skill":"kettle"'}]}}
    assert used_skills(str(transcript(tmp_path, said))) == []
    assert used_skills(str(tmp_path)) == []
    assert used_skills(str(tmp_path / "none")) == []


def test_only_the_end_of_a_long_transcript_is_read(tmp_path: Path) -> None:
    long = {"type": "user", "message": "x" * 2_000_000}
    assert used_skills(str(transcript(tmp_path, FIRED["claude-code"], long))) == []
    assert used_skills(str(transcript(tmp_path, long, FIRED["claude-code"]))) == ["kettle"]


def test_a_skill_that_the_host_does_not_read_is_not_suggested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Journal, "_spawn", lambda _: None)
    hooks = Hooks(tmp_path)
    hooks.workspace.skill("kettle", KETTLE, folder=".gemini/skills/kettle")
    hooks.workspace.skill("deep-kettle", KETTLE, folder=".claude/skills/group/deep-kettle")
    hooks.prepare()
    named = {
        host: sorted(name_in(line) for line in skill_lines(said(hooks, host)))
        for host in ("claude-code", "gemini", "opencode")
    }
    assert named == {"claude-code": [], "gemini": ["kettle"], "opencode": ["deep-kettle"]}
