"""State files that hooks and refreshes share: who may speak, what to watch, what failed. Light.

A refresh compares digests and records what it saw: `inode size times path` of each file that the
trust depends on. A hook compares these, and trusts nothing when any of them differs.
"""

from __future__ import annotations

import os
import time

from metier.storage.room import Room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

SPEAK, STATE, LOG = "speak.trust", "hook.state", "hook.log"
"""The trusted files; what is watched, written by each refresh that succeeds; `time who: what`."""
DECISIONS, OLDER_DECISIONS = "decisions.jsonl", "decisions.1.jsonl"
FLAG, RESUMED = "monitor.flag", "monitor.resumed"
"""The kill switch is on; the time at which it was last turned off."""
LARGEST_LOG = 1_000_000
_LARGEST = 1 << 20
MOST = 2_000
"""Files that are checked with every prompt."""


def may_speak(room: Room, workspace: str) -> bool:
    """Whether the user lets this workspace's text into prompts, and nothing has changed since."""
    try:
        lines = room.read(SPEAK, _LARGEST).decode(errors="surrogateescape").split("\n")
        if os.stat(workspace).st_uid not in (0, os.geteuid()) and "safe" not in lines[0]:
            return False
    except OSError:
        return False
    return all(stamp_of(line.partition("\t")[2]) == line for line in lines[1:] if line)


def stamps_of(paths: Iterable[str]) -> list[str]:
    """Raises `ValueError` for too many files to check with every prompt."""
    lines = [stamp_of(path) for path in dict.fromkeys(paths) if "\n" not in path]
    if len(lines) > MOST:
        raise ValueError(f"its trust depends on {len(lines)} files, hooks check {MOST} at most")
    return lines


def allow(room: Room, stamps: Iterable[str], *, is_safe: bool = False) -> None:
    """Record that the workspace may speak as long as these stamps hold."""
    text = "\n".join(["safe" if is_safe else "own", *stamps])
    room.write(SPEAK, text.encode(errors="surrogateescape"))


def forbid(room: Room) -> None:
    try:  # noqa: SIM105  # a hook does not load contextlib
        room.remove(SPEAK)
    except OSError:
        pass


def link_stamp(path: str) -> str:
    """The same of a link itself, if it is one."""
    return stamp_of(path, follow=False)


def stamp_of(path: str, *, follow: bool = True) -> str:
    try:
        info = os.stat(path, follow_symlinks=follow)
    except OSError:
        return f"-\t{path}"
    times = f"{info.st_mtime_ns} {info.st_ctime_ns}"
    return f"{info.st_dev} {info.st_ino} {info.st_size} {times}\t{path}"


def log(rooms: Iterable[Room], who: str, what: str) -> None:
    """Add a line to the log of the first of these rooms that can be written, if any."""
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {who}: {' '.join(what.split())[:500]}\n"
    for room in rooms:
        try:
            room.append(LOG, line.encode(errors="replace"), LARGEST_LOG)
            return
        except (OSError, ValueError):
            continue
