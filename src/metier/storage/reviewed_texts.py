"""Copies of the texts that a user reviewed, so that what changed since can be shown in words.

They are in the user's state folder, and may be lost: then only the names of changed files are
shown.
"""

import zlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Self

from metier.errors import DamagedError
from metier.storage.database import Database, Migration
from metier.storage.room import Room

FILE = "reviewed.db"
_LARGEST = 1 << 20
_MIGRATIONS = (
    Migration(
        "texts by record, skill and path",
        (
            "CREATE TABLE migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL)",
            """CREATE TABLE reviewed (
                record TEXT NOT NULL,
                skill TEXT NOT NULL,
                path TEXT NOT NULL,
                text BLOB NOT NULL,
                PRIMARY KEY (record, skill, path)
            ) WITHOUT ROWID""",
        ),
    ),
)
Texts = Mapping[str, str]
"""Relative path → text."""


class ReviewedTexts(Database):
    """The open file; `record` is the file of the review record that a skill is in."""

    called = "the copies of reviewed texts"
    migrations = _MIGRATIONS
    pragmas = ("PRAGMA synchronous = NORMAL",)

    @classmethod
    def within(cls, room: Room) -> Self:
        """The copies in a folder, none if they are damaged. Raises `StoreError`."""
        path = room.file(FILE)
        try:
            return cls.open(path)
        except DamagedError:
            for ending in ("-shm", "-wal", "-journal", ""):
                with suppress(FileNotFoundError):
                    room.remove(f"{FILE}{ending}")
            return cls.open(path)

    def keep(self, record: str, skills: Mapping[str, Texts]) -> None:
        """Replace the texts of these skills. Raises `StoreError`."""
        rows = [
            (record, skill, path, zlib.compress(text.encode(errors="replace")))
            for skill, texts in skills.items()
            for path, text in texts.items()
        ]
        with self.transaction() as connection:
            gone = [(record, skill) for skill in skills]
            connection.executemany("DELETE FROM reviewed WHERE record = ? AND skill = ?", gone)
            connection.executemany("INSERT INTO reviewed VALUES (?, ?, ?, ?)", rows)

    def texts(self, record: str, skill: str) -> dict[str, str]:
        """The texts of a skill. Raises `StoreError`."""
        sql = "SELECT path, text FROM reviewed WHERE record = ? AND skill = ?"
        rows = self.rows(sql, (record, skill))
        with self.checked():
            return {path: _unpacked(blob) for path, blob in rows}


def _unpacked(blob: bytes) -> str:
    """Raises `ValueError` for what `keep` did not write."""
    try:
        return zlib.decompressobj().decompress(blob, _LARGEST).decode()
    except zlib.error as error:
        raise ValueError(str(error)) from None
