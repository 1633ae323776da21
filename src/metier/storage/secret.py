"""The secret of a workspace, used for the markers around injected text. Light."""

from __future__ import annotations

import os

from metier.storage.room import Room

FILE = "secret.state"
_BYTES = 32
_TEMPORARY = os.urandom(_BYTES)


def workspace_secret(room: Room | None) -> bytes:
    """The secret in a room, created on first use; without a room, that of this process."""
    if room is None:
        return _TEMPORARY
    try:
        secret = _read(room) or _created(room)
    except OSError:
        return _TEMPORARY
    return secret or _TEMPORARY


def temporary_secret() -> bytes:
    return _TEMPORARY


def _read(room: Room) -> bytes:
    """The secret; empty if it is missing or damaged."""
    try:
        secret = room.read(FILE, _BYTES)
    except OSError:
        return b""
    return secret if len(secret) == _BYTES else b""


def _created(room: Room) -> bytes:
    """A new secret, or the secret that another process has just created."""
    lock = room.lock(f"{FILE}.lock")
    try:
        if not _read(room):
            room.write(FILE, os.urandom(_BYTES))
        return _read(room)
    finally:
        os.close(lock)
