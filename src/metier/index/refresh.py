"""One incremental refresh: what is on disk → what is in the catalog, in one transaction.

Light: a refresh with nothing to write never imports `metier.index.update`.
"""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from metier.core.process import without_garbage_collection
from metier.errors import DamagedError
from metier.index.file_list import Listing, lines_of
from metier.index.store import Store
from metier.index.trail import keep_trail
from metier.storage.database import MEANINGLESS
from metier.values.files import KINDS, Kind, Reading
from metier.values.loads import Changes

OnProgress = Callable[[int, int], None]
"""Called with the number of files read and to read."""


def refresh_documents(
    store: Store,
    read: Callable[[], Reading],
    *,
    kinds: Sequence[Kind] = KINDS,
    on_progress: OnProgress | None = None,
) -> Changes:
    """Bring the catalog up to what is on disk, in one transaction or not at all.

    Nothing is written when nothing has changed. `read` lists the disk again if another
    process has written in between. A damaged catalog is rebuilt.
    """
    with without_garbage_collection():
        if not store.is_damaged:
            with suppress(DamagedError, *MEANINGLESS):
                return _refresh(store, read, kinds, on_progress)
        store.start_over()
        return _refresh(store, read, kinds, on_progress)


def _refresh(
    store: Store,
    read: Callable[[], Reading],
    kinds: Sequence[Kind],
    on_progress: OnProgress | None,
) -> Changes:
    version = store.data_version()
    started = time.time_ns()
    reading = read()
    if reading.followed is not None:
        return _changes(store, kinds, unchanged=reading.followed.found)
    lines = lines_of(reading.found)
    known = Listing(store, kinds)
    is_built = store.setting("counts") != ""
    if is_built and known.equals(reading.fingerprint, lines):
        if reading.trail is not None and (trail := reading.trail(started)) is not None:
            keep_trail(store, trail, version)
        return _changes(store, kinds, unchanged=len(lines))
    from metier.index.update import Update  # few refreshes find a change

    with store.transaction() as connection:
        if store.data_version() != version:
            started = time.time_ns()
            reading = read()
            if reading.followed is not None:
                return _changes(store, kinds, unchanged=reading.followed.found)
            lines = lines_of(reading.found)
            known = Listing(store, kinds)
        update = Update(connection, reading, lines, known, started)
        update.apply(on_progress)
    return _changes(
        store,
        kinds,
        added=update.added,
        changed=update.changed,
        removed=update.removed,
        unchanged=len(lines) - update.added - update.changed,
    )


def _changes(store: Store, kinds: Sequence[Kind], **changes: int) -> Changes:
    counts = json.loads(store.setting("counts"))
    return Changes(
        included={kind: counts[kind]["active"] + counts[kind]["shadowed"] for kind in kinds},
        excluded=sum(counts[kind]["excluded"] for kind in kinds),
        shadowed=sum(counts[kind]["shadowed"] for kind in kinds),
        **changes,
    )
