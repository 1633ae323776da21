"""The secret of a workspace: marks around injected text are made with it. Light."""

from __future__ import annotations

import os

from metier.storage.room import Room

FILE = "secret.state"
_BYTES = 32
_PASSING = os.urandom(_BYTES)


def workspace_secret(room: Room | None) -> bytes:
    """The secret in a room, made when first asked for; one of this process where none is kept."""
    if room is None:
        return _PASSING
    try:
        secret = _read(room)
        if len(secret) != _BYTES:
            secret = _made(room)
    except OSError:
        return _PASSING
    return secret if len(secret) == _BYTES else _PASSING


def passing_secret() -> bytes:
    """A secret for as long as this process lives."""
    return _PASSING


def _read(room: Room) -> bytes:
    try:
        return room.read(FILE, _BYTES)
    except OSError:
        return b""


def _made(room: Room) -> bytes:
    """A new secret, or the one that another process has just made."""
    lock = room.lock(f"{FILE}.lock")
    try:
        if len(_read(room)) != _BYTES:
            room.write(FILE, os.urandom(_BYTES))
        return _read(room)
    finally:
        os.close(lock)
