"""Rollouts of Codex: JSON lines `{timestamp, type, payload}`, compressed when they are old.

The model uses a skill by reading its SKILL.md or running one of its scripts in a shell, or with
the tool `skills.read`; a skill that the user names is added as a user message that starts with
`<skill>`. As in Codex itself, a skill counts once a turn. Checked against the source of Codex,
August 2026.
"""

import os
import re
from collections.abc import Iterator
from typing import Any

from metier.core.coerce import mapping_of, text_of
from metier.hosts.compressed import ENDING
from metier.hosts.events import Compacted, Event, Fired, Prompt, Session, Unparsed, Wanted
from metier.hosts.transcript_files import Transcript, UserFolders, found
from metier.hosts.transcript_lines import Lines, moment_of, object_in, text_in
from metier.usage.shell import skill_files

FOLDER, MOVED_BY = ".codex", "CODEX_HOME"
_PATTERNS = (
    ("sessions", "*", "*", "*", "rollout-*.jsonl*"),
    ("archived_sessions", "rollout-*.jsonl*"),
)
_ENDINGS = (".jsonl", f".jsonl{ENDING}")
_NAMED = re.compile(r"\s*<skill>\s*<name>([^<]+)</name>\s*(?:<path>([^<]+)</path>)?")


def transcripts(folders: UserFolders) -> Iterator[Transcript]:
    """Rollouts; the plain file if there is a compressed copy beside it."""
    home = folders.moved(MOVED_BY, FOLDER)
    for patterns in _PATTERNS:
        files = {one.path: one for one in found(home, *patterns) if one.path.endswith(_ENDINGS)}
        for path, one in files.items():
            if not (path.endswith(ENDING) and path.removesuffix(ENDING) in files):
                yield one


def read(path: str, wanted: Wanted) -> Iterator[Event]:
    """The session, then what happened in it if it is wanted. Raises `OSError`."""
    lines = Lines(path)
    rollout: _Rollout | None = None
    for line in lines:
        if rollout is None:
            meta = lines.parsed(line) if b'"session_meta"' in line else {}
            if meta.get("type") == "session_meta":
                rollout = _Rollout(mapping_of(meta.get("payload")))
                session = rollout.session(meta, path)
                yield session
                if not wanted(session):
                    return
        elif b'"turn_context"' in line:
            rollout.used.clear()
        elif _matters(line):
            yield from rollout.events(lines.parsed(line))
    yield Unparsed(lines.unparsed)


def _matters(line: bytes) -> bool:
    """Whether a line may be an event: quotes inside of texts are escaped, so they never match."""
    if b'"response_item"' in line:
        return b'_output"' not in line and (  # outputs are most of a rollout
            b"SKILL.md" in line
            or b"scripts/" in line
            or b"<skill>" in line
            or (b'"skills"' in line and b'"read"' in line)
        )
    return b'"compacted"' in line or b'"user_message"' in line


class _Rollout:
    """What earlier lines say about later lines."""

    def __init__(self, meta: dict[str, Any]) -> None:
        self._meta = meta
        self._folder = text_of(meta.get("cwd"))
        self._is_users = "subagent" not in mapping_of(meta.get("source"))
        """Whether the user typed the prompts, not another agent."""
        self.used: set[str] = set()
        """The skills of this turn."""

    def session(self, line: dict[str, Any], path: str) -> Session:
        meta = self._meta
        name = text_of(meta.get("session_id")) or text_of(meta.get("id"))
        started = moment_of(meta.get("timestamp")) or moment_of(line.get("timestamp"))
        return Session(name or os.path.basename(path), self._folder, started)

    def events(self, line: dict[str, Any]) -> Iterator[Event]:
        at, payload = moment_of(line.get("timestamp")), mapping_of(line.get("payload"))
        match line.get("type"), payload.get("type"):
            case "compacted", _:
                yield Compacted(at)
            case "event_msg", "user_message":
                text = text_of(payload.get("message"))
                if text.strip() and self._is_users:
                    yield Prompt(text, at, f"{at} {len(text)}")
            case "response_item", "message" if payload.get("role") == "user":
                yield from self._named(payload, at)
            case "response_item", "function_call" | "local_shell_call":
                yield from self._called(payload, at)

    def _named(self, payload: dict[str, Any], at: float) -> Iterator[Fired]:
        content = payload.get("content")
        for part in content if isinstance(content, list) else []:
            if named := _NAMED.match(text_in(part)):
                name, file = named[1].strip(), text_of(named[2]).strip()
                self.used.add(file or name)
                yield Fired(name, file, at, "user", f"{at} {name}")

    def _called(self, payload: dict[str, Any], at: float) -> Iterator[Fired]:
        call = text_of(payload.get("call_id"))
        given = _arguments(payload)
        if payload.get("namespace") == "skills" and payload.get("name") == "read":
            if not (given.get("resource") or given.get("cursor")):
                name = text_of(given.get("package")).rstrip("/").rpartition("/")[2]
                yield from self._once(Fired(name, "", at, "model", call))
            return
        folder = text_of(given.get("workdir")) or text_of(given.get("working_directory"))
        command = given.get("cmd") or given.get("command")
        for file in skill_files(command, os.path.join(self._folder, folder)):
            yield from self._once(Fired("", file, at, "model", f"{call} {file}"))

    def _once(self, fired: Fired) -> Iterator[Fired]:
        known_by = fired.file or fired.skill
        if known_by and known_by not in self.used:
            self.used.add(known_by)
            yield fired


def _arguments(payload: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call: JSON in a text, or the action of a shell call."""
    if payload.get("type") == "local_shell_call":
        return mapping_of(payload.get("action"))
    return object_in(text_of(payload.get("arguments")))
