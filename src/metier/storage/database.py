"""A SQLite file: opening, migrating, transactions, and errors that people can act on."""

import os
import sqlite3
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple, TypeVar

from metier.errors import StoreError
from metier.storage.room import Room

IN_MEMORY = ":memory:"
BUSY_SECONDS = 30.0
D = TypeVar("D", bound="Database")


class Migration(NamedTuple):
    """One named step of a schema. A step that has shipped never changes."""

    name: str
    statements: tuple[str, ...]


class Database:
    """One open file with a schema. Any number of processes may have it."""

    called: ClassVar[str] = "the database"
    rebuilt_by: ClassVar[str] = "remove the file"
    """What to do about a damaged file."""
    migrations: ClassVar[Sequence[Migration]] = ()
    pragmas: ClassVar[Sequence[str]] = ()

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self.connection = connection
        self.path = path

    @classmethod
    def open(cls: type[D], path: str, *, busy_seconds: float = BUSY_SECONDS) -> D:
        """Open the file at `path`, making or migrating it. Raises `StoreError`."""
        with cls._named_errors(path):
            _make_way(path)
            connection = cls._connected(path, busy_seconds)
        database = cls(connection, path)
        try:
            with cls._named_errors(path):
                database._prepare(busy_seconds)
        except BaseException:
            connection.close()
            raise
        return database

    @classmethod
    def in_memory(cls: type[D]) -> D:
        """A database that lives as long as the object."""
        connection = cls._connected(IN_MEMORY, 0)
        database = cls(connection, IN_MEMORY)
        weakref.finalize(database, connection.close)
        database._prepare(0)
        return database

    @classmethod
    def _connected(cls, path: str, busy_seconds: float) -> sqlite3.Connection:
        return sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)

    def close(self) -> None:
        self.connection.close()

    def rows(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._named_errors(self.path):
            return self.connection.execute(sql, parameters).fetchall()

    def damage(self) -> str:
        """What SQLite finds wrong with the file; empty when it is sound."""
        verdict = str(self.rows("PRAGMA quick_check(1)")[0][0])
        return "" if verdict == "ok" else verdict

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of the block, or nothing of it; waits for other writers."""
        with self._named_errors(self.path, of_system=False):
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
        """One state of the file for all questions of the block, whoever writes meanwhile."""
        with self._named_errors(self.path, of_system=False):
            self.connection.execute("BEGIN")
            try:
                yield
            finally:
                self.connection.execute("COMMIT")

    def data_version(self) -> int:
        """Changes when another process has written."""
        return int(self.rows("PRAGMA data_version")[0][0])

    def _prepare(self, busy_seconds: float) -> None:
        self.connection.execute("PRAGMA trusted_schema = OFF")
        version = int(self.connection.execute("PRAGMA user_version").fetchone()[0])
        if version > len(self.migrations):
            raise StoreError(
                f"{self.called} has version {version}, this program knows {len(self.migrations)}",
                code="STORE_NEWER",
                where=self.path,
                hint=f"upgrade metier, or {self.rebuilt_by}",
            )
        if version == 0:
            self._refuse_strangers()
        self._use_wal(busy_seconds)
        for pragma in self.pragmas:
            self.connection.execute(pragma)
        if version < len(self.migrations):
            self._migrate()

    def _refuse_strangers(self) -> None:
        """Leave the database of another program alone."""
        tables = "SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' LIMIT 1"
        if self.connection.execute(tables).fetchone() is not None and not self._is_begun():
            raise StoreError(
                f"{self.called} is a database of another program",
                code="STORE_CORRUPT",
                where=self.path,
                hint="move the file away",
            )

    def _is_begun(self) -> bool:
        """Whether another process of ours is making the schema right now."""
        return bool(self.connection.execute("PRAGMA table_info(migration)").fetchall())

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
        for number, migration in enumerate(self.migrations, start=1):
            with self.transaction() as connection:
                done = int(connection.execute("PRAGMA user_version").fetchone()[0])
                if done >= number:
                    continue
                for statement in migration.statements:
                    connection.execute(statement)
                connection.execute("INSERT INTO migration VALUES (?, ?)", (number, migration.name))
                connection.execute(f"PRAGMA user_version = {number}")

    @classmethod
    @contextmanager
    def _named_errors(cls, path: str, *, of_system: bool = True) -> Iterator[None]:
        """Turn what SQLite, and where asked the system, says into one line, a code and a hint."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            is_damaged = "malformed" in str(error)
            raise cls._named(sqlite3.SQLITE_CORRUPT if is_damaged else code, path, error) from error
        except UnicodeDecodeError as error:
            raise cls._named(sqlite3.SQLITE_CORRUPT, path, error) from error
        except OSError as error:
            if not of_system:
                raise
            raise StoreError(
                f"{cls.called} cannot be written: {error.strerror}",
                code="STORE_READ_ONLY",
                where=path,
                hint="check that you may write there",
            ) from error

    @classmethod
    def _named(cls, code: int, path: str, error: Exception) -> StoreError:
        named = _BY_SQLITE_CODE.get(code)
        if named is None:
            return StoreError(str(error), where=path, hint="see metier doctor")
        name, message, hint = named
        return StoreError(
            message.format(it=cls.called),
            code=name,
            where=path,
            hint=hint.format(rebuilt_by=cls.rebuilt_by),
        )


def _make_way(path: str) -> None:
    """Make the folder and the file, so that SQLite opens nothing but a file of this user."""
    folder, name = os.path.split(os.path.abspath(path))
    room = Room(folder)
    room.make()
    if room.info(name) is None:
        os.close(room.open(name, os.O_RDWR | os.O_CREAT))
    room.vet(f"{name}{ending}" for ending in ("-wal", "-shm", "-journal"))


def _is_busy(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


_BY_SQLITE_CODE: dict[int, tuple[str, str, str]] = {
    sqlite3.SQLITE_BUSY: (
        "STORE_LOCKED",
        "another process holds {it}",
        "try again when it has finished",
    ),
    sqlite3.SQLITE_FULL: ("STORE_FULL", "the disk is full", "free some space and try again"),
    sqlite3.SQLITE_READONLY: (
        "STORE_READ_ONLY",
        "{it} cannot be written",
        "check that you may write there",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "STORE_READ_ONLY",
        "{it} cannot be opened",
        "check that the folder exists and that you may write there",
    ),
    sqlite3.SQLITE_NOTADB: ("STORE_CORRUPT", "{it} is not a database", "{rebuilt_by}"),
    sqlite3.SQLITE_CORRUPT: ("STORE_CORRUPT", "{it} is damaged", "{rebuilt_by}"),
    sqlite3.SQLITE_IOERR: (
        "STORE_FULL",
        "{it} cannot be written",
        "check the disk: it may be full or failing",
    ),
}
