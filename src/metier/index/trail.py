"""The trail of the walk that the catalog was last compared with."""

import json
import sqlite3
from contextlib import suppress

from metier.errors import StoreError
from metier.index.store import Store
from metier.values.listings import Trail

_KEPT = "SELECT key, found, absent, links FROM trail"
_PARTS = "SELECT folder, paths, times FROM trail_part ORDER BY rowid"


def kept_trail(store: Store) -> Trail | None:
    """The stored trail, if it belongs to the catalog's content."""
    rows = store.rows(_KEPT)
    if not rows or not store.setting("counts"):
        return None
    key, found, absent, links = rows[0]
    with store.checked():
        return Trail(key, found, store.rows(_PARTS), json.loads(absent), json.loads(links))


def keep_trail(store: Store, trail: Trail, version: int) -> None:
    """Keep a trail, unless another process writes or has written since `version`."""
    row = (trail.key, trail.found, json.dumps(trail.absent), json.dumps(trail.links))
    with suppress(StoreError):
        if store.rows(_KEPT) == [row] and store.rows(_PARTS) == trail.parts:
            return
        with store.without_waiting(), store.transaction() as connection:
            if store.data_version() == version:
                forget_trail(connection)
                connection.execute("INSERT INTO trail VALUES (?, ?, ?, ?)", row)
                connection.executemany("INSERT INTO trail_part VALUES (?, ?, ?)", trail.parts)


def forget_trail(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM trail")
    connection.execute("DELETE FROM trail_part")
