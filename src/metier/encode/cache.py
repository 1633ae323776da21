"""Vectors that an encoder gave, by the digest of their text: encoding is slow, and is done once."""

import os
import time
from array import array
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Self

from metier.errors import DamagedError, StoreError
from metier.storage.database import Database, Migration
from metier.storage.room import Room, regular_digest

if TYPE_CHECKING:
    from metier.core.word_table import Vector

CACHE_FILE = "encoder.db"
MOST_VECTORS = 50_000
RETRY_SECONDS = 300
"""How long after a failure an encoder is not asked again by itself."""
_AT_ONCE = 400
LARGEST_FILE = 8 * 1024 * 1024 * 1024
_MIGRATIONS = (
    Migration(
        "vectors, digests of files, failures",
        (
            "CREATE TABLE migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL)",
            """CREATE TABLE vector (
                number INTEGER PRIMARY KEY,
                encoder TEXT NOT NULL,
                text TEXT NOT NULL,
                vector BLOB NOT NULL,
                UNIQUE (encoder, text)
            )""",
            "CREATE TABLE file (path TEXT PRIMARY KEY, stamp TEXT NOT NULL, sha256 TEXT NOT NULL)",
            "CREATE TABLE failure (encoder TEXT PRIMARY KEY, at REAL NOT NULL, why TEXT NOT NULL)",
        ),
    ),
)


class VectorCache(Database):
    """One open cache. No text is kept, only its digest."""

    called = "the cache of the encoder"
    migrations = _MIGRATIONS
    pragmas = ("PRAGMA synchronous = NORMAL",)

    @classmethod
    def within(cls, room: Room) -> Self:
        """The cache of a folder, new if it is damaged; in memory if nothing can be written."""
        path = room.file(CACHE_FILE)
        try:
            return cls.open(path)
        except DamagedError:
            for ending in ("-shm", "-wal", "-journal", ""):
                with suppress(FileNotFoundError):
                    room.remove(f"{CACHE_FILE}{ending}")
            return cls.open(path)
        except StoreError as error:
            if error.code != "STORE_READ_ONLY":
                raise
            return cls.in_memory()

    def known(self, encoder: str, texts: Sequence[str]) -> "dict[str, Vector | None]":
        """Text → its vector, for the texts that are here."""
        by_digest = {_digest(text): text for text in texts}
        digests = list(by_digest)
        found: dict[str, Vector | None] = {}
        for start in range(0, len(digests), _AT_ONCE):
            some = digests[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            sql = f"SELECT text, vector FROM vector WHERE encoder = ? AND text IN ({marks})"
            for digest, blob in self.rows(sql, (encoder, *some)):
                found[by_digest[digest]] = memoryview(blob).cast("h") if blob else None
        return found

    def keep(self, encoder: str, vectors: "Mapping[str, Vector | None]") -> None:
        rows = [(encoder, _digest(text), _blob(vector)) for text, vector in vectors.items()]
        with self.transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO vector (encoder, text, vector) VALUES (?, ?, ?)", rows
            )

    def forget_oldest(self, encoder: str, most: int = MOST_VECTORS) -> None:
        """Keep at most `most` vectors: those of other encoders go first, then the oldest."""
        [(count,)] = self.rows("SELECT count(*) FROM vector")
        if count > most:
            with self.transaction() as connection:
                connection.execute(
                    "DELETE FROM vector WHERE number IN (SELECT number FROM vector"
                    " ORDER BY encoder = ?, number LIMIT ?)",
                    (encoder, count - most),
                )

    def digest_of(self, path: str) -> str:
        """The sha256 of a file, read again if it has changed. Raises `OSError`."""
        info = os.stat(path)
        times = f"{info.st_mtime_ns} {info.st_ctime_ns}"
        stamp = f"{info.st_dev} {info.st_ino} {info.st_size} {times}"
        for known, digest in self.rows("SELECT stamp, sha256 FROM file WHERE path = ?", (path,)):
            if known == stamp:
                return str(digest)
        digest = regular_digest(path, LARGEST_FILE)
        with self.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO file VALUES (?, ?, ?)", (path, stamp, digest)
            )
        return digest

    def failure(self, encoder: str) -> str:
        """Why the encoder failed a short while ago; else empty."""
        sql = "SELECT at, why FROM failure WHERE encoder = ?"
        for at, why in self.rows(sql, (encoder,)):
            if 0 <= time.time() - at < RETRY_SECONDS:
                return str(why)
        return ""

    def note_failure(self, encoder: str, why: str) -> None:
        with self.transaction() as connection:
            row = (encoder, time.time(), why)
            connection.execute("INSERT OR REPLACE INTO failure VALUES (?, ?, ?)", row)

    def forget_failures(self) -> None:
        with self.transaction() as connection:
            connection.execute("DELETE FROM failure")


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


def _blob(vector: "Vector | None") -> bytes:
    return array("h", vector).tobytes() if vector is not None else b""
