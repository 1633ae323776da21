"""What a hook writes: its decisions, its failures, the kill switch; and the refresh it asks for.

Light: runs for every prompt. Everything lies in `.metier/` of the workspace; a failure outside of
any workspace goes to the user's own state folder.
"""

from __future__ import annotations

import os
import sys
import time

try:
    from _blake2 import blake2b  # hashlib would load OpenSSL as well
except ImportError:
    from hashlib import blake2b

from metier.hooks.lightjson import dump, scan
from metier.secret import workspace_secret
from metier.workspace import STATE_FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DECISIONS, OLDER_DECISIONS = "decisions.jsonl", "decisions.1.jsonl"
LOG, STATE, LOCK = "hook.log", "hook.state", "hook.lock"
FLAG, RESUMED = "monitor.flag", "monitor.resumed"
"""The kill switch is on; the time at which somebody turned it off."""
LARGEST_JOURNAL = 8_000_000
_LARGEST_LOG = 1_000_000
_NO_CODE_OF_THE_FOLDER = ("-P",)
"""Python must not import from the folder that it is started in: it may be anybody's."""
_AFTER_A_FAILURE = 60
"""Seconds after which a catalogue counts as stale when it could not be used."""
_WINDOW, _LEAST = 50, 20
"""The share of requests that inject is that of the last 50, once there are 20."""
_WINDOW_BYTES = 1_048_576


