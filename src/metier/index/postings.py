"""Which abilities hold a word: one row a word, with the keys of the documents as 32-bit numbers."""

import sqlite3
import sys
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from metier.index.store import Store

_Keys: TypeAlias = "array[int]"


class Postings:
    """Changes to the words of documents, gathered and then written at once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._added: defaultdict[str, list[int]] = defaultdict(list)
        self._removed: set[int] = set()

    def add(self, key: int, words: Iterable[str]) -> None:
        for word in words:
            self._added[word].append(key)

    def remove(self, key: int) -> None:
        self._removed.add(key)

    def write(self) -> None:
        if self._removed:
            self._take_out()
        old = _keys_of(self._connection, self._added) if self._added else {}
        rows = [
            (word, _packed([*old.get(word, ()), *keys]))
            for word, keys in sorted(self._added.items())
        ]
        self._connection.executemany("INSERT OR REPLACE INTO ability_word VALUES (?, ?)", rows)

    def _take_out(self) -> None:
        """Rewrite the words that a removed document had; a word without documents goes."""
        changed = []
        for word, packed in self._connection.execute("SELECT word, keys FROM ability_word"):
            keys = _unpacked(packed)
            if not self._removed.isdisjoint(keys):
                changed.append((word, [key for key in keys if key not in self._removed]))
        self._connection.executemany(
            "DELETE FROM ability_word WHERE word = ?",
            [(word,) for word, keys in changed if not keys],
        )
        self._connection.executemany(
            "UPDATE ability_word SET keys = ? WHERE word = ?",
            [(_packed(keys), word) for word, keys in changed if keys],
        )


def keys_by_word(store: Store, words: Iterable[str]) -> Mapping[str, _Keys]:
    """The keys of the abilities that hold each of `words`; a word that none holds is left out."""
    with store.checked():
        return _keys_of(store.connection, words)


_AT_ONCE = 500
"""Words asked for in one statement; SQLite bounds the number of parameters."""


def _keys_of(connection: sqlite3.Connection, words: Iterable[str]) -> dict[str, _Keys]:
    wanted = list(words)
    found: dict[str, _Keys] = {}
    for start in range(0, len(wanted), _AT_ONCE):
        some = wanted[start : start + _AT_ONCE]
        marks = ", ".join("?" * len(some))
        for word, packed in connection.execute(
            f"SELECT word, keys FROM ability_word WHERE word IN ({marks})", some
        ):
            found[word] = _unpacked(packed)
    return found


def _packed(keys: Iterable[int]) -> bytes:
    return _little_endian(array("I", keys)).tobytes()


def _unpacked(packed: bytes) -> _Keys:
    keys = array("I")
    keys.frombytes(packed)
    return _little_endian(keys)


def _little_endian(keys: _Keys) -> _Keys:
    if sys.byteorder == "big":
        keys.byteswap()
    return keys
