"""What a hook writes: decisions, failures, the kill switch; and the refresh that it starts.

Light: runs for every prompt. The files are in the state room of the workspace, or of the user.
"""

from __future__ import annotations

import os
import sys
import time

try:
    from _blake2 import blake2b  # hashlib would load OpenSSL as well
except ImportError:
    from hashlib import blake2b

from metier.storage.hook_files import (
    DECISIONS,
    FLAG,
    LARGEST_LOG,
    OLDER_DECISIONS,
    RESUMED,
    SPEAK,
    STATE,
    log,
    may_speak,
)
from metier.storage.lightjson import dump, scan
from metier.storage.places import state_room, user_home, user_room
from metier.storage.secret import workspace_secret
from metier.storage.workspace import is_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LOCK = "hook.lock"
"""Held while a refresh is running."""
LARGEST_JOURNAL = 8_000_000
_REFRESH = ("-P", "-m", "metier", "refresh", "--quiet", "--background", "--root")
"""-P: Python must not import from the current folder, which may be a stranger's."""
_AFTER_A_FAILURE = 60
"""Seconds after which an unusable catalog counts as stale."""
_WINDOW, _LEAST = 50, 20
"""The share of injecting requests is that of the last 50, once there are 20."""
_WINDOW_BYTES = 1_048_576


