"""Transcripts of Gemini CLI, Copilot CLI and opencode."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from metier.hosts.events import Compacted
from metier.hosts.transcript_files import UserFolders
from metier.usage import READERS
from usage.recorded import (
    SESSION,
    WORKSPACE,
    add_part,
    clock,
    copilot_event,
    events,
    fired,
    opencode_database,
    prompts,
    sessions,
    unparsed,
    write,
)

FILE = f"{WORKSPACE}/.agents/skills/pdf/SKILL.md"
QUOTED = '{"name":"activate_skill","args":{"name":"pdf"}} skill.invoked "tool":"skill"'


def compactions(found: list[Any]) -> int:
    return sum(isinstance(one, Compacted) for one in found)


# Gemini CLI


def chat_file(tmp_path: Path) -> Path:
    project = tmp_path / ".gemini" / "tmp" / "shop"
    project.mkdir(parents=True)
    (project / ".project_root").write_text(WORKSPACE)
    return project / "chats" / "session-2026-11-10T09-00-0b6f5f0e.jsonl"


def message(name: str, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": name, "timestamp": clock(1), "type": kind, "content": content, **more}


def gemini_call(tool: str, call: str = "c1", status: str = "success", **given: Any) -> Any:
    return {"id": call, "name": tool, "args": given, "status": status, "timestamp": clock(2)}


def gemini(tmp_path: Path, *lines: Any, **meta: Any) -> list[Any]:
    first = {"sessionId": SESSION, "projectHash": "ab", "startTime": clock(0), **meta}
    return events("gemini", write(chat_file(tmp_path), [first, *lines]))


def test_gemini_an_activated_skill_counts_once_though_its_message_is_written_again(
    tmp_path: Path,
) -> None:
    calls = [gemini_call("activate_skill", name="pdf")]
    line = message("m2", "gemini", "", toolCalls=calls)
    found = gemini(tmp_path, message("m1", "user", [{"text": "Fill it"}]), line, line)
    assert fired(found) == [("pdf", "", "model")]
    assert sessions(found) == [(SESSION, WORKSPACE)]
    assert prompts(found) == ["Fill it"]


def test_gemini_a_failed_call_and_a_mention_are_no_use(tmp_path: Path) -> None:
    calls = [
        gemini_call("activate_skill", "c1", "error", name="pdf"),
        gemini_call("run_shell_command", "c2", command=QUOTED),
        gemini_call("read_file", "c3", file_path=FILE),
    ]
    lines = [
        message("m1", "user", QUOTED),
        message("m2", "gemini", QUOTED),
        message("m3", "gemini", "", toolCalls=calls),
    ]
    assert fired(gemini(tmp_path, *lines)) == [("", FILE, "read")]


def test_gemini_fewer_messages_than_before_are_a_compaction(tmp_path: Path) -> None:
    lines = [message(f"m{number}", "user", f"prompt {number}") for number in range(3)]
    same = {"$set": {"messages": lines}}
    fewer = {"$set": {"messages": lines[:1]}}
    found = gemini(tmp_path, *lines, same, {"$rewindTo": "m1"}, fewer)
    assert compactions(found) == 1


def test_gemini_commands_and_sub_agents_have_no_prompts_of_the_user(tmp_path: Path) -> None:
    lines = [message("m1", "user", "/help"), message("m2", "user", "<session_context>x")]
    assert prompts(gemini(tmp_path, *lines)) == []
    found = gemini(tmp_path / "other", message("m1", "user", "Do it"), kind="subagent")
    assert prompts(found) == []


# Copilot CLI


def copilot(tmp_path: Path, *lines: Any) -> list[Any]:
    start = copilot_event("session.start", 0, sessionId=SESSION, context={"cwd": WORKSPACE})
    return events("copilot", write(tmp_path / SESSION / "events.jsonl", [start, *lines]))


@pytest.mark.parametrize(
    ("trigger", "by"),
    [({"trigger": "user-invoked"}, "user"), ({"trigger": "agent-invoked"}, "model"),
     ({"trigger": "context-load"}, "read"), ({}, "model")],
)  # fmt: skip
def test_copilot_an_invoked_skill(tmp_path: Path, trigger: dict[str, str], by: str) -> None:
    found = copilot(tmp_path, copilot_event("skill.invoked", 1, name="pdf", path=FILE, **trigger))
    assert fired(found) == [("pdf", FILE, by)]
    assert sessions(found) == [(SESSION, WORKSPACE)]


def test_copilot_the_call_of_an_invoked_skill_is_not_counted_again(tmp_path: Path) -> None:
    def call(name: str, minute: int) -> Any:
        given = {"skill": name}
        return copilot_event("tool.execution_start", minute, toolName="skill", arguments=given)

    lines = [
        call("pdf", 1),
        copilot_event("skill.invoked", 2, name="pdf", path=FILE),
        call("docx", 3),
        copilot_event("user.message", 4, content="Go on"),
        call("xlsx", 5),
    ]
    names = [name for name, _, _ in fired(copilot(tmp_path, *lines))]
    assert names == ["pdf", "docx", "xlsx"]


def test_copilot_prompts_reads_compactions_and_mentions(tmp_path: Path) -> None:
    lines = [
        copilot_event("user.message", 1, content=f"Why {QUOTED}?"),
        copilot_event("user.message", 2, content="hidden", source="skill-pdf"),
        copilot_event("assistant.message", 3, content=QUOTED),
        copilot_event("tool.execution_start", 4, toolName="view", arguments={"path": FILE}),
        copilot_event("session.compaction_complete", 5, success=True),
        copilot_event("session.compaction_complete", 6, success=False),
    ]
    found = copilot(tmp_path, *lines)
    assert prompts(found) == [f"Why {QUOTED}?"]
    assert fired(found) == [("", FILE, "read")]
    assert compactions(found) == 1


# opencode


def tool(called: str, status: str = "completed", **given: Any) -> dict[str, Any]:
    return {"type": "tool", "tool": called, "state": {"status": status, "input": given}}


def test_opencode_tools_prompts_and_compactions(tmp_path: Path) -> None:
    file = opencode_database(
        tmp_path / "opencode.db",
        [
            ("user", {"type": "text", "text": "Fill the form"}),
            ("user", {"type": "text", "text": "added by the host", "synthetic": True}),
            ("assistant", {"type": "text", "text": QUOTED}),
            ("assistant", tool("skill", name="pdf")),
            ("assistant", tool("skill", "error", name="nothing")),
            ("assistant", tool("read", filePath=FILE)),
            ("user", {"type": "compaction", "auto": True}),
        ],
    )
    found = events("opencode", file)
    assert fired(found) == [("pdf", "", "model"), ("", FILE, "read")]
    assert prompts(found) == ["Fill the form"]
    assert compactions(found) == 1
    assert sessions(found) == [("ses_1", WORKSPACE)]
    assert list(tmp_path.iterdir()) == [file], "nothing is written beside it"


def test_opencode_reads_what_is_only_in_the_log_of_a_running_session(tmp_path: Path) -> None:
    file = opencode_database(tmp_path / "opencode.db", [])
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        with connection:
            add_part(connection, 1, "ses_1", "assistant", json.dumps(tool("skill", name="pdf")))
        assert fired(events("opencode", file)) == [("pdf", "", "model")]


def test_opencode_sub_sessions_belong_to_the_first_and_damage_is_counted(tmp_path: Path) -> None:
    file = opencode_database(tmp_path / "opencode.db", [])
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("INSERT INTO session VALUES ('ses_2', 'ses_1', '/x', 2000)")
        add_part(connection, 1, "ses_2", "user", '{"type":"text","text":"from an agent"}')
        add_part(connection, 2, "ses_2", "assistant", '{"type":"tool","tool":"skill"')
    found = events("opencode", file)
    assert [name for name, _ in sessions(found)] == ["ses_1", "ses_1"]
    assert prompts(found) == []
    assert unparsed(found) == 1


@pytest.mark.parametrize("content", [b"", b"not a database at all, but long enough" * 40])
def test_opencode_a_file_that_is_no_database_is_an_error(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "opencode.db"
    file.write_bytes(content)
    with pytest.raises(OSError, match="cannot be read as a database"):
        events("opencode", file)


def test_every_host_is_found_below_the_home_folder(empty_home: Path, tmp_path: Path) -> None:
    places = {
        "claude-code": ".claude/projects/p/s.jsonl",
        "codex": ".codex/sessions/2026/11/10/rollout-1.jsonl",
        "gemini": ".gemini/tmp/p/chats/session-1.jsonl",
        "copilot": ".copilot/session-state/s/events.jsonl",
        "opencode": ".local/share/opencode/opencode.db",
    }
    assert set(places) == set(READERS)
    folders = UserFolders({"HOME": str(empty_home)}, str(tmp_path))
    for host, path in places.items():
        assert list(READERS[host].transcripts(folders)) == []
        file = write(empty_home / path, [{}])
        assert [one.path for one in READERS[host].transcripts(folders)] == [str(file)]
