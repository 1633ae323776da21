"""When what is old was last removed from the state of a workspace. Light: every refresh asks."""

import time

from metier.storage.room import Room

_STAMP = "pruned.state"
_DAY = 86_400.0


def last_pruned(room: Room) -> float | None:
    """When it was last done or announced; None if never."""
    try:
        return float(room.read(_STAMP, 100))
    except (OSError, ValueError):
        return None


def is_due(room: Room | None, now: float | None = None) -> bool:
    """Whether a day has passed since; never without a folder."""
    if room is None:
        return False
    last = last_pruned(room)
    return last is None or (time.time() if now is None else now) - last >= _DAY


def mark_pruned(room: Room, now: float) -> None:
    """Raises `OSError`."""
    room.write(_STAMP, f"{now:.0f}".encode())
