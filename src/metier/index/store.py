"""The catalogue file: opening, migrating, transactions, and errors that people can act on."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from metier.errors import StoreError
from metier.index.migrations import MIGRATIONS

FILE_NAME = "metier.db"
IN_MEMORY = ":memory:"
BUSY_SECONDS = 30.0
_PRAGMAS = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -32768",
)


class Store:
    """One open catalogue. Not shared between threads; any number of processes may have it."""

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self.connection = connection
        self.path = path

    @classmethod
    def open(cls, path: str, *, busy_seconds: float = BUSY_SECONDS) -> "Store":
        """Open the catalogue at `path`, making or migrating it. Raises `StoreError`."""
        with _as_store_error(path):
            folder = os.path.dirname(path)
            if folder and not os.path.isdir(folder):
                os.makedirs(folder, exist_ok=True)
                _keep_out_of_git(folder)
            connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)
        store = cls(connection, path)
        try:
            with _as_store_error(path):
                store._prepare(busy_seconds)
        except BaseException:
            connection.close()
            raise
        return store

    @classmethod
    def in_memory(cls) -> "Store":
        """A catalogue that lives as long as the object."""
        store = cls(sqlite3.connect(IN_MEMORY, isolation_level=None), IN_MEMORY)
        store._prepare(0)
        return store

    def close(self) -> None:
        self.connection.close()

    def rows(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with _as_store_error(self.path):
            return self.connection.execute(sql, parameters).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of the block, or nothing of it; waits for other writers."""
        with _as_store_error(self.path, of_system=False):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """One state of the catalogue for all questions of the block, whoever writes meanwhile."""
        with _as_store_error(self.path, of_system=False):
            self.connection.execute("BEGIN")
            try:
                yield
            finally:
                self.connection.execute("COMMIT")

    def version(self) -> tuple[int, int]:
        """Changes with everything that is written, here or by another process."""
        return self.data_version(), self.connection.total_changes

    def data_version(self) -> int:
        """Changes when another process has written."""
        return int(self.rows("PRAGMA data_version")[0][0])

    def setting(self, name: str) -> str:
        found = self.rows("SELECT value FROM setting WHERE name = ?", (name,))
        return str(found[0][0]) if found else ""

    def remember(self, name: str, value: str) -> None:
        """Keep a setting; nothing is written when it has that value already."""
        if self.setting(name) != value:
            with self.transaction() as connection:
                connection.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, value))

    def _prepare(self, busy_seconds: float) -> None:
        version = int(self.connection.execute("PRAGMA user_version").fetchone()[0])
        if version > len(MIGRATIONS):
            raise StoreError(
                f"the catalogue has version {version}, this program knows {len(MIGRATIONS)}",
                code="STORE_NEWER",
                where=self.path,
                hint="upgrade metier, or remove the file: the next refresh builds it again",
            )
        self._use_wal(busy_seconds)
        for pragma in _PRAGMAS:
            self.connection.execute(pragma)
        if version < len(MIGRATIONS):
            self._migrate()

    def _use_wal(self, busy_seconds: float) -> None:
        """Switch to WAL; SQLite does not wait for others here, so this does."""
        deadline = time.monotonic() + busy_seconds
        while True:
            try:
                self.connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if not _is_busy(error) or time.monotonic() >= deadline:
                    raise
                time.sleep(0.01)

    def _migrate(self) -> None:
        for number, migration in enumerate(MIGRATIONS, start=1):
            with self.transaction() as connection:
                done = int(connection.execute("PRAGMA user_version").fetchone()[0])
                if done >= number:
                    continue
                for statement in migration.statements:
                    connection.execute(statement)
                connection.execute("INSERT INTO migration VALUES (?, ?)", (number, migration.name))
                connection.execute(f"PRAGMA user_version = {number}")


def _keep_out_of_git(folder: str) -> None:
    """State is no part of a repository, and the secret in it least of all."""
    with open(os.path.join(folder, ".gitignore"), "w", encoding="utf-8") as file:
        file.write("*\n")


def _is_busy(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


_BUILD_AGAIN = "remove the file: the next refresh builds it again"
_BY_SQLITE_CODE: dict[int, tuple[str, str, str]] = {
    sqlite3.SQLITE_BUSY: (
        "STORE_LOCKED",
        "another process holds the catalogue",
        "try again when it has finished",
    ),
    sqlite3.SQLITE_FULL: ("STORE_FULL", "the disk is full", "free some space and try again"),
    sqlite3.SQLITE_READONLY: (
        "STORE_READ_ONLY",
        "the catalogue cannot be written",
        "check that you may write there",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "STORE_READ_ONLY",
        "the catalogue cannot be opened",
        "check that the folder exists and that you may write there",
    ),
    sqlite3.SQLITE_NOTADB: ("STORE_CORRUPT", "the catalogue is not a database", _BUILD_AGAIN),
    sqlite3.SQLITE_CORRUPT: ("STORE_CORRUPT", "the catalogue is damaged", _BUILD_AGAIN),
    sqlite3.SQLITE_IOERR: (
        "STORE_FULL",
        "the catalogue cannot be written",
        "check the disk: it may be full or failing",
    ),
}


@contextmanager
def _as_store_error(path: str, *, of_system: bool = True) -> Iterator[None]:
    """Turn what SQLite, and where asked the system, says into one line with a code and a hint."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if "malformed" in str(error):
            code = sqlite3.SQLITE_CORRUPT
        named = _BY_SQLITE_CODE.get(code)
        if named is None:
            raise StoreError(str(error), where=path, hint="see metier doctor") from error
        name, message, hint = named
        raise StoreError(message, code=name, where=path, hint=hint) from error
    except UnicodeDecodeError as error:
        name, message, hint = _BY_SQLITE_CODE[sqlite3.SQLITE_CORRUPT]
        raise StoreError(message, code=name, where=path, hint=hint) from error
    except OSError as error:
        if not of_system:
            raise
        raise StoreError(
            f"the catalogue cannot be written: {error.strerror}",
            code="STORE_READ_ONLY",
            where=path,
            hint="check that you may write there",
        ) from error
