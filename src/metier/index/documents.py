"""Documents in the catalogue: one incremental refresh, and the questions about them."""

import gc
import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, groupby
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from metier.index.store import Store
from metier.values.documents import KINDS, Entry, Found, Kind, Reading, Skill
from metier.values.outcomes import Changes, Issue
from metier.values.rows import Row

OnProgress = Callable[[int, int], None]
"""Called with files read and files to read."""

_FRESH_NS = 2_000_000_000
"""A file changed this shortly before it was listed may change again within one clock tick."""
_BATCH = 250
"""Files read between two visits to the database and two calls of `OnProgress`."""
_COPY = "duplicate-content"
_COLUMNS = (
    "kind, handle, name, description, path, source, state, reason, twin, file, sha256,"
    " json_array_length(issues), capabilities, data"
)
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
        _settle(self._connection, self._groups)
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
        capabilities = document.capabilities if isinstance(document, Skill) else ()
        self._capabilities += [(capability, key) for capability in capabilities]
        handle = document.name if isinstance(document, Skill) else document.id
        self._compete((found.kind, handle))
        data = {
            key: value
            for key, value in document.data.items()
            if key not in _IN_COLUMNS_OF_THEIR_OWN
        }
        return (
            *settled,
            *(handle, document.name, document.description),
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


_MANY = 500


def _settle(connection: sqlite3.Connection, groups: set[tuple[Kind, str]]) -> None:
    """Say of each group who is active, who is shadowed, and which skills are exact copies."""
    updates: list[tuple[str, str, str, int]] = []
    for kind in KINDS:
        handles = {handle for one, handle in groups if one == kind and handle}
        for rows in _groups_of(connection, kind, handles):
            updates += _verdicts(kind, rows)
    connection.executemany(
        "UPDATE document SET state = ?, reason = ?, twin = ? WHERE key = ?", updates
    )


class _Competitor(NamedTuple):
    handle: str
    key: int
    path: str
    sha256: str
    state: str
    reason: str
    twin: str


def _groups_of(
    connection: sqlite3.Connection, kind: Kind, handles: set[str]
) -> Iterator[list[_Competitor]]:
    """Documents of `kind` that compete for one handle, in source order."""
    select = (
        "SELECT handle, key, path, sha256, state, reason, twin FROM document"
        f" WHERE kind = ? AND reason IN ('', '{_COPY}')"
    )
    order = " ORDER BY handle, rank, path"
    rows: Iterable[tuple[Any, ...]]
    if len(handles) > _MANY:
        rows = connection.execute(select + order, (kind,))
    else:
        rows = chain.from_iterable(
            connection.execute(f"{select} AND handle = ?{order}", (kind, handle))
            for handle in sorted(handles)
        )
    for _, group in groupby(map(_Competitor._make, rows), key=attrgetter("handle")):
        yield list(group)


def _verdicts(kind: Kind, group: list[_Competitor]) -> Iterator[tuple[str, str, str, int]]:
    """The changes that make `group`, in source order, right."""
    first = group[0]
    by_content: dict[str, str] = {}
    for one in group:
        copy_of = by_content.get(one.sha256) if kind == "skill" else None
        if one is first:
            verdict = ("active", "", "")
        elif copy_of is not None:
            verdict = ("excluded", _COPY, copy_of)
        else:
            verdict = ("shadowed", "", first.path)
        by_content.setdefault(one.sha256, one.path)
        if verdict != (one.state, one.reason, one.twin):
            yield (*verdict, one.key)


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


def list_documents(
    store: Store,
    kind: Kind,
    *,
    search: str | None = None,
    capability: str | None = None,
    shadowed: bool = False,
) -> list[Row]:
    """Active documents by name; `shadowed` adds those that another one hides.

    `search` is looked for in name and description, whatever the case; `capability` must be
    equal to the last letter.
    """
    where = ["kind = ?", "state IN ('active', 'shadowed')" if shadowed else "state = 'active'"]
    parameters: list[Any] = [kind]
    if capability is not None:
        where.append("key IN (SELECT key FROM skill_capability WHERE capability = ?)")
        parameters.append(capability)
    if search:
        store.connection.create_function("folded", 1, str.casefold, deterministic=True)
        where.append("instr(folded(name || char(10) || description), ?) > 0")
        parameters.append(search.casefold())
    return _select(store, " AND ".join(where) + " ORDER BY name, rank, path", parameters)


def excluded_documents(store: Store) -> list[Row]:
    """Every file that was met and left out, by path."""
    return _select(store, "state = 'excluded' ORDER BY kind = 'skill' DESC, rank, path", [])


def hidden_documents(store: Store) -> list[Row]:
    """Every document that another one hides: shadowed ones and exact copies."""
    return _select(store, "twin != '' ORDER BY rank, path", [])


def find_documents(store: Store, kind: Kind, wanted: str) -> list[Row]:
    """The documents called `wanted`: by id, else by name; the active one first."""
    handle = wanted.partition("::")[0] if kind == "skill" else wanted
    order = "ORDER BY state != 'active', rank, path"
    rows = _select(store, f"kind = ? AND handle = ? {order}", [kind, handle])
    if handle != wanted:
        return [row for row in rows if row.id == wanted]
    return rows or _select(store, f"kind = ? AND name = ? {order}", [kind, wanted])


def names_of(store: Store, kind: Kind) -> list[str]:
    """Names of active skills, or ids of the active documents of another kind."""
    rows = store.rows(
        "SELECT handle FROM document WHERE kind = ? AND state = 'active' ORDER BY 1", (kind,)
    )
    return [row[0] for row in rows]


def stored_issues(store: Store) -> list[Issue]:
    """Every finding of the last reading of every file, by path."""
    return [
        Issue(code, message, path, line, column, hint)
        for path, issues in store.rows(
            "SELECT path, issues FROM document WHERE issues != '[]' ORDER BY path"
        )
        for code, message, line, column, hint in json.loads(issues)
    ]


def document_issues(store: Store, kind: Kind, path: str) -> list[Issue]:
    """The findings of one file."""
    rows = store.rows("SELECT issues FROM document WHERE kind = ? AND path = ?", (kind, path))
    return [
        Issue(code, message, path, line, column, hint)
        for code, message, line, column, hint in (json.loads(rows[0][0]) if rows else [])
    ]


def providers(store: Store, capability: str) -> list[str]:
    """The names of the active skills that declare `capability`, in ascending order."""
    rows = store.rows(
        "SELECT DISTINCT name FROM skill_capability JOIN document USING (key)"
        " WHERE capability = ? AND state = 'active' ORDER BY name",
        (capability,),
    )
    return [row[0] for row in rows]


def _select(store: Store, where: str, parameters: list[Any]) -> list[Row]:
    rows = store.rows(f"SELECT {_COLUMNS} FROM document WHERE {where}", tuple(parameters))
    return [
        Row(
            kind=row[0],
            handle=row[1],
            name=row[2],
            description=row[3],
            path=row[4],
            source=row[5],
            state=row[6],
            reason=row[7],
            twin=row[8],
            file=row[9],
            sha256=row[10],
            issues=row[11],
            capabilities=tuple(json.loads(row[12])) if row[12] != "[]" else (),
            data_json=row[13],
        )
        for row in rows
    ]


def check_integrity(store: Store) -> str:
    """What SQLite finds wrong with the file; empty when it is sound."""
    verdict = str(store.rows("PRAGMA quick_check(1)")[0][0])
    return "" if verdict == "ok" else verdict
