"""One incremental refresh: what is on disk → what is in the catalogue, in one transaction."""

import gc
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

from metier.index.settle import settle
from metier.index.store import Store
from metier.values.files import KINDS, Entry, Found, Kind, Reading
from metier.values.outcomes import Changes, Issue

OnProgress = Callable[[int, int], None]
"""Called with files read and files to read."""

_FRESH_NS = 2_000_000_000
"""A file changed this shortly before it was listed may change again within one clock tick."""
_BATCH = 250
"""Files read between two visits to the database and two calls of `OnProgress`."""
_INSERT = """
    INSERT OR REPLACE INTO document (
        key, kind, path, rank, size, mtime_ns, refused, state, reason, source, file, sha256,
        handle, name, description, capabilities, data, issues
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_IN_COLUMNS_OF_THEIR_OWN = frozenset({"name", "description"})


def refresh_documents(
    store: Store,
    read: Callable[[], Reading],
    *,
    kinds: Sequence[Kind] = KINDS,
    on_progress: OnProgress | None = None,
) -> Changes:
    """Bring the catalogue up to what is on disk, in one transaction or not at all.

    Nothing is written when nothing has changed. `read` lists the disk again if another
    process has written in between.
    """
    with _without_garbage_collection():
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
    known = _known_files(store, reading, kinds)
    if len(known) == len(reading.found) and known.keys() >= set(map(_stamp, reading.found)):
        return _changes(store, kinds, unchanged=len(reading.found))
    with store.transaction() as connection:
        if store.data_version() != version:
            started = time.time_ns()
            reading = read()
            known = _known_files(store, reading, kinds)
        update = _Update(connection, reading, known, started)
        update.apply(on_progress)
    return _changes(
        store,
        kinds,
        added=update.added,
        changed=update.changed,
        removed=update.removed,
        unchanged=len(reading.found) - update.added - update.changed,
    )


_Stamp = tuple[Any, ...]
_stamp = itemgetter(slice(6))
_dump = json.JSONEncoder(separators=(",", ":")).encode


def _known_files(store: Store, reading: Reading, kinds: Sequence[Kind]) -> dict[_Stamp, int]:
    """The stamp of every file in the catalogue, with the key of its row.

    When the reader has changed the stamps are such as no file has: all must be read again.
    """
    marks = ", ".join("?" * len(kinds))
    rows = store.rows(
        f"SELECT kind, path, rank, size, mtime_ns, refused, key FROM document"
        f" WHERE kind IN ({marks})",
        tuple(kinds),
    )
    if store.setting("reader") != reading.fingerprint:
        return {(*row[:2], -1, -1, -1, ""): row[6] for row in rows}
    return {row[:6]: row[6] for row in rows}


class _Update:
    """One refresh that has something to write."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        reading: Reading,
        known: dict[_Stamp, int],
        started: int,
    ) -> None:
        self.added = self.changed = self.removed = 0
        self._connection = connection
        self._reading = reading
        self._known = known
        self._trusted_before = started - _FRESH_NS
        self._next_key: int = connection.execute(
            "SELECT 1 + coalesce(max(key), 0) FROM document"
        ).fetchone()[0]
        self._handles: set[tuple[Kind, str]] = set()
        """Kind and handle of every document read so far."""
        self._groups: set[tuple[Kind, str]] = set()
        """Those for which more than one document may compete now."""
        self._outdated: dict[tuple[str, str], tuple[int, str]] = {}
        """Key and sha256 of each row that is about to change, by kind and path."""
        self._capabilities: list[tuple[str, int]] = []

    def apply(self, on_progress: OnProgress | None) -> None:
        to_read = [found for found in self._reading.found if found[:6] not in self._known]
        self._drop_outdated({_at(found) for found in to_read})
        for start in range(0, len(to_read), _BATCH):
            batch = to_read[start : start + _BATCH]
            rows = [self._row(self._reading.read(found)) for found in batch]
            self._connection.executemany(_INSERT, rows)
            if on_progress is not None:
                on_progress(start + len(batch), len(to_read))
        self._connection.executemany(
            "INSERT OR IGNORE INTO skill_capability VALUES (?, ?)", self._capabilities
        )
        settle(self._connection, self._groups)
        self._remember("reader", self._reading.fingerprint)
        self._remember("counts", _dump(_count(self._connection)))

    def _remember(self, name: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, value))

    def _drop_outdated(self, changed: set[tuple[str, str]]) -> None:
        """Forget what hangs on rows whose file has changed, and the rows of files that are gone."""
        if len(self._known) == len(self._reading.found) - len(changed):
            return
        present = set(map(_stamp, self._reading.found))
        for stamp in self._known.keys() - present:
            at = stamp[:2]
            self._drop(at, self._known[stamp], gone=at not in changed)

    def _drop(self, at: tuple[Kind, str], key: int, *, gone: bool) -> None:
        handle, sha256 = self._connection.execute(
            "SELECT handle, sha256 FROM document WHERE key = ?", (key,)
        ).fetchone()
        self._groups.add((at[0], handle))
        self._connection.execute("DELETE FROM skill_capability WHERE key = ?", (key,))
        if gone:
            self._connection.execute("DELETE FROM document WHERE key = ?", (key,))
            self.removed += 1
        else:
            self._outdated[at] = key, sha256

    def _row(self, entry: Entry) -> tuple[Any, ...]:
        key = self._key(entry)
        found, document = entry.found, entry.document
        settled = (
            *(key, found.kind, found.path, found.rank, found.size, self._mtime(entry)),
            *(found.refused, "excluded" if entry.reason else "active", entry.reason),
            *(found.source, found.file, entry.sha256),
        )
        issues = _dump_issues(entry.issues) if entry.issues else "[]"
        if document is None:
            return (*settled, "", "", "", "[]", "{}", issues)
        capabilities = document.provides
        self._capabilities += [(capability, key) for capability in capabilities]
        self._compete((found.kind, document.handle))
        data = {
            key: value
            for key, value in document.data.items()
            if key not in _IN_COLUMNS_OF_THEIR_OWN
        }
        return (
            *settled,
            *(document.handle, document.name, document.description),
            _dump(capabilities) if capabilities else "[]",
            _dump(data) if data else "{}",
            issues,
        )

    def _compete(self, handle: tuple[Kind, str]) -> None:
        """Note whom a document competes with; alone in a new catalogue it has no rival."""
        if self._known or handle in self._handles:
            self._groups.add(handle)
        self._handles.add(handle)

    def _mtime(self, entry: Entry) -> int:
        """-1, which no listing gives, for a file that the next refresh must look at again."""
        found = entry.found
        steady = found.mtime_ns < self._trusted_before and entry.reason != "unreadable"
        return found.mtime_ns if found.refused or steady else -1

    def _key(self, entry: Entry) -> int:
        outdated = self._outdated.get(_at(entry.found))
        if outdated is not None:
            key, sha256 = outdated
            self.changed += sha256 != entry.sha256
            return key
        self.added += 1
        self._next_key += 1
        return self._next_key - 1


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Listing and reading leave no cycles; the collector would only walk what is alive."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _at(found: Found) -> tuple[str, str]:
    return found.kind, found.path


def _dump_issues(issues: Sequence[Issue]) -> str:
    return _dump([[one.code, one.message, one.line, one.column, one.hint] for one in issues])


def _count(connection: sqlite3.Connection) -> dict[str, dict[str, int]]:
    """How many documents of each kind are usable, and how many are left out."""
    counts: dict[str, dict[str, int]] = {kind: {"included": 0, "excluded": 0} for kind in KINDS}
    for kind, is_excluded, count in connection.execute(
        "SELECT kind, reason != '', count(*) FROM document GROUP BY 1, 2"
    ):
        counts[kind]["excluded" if is_excluded else "included"] = count
    return counts


def _changes(store: Store, kinds: Sequence[Kind], **changes: int) -> Changes:
    counts = json.loads(store.setting("counts"))
    return Changes(
        included={kind: counts[kind]["included"] for kind in kinds},
        excluded=sum(counts[kind]["excluded"] for kind in kinds),
        **changes,
    )