class Journal:
    """The files of one workspace that hooks write."""

    def __init__(self) -> None:
        self._workspace = ""
        self._is_workspace = False
        """Whether it has a mark or a state room."""
        self._room = user_room()
        self.catalog = self._room
        """The room of the catalog: the workspace's if it may speak, else the user's."""
        self.may_speak = False
        self.session = ""
        """The id of the conversation, as soon as it is known."""
        self._has_lapsed = False
        """Whether the workspace could speak until it changed; then a refresh is due."""

    def enter(self, workspace: str) -> None:
        if workspace == self._workspace:
            return
        room = state_room(workspace)
        self._workspace = workspace
        self._is_workspace = is_root(workspace) or room.exists()
        users = user_room(workspace=self.workspace)
        self._room = room if self._is_workspace else users
        self.may_speak = may_speak(room, workspace)
        self._has_lapsed = not self.may_speak and room.has(SPEAK)
        self.catalog = room if self.may_speak else users

    @property
    def workspace(self) -> str:
        """The current workspace; empty outside of any."""
        return self._workspace if self._is_workspace else ""

    # Decisions

    def keep(self, row: dict[str, Any]) -> None:
        """Append a decision; a full journal is renamed, and the journal before it removed."""
        row["id"] = f"{os.urandom(2).hex()}-{int(row['at'] * 1e3):x}"
        self._room.append(DECISIONS, _line(dump(row)), LARGEST_JOURNAL, OLDER_DECISIONS)

    def is_killed(self, most: float | None) -> bool:
        """Whether the kill switch is on; turned on here when too large a share injects."""
        if self._room.has(FLAG):
            return True
        if most is None:
            return False
        resumed = self._room.info(RESUMED)
        rows = self._latest(resumed.st_mtime if resumed is not None else 0.0)
        share = sum(row.get("injected") is True for row in rows) / max(1, len(rows))
        if len(rows) < _LEAST or share <= most:
            return False
        why = f"{share:.0%} of the last {len(rows)} requests injected, the limit is {most:.0%}"
        self._room.append(FLAG, _line(why), LARGEST_LOG)
        self.note("kill switch", f"on: {why}; to undo: metier hook stats resume")
        return True

    def _latest(self, since: float) -> list[dict[str, Any]]:
        """The last decisions since `since` that could inject, up to the window."""
        try:
            tail, is_whole = self._room.tail(DECISIONS, _WINDOW_BYTES)
        except OSError:
            return []
        lines = tail.split(b"\n")
        found: list[dict[str, Any]] = []
        for line in reversed(lines if is_whole else lines[1:]):
            row = _row(line)
            at = row.get("at")
            if row.get("mode") in ("soft", "on") and isinstance(at, int | float) and at > since:
                found.append(row)
                if len(found) == _WINDOW:
                    break
        return found

    def session_hash(self, session: str) -> str:
        """A pseudonym for a conversation."""
        return blake2b(session.encode(errors="replace"), digest_size=6).hexdigest()

    def suggested(self, session: str) -> list[str]:
        """The handles of the skills that were injected in a session, the latest first."""
        return [
            str(skill[0])
            for row in self._rows_of(session)
            for skill in row.get("skills") or ()
            if isinstance(skill, list) and skill and skill[-1] == "injected"
        ]

    def is_new(self, session: str) -> bool:
        """Whether nothing was logged for a session yet; false for an unknown one."""
        return bool(session) and not self._rows_of(session)

    def _rows_of(self, session: str) -> list[dict[str, Any]]:
        """The last decisions in a session, the latest first."""
        if not session:
            return []
        try:
            tail, _ = self._room.tail(DECISIONS, _WINDOW_BYTES)
        except OSError:
            return []
        key = self.session_hash(session)
        mark = f'"{key}"'.encode()
        rows = [_row(line) for line in reversed(tail.split(b"\n")) if mark in line]
        return [row for row in rows if row.get("session") == key]

    # Failures

    def fail(self, host: str, error: BaseException, milliseconds: float) -> None:
        """Log a failure and keep a row for it, if possible."""
        self.note(host, f"{type(error).__name__}: {error}")
        session = self.session_hash(self.session) if self.session else ""
        try:
            self.keep(decision(host, milliseconds, session=session, error=type(error).__name__))
            self.refresh_if_stale(_AFTER_A_FAILURE)
        except (OSError, ValueError):
            pass

    def note(self, who: str, what: str) -> None:
        """Log one line, if possible."""
        log((self._room, user_room()), who, what)

    def secret(self) -> bytes:
        """The key of the fences around injected text."""
        return workspace_secret(self._room)

    # A catalog that may be stale

    def refresh_if_stale(self, after: int) -> None:
        """Start a refresh in the background if it is due and none is running."""
        if not self._is_stale(after):
            return
        try:
            lock = self.catalog.lock(LOCK, wait=False)
        except BlockingIOError:
            return  # a refresh is running
        try:
            os.set_inheritable(lock, True)  # the lock lives as long as that process
            self._spawn()
        finally:
            os.close(lock)

    def _spawn(self) -> None:
        is_there = self._is_workspace and os.path.isdir(self._workspace)
        root = self._workspace if is_there else user_home(os.environ)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.posix_spawn(
            sys.executable,
            [sys.executable, *_REFRESH, root],
            {**os.environ, "METIER_OFFLINE": "1"},  # a prompt opens no connection
            file_actions=[(os.POSIX_SPAWN_DUP2, nothing, number) for number in (0, 1, 2)],
            setsid=True,
        )
        os.close(nothing)

    def _is_stale(self, after: int) -> bool:
        """Whether a folder or settings file has changed, or the last refresh is too long ago."""
        if self._has_lapsed:
            return True
        try:
            watched = self.catalog.read(STATE).decode(errors="surrogateescape").split("\n")
        except OSError:
            return True
        refreshed = self.catalog.info(STATE)
        if refreshed is None or not 0 <= time.time() - refreshed.st_mtime < after:
            return True
        return any(_has_changed(line) for line in watched if line)


def decision(host: str, milliseconds: float, **fields: Any) -> dict[str, Any]:
    """A row of the journal; without `fields` that of a failed request."""
    return {
        "id": "",
        "at": round(time.time(), 3),
        "host": host,
        "event": "",
        "session": "",
        "session_type": "main",
        "mode": "failed",
        "scorer": "",
        "arm": "",
        "cards": [],
        "skills": [],
        "tokens": 0,
        "characters": 0,
        "injected": False,
        "milliseconds": round(milliseconds, 3),
        "error": "",
        **fields,
    }


def _has_changed(line: str) -> bool:
    """Whether a file or folder, given as `time path`, has another time now."""
    noted, _, path = line.partition(" ")
    try:
        return str(os.stat(path).st_mtime_ns) != noted
    except OSError:
        return noted != "-"


def _line(text: str) -> bytes:
    return f"{text}\n".encode(errors="replace")


def _row(line: bytes) -> dict[str, Any]:
    try:
        value = scan(line.decode()) if line else None
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
