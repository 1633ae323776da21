"""Chats of Gemini CLI: JSON lines, where a message is written again when it changes.

A skill was used when `activate_skill` was called; whether the user or the model asked for it is
not recorded. A `$set` with fewer messages than before is a compaction. Checked against the source
of Gemini CLI, August 2026.
"""

import os
from collections.abc import Iterator
from typing import Any

from metier.core.coerce import mapping_of, text_of
from metier.hosts.events import Compacted, Event, Fired, Prompt, Session, Unparsed, Wanted
from metier.hosts.transcript_files import Transcript, UserFolders, found
from metier.hosts.transcript_lines import Lines, moment_of, text_in
from metier.storage.room import read_regular

FOLDER, MOVED_BY = ".gemini", "GEMINI_CLI_HOME"
_PATTERNS = (("*", "chats", "*.jsonl"), ("*", "chats", "*", "*.jsonl"))
"""Below `tmp/`; the second are those of sub-agents."""
_PROJECT = ".project_root"
_LONGEST_PATH = 1 << 16
_FAILED = ("error", "cancelled")
_NOT_TYPED = ("/", "?", "<session_context>", "<hook_context>")
"""How texts begin that are no prompts."""


def transcripts(folders: UserFolders) -> Iterator[Transcript]:
    moved = folders.moved(MOVED_BY, "")
    for patterns in _PATTERNS:
        yield from found(os.path.join(moved, FOLDER, "tmp"), *patterns)


def read(path: str, wanted: Wanted) -> Iterator[Event]:
    """The session, then what happened in it if it is wanted. Raises `OSError`."""
    lines = Lines(path)
    chat: _Chat | None = None
    for line in lines:
        if chat is None:
            meta = lines.parsed(line) if b'"sessionId"' in line else {}
            if name := text_of(meta.get("sessionId")):
                chat = _Chat(is_users=meta.get("kind") != "subagent")
                session = Session(name, _project_of(path), moment_of(meta.get("startTime")))
                yield session
                if not wanted(session):
                    return
        else:
            if line.startswith(b'{"id"'):
                chat.messages.add(line[:64].partition(b",")[0])
            if _matters(line):
                yield from chat.events(lines.parsed(line))
    yield Unparsed(lines.unparsed)


def _matters(line: bytes) -> bool:
    """Whether a line may be an event: quotes inside of texts are escaped, so they never match."""
    return (
        b'"activate_skill"' in line
        or b'SKILL.md"' in line
        or (b'"$set"' in line and b'"messages"' in line)
        or b'"user"' in line
    )


def _project_of(path: str) -> str:
    """The project of a chat, from the file that Gemini CLI keeps for each; else empty."""
    chats = path[: path.rindex("/chats/")]
    try:
        raw = read_regular(os.path.join(chats, _PROJECT), _LONGEST_PATH, links=False)
    except OSError:
        return ""
    return raw.decode(errors="surrogateescape").strip()


class _Chat:
    """What earlier lines say about later lines."""

    def __init__(self, *, is_users: bool) -> None:
        self._is_users = is_users
        """Whether the prompts are those of the user, not of another agent."""
        self._known: set[str] = set()
        """Calls and prompts that were seen before."""
        self.messages: set[bytes] = set()

    def events(self, entry: dict[str, Any]) -> Iterator[Event]:
        update = mapping_of(entry.get("$set"))
        if isinstance(messages := update.get("messages"), list):
            if len(messages) < len(self.messages):
                yield Compacted(_latest(messages))
            self.messages = {str(number).encode() for number in range(len(messages))}
            return
        at = moment_of(entry.get("timestamp"))
        if entry.get("type") == "gemini":
            calls = entry.get("toolCalls")
            for call in calls if isinstance(calls, list) else []:
                yield from self._use(mapping_of(call), at)
        elif entry.get("type") == "user" and self._is_users:
            yield from self._typed(entry, at)

    def _use(self, call: dict[str, Any], at: float) -> Iterator[Fired]:
        known_by = text_of(call.get("id"))
        if known_by in self._known or call.get("status") in _FAILED:
            return
        at = moment_of(call.get("timestamp")) or at
        given = mapping_of(call.get("args"))
        file = text_of(given.get("file_path")) or text_of(given.get("absolute_path"))
        name = text_of(given.get("name")).strip()
        if call.get("name") == "activate_skill" and name:
            self._known.add(known_by)
            yield Fired(name, "", at, "model", known_by)
        elif call.get("name") == "read_file" and file.endswith("/SKILL.md"):
            self._known.add(known_by)
            yield Fired("", file, at, "read", known_by)

    def _typed(self, entry: dict[str, Any], at: float) -> Iterator[Prompt]:
        text, known_by = text_in(entry.get("content")), text_of(entry.get("id"))
        if text.strip() and known_by not in self._known:
            self._known.add(known_by)
            if not text.lstrip().startswith(_NOT_TYPED):
                yield Prompt(text, at, known_by)


def _latest(messages: list[Any]) -> float:
    return max((moment_of(mapping_of(one).get("timestamp")) for one in messages), default=0.0)
