"""A host's request: prompt, recent messages, session. Light: runs for every prompt."""

from __future__ import annotations

import os
import stat

from metier.hosts.table import HOOKS
from metier.storage.lightjson import scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST_INPUT = 4_000_000
LOOKED_AT = 6_000
"""The most characters of a message that count: two thirds from its start."""
_TAIL = 65_536
"""Bytes that are read from the end of a transcript."""
_PROMPT = ("prompt", "initialPrompt", "user_prompt")
_STARTS = frozenset(["sessionstart", "session_start", "subagentstart", "subagent_start"])
"""Events without a prompt."""
_CONTINUED = ("compact", "resume")


class HookRequest:
    """A request of any host, however it spells the keys."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.event = _text(given, "hook_event_name", "hookEventName", "event")
        self.prompt = _text(given, *_PROMPT)
        self._has_prompt = any(isinstance(given.get(name), str) for name in _PROMPT)
        self.folder = _text(given, "cwd", "workspaceRoot") or _first_root(given)
        self.session = _text(given, "session_id", "sessionId", "conversation_id", "conversationId")
        self.agent = _text(given, "agent_type", "agentType", "agent", "agentName")
        is_sub = self.event.lower().startswith("subagent") or bool(
            _text(given, "agent_id", "agentId")
        )
        self.session_type = "isolated" if is_sub else "main"
        self.transcript = _text(given, "transcript_path", "transcriptPath")
        source = _text(given, "source").lower()
        self._is_start = self.event.lower() in _STARTS or (not self.event and bool(source))
        self.continues = self._is_start and (is_sub or source in _CONTINUED)
        """Whether the model starts without what the session did before."""
        messages = given.get("messages")
        self._messages = messages[-50:] if isinstance(messages, list) else None

    def check(self, host: str) -> None:
        """Raise `ValueError` when there is neither a prompt nor the start of a session."""
        is_start = self._is_start or (not self.event and not HOOKS[host][2])
        if not self._has_prompt and not is_start:
            raise ValueError("there is no prompt")

    def conversation_length(self) -> int:
        """The approximate length of the conversation in characters."""
        try:
            if self.transcript:
                return os.stat(self.transcript).st_size
        except (OSError, ValueError):
            pass
        return len(self.prompt) + sum(map(len, _messages_in(self._messages)))

    def messages(self, most: int) -> list[str]:
        """The last messages that are not blank, shortened; the prompt is the last."""
        earlier = (
            self._from_transcript() if self._messages is None else _messages_in(self._messages)
        )
        if earlier and earlier[-1].strip() == self.prompt.strip():
            earlier.pop()
        messages = [one for one in [*earlier, self.prompt] if one.strip()]
        return [_whole(clipped(message)) for message in messages[-most:]]

    def _from_transcript(self) -> list[str]:
        """The messages at the end of the transcript; none if it cannot be read."""
        if not self.transcript:
            return []
        try:
            tail, is_whole = _tail_of(self.transcript)
        except (OSError, ValueError):
            return []
        if is_whole and (found := _messages_in(_parsed(tail))):
            return found
        lines = tail.split("\n") if is_whole else tail.split("\n")[1:]
        return [text for line in lines if (text := _text_of(_parsed(line)))]


def _whole(text: str) -> str:
    """`text` without lone surrogates, which SQLite rejects."""
    return text.encode(errors="replace").decode()


def clipped(message: str) -> str:
    if len(message) <= LOOKED_AT:
        return message
    return f"{message[: LOOKED_AT * 2 // 3]} {message[-LOOKED_AT // 3 :]}"


def _text(given: dict[str, Any], *names: str) -> str:
    for name in names:
        value = given.get(name)
        if isinstance(value, str) and value:
            return _whole(value)
    return ""


def _first_root(given: dict[str, Any]) -> str:
    roots = given.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else ""
    return _whole(first) if isinstance(first, str) else ""


def _tail_of(path: str) -> tuple[str, bool]:
    """The end of a regular file, and whether that is all of it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            return "", True
        start = max(0, info.st_size - _TAIL)
        return os.pread(descriptor, _TAIL, start).decode(errors="replace"), start == 0
    finally:
        os.close(descriptor)


def _parsed(text: str) -> Any:
    try:
        return scan(text) if text.strip() else None
    except ValueError:
        return None


def _messages_in(value: Any) -> list[str]:
    """The messages of a transcript that is one JSON value."""
    listed = value.get("messages", value.get("history")) if isinstance(value, dict) else value
    return [text for one in listed if (text := _text_of(one))] if isinstance(listed, list) else []


def _text_of(entry: Any) -> str:
    """The text of the user or the model in one entry of any host's transcript."""
    if isinstance(entry, str):
        return entry
    if not isinstance(entry, dict):
        return ""
    inner = entry.get("message", entry.get("payload"))
    if isinstance(inner, dict):
        return _text_of(inner)
    role = entry.get("role", entry.get("type"))
    if role not in ("user", "assistant", "model", "gemini"):
        return ""
    content = entry.get("content", entry.get("parts", entry.get("text")))
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [one.get("text") for one in content if isinstance(one, dict)]
    return " ".join(one for one in parts if isinstance(one, str))
