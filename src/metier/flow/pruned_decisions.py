"""Forget decisions of hooks that are older than a moment, in the log on this machine."""

import os
from contextlib import suppress

from metier.flow.hook_log import decision_rows, row_of
from metier.storage.hook_files import DECISIONS, OLDER_DECISIONS
from metier.storage.room import Room


def old_decisions(room: Room, before: float) -> int:
    """How many there are. Raises `OSError`."""
    return sum(row.at < before for row in decision_rows(room))


def forget_decisions(room: Room, before: float) -> int:
    """Delete them; how many. Raises `OSError`.

    Hooks append to the newer file without a lock, so it is renamed before it is read; the next
    hook begins a new one.
    """
    forgotten = old_decisions(room, before)
    if not forgotten:
        return 0
    lock = room.lock(f"{DECISIONS}.lock")
    try:
        lines = _lines(room)
        with suppress(FileNotFoundError):
            room.rename(DECISIONS, OLDER_DECISIONS)
            lines += _lines(room)
        room.write(OLDER_DECISIONS, b"".join(one for one in lines if not _is_old(one, before)))
    finally:
        os.close(lock)
    return forgotten


def _lines(room: Room) -> list[bytes]:
    """The lines of the older file."""
    try:
        return room.read(OLDER_DECISIONS).splitlines(keepends=True)
    except FileNotFoundError:
        return []


def _is_old(line: bytes, before: float) -> bool:
    row = row_of(line)
    return row is not None and row.at < before
