"""One incremental refresh: what is on disk → what is in the catalogue, in one transaction."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from metier.core.process import without_garbage_collection
from metier.core.text import routing_text
from metier.errors import DamagedError
from metier.index.cards import CardRows
from metier.index.postings import Postings
from metier.index.settle import settle
from metier.index.store import Store
from metier.index.trail import keep_trail
from metier.storage.database import MEANINGLESS
from metier.values.files import KINDS, Entry, Found, Kind, Reading
from metier.values.outcomes import Changes, Issue

if TYPE_CHECKING:
    from metier.values.documents import Card, Document

OnProgress = Callable[[int, int], None]
"""Called with files read and files to read."""

_FRESH_NS = 2_000_000_000
"""A file changed this shortly before it was listed may change again within one clock tick."""
_BATCH = 250
"""Files read between two visits to the database and two calls of `OnProgress`."""
_INSERT = """
    INSERT OR REPLACE INTO document (
        key, kind, path, rank, state, reason, source, file, sha256,
        handle, name, description, capabilities, data, issues, origin, plugin, when_to_use, manual
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_IN_COLUMNS_OF_THEIR_OWN = frozenset({"name", "description"})
_LINE_END = "\0"
_At = tuple[str, str]
"""Kind and path: what a file is known by."""
_dump = json.JSONEncoder(separators=(",", ":")).encode


def refresh_documents(
    store: Store,
    read: Callable[[], Reading],
    *,
    kinds: Sequence[Kind] = KINDS,
    on_progress: OnProgress | None = None,
) -> Changes:
    """Bring the catalogue up to what is on disk, in one transaction or not at all.

    Nothing is written when nothing has changed. `read` lists the disk again if another
    process has written in between. A damaged catalogue is built anew.
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
    lines = _lines(reading.found)
    known = _Listing(store, kinds)
    is_built = store.setting("counts") != ""
    if is_built and known.reader == reading.fingerprint and known.text == _LINE_END.join(lines):
        if reading.trail is not None and (trail := reading.trail(started)) is not None:
            keep_trail(store, trail, version)
        return _changes(store, kinds, unchanged=len(lines))
    with store.transaction() as connection:
        if store.data_version() != version:
            started = time.time_ns()
            reading = read()
            if reading.followed is not None:
                return _changes(store, kinds, unchanged=reading.followed.found)
            lines = _lines(reading.found)
            known = _Listing(store, kinds)
        update = _Update(connection, reading, lines, known, started)
        update.apply(on_progress)
    return _changes(
        store,
        kinds,
        added=update.added,
        changed=update.changed,
        removed=update.removed,
        unchanged=len(lines) - update.added - update.changed,
    )


def _lines(found: Sequence[Found]) -> list[str]:
    """All that tells one state of a file from another, in one line that ends with its path."""
    return [
        f"{one.kind} {one.rank} {one.size} {one.mtime_ns} {one.ctime_ns} {one.refused}"
        f" {one.plugin} {one.path}"
        for one in found
    ]


def _at_of(line: str) -> _At:
    kind, *_, path = line.split(" ", 7)
    return kind, path


class _Listing:
    """The files that the catalogue was built from: one line each, as they were then."""

    def __init__(self, store: Store, kinds: Sequence[Kind]) -> None:
        self.kinds = kinds
        self.reader = store.setting("reader")
        self.text = "".join(row[0] for row in store.rows("SELECT text FROM listing"))
        self.others: list[str] = []
        """Lines of kinds that are not asked for."""
        if len(kinds) < len(KINDS):
            all_lines = self.lines()
            self.others = [line for line in all_lines if line.partition(" ")[0] not in kinds]
            own = [line for line in all_lines if line.partition(" ")[0] in kinds]
            self.text = _LINE_END.join(own)

    def lines(self) -> list[str]:
        return self.text.split(_LINE_END) if self.text else []


class _Update:
    """One refresh that has something to write."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        reading: Reading,
        lines: list[str],
        known: _Listing,
        started: int,
    ) -> None:
        self.added = self.changed = self.removed = 0
        self._connection = connection
        self._reading = reading
        self._lines = lines
        self._known = known
        self._trusted_before = started - _FRESH_NS
        self._next_key: int = connection.execute(
            "SELECT 1 + coalesce(max(key), 0) FROM document"
        ).fetchone()[0]
        self._was_empty = self._next_key == 1
        self._handles: set[tuple[Kind, str]] = set()
        """Kind and handle of every document read so far."""
        self._groups: set[tuple[Kind, str]] = set()
        """Those for which more than one document may compete now."""
        self._outdated: dict[_At, tuple[int, str]] = {}
        """Key and sha256 of each row that is about to change."""
        self._unsteady: set[_At] = set()
        """Files that the next refresh must look at again."""
        self._capabilities: list[tuple[str, int]] = []
        self._postings = Postings(connection)
        self._cards = CardRows(connection)
        from metier.index.stems import StemPostings  # a refresh with nothing to do needs no stemmer

        self._stems = StemPostings(connection)

    def apply(self, on_progress: OnProgress | None) -> None:
        same_reader = self._known.reader == self._reading.fingerprint
        known = set(self._known.lines()) if same_reader else set()
        files = list(zip(self._reading.found, self._lines, strict=True))
        to_read = [found for found, line in files if line not in known]
        stale = map(_at_of, known.difference(self._lines)) if same_reader else self._all_rows()
        if not same_reader:
            self._stems.remove_all()
        self._drop(stale, {_at(found) for found in to_read})
        for start in range(0, len(to_read), _BATCH):
            batch = to_read[start : start + _BATCH]
            rows = [self._row(self._reading.read(found)) for found in batch]
            self._connection.executemany(_INSERT, rows)
            if on_progress is not None:
                on_progress(start + len(batch), len(to_read))
        self._connection.executemany(
            "INSERT OR IGNORE INTO skill_capability VALUES (?, ?)", self._capabilities
        )
        self._postings.write()
        self._stems.write_with_new()
        settle(self._connection, self._groups)
        self._cards.write()
        self._remember("reader", self._reading.fingerprint)
        self._connection.execute("DELETE FROM trail")
        self._connection.execute("DELETE FROM listing")
        listing = _LINE_END.join([*self._final_lines(), *self._known.others])
        self._connection.execute("INSERT INTO listing VALUES (?)", (listing,))
        self._remember("counts", _dump(_count(self._connection)))

    def _remember(self, name: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, value))

    def _final_lines(self) -> list[str]:
        """The listing to compare the next one with; no listing gives a time of -1."""
        if not self._unsteady:
            return self._lines
        return _lines(
            [
                found._replace(mtime_ns=-1) if _at(found) in self._unsteady else found
                for found in self._reading.found
            ]
        )

    def _all_rows(self) -> list[_At]:
        marks = ", ".join("?" * len(self._known.kinds))
        return self._connection.execute(
            f"SELECT kind, path FROM document WHERE kind IN ({marks})", tuple(self._known.kinds)
        ).fetchall()

    def _drop(self, stale: Iterable[_At], changed: set[_At]) -> None:
        """Note the rows whose file has changed; remove the rows of files that are gone."""
        for at in stale:
            row = self._connection.execute(
                "SELECT key, handle, sha256, name, description, when_to_use FROM document"
                " WHERE kind = ? AND path = ?",
                at,
            ).fetchone()
            if row is None:
                continue
            key, handle, sha256, name, description, when_to_use = row
            self._groups.add((cast(Kind, at[0]), handle))
            if at[0] == "ability":
                self._postings.remove(key)
            elif at[0] == "card":
                self._cards.remove(key)
            elif at[0] == "skill":
                self._stems.remove(key, name, routing_text(description, when_to_use), at[1])
            if at in changed:
                self._outdated[at] = key, sha256
            else:
                self._connection.execute("DELETE FROM document WHERE key = ?", (key,))
                self.removed += 1

    def _row(self, entry: Entry) -> tuple[Any, ...]:
        key = self._key(entry)
        found, document = entry.found, entry.document
        settled = (
            *(key, found.kind, found.path, found.rank),
            *("excluded" if entry.reason else "active", entry.reason),
            *(found.source, found.file, entry.sha256),
        )
        if not self._is_steady(entry):
            self._unsteady.add(_at(found))
        issues = _dump_issues(entry.issues) if entry.issues else "[]"
        if document is None:
            return (*settled, "", "", "", "[]", "{}", issues, found.origin, "", "", False)
        capabilities = entry.capabilities
        self._capabilities += [(capability, key) for capability in capabilities]
        self._postings.add(key, entry.words)
        if found.kind == "card" and not entry.reason:
            self._cards.add(key, cast("Card", document), entry.handed)
        self._compete((found.kind, entry.handle))
        data = {
            key: value
            for key, value in document.data.items()
            if key not in _IN_COLUMNS_OF_THEIR_OWN
        }
        return (
            *settled,
            *(entry.handle, document.name, document.description),
            _dump(capabilities) if capabilities else "[]",
            _dump(data) if data else "{}",
            issues,
            found.origin,
            found.plugin,
            *_of_skill(document),
        )

    def _compete(self, handle: tuple[Kind, str]) -> None:
        """Note whom a document competes with; alone in a new catalogue it has no rival."""
        if not self._was_empty or handle in self._handles:
            self._groups.add(handle)
        self._handles.add(handle)

    def _is_steady(self, entry: Entry) -> bool:
        """Whether an unchanged time will mean an unchanged file."""
        found = entry.found
        if found.refused:
            return True
        return found.mtime_ns < self._trusted_before and entry.reason != "unreadable"

    def _key(self, entry: Entry) -> int:
        outdated = self._outdated.get(_at(entry.found))
        if outdated is not None:
            key, sha256 = outdated
            self.changed += sha256 != entry.sha256
            return key
        self.added += 1
        self._next_key += 1
        return self._next_key - 1


