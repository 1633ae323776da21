"""Sessions of opencode, in its SQLite database.

A skill was used when the tool `skill` was called; a skill that the user typed as a command leaves
only its text. Checked against the tables of opencode, August 2026.
"""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from metier.core.coerce import mapping_of, number_of, text_of
from metier.hosts.events import Compacted, Event, Fired, Prompt, Session, Unparsed, Wanted
from metier.hosts.transcript_files import Transcript, UserFolders, found
from metier.hosts.transcript_lines import LONGEST_LINE, open_regular, possible

FOLDER, MOVED_BY = ".local/share", "XDG_DATA_HOME"
_PATTERNS = ("opencode", "opencode*.db")
_UNSAFE = "%?#"
_SESSIONS = "SELECT id, coalesce(parent_id, ''), directory, time_created FROM session"
_PARTS = """
    SELECT part.id, part.time_created, part.data, message.data
    FROM part JOIN message ON message.id = part.message_id
    WHERE part.session_id = ? AND length(part.data) < ? AND (
        instr(part.data, '"skill"') OR instr(part.data, 'SKILL.md"')
        OR instr(part.data, '"compaction"')
        OR (? AND instr(part.data, '"text"') AND instr(message.data, '"user"'))
    ) ORDER BY part.time_created, part.id
"""


def transcripts(folders: UserFolders) -> Iterator[Transcript]:
    yield from found(folders.moved(MOVED_BY, FOLDER), *_PATTERNS)


def read(path: str, wanted: Wanted) -> Iterator[Event]:
    """Each session, followed by what happened in it if it is wanted. Raises `OSError`."""
    try:
        with closing(_opened(path)) as connection:
            yield from _sessions(connection, wanted)
    except sqlite3.Error as error:
        raise OSError(None, f"it cannot be read as a database: {error}", path) from None


def _opened(path: str) -> sqlite3.Connection:
    """The database, read-only. Without a log beside it, SQLite writes no file beside it either."""
    for file in (path, f"{path}-wal", f"{path}-shm"):
        if file == path or os.path.lexists(file):
            open_regular(file).close()
    how = "mode=ro" if os.path.exists(f"{path}-wal") else "mode=ro&immutable=1"
    for char in _UNSAFE:
        path = path.replace(char, f"%{ord(char):02x}")
    connection = sqlite3.connect(f"file:{path}?{how}", uri=True, timeout=1.0)
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _sessions(connection: sqlite3.Connection, wanted: Wanted) -> Iterator[Event]:
    rows = {row[0]: row for row in connection.execute(_SESSIONS)}
    unparsed = 0
    for name, parent, folder, created in rows.values():
        is_users = parent not in rows
        session = Session(_root(name, rows), text_of(folder), _seconds(created))
        yield session
        if not wanted(session):
            continue
        for row in connection.execute(_PARTS, (name, LONGEST_LINE, is_users)):
            try:
                yield from _part(row)
            except (TypeError, ValueError, RecursionError):
                unparsed += 1
    yield Unparsed(unparsed)


def _root(name: str, rows: dict[str, Any]) -> str:
    """The session that a sub-agent works for."""
    for _ in rows:
        parent = rows[name][1]
        if parent not in rows:
            break
        name = parent
    return name


def _part(row: tuple[Any, ...]) -> Iterator[Event]:
    """Raises `ValueError` if its JSON is damaged, `TypeError` if it has none."""
    name, created, raw, message = row
    part, at = mapping_of(json.loads(raw)), _seconds(created)
    match part.get("type"):
        case "tool":
            yield from _use(part, at, text_of(name))
        case "compaction":
            yield Compacted(at)
        case "text" if not (part.get("synthetic") or part.get("ignored")):
            text = text_of(part.get("text"))
            if text.strip() and mapping_of(json.loads(message)).get("role") == "user":
                yield Prompt(text, at, text_of(name))


def _use(part: dict[str, Any], at: float, known_by: str) -> Iterator[Fired]:
    state = mapping_of(part.get("state"))
    given = mapping_of(state.get("input"))
    name, file = text_of(given.get("name")).strip(), text_of(given.get("filePath"))
    if state.get("status") == "error":
        return
    if part.get("tool") == "skill" and name:
        yield Fired(name, "", at, "model", known_by)
    elif part.get("tool") == "read" and file.endswith("/SKILL.md"):
        yield Fired("", file, at, "read", known_by)


def _seconds(milliseconds: Any) -> float:
    return possible(number_of(milliseconds, 0.0) / 1e3)
