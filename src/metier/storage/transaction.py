"""Several files written and folders renamed together: all of it, or nothing.

A journal in the state folder says what was begun. After a crash `finish` completes it.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from metier.core.paths import is_inside
from metier.storage.atomic_files import write_atomically
from metier.storage.room import Room, read_regular

JOURNAL = "repairs.json"
LARGEST_FILE = 1 << 20


class Write(NamedTuple):
    path: str
    """Before any folder is renamed."""
    before: bytes
    after: bytes


class Move(NamedTuple):
    old: str
    new: str


def commit(writes: Sequence[Write], moves: Sequence[Move], journal: Room) -> None:
    """Write the files, then rename the folders. Raises `OSError`, and everything is as before.

    A file that changed meanwhile, or a new folder that exists, is an error. A folder may get the
    name that one before it gives up.
    """
    for write in writes:
        if _content(write.path) != write.before:
            raise OSError(None, "it changed in the meantime", write.path)
    given_up: set[str] = set()
    for move in moves:
        if move.new not in given_up:
            _check_free(move)
        given_up.add(move.old)
    journal.write(JOURNAL, json.dumps(_record(writes, moves)).encode())
    written: list[Write] = []
    renamed: list[Move] = []
    try:
        for write in writes:
            write_atomically(write.path, write.after)
            written.append(write)
        for move in moves:
            _check_free(move)
            os.rename(move.old, move.new)
            renamed.append(move)
    except BaseException:
        _undo(written, renamed)
        raise
    finally:
        with suppress(OSError):
            journal.remove(JOURNAL)


def finish(journal: Room, workspace: str) -> bool:
    """Complete what a killed process began in a workspace; whether there was anything.

    Files that changed since then are left alone.
    """
    try:
        record = json.loads(journal.read(JOURNAL))
    except (OSError, ValueError):
        return False
    moves = [Move(*pair) for pair in record["moves"]]
    for row in record["writes"]:
        with suppress(OSError):
            _finish_write(row, moves, workspace)
    for move in moves:
        with suppress(OSError):
            if is_inside(move.new, workspace) and os.path.isdir(move.old):
                _check_free(move)
                os.rename(move.old, move.new)
    with suppress(OSError):
        journal.remove(JOURNAL)
    return True


def _finish_write(row: dict[str, Any], moves: Sequence[Move], workspace: str) -> None:
    path = row["path"]
    for move in moves:
        if not os.path.lexists(path) and is_inside(path, move.old):
            path = move.new + path[len(move.old) :]
    if not is_inside(os.path.realpath(path), workspace):
        return
    content = _content(path)
    if _digest(content) == row["before"]:
        end = row["start"] + row["removed"]
        text = bytes.fromhex(row["text"])
        write_atomically(path, content[: row["start"]] + text + content[end:])


def _record(writes: Sequence[Write], moves: Sequence[Move]) -> dict[str, Any]:
    return {
        "writes": [{"path": one.path, "before": _digest(one.before), **_splice(one)}
                   for one in writes],
        "moves": [list(move) for move in moves],
    }  # fmt: skip


def _splice(write: Write) -> dict[str, Any]:
    """What differs: where it starts, how many bytes go, and the bytes that come."""
    before, after = write.before, write.after
    start = _shared(before, after)
    tail = _shared(before[start:][::-1], after[start:][::-1])
    return {
        "start": start,
        "removed": len(before) - tail - start,
        "text": after[start : len(after) - tail].hex(),
    }


def _shared(first: bytes, other: bytes) -> int:
    """The length of the start that two texts share."""
    length = min(len(first), len(other))
    differing = (at for at in range(length) if first[at] != other[at])
    return next(differing, length)


def _undo(written: Sequence[Write], renamed: Sequence[Move]) -> None:
    for move in reversed(renamed):
        with suppress(OSError):
            os.rename(move.new, move.old)
    for write in written:
        with suppress(OSError):
            write_atomically(write.path, write.before)


def _check_free(move: Move) -> None:
    """Raise `OSError` if the new name is taken, unless it is the folder in another case."""
    if os.path.lexists(move.new) and not os.path.samefile(move.old, move.new):
        raise OSError(None, "the new folder exists", move.new)


def _content(path: str) -> bytes:
    return read_regular(path, LARGEST_FILE, links=False)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
