"""What a refresh writes when files have changed."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, cast

from metier.hosts.locations import loading_hosts, locations_of
from metier.index.abilities import AbilityRows
from metier.index.cards import CardRows
from metier.index.file_list import LINE_END, Listing, lines_of
from metier.index.migrations import DOCUMENT_INDEXES
from metier.index.rank_index import RankRows
from metier.index.same_names import settle
from metier.index.stems import SkillRows
from metier.index.trail import forget_trail
from metier.storage.workspace import ENCODED_BY, TAUGHT_BY
from metier.values.candidates import claims_of
from metier.values.documents import Document, Skill
from metier.values.files import KINDS, Entry, Found, Kind, Reading
from metier.values.listings import Stored
from metier.values.trust import HELD

_FRESH_NS = 2_000_000_000
"""A file changed this shortly before it was listed may change again within one clock tick."""
_BATCH = 250
"""Files read between two inserts."""
_INSERT = """
    INSERT OR REPLACE INTO document (
        key, kind, path, rank, state, reason, source, file, sha256,
        handle, name, description, capabilities, data, issues, origin, plugin, team, owner,
        when_to_use, manual, claims, also, hosts, review
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_STORED = f"SELECT {', '.join(Stored._fields)} FROM document WHERE kind = ? AND path = ?"
_LEARN_AGAIN = """
    INSERT OR REPLACE INTO setting SELECT ?, 'changed'
    WHERE EXISTS (SELECT 1 FROM example) OR EXISTS (SELECT 1 FROM learned)
"""
_At = tuple[Kind, str]
"""Kind and path, the key of a file."""
OnProgress = Callable[[int, int], None]
"""Called with the number of files read and to read."""
_dump = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


class _Rows(Protocol):
    """Gathers what a kind keeps beside its documents, and writes it at once."""

    def add(self, key: int, entry: Entry) -> None: ...
    def remove(self, old: Stored) -> None: ...
    def remove_all(self) -> None: ...
    def write(self) -> None: ...


def _rows_by_kind(connection: sqlite3.Connection, kinds: Sequence[Kind]) -> dict[Kind, _Rows]:
    writers: dict[Kind, Callable[[sqlite3.Connection], _Rows]] = {
        "skill": SkillRows,
        "ability": AbilityRows,
        "card": CardRows,
    }
    return {kind: make(connection) for kind, make in writers.items() if kind in kinds}


class Update:
    """One refresh that has something to write."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        reading: Reading,
        lines: list[str],
        known: Listing,
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
        self._groups: set[tuple[Kind, str]] = set()
        """Those that more than one document may have."""
        self._outdated: dict[_At, Stored] = {}
        self._unsteady: set[_At] = set()
        """Files that the next refresh must read again."""
        self._ranked = {kind: RankRows(connection, kind) for kind in known.kinds}
        self._others = _rows_by_kind(connection, known.kinds)

    def apply(self, on_progress: OnProgress | None) -> None:
        same_reader = self._known.reader == self._reading.fingerprint
        known = set(self._known.lines()) if same_reader else set()
        files = list(zip(self._reading.found, self._lines, strict=True))
        to_read = [found for found, line in files if line not in known]
        stale = map(_at_of, known.difference(self._lines)) if same_reader else self._all_rows()
        if not same_reader:
            for writer in self._writers():
                writer.remove_all()
        self._drop(stale, {_at(found) for found in to_read})
        with _built_at_once(self._connection, DOCUMENT_INDEXES if self._was_empty else {}):
            for start in range(0, len(to_read), _BATCH):
                batch = to_read[start : start + _BATCH]
                rows = [self._row(self._reading.read(found)) for found in batch]
                self._connection.executemany(_INSERT, rows)
                for ranked in self._ranked.values():
                    ranked.write_rows()
                if on_progress is not None:
                    on_progress(start + len(batch), len(to_read))
        settle(self._connection, self._groups)
        for writer in self._writers():
            writer.write()
        self._remember("reader", self._reading.fingerprint)
        forget_trail(self._connection)
        self._connection.execute(_LEARN_AGAIN, (TAUGHT_BY,))
        self._connection.execute("DELETE FROM setting WHERE name = ?", (ENCODED_BY,))
        self._connection.execute("DELETE FROM listing")
        listing = LINE_END.join([*self._final_lines(), *self._known.others])
        self._connection.execute("INSERT INTO listing VALUES (?)", (listing,))
        self._remember("counts", _dump(_count(self._connection)))

    def _writers(self) -> list[_Rows]:
        return [*self._ranked.values(), *self._others.values()]

    def _writers_of(self, kind: Kind) -> list[_Rows]:
        return [writers[kind] for writers in (self._ranked, self._others) if kind in writers]

    def _remember(self, name: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, value))

    def _final_lines(self) -> list[str]:
        """The listing to compare the next one with; no listing gives a time of -1."""
        if not self._unsteady:
            return self._lines
        return lines_of(
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
            row = self._connection.execute(_STORED, at).fetchone()
            if row is None:
                continue
            old, kind = Stored._make(row), at[0]
            self._groups.add((kind, old.handle))
            for writer in self._writers_of(kind):
                writer.remove(old)
            if at in changed:
                self._outdated[at] = old
            else:
                self._connection.execute("DELETE FROM document WHERE key = ?", (old.key,))
                self.removed += 1

    def _row(self, entry: Entry) -> tuple[Any, ...]:
        key = self._key(entry)
        found, document = entry.found, entry.document
        state = "excluded" if entry.reason else "active"
        settled = (
            key, found.kind, found.path, found.rank, state, entry.reason,
            found.source, found.file, entry.sha256,
        )  # fmt: skip
        if not self._is_steady(entry):
            self._unsteady.add(_at(found))
        issues = "[]"
        if entry.issues:
            issues = _dump(
                [[one.code, one.message, one.line, one.column, one.hint] for one in entry.issues]
            )
        if document is None:
            whose = (found.origin, "", found.team.name, found.team.owner)
            no_skill = ("", False, "", LINE_END.join(found.also), 0, _review_state(entry))
            return (*settled, "", "", "", "[]", "{}", issues, *whose, *no_skill)
        capabilities = entry.capabilities
        for writer in self._writers_of(found.kind):
            writer.add(key, entry)
        handle = entry.handle
        self._compete((found.kind, handle))
        data = dict(document.data)
        data.pop("name", None)
        data.pop("description", None)  # both have columns of their own
        return (
            *settled,
            handle,
            document.name,
            document.description,
            _dump(capabilities) if capabilities else "[]",
            _dump(data) if data else "{}",
            issues,
            *(found.origin, found.plugin, found.team.name, found.team.owner),
            *_of_skill(found.kind, document),
            *(LINE_END.join(found.also), _hosts(entry, document), _review_state(entry)),
        )

    def _compete(self, handle: tuple[Kind, str]) -> None:
        """Note the group of a document; in a new catalog the first of a group has no rival."""
        if not self._was_empty or handle in self._handles:
            self._groups.add(handle)
        self._handles.add(handle)

    def _is_steady(self, entry: Entry) -> bool:
        """Whether an unchanged time will mean an unchanged file."""
        found = entry.found
        if found.excluded:
            return True
        return found.mtime_ns < self._trusted_before and entry.reason != "unreadable"

    def _key(self, entry: Entry) -> int:
        old = self._outdated.get(_at(entry.found)) if self._outdated else None
        if old is not None:
            self.changed += old.sha256 != entry.sha256
            return old.key
        self.added += 1
        self._next_key += 1
        return self._next_key - 1


@contextmanager
def _built_at_once(connection: sqlite3.Connection, indexes: Mapping[str, str]) -> Iterator[None]:
    """Build these indexes after the block: faster than row by row."""
    for name in indexes:
        connection.execute(f"DROP INDEX IF EXISTS {name}")
    yield
    for name, columns in indexes.items():
        connection.execute(f"CREATE INDEX {name} ON {columns}")


def _hosts(entry: Entry, document: Document) -> int:
    """The hosts that can load a skill: bit N is the host at N in `metier.hosts.HOOKED`."""
    found = entry.found
    if found.kind != "skill":
        return 0
    locations = locations_of(found.path, found.plugin, found.also)
    return loading_hosts(locations, document.data, entry.yaml)


def _of_skill(kind: Kind, document: Document) -> tuple[str, bool, str]:
    """When to use a skill, whether only the user starts it, and what it claims."""
    if kind != "skill":
        return "", False, ""
    skill = cast(Skill, document)
    return skill.when_to_use, skill.is_manual, claims_of(skill)


def _review_state(entry: Entry) -> str:
    if entry.found.standing is None:
        return ""
    return "held" if entry.reason == HELD else entry.found.standing.state


def _at_of(line: str) -> _At:
    kind, *_, path = line.split(" ", 7)
    return cast(Kind, kind), path


def _at(found: Found) -> _At:
    return found.kind, found.path


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
