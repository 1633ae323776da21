"""Which skills have a stem, and how often: one row a stem, with the keys of the documents."""

import sqlite3
import sys
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from metier.core.stems import label_stems, prose_stems
from metier.index.store import Store

Numbers: TypeAlias = "array[int]"
PROSE, LABEL = "prose", "label"
_KEY, _COUNT = "I", "H"
_MOST = 65_535
"""The largest count that is kept."""
_At = tuple[str, str]
"""Field and stem."""


class Size(NamedTuple):
    """How much text a skill has."""

    key: int
    prose: int
    prose_distinct: int
    label_distinct: int


class StemPostings:
    """Changes to the stems of skills, gathered and then written at once."""

    def __init__(self, connection: sqlite3.Connection, *, is_new: bool) -> None:
        self._connection = connection
        self._is_new = is_new
        """Whether nothing can be stored yet."""
        self._added: defaultdict[_At, list[tuple[int, int]]] = defaultdict(list)
        self._removed: defaultdict[_At, set[int]] = defaultdict(set)
        self._sizes: list[Size] = []

    def add(self, key: int, name: str, description: str, path: str) -> None:
        prose = Counter(prose_stems(name, description))
        labels = Counter(label_stems(name, _folder(path)))
        for stem, count in prose.items():
            self._added[PROSE, stem].append((key, min(count, _MOST)))
        for stem in labels:
            self._added[LABEL, stem].append((key, 1))
        self._sizes.append(Size(key, prose.total(), len(prose), len(labels)))

    def remove(self, key: int, name: str, description: str, path: str) -> None:
        """Forget a skill that was added with just these texts."""
        for stem in prose_stems(name, description):
            self._removed[PROSE, stem].add(key)
        for stem in label_stems(name, _folder(path)):
            self._removed[LABEL, stem].add(key)

    def write(self) -> None:
        empty, rows = [], []
        for at in sorted({*self._added, *self._removed}):
            gone = self._removed.get(at, set())
            pairs = [pair for pair in self._stored(*at) if pair[0] not in gone]
            pairs = sorted([*pairs, *self._added.get(at, ())])
            if pairs:
                keys, counts = zip(*pairs, strict=True)
                rows.append((*at, _packed(_KEY, keys), _packed(_COUNT, counts)))
            else:
                empty.append(at)
        self._connection.executemany("DELETE FROM skill_stem WHERE field = ? AND stem = ?", empty)
        self._connection.executemany("INSERT OR REPLACE INTO skill_stem VALUES (?, ?, ?, ?)", rows)
        self._connection.executemany(
            "INSERT OR REPLACE INTO skill_size VALUES (?, ?, ?, ?)", self._sizes
        )

    def _stored(self, field: str, stem: str) -> Iterator[tuple[int, int]]:
        found = None if self._is_new else _row(self._connection, field, stem)
        return iter(()) if found is None else zip(*found, strict=True)


def stem_postings(store: Store, field: str, stem: str) -> tuple[Numbers, Numbers] | None:
    """The keys of the skills that have `stem`, ascending, and how often each has it."""
    return _row(store.connection, field, stem)


def _row(connection: sqlite3.Connection, field: str, stem: str) -> tuple[Numbers, Numbers] | None:
    row = connection.execute(
        "SELECT keys, counts FROM skill_stem WHERE field = ? AND stem = ?", (field, stem)
    ).fetchone()
    return None if row is None else (_unpacked(_KEY, row[0]), _unpacked(_COUNT, row[1]))


def _folder(path: str) -> str:
    return path.rpartition("/")[0] or "."


def _packed(kind: str, numbers: tuple[int, ...]) -> bytes:
    return _little_endian(array(kind, numbers)).tobytes()


def _unpacked(kind: str, packed: bytes) -> Numbers:
    numbers = array(kind)
    numbers.frombytes(packed)
    return _little_endian(numbers)


def _little_endian(numbers: Numbers) -> Numbers:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
