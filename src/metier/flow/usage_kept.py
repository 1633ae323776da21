"""Counts of sessions that outlive their transcripts: hosts delete these after some weeks.

No prompt is stored, only how often each skill was used in which session.
"""

import json
import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from metier.core.coerce import mapping_of
from metier.flow.usage_sessions import SessionUse, stored_session
from metier.storage.room import Room

FILE, LOCK = "usage.json", "usage.lock"
MOST_SESSIONS = 5_000
"""The latest are kept."""
_VERSION = 1


def kept_with(room: Room, sessions: Iterable[SessionUse]) -> list[SessionUse]:
    """Store the counts of sessions; these and all that were stored before. Raises `OSError`."""
    lock = room.lock(LOCK)
    try:
        merged = merged_sessions(stored_sessions(room), sessions)
        latest = sorted(merged, key=lambda use: use.last)[-MOST_SESSIONS:]
        _write(room, latest)
    finally:
        os.close(lock)
    return merged


def old_sessions(room: Room, before: float) -> int:
    """How many stored sessions ended before a moment. Raises `OSError`."""
    return sum(use.last < before for use in stored_sessions(room))


def forget_sessions(room: Room, before: float) -> int:
    """Delete the counts of sessions that ended before a moment; how many. Raises `OSError`."""
    if not old_sessions(room, before):
        return 0
    lock = room.lock(LOCK)
    try:
        stored = stored_sessions(room)
        _write(room, [use for use in stored if use.last >= before])
    finally:
        os.close(lock)
    return sum(use.last < before for use in stored)


def _write(room: Room, sessions: Iterable[SessionUse]) -> None:
    content = {"version": _VERSION, "sessions": [use.to_json() for use in sessions]}
    room.write(FILE, json.dumps(content).encode())


class StoredUse(NamedTuple):
    """How often a skill was used in the sessions whose counts are stored."""

    sessions: int = 0
    model: int = 0
    """Times the model chose it."""
    user: int = 0
    """Times its user typed its name."""
    read: int = 0
    last: float = 0.0
    """When it last fired; 0 for never."""


def stored_stamp(room: Room) -> int:
    """Changes when the stored counts may have changed."""
    info = room.info(FILE)
    return info.st_mtime_ns if info is not None else 0


def stored_uses(room: Room) -> dict[str, StoredUse]:
    """The stored counts by skill; no transcript is read. Raises `OSError`."""
    found: dict[str, StoredUse] = {}
    for use in stored_sessions(room):
        for skill, count in use.skills.items():
            before = found.get(skill, StoredUse())
            found[skill] = StoredUse(
                before.sessions + 1,
                before.model + count.model,
                before.user + count.user,
                before.read + count.read,
                max(before.last, count.last),
            )
    return found


def stored_sessions(room: Room) -> list[SessionUse]:
    """What is stored; nothing if the file is damaged or of another version. Raises `OSError`."""
    try:
        content = mapping_of(json.loads(room.read(FILE)))
    except (FileNotFoundError, ValueError, RecursionError):
        return []
    found = content.get("sessions") if content.get("version") == _VERSION else None
    uses = map(stored_session, found if isinstance(found, list) else [])
    return [use for use in uses if use is not None]


def merged_sessions(stored: Sequence[SessionUse], read: Iterable[SessionUse]) -> list[SessionUse]:
    """Each session once, with all that is known of it."""
    known = {(use.host, use.id): use for use in stored}
    uses = []
    for use in read:
        if earlier := known.pop((use.host, use.id), None):
            use.merge(earlier)
        uses.append(use)
    return [*known.values(), *uses]
