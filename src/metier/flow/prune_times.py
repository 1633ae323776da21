"""When what is old was last removed, and when that was announced. Light: every refresh asks."""

import time

from metier.storage.places import user_room
from metier.storage.room import Room

_STAMP = "pruned.state"
_ANNOUNCED = "pruning.told"
"""In the user's own state: it is announced once, not in each workspace."""
_DAY = 86_400.0


def is_announced() -> bool:
    return _moment(user_room(), _ANNOUNCED) is not None


def announce(now: float | None = None) -> None:
    """Record that it is announced. Raises `OSError`."""
    _write(user_room(), _ANNOUNCED, now)


def is_due(room: Room, now: float | None = None) -> bool:
    """Whether a day has passed since it was announced, and since it was done in this folder."""
    now = time.time() if now is None else now
    announced, last = _moment(user_room(), _ANNOUNCED), _moment(room, _STAMP)
    return announced is not None and now - announced >= _DAY and now - (last or 0.0) >= _DAY


def mark_pruned(room: Room, now: float) -> None:
    """Raises `OSError`."""
    _write(room, _STAMP, now)


def _write(room: Room, name: str, now: float | None) -> None:
    room.write(name, f"{time.time() if now is None else now:.0f}".encode())


def _moment(room: Room, name: str) -> float | None:
    try:
        return float(room.read(name, 100))
    except (OSError, ValueError):
        return None