class Journal:
    """The files of one workspace that hooks write."""

    def __init__(self) -> None:
        self._workspace = ""
        self._folder = ""

    def enter(self, workspace: str) -> None:
        folder = os.path.join(workspace, STATE_FOLDER)
        self._workspace, self._folder = workspace, folder if os.path.isdir(folder) else ""

    # Decisions

    def keep(self, row: dict[str, Any]) -> None:
        """Append a decision; a full journal is put aside, and the one before it goes."""
        path = os.path.join(self._folder, DECISIONS)
        row["id"] = f"{os.urandom(2).hex()}-{int(row['at'] * 1e3):x}"
        _append(path, dump(row), LARGEST_JOURNAL, os.path.join(self._folder, OLDER_DECISIONS))

    def is_killed(self, most: float | None) -> bool:
        """Whether the kill switch is on; turned on here when too large a share injects."""
        flag = os.path.join(self._folder, FLAG)
        if os.path.exists(flag):
            return True
        if most is None:
            return False
        since = _time_of(os.path.join(self._folder, RESUMED))
        rows = self._latest(since)
        share = sum(row.get("injected") is True for row in rows) / max(1, len(rows))
        if len(rows) < _LEAST or share <= most:
            return False
        why = f"{share:.0%} of the last {len(rows)} requests injected, the limit is {most:.0%}"
        _append(flag, why, _LARGEST_LOG, "")
        self.note("kill switch", f"on: {why}; to undo: metier stats resume")
        return True

    def _latest(self, since: float) -> list[dict[str, Any]]:
        """The last decisions after a moment that could inject, at most as many as count."""
        path = os.path.join(self._folder, DECISIONS)
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except OSError:
            return []
        try:
            start = max(0, os.fstat(descriptor).st_size - _WINDOW_BYTES)
            lines = os.pread(descriptor, _WINDOW_BYTES, start).split(b"\n")
        finally:
            os.close(descriptor)
        found: list[dict[str, Any]] = []
        for line in reversed(lines[1:] if start else lines):
            row = _row(line)
            at = row.get("at")
            if row.get("mode") in ("soft", "on") and isinstance(at, int | float) and at > since:
                found.append(row)
                if len(found) == _WINDOW:
                    break
        return found

    def session_hash(self, session: str) -> str:
        """A conversation by a name that says nothing; the same for the same conversation."""
        return blake2b(session.encode(errors="replace"), digest_size=6).hexdigest()

    # Failures

    def fail(self, host: str, error: BaseException, milliseconds: float) -> None:
        """Log one line about a failure, and a row that counts it, if that can be done at all."""
        self.tell(host, error)
        try:
            if self._folder:
                self.keep(failed_row(host, type(error).__name__, milliseconds))
                self.refresh_if_stale(_AFTER_A_FAILURE)
        except (OSError, ValueError):
            pass

    def tell(self, host: str, error: BaseException) -> None:
        """Log one line about a failure."""
        self.note(host, f"{type(error).__name__}: {error}")

    def note(self, who: str, what: str) -> None:
        """Log one line, if that can be done at all."""
        line = f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {who}: {' '.join(what.split())[:500]}"
        for folder in (self._folder, _user_folder()):
            try:
                if folder:
                    os.makedirs(folder, exist_ok=True)
                    _append(os.path.join(folder, LOG), line, _LARGEST_LOG, "")
                    break
            except (OSError, ValueError):
                continue

    # The secret behind the marks around what is handed over

    def secret(self) -> bytes:
        return workspace_secret(self._folder)

    # A catalogue that may be stale

    def refresh_if_stale(self, after: int) -> None:
        """Have a detached process refresh the catalogue, one at a time, if that is due."""
        if not self._is_stale(after):
            return
        import fcntl

        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        lock = os.open(os.path.join(self._folder, LOCK), flags, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.set_inheritable(lock, True)  # the lock lives as long as that process
            self._spawn()
        except BlockingIOError:
            pass  # somebody is at it
        finally:
            os.close(lock)

    def _spawn(self) -> None:
        nothing = os.open(os.devnull, os.O_RDWR)
        os.posix_spawn(
            sys.executable,
            [
                sys.executable,
                *_NO_CODE_OF_THE_FOLDER,
                "-m",
                "metier",
                "hook",
                "refresh",
                "--root",
                self._workspace,
            ],
            {**os.environ, "METIER_OFFLINE": "1"},  # a prompt must not make anybody call anywhere
            file_actions=[(os.POSIX_SPAWN_DUP2, nothing, number) for number in (0, 1, 2)],
            setsid=True,
        )
        os.close(nothing)

    def _is_stale(self, after: int) -> bool:
        """Whether a folder or settings file has changed since, or the last look is too long ago."""
        path = os.path.join(self._folder, STATE)
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                watched = file.read().split("\n")
            looked = os.stat(path).st_mtime
        except OSError:
            return True
        if not 0 <= time.time() - looked < after:
            return True
        return any(_has_changed(line) for line in watched if line)


def failed_row(host: str, error: str, milliseconds: float) -> dict[str, Any]:
    """A request that came to nothing because something went wrong."""
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
        "error": error,
    }


def _time_of(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _has_changed(line: str) -> bool:
    """Whether a file or folder, given as `time path`, has another time now."""
    noted, _, path = line.partition(" ")
    try:
        return str(os.stat(path).st_mtime_ns) != noted
    except OSError:
        return noted != "-"


def _append(path: str, line: str, largest: int, older: str) -> None:
    """Append a line in one write; a file that has grown too large makes room first."""
    if _size_of(path) > largest:
        _make_room(path, older, largest)
    how = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path, how, 0o644)
    try:
        os.write(descriptor, f"{line}\n".encode(errors="replace"))
    finally:
        os.close(descriptor)


def _size_of(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _number_of(path: str) -> int:
    """Which file stands at a path; 0 for none."""
    try:
        return os.stat(path).st_ino
    except OSError:
        return 0


def _make_room(path: str, older: str, largest: int) -> None:
    """Put a file aside, or empty it; of several processes at once only one does."""
    import fcntl

    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return  # somebody was faster
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        is_the_same = _number_of(path) == os.fstat(descriptor).st_ino
        if is_the_same and os.fstat(descriptor).st_size > largest:
            if older:
                os.replace(path, older)
            else:
                os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _row(line: bytes) -> dict[str, Any]:
    try:
        value = scan(line.decode()) if line else None
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _user_folder() -> str:
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(state, "metier")
