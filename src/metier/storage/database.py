"""A SQLite file: opening, migrating, transactions and readable errors."""

import os
import sqlite3
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple, TypeVar

from metier.errors import DamagedError, StoreError
from metier.storage.places import named_state_folder
from metier.storage.room import Room

IN_MEMORY = ":memory:"
BUSY_SECONDS = 30.0
D = TypeVar("D", bound="Database")
MEANINGLESS = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError
)  # fmt: skip
"""Raised by code that reads a value which metier did not write."""
_DAMAGE_MESSAGES = (
    "malformed", "Could not decode", "no such table", "no such column", "no such index",
    "has no column", "already exists", "duplicate column",
)  # fmt: skip
"""Parts of SQLite's messages about tables or values that are not ours."""
_DAMAGE_CODES = (
    sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_MISMATCH,
)  # fmt: skip
"""Only a damaged file causes these: our statements respect every constraint."""


class Migration(NamedTuple):
    """A step of a schema. It never changes once released."""

    name: str
    statements: tuple[str, ...]


class Database:
    """An open file with a schema. Any number of processes may open it."""

    called: ClassVar[str] = "the database"
    rebuilt_by: ClassVar[str] = "remove the file"
    """Hint for a file of a newer version."""
    if_damaged: ClassVar[str] = "remove the file"
    """Hint for a damaged file."""
    migrations: ClassVar[Sequence[Migration]] = ()
    pragmas: ClassVar[Sequence[str]] = ()

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        self.connection = connection
        self.path = path
        self.is_damaged = False
        self.is_read_only = False
        self.is_closed = False

    @classmethod
    def open(cls: type[D], path: str, *, busy_seconds: float = BUSY_SECONDS) -> D:
        """Open the file at `path`, which is created or migrated. Raises `StoreError`."""
        with cls._named_errors(path):
            _create_safely(path)
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
    def read_only(cls: type[D], path: str, *, busy_seconds: float = BUSY_SECONDS) -> D:
        """Open an existing file, in which nothing can be written. Raises `StoreError`."""
        with cls._named_errors(path):
            _vet(*os.path.split(os.path.abspath(path)))
            address = f"file:{_escaped(os.path.abspath(path))}?mode=ro"
            connection = cls._connected(address, busy_seconds)
        database = cls(connection, path)
        database.is_read_only = True
        try:
            with cls._named_errors(path):
                database._prepare_reading()
        except BaseException:
            connection.close()
            raise
        return database

    @classmethod
    def in_memory(cls: type[D]) -> D:
        connection = cls._connected(IN_MEMORY, 0)
        database = cls(connection, IN_MEMORY)
        weakref.finalize(database, connection.close)
        database._prepare(0)
        return database

    @classmethod
    def _connected(cls, path: str, busy_seconds: float) -> sqlite3.Connection:
        # The finalizer of a database in memory may run in any thread.
        check = path != IN_MEMORY
        return sqlite3.connect(
            path,
            timeout=busy_seconds,
            isolation_level=None,
            check_same_thread=check,
            uri=path.startswith("file:"),
        )

    def close(self) -> None:
        with self._watched():
            self.connection.close()
        self.is_closed = True

    def require_open(self) -> None:
        """Raise `StoreError` if it is closed, or was opened in another thread."""
        with self._watched():
            self.connection.cursor().close()

    def rows(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._watched(of_system=True):
            return self.connection.execute(sql, parameters).fetchall()

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Raise `DamagedError` if the block cannot interpret what it reads from the file."""
        with self._watched():
            try:
                yield
            except MEANINGLESS as error:
                raise self._named(sqlite3.SQLITE_CORRUPT, self.path, error) from error

    @contextmanager
    def _watched(self, *, of_system: bool = False) -> Iterator[None]:
        """Translate errors, and remember whether the file is damaged."""
        try:
            with self._named_errors(self.path, of_system=of_system):
                yield
        except DamagedError:
            self.is_damaged = True
            raise

    def damage(self) -> str:
        """What SQLite finds wrong with the file; empty if nothing."""
        try:
            verdict = str(self.rows("PRAGMA quick_check(1)")[0][0])
        except DamagedError as error:
            return error.message
        self.is_damaged = verdict != "ok"
        return verdict if self.is_damaged else ""

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit the whole block or nothing; waits for other writers."""
        with self._watched():
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
        """All queries of the block see the same state of the file."""
        with self._watched():
            self.connection.execute("BEGIN")
            try:
                yield
            finally:
                if self.connection.in_transaction:
                    self.connection.execute("COMMIT")

    def data_version(self) -> int:
        """Changes when another process has written."""
        return int(self.rows("PRAGMA data_version")[0][0])

    def _prepare_reading(self) -> None:
        if self._version() < len(self.migrations):
            raise StoreError(
                f"{self.called} was written by an older version of metier",
                code="STORE_OLDER",
                where=self.path,
                hint="any command that writes to it converts it, such as metier doctor",
            )
        for pragma in self.pragmas:
            self.connection.execute(pragma)

    def _version(self) -> int:
        """The version of the file. Raises `StoreError` if it is newer than this program."""
        self.connection.execute("PRAGMA trusted_schema = OFF")
        version = int(self.connection.execute("PRAGMA user_version").fetchone()[0])
        if version > len(self.migrations):
            raise StoreError(
                f"{self.called} has version {version}, this program reads {len(self.migrations)}",
                code="STORE_NEWER",
                where=self.path,
                hint=f"upgrade metier, or {self.rebuilt_by}",
            )
        return version

    def _prepare(self, busy_seconds: float) -> None:
        version = self._version()
        if version == 0:
            self._reject_foreign()
        self._use_wal(busy_seconds)
        for pragma in self.pragmas:
            self.connection.execute(pragma)
        if version < len(self.migrations):
            self._migrate()

    def _reject_foreign(self) -> None:
        tables = "SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' LIMIT 1"
        if self.connection.execute(tables).fetchone() is not None and not self._is_being_created():
            raise StoreError(
                f"{self.called} is a database of another program",
                code="STORE_CORRUPT",
                where=self.path,
                hint="move the file away",
            )

    def _is_being_created(self) -> bool:
        """Whether another process is creating the schema."""
        return bool(self.connection.execute("PRAGMA table_info(migration)").fetchall())

    def _use_wal(self, busy_seconds: float) -> None:
        """Switch to WAL, and wait for other processes, which SQLite does not do here."""
        deadline = time.monotonic() + busy_seconds
        while True:
            try:
                self.connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                code = getattr(error, "sqlite_errorcode", 0) & 0xFF
                is_busy = code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
                if not is_busy or time.monotonic() >= deadline:
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
        """Translate errors of SQLite, and those of the system if `of_system`."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in _DAMAGE_CODES or any(part in str(error) for part in _DAMAGE_MESSAGES):
                code = sqlite3.SQLITE_CORRUPT
            raise cls._named(code, path, error) from error
        except UnicodeDecodeError as error:
            raise cls._named(sqlite3.SQLITE_CORRUPT, path, error) from error
        except OSError as error:
            if not of_system:
                raise
            raise StoreError(
                f"{cls.called} cannot be written{_in_folder(path)}: {error.strerror}",
                code="STORE_READ_ONLY",
                where=path,
                hint=_CHECK_PERMISSION,
            ) from error

    @classmethod
    def _named(cls, code: int, path: str, error: Exception) -> StoreError:
        if isinstance(error, sqlite3.ProgrammingError):
            return _misused(cls.called, path, error)
        if code not in _BY_SQLITE_CODE:
            return StoreError(str(error), where=path, hint="see metier doctor")
        name, message, hint = _BY_SQLITE_CODE[code]
        kind = DamagedError if name == DamagedError.default_code else StoreError
        message = message.format(it=cls.called)
        message += _in_folder(path) if name == "STORE_READ_ONLY" else ""
        return kind(message, code=name, where=path, hint=hint or cls.if_damaged)


def _in_folder(path: str) -> str:
    named = named_state_folder(path)
    return f" in {named}" if named else ""


def _misused(called: str, path: str, error: Exception) -> StoreError:
    if "thread" in str(error):
        message = f"{called} was opened in another thread"
        return StoreError(
            message, where=path, hint="call catalog.new_connection() or Catalog.open in each thread"
        )
    if "closed" in str(error):
        return StoreError(f"{called} is closed", where=path, hint="open another")
    return StoreError(str(error), where=path, hint="see metier doctor")


def _escaped(path: str) -> str:
    """A path in an address of SQLite."""
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _create_safely(path: str) -> None:
    """Create the file. An existing file is not opened: closing it would release SQLite's locks."""
    folder, name = os.path.split(os.path.abspath(path))
    room = Room(folder)
    room.make()
    if not room.has(name):
        os.close(room.open(name, os.O_RDWR | os.O_CREAT))
    _vet(folder, name)


def _vet(folder: str, name: str) -> None:
    """Raise `OSError` if a file of the database is a link or another user's."""
    Room(folder).vet(f"{name}{ending}" for ending in ("", "-wal", "-shm", "-journal"))


_CHECK_PERMISSION = "check that you may write there"
_CHECK_FOLDER = "check that the folder exists and that you may write there"
_CHECK_DISK = "check the disk: it may be full or failing"
_BY_SQLITE_CODE = {
    sqlite3.SQLITE_BUSY: (
        "STORE_LOCKED", "another process holds {it}", "try again when it has finished",
    ),
    sqlite3.SQLITE_FULL: ("STORE_FULL", "the disk is full", "free some space and try again"),
    sqlite3.SQLITE_READONLY: ("STORE_READ_ONLY", "{it} cannot be written", _CHECK_PERMISSION),
    sqlite3.SQLITE_CANTOPEN: ("STORE_READ_ONLY", "{it} cannot be opened", _CHECK_FOLDER),
    sqlite3.SQLITE_NOTADB: ("STORE_CORRUPT", "{it} is not a database", ""),
    sqlite3.SQLITE_CORRUPT: ("STORE_CORRUPT", "{it} is damaged", ""),
    sqlite3.SQLITE_IOERR: ("STORE_FULL", "{it} cannot be written", _CHECK_DISK),
}  # fmt: skip
"""Code, message and hint; without a hint, `if_damaged` is used."""
