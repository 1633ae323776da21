"""Transcripts of Claude Code: JSON lines, an object for each message or event.

A skill was used when the model called the tool `Skill`, or the user typed `/NAME`; text that only
mentions a skill is inside of another message. Checked against issues and public descriptions of
the format, August 2026.
"""

import os
import re
from collections.abc import Iterator
from typing import Any

from metier.core.coerce import mapping_of, text_of
from metier.hosts.events import Compacted, Event, Fired, Prompt, Session, Unparsed, Wanted
from metier.hosts.transcript_files import Transcript, UserFolders, found
from metier.hosts.transcript_lines import Lines, moment_of, text_in

FOLDER, MOVED_BY = ".claude", "CLAUDE_CONFIG_DIR"
_PATTERNS = (("*", "*.jsonl"), ("*", "*", "subagents", "*.jsonl"))
"""Below `projects/`."""
_COMMAND = re.compile(
    r"\s*(?:<command-message>[^<]*</command-message>\s*)?<command-name>/?([^<\s]+)</command-name>"
)
_NOT_TYPED = (
    "<command-", "<local-command-", "<bash-", "<task-notification>", "<system-reminder>",
    "Caveat: ", "[Request interrupted",
)  # fmt: skip
"""How texts begin that the host writes in the user's name."""


def transcripts(folders: UserFolders) -> Iterator[Transcript]:
    projects = os.path.join(folders.moved(MOVED_BY, FOLDER), "projects")
    for patterns in _PATTERNS:
        yield from found(projects, *patterns)


def read(path: str, wanted: Wanted) -> Iterator[Event]:
    """The session, then what happened in it if it is wanted. Raises `OSError`."""
    lines = Lines(path)
    is_known = False
    for line in lines:
        if not (_matters(line) if is_known else b'"cwd"' in line):
            continue
        entry = lines.parsed(line)
        if not is_known and entry.get("cwd"):
            is_known, session = True, _session(entry, path)
            yield session
            if not wanted(session):
                return
        yield from _events(entry)
    yield Unparsed(lines.unparsed)


def _matters(line: bytes) -> bool:
    """Whether a line may be an event: quotes inside of texts are escaped, so they never match."""
    if b'"tool_result"' in line:  # most of a transcript
        return False
    if b'"tool_use"' in line:
        return b'"Skill"' in line or b'SKILL.md"' in line
    return b'"user"' in line or b'"compact_boundary"' in line


def _session(entry: dict[str, Any], path: str) -> Session:
    name = os.path.basename(path).removesuffix(".jsonl")
    return Session(
        text_of(entry.get("sessionId")) or name,
        text_of(entry.get("cwd")),
        moment_of(entry.get("timestamp")),
    )


def _events(entry: dict[str, Any]) -> Iterator[Event]:
    kind, at = entry.get("type"), moment_of(entry.get("timestamp"))
    content = mapping_of(entry.get("message")).get("content")
    if kind == "assistant" and isinstance(content, list):
        for part in content:
            yield from _use(mapping_of(part), at)
    elif kind == "system" and entry.get("subtype") == "compact_boundary":
        yield Compacted(at)
    elif kind == "user" and not (entry.get("isMeta") or entry.get("isCompactSummary")):
        yield from _typed(entry, content, at)


def _use(part: dict[str, Any], at: float) -> Iterator[Fired]:
    if part.get("type") != "tool_use":
        return
    call, given = text_of(part.get("id")), mapping_of(part.get("input"))
    if part.get("name") == "Skill":
        name = text_of(given.get("skill")) or text_of(given.get("command"))
        if name.strip():
            yield Fired(name.strip().removeprefix("/"), "", at, "model", call)
    elif part.get("name") == "Read":
        file = text_of(given.get("file_path"))
        if file.endswith("/SKILL.md"):
            yield Fired("", file, at, "read", call)


def _typed(entry: dict[str, Any], content: Any, at: float) -> Iterator[Event]:
    if isinstance(content, list) and any("tool_use_id" in mapping_of(one) for one in content):
        return
    text, known_by = text_in(content), text_of(entry.get("uuid"))
    if command := _COMMAND.match(text):
        yield Fired(command[1], "", at, "user", known_by)
    elif not entry.get("isSidechain") and _is_typed(text.strip()):
        yield Prompt(text, at, known_by)


def _is_typed(text: str) -> bool:
    return text != "" and not text.startswith(_NOT_TYPED)
