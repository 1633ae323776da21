"""Which skills have a stem, and how often: one row a stem.

A refresh only forgets what has changed; `catch_up` adds what is missing when it is first asked for.
"""

from __future__ import annotations

import sqlite3
import sys
from array import array
from collections import Counter, defaultdict
from typing import NamedTuple, TypeAlias

from metier.core.stems import label_stems, prose_stems
from metier.core.text import routing_text
from metier.index.store import Store

Postings: TypeAlias = "array[int]"
"""The key of a skill, how often it has the stem, how many stems it has; the next key, …"""
PROSE, LABEL = "prose", "label"
_NUMBER, _NUMBERS = "I", 3
_SETTING = "stems"
"""How many skills have their stems here, and how many stems they have; set when all have."""
_At = tuple[str, str]
"""Field and stem."""


class Size(NamedTuple):
    """How much text a skill has."""

    key: int
    prose: int
    prose_distinct: int
    label_distinct: int
    safe: bool
    """Whether a hook may name it: nothing in its name and routing text overrides instructions."""


class StemPostings:
    """Changes to the stems of skills, gathered and then written at once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._is_new = connection.execute("SELECT 1 FROM skill_size").fetchone() is None
        """Whether nothing is stored yet."""
        self._added: dict[str, defaultdict[str, list[int]]] = {
            field: defaultdict(list) for field in (PROSE, LABEL)
        }
        """For each field and stem the postings to come, as numbers in the order of `Postings`."""
        self._removed: defaultdict[_At, set[int]] = defaultdict(set)
        self._sizes: list[Size] = []

    def add(self, key: int, name: str, routing_text: str, path: str) -> None:
        found = prose_stems(name, routing_text)
        prose = Counter(found)
        labels = set(label_stems(name, _folder(path)))
        added = self._added[PROSE]
        for stem, count in prose.items():
            added[stem] += (key, count, len(found))
        added = self._added[LABEL]
        for stem in labels:
            added[stem] += (key, 1, len(labels))
        safe = _is_safe(f"{name} {routing_text} {path}")
        self._sizes.append(Size(key, len(found), len(prose), len(labels), safe))

    def remove_all(self) -> None:
        self._connection.execute("DELETE FROM skill_stem")
        self._connection.execute("DELETE FROM skill_size")
        self._is_new = True

    def remove(self, key: int, name: str, routing_text: str, path: str) -> None:
        """Forget a skill that was added, if it was, with just these texts."""
        if self._is_new:
            return
        self._connection.execute("DELETE FROM skill_size WHERE key = ?", (key,))
        for stem in prose_stems(name, routing_text):
            self._removed[PROSE, stem].add(key)
        for stem in label_stems(name, _folder(path)):
            self._removed[LABEL, stem].add(key)

    def write_with_new(self) -> None:
        """Write all changes; where every skill had its stems, new skills get theirs as well."""
        known = self._connection.execute("SELECT 1 FROM setting WHERE name = ?", (_SETTING,))
        if known.fetchone() is None or self._is_new:
            self.write()
        else:
            self.write_missing()

    def write_missing(self) -> int:
        """Add the stems of all skills that have none, and write; how many there were."""
        missing = self._connection.execute(_MISSING).fetchall()
        for key, name, description, when_to_use, path in missing:
            self.add(key, name, routing_text(description, when_to_use), path)
        self.write(complete=True)
        return len(missing)

    def write(self, *, complete: bool = False) -> None:
        """Write all changes; `complete` says that now no skill is without its stems."""
        self._write_changes()
        if complete:
            self._connection.execute(
                "INSERT OR REPLACE INTO setting"
                " SELECT ?, count(*) || ' ' || coalesce(sum(prose), 0) FROM skill_size",
                (_SETTING,),
            )
        else:
            self._connection.execute("DELETE FROM setting WHERE name = ?", (_SETTING,))

    def _write_changes(self) -> None:
        changed = {(field, stem) for field, stems in self._added.items() for stem in stems}
        changed.update(self._removed)
        rows = []
        for at in sorted(changed):
            postings = self._merged(at)
            if postings:
                found = len(postings) // _NUMBERS
                rows.append((*at, found, _little_endian(postings).tobytes()))
        if not self._is_new:
            self._connection.executemany(
                "DELETE FROM skill_stem WHERE field = ? AND stem = ?", sorted(changed)
            )
        self._connection.executemany(
            "INSERT INTO skill_stem (field, stem, found, postings) VALUES (?, ?, ?, ?)", rows
        )
        self._connection.executemany(
            "INSERT OR REPLACE INTO skill_size VALUES (?, ?, ?, ?, ?)", self._sizes
        )

    def _merged(self, at: _At) -> Postings:
        """What is stored without what is removed, and with what is added."""
        field, stem = at
        added = array(_NUMBER, self._added[field].get(stem, ()))
        stored = None if self._is_new else _row(self._connection, field, stem)
        if stored is None:
            return added
        gone = self._removed.get(at, set())
        entries = [one for one in _entries(stored) if one[0] not in gone]
        entries = sorted([*entries, *_entries(added)])
        return array(_NUMBER, [number for one in entries for number in one])


_SUSPECT = ("gnr", "drgrd", "nwnrucn", "nvvnrucn")
"""What `_SKELETON` leaves of "ignore", "disregard" and "new instructions", also of "nevv"."""


_MARKUP = ("&", "<", "](", "][")
_SKELETON = {
    code: chr(code).lower() if chr(code).lower() in "cdfghjkmnpqruvwxyz" else None
    for code in range(128)
}
"""Leaves of a text the letters that no digit or sign can stand for, but for g."""
_LIKE_G = {ord(digit): "g" for digit in "69"}


def _is_plain(text: str) -> bool:
    """Whether words stand in `text` as they are read: no markup, nothing invisible."""
    is_shown = text.isascii() and text.replace("\n", " ").replace("\t", " ").isprintable()
    return is_shown and not any(mark in text for mark in _MARKUP)


def _is_suspect(text: str) -> bool:
    skeleton = text.translate(_SKELETON)
    return any(one in skeleton for one in _SUSPECT)


def _is_safe(text: str) -> bool:
    """Whether nothing in `text` overrides instructions; most texts need no close look."""
    if _is_plain(text) and not _is_suspect(text) and not _is_suspect(text.translate(_LIKE_G)):
        return True
    from metier.safety.disguise import find_overrides  # few texts need it, and it loads a lot

    return not find_overrides(text)


_MISSING = """
    SELECT key, name, description, when_to_use, path FROM document LEFT JOIN skill_size USING (key)
    WHERE kind = 'skill' AND handle != '' AND prose IS NULL ORDER BY key
"""


def is_caught_up(store: Store) -> bool:
    """Whether every skill has its stems."""
    return store.setting(_SETTING) != ""


def catch_up(store: Store) -> int:
    """Add the stems of all skills that have come since the last time; how many there were."""
    if is_caught_up(store):
        return 0
    with store.transaction() as connection, store.checked():
        return StemPostings(connection).write_missing()


def stem_postings(store: Store, field: str, stem: str) -> Postings | None:
    """Who has `stem`, and how often."""
    with store.checked():
        return _row(store.connection, field, stem)


def _entries(postings: Postings) -> list[tuple[int, int, int]]:
    return list(zip(postings[0::3], postings[1::3], postings[2::3], strict=True))


def _row(connection: sqlite3.Connection, field: str, stem: str) -> Postings | None:
    row = connection.execute(
        "SELECT postings FROM skill_stem WHERE field = ? AND stem = ?", (field, stem)
    ).fetchone()
    if row is None:
        return None
    postings = array(_NUMBER)
    postings.frombytes(row[0])
    return _little_endian(postings)


def _folder(path: str) -> str:
    return path.rpartition("/")[0] or "."


def _little_endian(postings: Postings) -> Postings:
    if sys.byteorder == "big":
        postings.byteswap()
    return postings
