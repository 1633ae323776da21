"""Send decisions of hooks from the local log to shared state.

Hooks write to local files only. What was sent is remembered beside the log, so that each line is
sent once; a line that is sent again is not stored again.
"""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import blake2b
from typing import BinaryIO, NamedTuple

from metier.config import Config
from metier.errors import MetierError
from metier.flow.hook_log import LONGEST_LINE, DecisionRow, row_of
from metier.flow.shared import SharedState
from metier.flow.state_settings import StateSettings, state_settings
from metier.storage.hook_files import DECISIONS, OLDER_DECISIONS
from metier.storage.room import Room

FILE = "shipped.state"
LOCK = "shipped.lock"
_BATCH = 500
_LARGEST = 4096


class Sent(NamedTuple):
    """How much of the log was sent."""

    target: str = ""
    """A digest of the address, without secrets, and the namespace."""
    file: str = ""
    """A digest of the first line of the file that was read last."""
    offset: int = 0


def ship_from(config: Config, workspace: str, room: Room) -> int:
    """Send new decisions if the settings name a database; how many. Failures are ignored."""
    try:
        settings = state_settings(config, workspace)
        if settings is None or next(_unsent(room, _sent(room, settings)), None) is None:
            return 0
        shared = SharedState(settings)
    except (MetierError, OSError):
        return 0
    try:
        return ship_decisions(shared, room)
    finally:
        shared.close()


def ship_decisions(shared: SharedState, room: Room) -> int:
    """Send new decisions; how many were new there. After a failure the next call sends the rest."""
    try:
        lock = room.lock(LOCK, wait=False)
    except OSError:
        return 0  # another process is sending them
    try:
        return send_decisions(shared, room, _sent(room, shared.settings))
    except (MetierError, OSError):
        return 0
    finally:
        os.close(lock)


def send_decisions(shared: SharedState, room: Room, sent: Sent = Sent()) -> int:  # noqa: B008  # immutable
    """Send what follows `sent`; how many were new there. Raises `StoreError` and `OSError`."""
    target, new = _target(shared.settings), 0
    batch: list[DecisionRow] = []
    for row, file, offset in _unsent(room, sent):
        batch += [row] if row is not None else []
        sent = Sent(target, file, offset)
        if len(batch) == _BATCH:
            new += shared.decisions.add(batch)
            _remember(room, sent)
            batch = []
    if sent.target == target and sent.file:
        new += shared.decisions.add(batch) if batch else 0
        _remember(room, sent)
    return new


def _target(settings: StateSettings) -> str:
    return _digest(f"{settings.address} {settings.namespace}".encode())


def _digest(raw: bytes) -> str:
    return blake2b(raw, digest_size=16).hexdigest()


def _sent(room: Room, settings: StateSettings) -> Sent:
    """What was sent to this database and namespace."""
    try:
        target, file, offset = json.loads(room.read(FILE, _LARGEST))
    except (OSError, ValueError, TypeError):
        return Sent()
    is_same = target == _target(settings) and isinstance(offset, int)
    return Sent(target, str(file), offset) if is_same else Sent()


def _remember(room: Room, sent: Sent) -> None:
    room.write(FILE, json.dumps(sent).encode())


def _unsent(room: Room, sent: Sent) -> Iterator[tuple[DecisionRow | None, str, int]]:
    """Each line after `sent`: its row (None if invalid), its file, and where the next begins."""
    with ExitStack() as stack:
        newer = _opened(room, DECISIONS, stack)  # first: it may be renamed
        older = _opened(room, OLDER_DECISIONS, stack)
        if newer and older and os.path.sameopenfile(newer.fileno(), older.fileno()):
            older = None
        files = [(_first_line(file), file) for file in (older, newer) if file is not None]
        known = [digest for digest, _ in files]
        start = known.index(sent.file) if sent.file in known else 0
        for digest, file in files[start:]:
            file.seek(sent.offset if digest == sent.file else 0)
            for row in _rows(file):
                yield row, digest, file.tell()


def _opened(room: Room, name: str, stack: ExitStack) -> BinaryIO | None:
    try:
        return stack.enter_context(open(room.open(name, os.O_RDONLY), "rb"))
    except FileNotFoundError:
        return None


def _first_line(file: BinaryIO) -> str:
    return _digest(file.readline(LONGEST_LINE))


def _rows(file: BinaryIO) -> Iterator[DecisionRow | None]:
    """The rows of complete lines; a line that is being written waits for the next time."""
    while line := file.readline(LONGEST_LINE):
        if not line.endswith(b"\n") and len(line) < LONGEST_LINE:
            return
        yield row_of(line)
