"""The trail of the walk that the catalog was last compared with."""

import json
from contextlib import suppress

from metier.errors import StoreError
from metier.index.store import Store
from metier.values.files import Trail

_END = "\0"
_KEPT = "SELECT key, found, paths, stamps, absent, links FROM trail"


def kept_trail(store: Store) -> Trail | None:
    """The stored trail, if it belongs to the catalog's content."""
    rows = store.rows(_KEPT)
    if not rows or not store.setting("counts"):
        return None
    key, found, paths, stamps, absent, links = rows[0]
    with store.checked():
        return Trail(key, found, paths.split(_END), stamps, json.loads(absent), json.loads(links))


def keep_trail(store: Store, trail: Trail, version: int) -> None:
    """Keep a trail, unless another process writes or has written since `version`."""
    row = (
        *(trail.key, trail.found, _END.join(trail.paths), trail.stamps),
        *(json.dumps(trail.absent), json.dumps(trail.links)),
    )
    with suppress(StoreError):
        if store.rows(_KEPT) == [row]:
            return
        with store.without_waiting(), store.transaction() as connection:
            if store.data_version() == version:
                connection.execute("DELETE FROM trail")
                connection.execute("INSERT INTO trail VALUES (?, ?, ?, ?, ?, ?)", row)
