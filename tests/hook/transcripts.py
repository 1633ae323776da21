"""Transcripts of conversations, as each host writes them."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from hook.hooks import SESSION, Hooks


def jsonl(lines: Iterable[Any]) -> str:
    return "".join(f"{json.dumps(one)}\n" for one in lines)


def claude_lines(messages: Sequence[str]) -> str:
    """A transcript of Claude Code: people and models take turns, tools in between."""
    lines: list[Any] = [
        {"type": "summary", "summary": "rain and snow", "leafUuid": "u-0"},
        {"type": "file-history-snapshot", "messageId": "m-0", "snapshot": {"text": "rain snow"}},
        {"type": "system", "content": "rain snow", "isMeta": True},
    ]
    for number, text in enumerate(messages):
        role = "assistant" if number % 2 else "user"
        content: Any = [{"type": "text", "text": text}] if number % 2 else text
        lines.append(
            {
                "parentUuid": f"u-{number}",
                "isSidechain": False,
                "sessionId": SESSION,
                "type": role,
                "message": {"role": role, "content": content},
                "uuid": f"u-{number + 1}",
            }
        )
        result = {"type": "tool_result", "tool_use_id": "t", "content": "rain and snow"}
        thinking = {"type": "thinking", "thinking": "rain and snow"}
        lines.append({"type": "user", "message": {"role": "user", "content": [result]}})
        lines.append({"type": "assistant", "message": {"role": "assistant", "content": [thinking]}})
    return jsonl(lines)


def codex_lines(messages: Sequence[str]) -> str:
    """A rollout of Codex, where each message of a person also stands as an event."""
    moment = "2026-11-15T09:30:00.000Z"
    lines: list[Any] = [
        {"timestamp": moment, "type": "session_meta", "payload": {"id": SESSION, "text": "rain"}}
    ]
    for number, text in enumerate(messages):
        role, kind = ("assistant", "output_text") if number % 2 else ("user", "input_text")
        content = [{"type": kind, "text": text}]
        message = {"type": "message", "role": role, "content": content}
        lines.append({"timestamp": moment, "type": "response_item", "payload": message})
        event = {"type": f"{role}_message", "message": text}
        lines.append({"timestamp": moment, "type": "event_msg", "payload": event})
        call = {"type": "function_call", "name": "shell", "arguments": "rain snow"}
        lines.append({"timestamp": moment, "type": "response_item", "payload": call})
    return jsonl(lines)


def gemini_text(messages: Sequence[str]) -> str:
    """A chat of Gemini CLI: one JSON value, indented."""
    listed = [
        {
            "id": f"m-{number}",
            "timestamp": "2026-11-15T09:30:00.000Z",
            "type": "gemini" if number % 2 else "user",
            "content": [{"text": text}] if number % 3 == 0 else text,
            "thoughts": [{"subject": "rain", "description": "snow"}],
        }
        for number, text in enumerate(messages)
    ]
    listed.append({"id": "i", "type": "info", "content": "rain and snow"})
    chat = {"sessionId": SESSION, "projectHash": "p", "messages": listed}
    return json.dumps(chat, indent=2)


TRANSCRIPTS = {
    "claude-code": claude_lines,
    "codex": codex_lines,
    "gemini": gemini_text,
}


def transcript(hooks: Hooks, text: str | bytes, name: str = "transcript") -> str:
    file = hooks.home / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(file)
