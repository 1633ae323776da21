"""Postings: which documents have a term. One row per field and term."""

import sqlite3
import sys
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from metier.core.bm25 import unpacked
from metier.index.store import Store

PROSE, LABEL, CONTENT = "prose", "label", "content"
"""The routing text of skills, their names and folders, the content of abilities."""
_AT_ONCE = 500
"""Terms in one statement; SQLite bounds the number of parameters."""


class Postings:
    """Changes to some fields, written at once. A document has `width` numbers, its key first."""

    def __init__(
        self, connection: sqlite3.Connection, fields: Sequence[str], *, width: int = 1
    ) -> None:
        self._connection = connection
        self._width = width
        self.is_empty = not any(
            connection.execute("SELECT 1 FROM posting WHERE field = ? LIMIT 1", (field,)).fetchall()
            for field in fields
        )
        """Whether nothing is stored yet."""
        self.added: dict[str, defaultdict[str, list[int]]] = {
            field: defaultdict(list) for field in fields
        }
        self._removed: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        self._stored: dict[tuple[str, str], array[int]] = {}

    def remove(self, key: int, field: str, terms: Iterable[str]) -> None:
        for term in terms:
            self._removed[field, term].add(key)

    def remove_keys(self, keys: Collection[int], field: str) -> None:
        """Remove documents whose terms are not known."""
        gone = set(keys)
        for term, packed in self._connection.execute(
            "SELECT term, postings FROM posting WHERE field = ?", (field,)
        ):
            if found := gone.intersection(unpacked(packed)[:: self._width]):
                self._removed[field, term] = found

    def remove_all(self) -> None:
        for field in self.added:
            self._connection.execute("DELETE FROM posting WHERE field = ?", (field,))
        self.is_empty = True

    def write(self) -> None:
        changed = {(field, term) for field, term in self._removed}
        if not self.is_empty:
            changed.update((field, term) for field, terms in self.added.items() for term in terms)
            self._connection.executemany(
                "DELETE FROM posting WHERE field = ? AND term = ?", self._kept(sorted(changed))
            )
        self._connection.executemany(
            "INSERT INTO posting (field, term, found, postings) VALUES (?, ?, ?, ?)",
            self._rows(sorted(changed)),
        )
        self._stored.clear()

    def _kept(self, changed: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Remember what is stored of changed terms while their rows are deleted."""
        for field, term in changed:
            stored = _postings_of(self._connection, field, term)
            if stored is not None:
                self._stored[field, term] = stored
                yield field, term

    def _rows(self, changed: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str, int, bytes]]:
        """The new rows, one at a time: a first refresh writes many."""
        wanted: Iterable[tuple[str, str]] = changed
        if self.is_empty:
            wanted = ((field, term) for field in self.added for term in sorted(self.added[field]))
        for field, term in wanted:
            if numbers := self._merged(field, term):
                packed = _little_endian(numbers).tobytes()
                yield field, term, len(numbers) // self._width, packed

    def _merged(self, field: str, term: str) -> "array[int]":
        """What is stored without what is removed, and with what is added."""
        added = array("I", self.added[field].get(term, ()))
        stored = self._stored.get((field, term))
        if stored is None:
            return added
        gone = self._removed.get((field, term), ())
        entries = [entry for entry in self._entries(stored) if entry[0] not in gone]
        entries = sorted([*entries, *self._entries(added)])
        return array("I", [number for entry in entries for number in entry])

    def _entries(self, numbers: "array[int]") -> list[tuple[int, ...]]:
        return list(zip(*[iter(numbers)] * self._width, strict=True))


def stem_postings(store: Store, field: str, term: str) -> "array[int] | None":
    """The numbers of every document that has `term`."""
    with store.checked():
        return _postings_of(store.connection, field, term)


def keys_by_word(store: Store, words: Iterable[str]) -> dict[str, list[int]]:
    """The keys of the abilities whose content has each of `words`; without absent words."""
    wanted = list(words)
    found: dict[str, list[int]] = {}
    with store.checked():
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(some))
            for term, packed in store.connection.execute(
                f"SELECT term, postings FROM posting WHERE field = ? AND term IN ({marks})",
                (CONTENT, *some),
            ):
                found[term] = unpacked(packed)
    return found


def _postings_of(connection: sqlite3.Connection, field: str, term: str) -> "array[int] | None":
    row = connection.execute(
        "SELECT postings FROM posting WHERE field = ? AND term = ?", (field, term)
    ).fetchone()
    if row is None:
        return None
    numbers = array("I")
    numbers.frombytes(row[0])
    return _little_endian(numbers)


def _little_endian(numbers: "array[int]") -> "array[int]":
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