def _of_skill(document: "Document") -> tuple[str, bool]:
    """When to use a skill, and whether only the user starts it."""
    when_to_use: str = getattr(document, "when_to_use", "")
    is_manual: bool = getattr(document, "is_manual", False)
    return when_to_use, is_manual


def _at(found: Found) -> _At:
    return found.kind, found.path


def _dump_issues(issues: Sequence[Issue]) -> str:
    return _dump([[one.code, one.message, one.line, one.column, one.hint] for one in issues])


def _count(connection: sqlite3.Connection) -> dict[str, dict[str, int]]:
    """How many documents of each kind are in each state."""
    counts: dict[str, dict[str, int]] = {
        kind: {"active": 0, "shadowed": 0, "excluded": 0} for kind in KINDS
    }
    for kind, state, count in connection.execute(
        "SELECT kind, state, count(*) FROM document GROUP BY kind, state"
    ):
        counts[kind][state] = count
    return counts


def _changes(store: Store, kinds: Sequence[Kind], **changes: int) -> Changes:
    counts = json.loads(store.setting("counts"))
    return Changes(
        included={kind: counts[kind]["active"] + counts[kind]["shadowed"] for kind in kinds},
        excluded=sum(counts[kind]["excluded"] for kind in kinds),
        shadowed=sum(counts[kind]["shadowed"] for kind in kinds),
        **changes,
    )
