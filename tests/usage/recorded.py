"""Transcripts as hosts write them, from their documented formats."""

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from metier.hosts.events import Event, Fired, Prompt, Session, Unparsed
from metier.usage import READERS

SESSION = "0b6f5f0e-7d0c-4a77-9d4e-2f8f6f6b1c55"
WORKSPACE = "/work/shop"
DAY = "2026-11-10"


def clock(minute: int, day: str = DAY) -> str:
    return f"{day}T09:{minute:02}:00.000Z"


def jsonl(lines: Iterable[Any]) -> bytes:
    """A line for each value, written without spaces as all these hosts do."""
    return b"".join(json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in lines)


def write(file: Path, lines: Iterable[Any]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(jsonl(lines))
    return file


def events(host: str, file: Path) -> list[Event]:
    return list(READERS[host].read(str(file), lambda _: True))


def fired(found: Iterable[Event]) -> list[tuple[str, str, str]]:
    """Name, file and initiative of each use."""
    return [(one.skill, one.file, one.by) for one in found if isinstance(one, Fired)]


def prompts(found: Iterable[Event]) -> list[str]:
    return [one.text for one in found if isinstance(one, Prompt)]


def sessions(found: Iterable[Event]) -> list[tuple[str, str]]:
    return [(one.id, one.folder) for one in found if isinstance(one, Session)]


def unparsed(found: Iterable[Event]) -> int:
    return sum(one.lines for one in found if isinstance(one, Unparsed))


class ClaudeCode:
    """Lines of Claude Code; each is a minute later."""

    def __init__(self, folder: str = WORKSPACE, session: str = SESSION, day: str = DAY) -> None:
        self._base = {"sessionId": session, "cwd": folder, "isSidechain": False}
        self._day = day
        self._minute = 0

    def line(self, kind: str, **more: Any) -> dict[str, Any]:
        self._minute += 1
        name = f"{self._base['sessionId']}-{self._minute}"
        at = clock(self._minute, self._day)
        return {**self._base, "type": kind, "uuid": name, "timestamp": at, **more}

    def user(self, content: Any, **more: Any) -> dict[str, Any]:
        return self.line("user", message={"role": "user", "content": content}, **more)

    def tool(self, name: str, **given: Any) -> dict[str, Any]:
        line = self.line("assistant")
        part = {"type": "tool_use", "id": f"call-{line['uuid']}", "name": name, "input": given}
        return {**line, "message": {"role": "assistant", "content": [part]}}

    def skill(self, name: str) -> dict[str, Any]:
        return self.tool("Skill", skill=name)

    def says(self, text: str) -> dict[str, Any]:
        content = [{"type": "text", "text": text}]
        return self.line("assistant", message={"role": "assistant", "content": content})

    def result(self, text: str) -> dict[str, Any]:
        return self.user([{"type": "tool_result", "tool_use_id": "call-1", "content": text}])

    def typed(self, command: str, arguments: str = "") -> dict[str, Any]:
        return self.user(
            f"<command-message>{command}</command-message>\n<command-name>/{command}"
            f"</command-name>\n<command-args>{arguments}</command-args>"
        )

    def compaction(self) -> dict[str, Any]:
        return self.line("system", subtype="compact_boundary", content="Conversation compacted")


def claude_home(home: Path, lines: Iterable[Any], name: str = SESSION) -> Path:
    return write(home / ".claude" / "projects" / "-work-shop" / f"{name}.jsonl", lines)


def codex_line(kind: str, payload: dict[str, Any], minute: int = 1) -> dict[str, Any]:
    return {"timestamp": clock(minute), "type": kind, "payload": payload}


def codex_meta(folder: str = WORKSPACE, **more: Any) -> dict[str, Any]:
    return codex_line("session_meta", {"id": SESSION, "timestamp": clock(0), "cwd": folder, **more})


def codex_call(command: Any, call: str = "call-1", minute: int = 2, **more: Any) -> dict[str, Any]:
    """A shell command of the model: its arguments are JSON in a text."""
    key = "cmd" if isinstance(command, str) else "command"
    payload = {
        "type": "function_call",
        "name": "exec_command",
        "call_id": call,
        "arguments": json.dumps({key: command, **more}),
    }
    return codex_line("response_item", payload, minute)


def codex_says(role: str, text: str, minute: int = 3) -> dict[str, Any]:
    content = [{"type": "input_text" if role == "user" else "output_text", "text": text}]
    payload = {"type": "message", "role": role, "content": content}
    return codex_line("response_item", payload, minute)


def copilot_event(kind: str, minute: int = 1, **data: Any) -> dict[str, Any]:
    return {
        "type": kind, "data": data, "id": f"{kind}-{minute}", "timestamp": clock(minute),
        "parentId": None,
    }  # fmt: skip


_TABLES = {
    "session": "id text PRIMARY KEY, parent_id text, directory text, time_created integer",
    "message": "id text PRIMARY KEY, session_id text, time_created integer, data text",
    "part": "id text PRIMARY KEY, message_id text, session_id text, time_created integer,"
    " data text",
}


def opencode_database(
    file: Path, rows: Iterable[tuple[str, dict[str, Any]]], folder: str = WORKSPACE
) -> Path:
    """A database with one session, and a message with one part for each role and part."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file)) as connection, connection:
        for table, columns in _TABLES.items():
            connection.execute(f"CREATE TABLE {table} ({columns})")
        connection.execute("INSERT INTO session VALUES ('ses_1', NULL, ?, 1000)", (folder,))
        for number, (role, part) in enumerate(rows, start=1):
            add_part(connection, number, "ses_1", role, json.dumps(part, separators=(",", ":")))
    return file


def add_part(
    connection: sqlite3.Connection, number: int, session: str, role: str, part: str
) -> None:
    message = json.dumps({"role": role}, separators=(",", ":"))
    at = number * 1_000
    connection.execute(
        "INSERT INTO message VALUES (?, ?, ?, ?)", (f"msg_{number}", session, at, message)
    )
    connection.execute(
        "INSERT INTO part VALUES (?, ?, ?, ?, ?)",
        (f"prt_{number}", f"msg_{number}", session, at, part),
    )
