"""What went wrong in hooks: `hook.log` of the state, read."""

from datetime import datetime
from typing import NamedTuple

from metier.storage.room import Room

LOG, STATE = "hook.log", "hook.state"
"""Lines of `time who: what`; a file that each refresh that ends well writes anew."""
_REFRESH = "refresh: "
_MOST_BYTES = 1 << 20


class Failure(NamedTuple):
    """A refresh that came to nothing."""

    at: float
    """Seconds since 1970."""
    what: str


def failed_refresh(room: Room, catalogue: Room | None = None) -> Failure | None:
    """The last refresh for hooks that failed; None when one has ended well since.

    `catalogue` is the room with the catalogue that hooks use, if that is another one.
    """
    for line in reversed(_last_lines(room)):
        failure = _failure(line)
        if failure:
            return failure if failure.at >= _refreshed(catalogue or room) else None
    return None


def _last_lines(room: Room) -> list[str]:
    """The lines at the end of the log; none when it cannot be read."""
    try:
        return room.tail(LOG, _MOST_BYTES)[0].decode(errors="replace").splitlines()
    except OSError:
        return []


def _failure(line: str) -> Failure | None:
    """What a line says about a refresh; None when it is about something else."""
    when, _, what = line.partition(" ")
    if not what.startswith(_REFRESH):
        return None
    try:
        return Failure(datetime.fromisoformat(when).timestamp(), what.removeprefix(_REFRESH))
    except (ValueError, OverflowError, OSError):
        return None


def _refreshed(room: Room) -> int:
    """The second of the last refresh that ended well: a line of the log knows no less."""
    info = room.info(STATE)
    return int(info.st_mtime) if info is not None else 0
