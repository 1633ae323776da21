"""Events of Copilot CLI: JSON lines `{type, data, id, timestamp}`.

A skill was used when there is a `skill.invoked`; versions without it only have the call of the
tool `skill`. Checked against the event types of the Copilot SDK, August 2026.
"""

import os
from collections.abc import Iterator
from typing import Any

from metier.core.coerce import mapping_of, text_of
from metier.core.names import plugin_name
from metier.hosts.events import By, Compacted, Event, Fired, Prompt, Session, Unparsed, Wanted
from metier.hosts.transcript_files import Transcript, UserFolders, found
from metier.hosts.transcript_lines import Lines, moment_of

FOLDER, MOVED_BY = ".copilot", "COPILOT_HOME"
_PATTERNS = ("session-state", "*", "events.jsonl")
_BY: dict[str, By] = {"user-invoked": "user", "context-load": "read"}
"""What triggered a skill; anything else is the model."""


def transcripts(folders: UserFolders) -> Iterator[Transcript]:
    yield from found(folders.moved(MOVED_BY, FOLDER), *_PATTERNS)


def read(path: str, wanted: Wanted) -> Iterator[Event]:
    """The session, then what happened in it if it is wanted. Raises `OSError`."""
    lines = Lines(path)
    is_known = False
    called: list[Fired] = []
    for line in lines:
        if not (_matters(line) if is_known else b'"session.start"' in line):
            continue
        entry = lines.parsed(line)
        if not is_known and entry.get("type") == "session.start":
            is_known, session = True, _session(entry, path)
            yield session
            if not wanted(session):
                return
        for event in _events(entry):
            yield from _not_invoked(called, event)
            yield event
        called += _called(entry)
    yield from called
    yield Unparsed(lines.unparsed)


def _not_invoked(called: list[Fired], event: Event) -> list[Fired]:
    """The call before an event, unless the event says that the same skill was invoked."""
    last = [one for one in called if not (isinstance(event, Fired) and event.skill == one.skill)]
    called.clear()
    return last


def _matters(line: bytes) -> bool:
    """Whether a line may be an event: quotes inside of texts are escaped, so they never match."""
    if b'"tool.execution_start"' in line:
        return b'"skill"' in line or b'SKILL.md"' in line
    return (
        b'"skill.invoked"' in line
        or b'"session.compaction_complete"' in line
        or b'"user.message"' in line
    )


def _session(entry: dict[str, Any], path: str) -> Session:
    data = mapping_of(entry.get("data"))
    return Session(
        text_of(data.get("sessionId")) or os.path.basename(os.path.dirname(path)),
        text_of(mapping_of(data.get("context")).get("cwd")),
        moment_of(data.get("startTime")) or moment_of(entry.get("timestamp")),
    )


def _events(entry: dict[str, Any]) -> Iterator[Event]:
    data, at = mapping_of(entry.get("data")), moment_of(entry.get("timestamp"))
    known_by = text_of(entry.get("id"))
    match entry.get("type"):
        case "skill.invoked":
            by = _BY.get(text_of(data.get("trigger")), "model")
            name, plugin = text_of(data.get("name")), text_of(data.get("pluginName"))
            file = text_of(data.get("path"))
            yield Fired(plugin_name(plugin, name), file, at, by, known_by)
        case "session.compaction_complete" if data.get("success") is not False:
            yield Compacted(at)
        case "user.message" if not (entry.get("agentId") or data.get("isAutopilotContinuation")):
            text = text_of(data.get("content"))
            if text.strip() and data.get("source") in (None, "", "user"):
                yield Prompt(text, at, known_by)
        case "tool.execution_start" if data.get("toolName") == "view":
            file = text_of(mapping_of(data.get("arguments")).get("path"))
            if file.endswith("/SKILL.md"):
                yield Fired("", file, at, "read", known_by)


def _called(entry: dict[str, Any]) -> list[Fired]:
    """The call of the tool `skill`; empty for any other entry."""
    data = mapping_of(entry.get("data"))
    name = text_of(mapping_of(data.get("arguments")).get("skill")).strip()
    if entry.get("type") != "tool.execution_start" or data.get("toolName") != "skill" or not name:
        return []
    at = moment_of(entry.get("timestamp"))
    return [Fired(name, "", at, "model", text_of(entry.get("id")))]
