"""Documents in the catalogue: one incremental refresh, and the questions about them."""

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from metier.index.store import Store
from metier.values.documents import KINDS, Entry, Found, Kind, Reading, Skill
from metier.values.outcomes import Changes, Issue
from metier.values.rows import Row

OnProgress = Callable[[int, int], None]
"""Called with files read and files to read."""

_FRESH_NS = 2_000_000_000
"""A file changed this shortly before it was listed may change again within one clock tick."""
_COPY = "duplicate-content"
_COLUMNS = (
    "kind, id, name, description, path, source, state, reason, twin, file, sha256,"
    " json_array_length(issues), capabilities, data"
)
_INSERT = """
    INSERT OR REPLACE INTO document (
        key, kind, path, size, mtime_ns, rank, state, reason, source, file, sha256,
        id, name, description, capabilities, data, issues
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


class _Known(NamedTuple):
    key: int
    size: int
    mtime_ns: int
    rank: int
    reason: str


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
    version = store.data_version()
    started = time.time_ns()
    reading = read()
    known = _snapshot(store, kinds)
    if store.setting("reader") == reading.fingerprint and _is_current(reading, known):
        return _counts(store, kinds, unchanged=len(reading.found))
    with store.transaction() as connection:
        if store.data_version() != version:
            started = time.time_ns()
            reading = read()
        update = _Update(store, connection, reading, kinds, started)
        update.apply(on_progress)
    return _counts(
        store,
        kinds,
        added=update.added,
        changed=update.changed,
        removed=update.removed,
        unchanged=len(reading.found) - update.added - update.changed,
    )


_Snapshot = dict[tuple[str, str], _Known]


def _snapshot(store: Store, kinds: Sequence[Kind]) -> _Snapshot:
    marks = ", ".join("?" * len(kinds))
    rows = store.rows(
        "SELECT kind, path, key, size, mtime_ns, rank, reason FROM document"
        f" WHERE kind IN ({marks})",
        tuple(kinds),
    )
    return {(row[0], row[1]): _Known(*row[2:]) for row in rows}


def _is_current(reading: Reading, known: _Snapshot) -> bool:
    return len(reading.found) == len(known) and all(
        _is_same(found, known.get((found.kind, found.path)), reading) for found in reading.found
    )


def _is_same(found: Found, known: _Known | None, reading: Reading) -> bool:
    if (
        known is None
        or found.size != known.size
        or found.mtime_ns != known.mtime_ns
        or found.rank != known.rank
    ):
        return False
    if found.reason:
        return found.reason == known.reason
    return known.reason != "unreadable" or reading.read(found).reason == "unreadable"


class _Update:
    """One refresh that has something to write."""

    def __init__(
        self,
        store: Store,
        connection: sqlite3.Connection,
        reading: Reading,
        kinds: Sequence[Kind],
        started: int,
    ) -> None:
        self.added = self.changed = self.removed = 0
        self._connection = connection
        self._reading = reading
        self._kinds = kinds
        self._trusted_before = started - _FRESH_NS
        self._known = _snapshot(store, kinds)
        self._read_all = store.setting("reader") != reading.fingerprint
        self._next_key = int(store.rows("SELECT coalesce(max(key), 0) + 1 FROM document")[0][0])
        self._groups: set[tuple[Kind, str]] = set()
        """Kind and name (or id) of every document that came, went or changed."""
        self._capabilities: list[tuple[str, int]] = []
        self._sha256: dict[int, str] = {}
        """What the files of changed rows held before."""

    def apply(self, on_progress: OnProgress | None) -> None:
        present = {(found.kind, found.path) for found in self._reading.found}
        self._remove([known.key for at, known in self._known.items() if at not in present])
        to_read = [found for found in self._reading.found if not self._is_same(found)]
        self._forget([self._known[at].key for at in map(_at, to_read) if at in self._known])
        self._connection.executemany(_INSERT, self._rows(to_read, on_progress))
        self._connection.executemany(
            "INSERT OR IGNORE INTO skill_capability VALUES (?, ?)", self._capabilities
        )
        _settle(self._connection, self._groups)
        self._connection.execute(
            "INSERT OR REPLACE INTO setting VALUES ('reader', ?)", (self._reading.fingerprint,)
        )

    def _is_same(self, found: Found) -> bool:
        return not self._read_all and _is_same(
            found, self._known.get((found.kind, found.path)), self._reading
        )

    def _remove(self, keys: list[int]) -> None:
        self._forget(keys)
        self._connection.executemany("DELETE FROM document WHERE key = ?", [(key,) for key in keys])
        self.removed = len(keys)

    def _forget(self, keys: list[int]) -> None:
        """Note the names of rows that are about to change; drop what hangs on them."""
        for key in keys:
            kind, name, document_id, self._sha256[key] = self._connection.execute(
                "SELECT kind, name, id, sha256 FROM document WHERE key = ?", (key,)
            ).fetchone()
            self._groups.add(_group(kind, name, document_id))
            self._connection.execute("DELETE FROM skill_capability WHERE key = ?", (key,))

    def _rows(
        self, to_read: list[Found], on_progress: OnProgress | None
    ) -> Iterator[tuple[Any, ...]]:
        for number, found in enumerate(to_read, start=1):
            entry = self._reading.read(found)
            yield self._row(entry)
            if on_progress is not None and (number % 100 == 0 or number == len(to_read)):
                on_progress(number, len(to_read))

    def _row(self, entry: Entry) -> tuple[Any, ...]:
        found, document = entry.found, entry.document
        key = self._key(entry)
        mtime = found.mtime_ns if found.mtime_ns < self._trusted_before else 0
        capabilities = document.capabilities if isinstance(document, Skill) else ()
        self._capabilities += [(capability, key) for capability in capabilities]
        if document is not None:
            self._groups.add(_group(found.kind, document.name, document.id))
        return (
            key,
            found.kind,
            found.path,
            found.size,
            mtime,
            found.rank,
            "excluded" if entry.reason else "active",
            entry.reason,
            found.source,
            found.file,
            entry.sha256,
            document.id if document is not None else "",
            document.name if document is not None else "",
            document.description if document is not None else "",
            _dump(capabilities) if capabilities else "[]",
            _dump(document.data) if document is not None else "{}",
            _dump_issues(entry.issues) if entry.issues else "[]",
        )

    def _key(self, entry: Entry) -> int:
        known = self._known.get(_at(entry.found))
        if known is not None:
            self.changed += self._sha256[known.key] != entry.sha256 or self._read_all
            return known.key
        self.added += 1
        self._next_key += 1
        return self._next_key - 1


def _at(found: Found) -> tuple[str, str]:
    return found.kind, found.path


def _group(kind: Kind, name: str, document_id: str) -> tuple[Kind, str]:
    """Documents of one group compete: skills by name, the others by id."""
    return kind, name if kind == "skill" else document_id


_dump = json.JSONEncoder(separators=(",", ":")).encode


def _dump_issues(issues: Sequence[Issue]) -> str:
    return _dump([[one.code, one.message, one.line, one.column, one.hint] for one in issues])


_MANY = 500


def _settle(connection: sqlite3.Connection, groups: set[tuple[Kind, str]]) -> None:
    """Say of each group who is active, who is shadowed, and which skills are exact copies."""
    updates: list[tuple[str, str, str, int]] = []
    for kind in KINDS:
        names = {name for one, name in groups if one == kind}
        for rows in _groups_of(connection, kind, names):
            updates += _verdicts(kind, rows)
    connection.executemany(
        "UPDATE document SET state = ?, reason = ?, twin = ? WHERE key = ?", updates
    )


class _Competitor(NamedTuple):
    group: str
    key: int
    path: str
    sha256: str
    state: str
    reason: str
    twin: str


def _groups_of(
    connection: sqlite3.Connection, kind: Kind, names: set[str]
) -> Iterator[list[_Competitor]]:
    column = "name" if kind == "skill" else "id"
    select = (
        f"SELECT {column}, key, path, sha256, state, reason, twin FROM document"
        f" WHERE kind = ? AND reason IN ('', '{_COPY}')"
    )
    order = f" ORDER BY {column}, rank, path"
    rows: Iterable[tuple[Any, ...]]
    if len(names) > _MANY:
        rows = connection.execute(select + order, (kind,))
    else:
        rows = _one_by_one(connection, f"{select} AND {column} = ?{order}", kind, names)
    group: list[_Competitor] = []
    for row in map(_Competitor._make, rows):
        if group and group[0].group != row.group:
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def _one_by_one(
    connection: sqlite3.Connection, sql: str, kind: Kind, names: set[str]
) -> Iterable[tuple[Any, ...]]:
    for name in sorted(names):
        yield from connection.execute(sql, (kind, name))


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


def _counts(store: Store, kinds: Sequence[Kind], **changes: int) -> Changes:
    included: Counter[str] = Counter(dict.fromkeys(kinds, 0))
    excluded = 0
    for kind, is_excluded, count in store.rows(
        "SELECT kind, reason != '', count(*) FROM document GROUP BY 1, 2"
    ):
        if kind not in included:
            continue
        if is_excluded:
            excluded += count
        else:
            included[kind] = count
    return Changes(included=dict(included), excluded=excluded, **changes)


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
    for column in ("id", "name"):
        rows = _select(
            store,
            f"kind = ? AND {column} = ? AND id != '' ORDER BY state != 'active', rank, path",
            [kind, wanted],
        )
        if rows:
            return rows
    return []


def names_of(store: Store, kind: Kind) -> list[str]:
    """Names of active skills, or ids of the active documents of another kind."""
    column = "name" if kind == "skill" else "id"
    rows = store.rows(
        f"SELECT {column} FROM document WHERE kind = ? AND state = 'active' ORDER BY 1", (kind,)
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
            kind=kind,
            id=document_id,
            name=name,
            description=description,
            path=path,
            source=source,
            state=state,
            reason=reason,
            twin=twin,
            file=file,
            sha256=sha256,
            issues=issues,
            capabilities=tuple(json.loads(capabilities)) if capabilities != "[]" else (),
            data_json=data,
        )
        for (
            kind, document_id, name, description, path, source, state, reason, twin,
            file, sha256, issues, capabilities, data,
        ) in rows
    ]  # fmt: skip
