"""Transcripts with odd values in every field: never fatal."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Workspace
from metier.flow.usage import Question, SkillNames, read_usage
from usage.recorded import (
    ClaudeCode,
    claude_home,
    clock,
    codex_call,
    codex_line,
    codex_meta,
    codex_says,
    copilot_event,
    opencode_database,
    write,
)

ODD: list[Any] = [
    None, True, -1, 1e300, "", "\0", "\ud800", "/\0", "/\ud800/SKILL.md", [], [1], {}, {"x": 1},
    "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00",
]  # fmt: skip


def altered(value: Any) -> Iterator[Any]:
    """`value` with each of its parts replaced by each of the odd values."""
    yield from ODD
    keys: Any = ()
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = range(len(value))
    for key in keys:
        for other in altered(value[key]):
            changed = copy.copy(value)
            changed[key] = other
            yield changed


def claude_code(home: Path, folder: str) -> None:
    chat = ClaudeCode(folder)
    lines = [
        chat.user("Hi"), chat.skill("pdf"), chat.tool("Read", file_path="/x/SKILL.md"),
        chat.typed("pdf"), chat.compaction(), chat.user([{"type": "text", "text": "Go on"}]),
    ]  # fmt: skip
    claude_home(home, [*(other for line in lines for other in altered(line)), *lines])


def codex(home: Path, folder: str) -> None:
    lines = [
        codex_line("event_msg", {"type": "user_message", "message": "Hi"}),
        codex_call("cat x/SKILL.md"),
        codex_call(["bash", "-lc", "cat ~x\0y/SKILL.md"], workdir="y"),
        codex_says("user", "<skill>\n<name>pdf</name>\n<path>\0</path>"),
        codex_line("compacted", {"message": "x"}),
    ]
    told = [codex_meta(folder), *(other for line in lines for other in altered(line)), *lines]
    write(home / ".codex" / "archived_sessions" / "rollout-1.jsonl", told)
    for number, meta in enumerate(altered(codex_meta(folder))):
        file = home / ".codex" / "archived_sessions" / f"rollout-meta-{number}.jsonl"
        write(file, [meta, *lines])


def gemini(home: Path, folder: str) -> None:
    project = home / ".gemini" / "tmp" / "p"
    call = {"id": "c", "name": "activate_skill", "args": {"name": "pdf"}, "timestamp": clock(1)}
    reply = {"id": "m", "type": "gemini", "content": "", "toolCalls": [call]}
    user = {"id": "u", "type": "user", "timestamp": clock(1), "content": [{"text": "Hi"}]}
    meta = {"sessionId": "s", "projectHash": "x", "startTime": clock(0)}
    lines = [reply, user, {"$set": {"messages": [user]}}]
    told = [*altered(meta), meta, *(other for line in lines for other in altered(line)), *lines]
    write(project / "chats" / "session-1.jsonl", told)
    (project / ".project_root").write_text(folder)


def copilot(home: Path, folder: str) -> None:
    start = copilot_event("session.start", 0, sessionId="s", context={"cwd": folder})
    lines = [
        copilot_event("skill.invoked", 1, name="pdf", path="/x/SKILL.md", trigger="x"),
        copilot_event("tool.execution_start", 2, toolName="skill", arguments={"skill": "pdf"}),
        copilot_event("user.message", 3, content="Hi"),
        copilot_event("session.compaction_complete", 4),
    ]
    told = [*altered(start), start, *(one for line in lines for one in altered(line)), *lines]
    write(home / ".copilot" / "session-state" / "s" / "events.jsonl", told)


def opencode(home: Path, folder: str) -> None:
    state = {"status": "completed", "input": {"name": "pdf"}}
    part = {"type": "tool", "tool": "skill", "state": state}
    rows = [("assistant", other) for other in altered(part)]
    file = home / ".local" / "share" / "opencode" / "opencode.db"
    opencode_database(file, [*rows, ("assistant", part)], folder)


WRITERS = {
    "claude-code": claude_code, "codex": codex, "gemini": gemini, "copilot": copilot,
    "opencode": opencode,
}  # fmt: skip


@pytest.mark.parametrize("host", WRITERS)
def test_odd_values_stop_nothing(workspace: Workspace, empty_home: Path, host: str) -> None:
    WRITERS[host](empty_home, str(workspace.root))
    for everywhere in (True, False):
        question = Question(str(workspace.root), everywhere=everywhere, keeps_prompts=True)
        environ = {"HOME": str(empty_home)}
        found = read_usage(SkillNames([]), question, environ=environ, rank=lambda *_: "")
        assert found.unread == {}
        assert found.sessions or not everywhere
        assert json.dumps([use.to_json() for use in found.sessions])
