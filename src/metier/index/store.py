"""The catalog file."""

import os
import sqlite3
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from typing import ClassVar, Self, TypeVar, cast

from metier.errors import DamagedError
from metier.index.migrations import MIGRATIONS
from metier.storage.database import BUSY_SECONDS, IN_MEMORY, Database
from metier.storage.room import Room

T = TypeVar("T")
_MOST_CACHED = 1_000


class Store(Database):
    """One open catalog. Not shared between threads; any number of processes may open it.

    It is a cache of the documents: a damaged catalog is rebuilt.
    """

    called = "the catalog"
    rebuilt_by = "remove the file: the next refresh builds it again"
    if_damaged = "the next refresh builds it again"
    migrations = MIGRATIONS
    pragmas: ClassVar[tuple[str, ...]] = (
        "PRAGMA foreign_keys = ON",
        "PRAGMA synchronous = NORMAL",
        "PRAGMA temp_store = MEMORY",
        "PRAGMA cache_size = -24576",
    )

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        super().__init__(connection, path)
        self.was_damaged = False
        """Whether it replaces a damaged file."""
        self._mark = _mark(path)
        self._cache: dict[Hashable, object] = {}
        self._cached_version: tuple[int, ...] = ()

    @classmethod
    def open(cls, path: str, *, busy_seconds: float = BUSY_SECONDS) -> Self:
        """Open the file, creating it if it is missing or damaged. Raises `StoreError`."""
        mark = _mark(path)
        try:
            return super().open(path, busy_seconds=busy_seconds)
        except DamagedError:
            _remove(path, mark)
            store = super().open(path, busy_seconds=busy_seconds)
            store.was_damaged = True
            return store

    def close(self) -> None:
        """Close the file; a damaged file is removed, and the next refresh rebuilds it."""
        super().close()
        if self.is_damaged and self.path != IN_MEMORY:
            _remove(self.path, self._mark)

    def start_over(self) -> None:
        """Replace a damaged file by an empty catalog."""
        self.is_damaged = True
        self.close()
        fresh = self.in_memory() if self.path == IN_MEMORY else self.open(self.path)
        self.__dict__.update(fresh.__dict__)
        self.was_damaged = True

    def version(self) -> tuple[int, ...]:
        """Changes with every write, here or by another process."""
        return *self._mark, self.data_version(), self.connection.total_changes

    def cached(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, cached under `key` until the catalog changes.

        The value that was not asked for longest makes room for a new one.
        """
        version = self.version()
        if version != self._cached_version:
            self._cache.clear()
            self._cached_version = version
        found = self._cache.pop(key) if key in self._cache else make()
        self._cache[key] = found
        if len(self._cache) > _MOST_CACHED:
            del self._cache[next(iter(self._cache))]
        return cast(T, found)

    @contextmanager
    def without_waiting(self) -> Iterator[None]:
        """Within the block, `transaction` raises `StoreError` while another process writes."""
        (before,) = self.rows("PRAGMA busy_timeout")[0]
        self.rows("PRAGMA busy_timeout = 0")
        try:
            yield
        finally:
            self.rows(f"PRAGMA busy_timeout = {before}")

    def setting(self, name: str) -> str:
        found = self.rows("SELECT value FROM setting WHERE name = ?", (name,))
        return str(found[0][0]) if found else ""

    def remember(self, name: str, value: str) -> None:
        """Keep a setting; nothing is written if it is unchanged."""
        if self.setting(name) != value:
            with self.transaction() as connection:
                connection.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, value))


def _mark(path: str) -> tuple[int, ...]:
    """Which file has that name; empty when there is none."""
    try:
        info = os.stat(path)
    except OSError:
        return ()
    return info.st_dev, info.st_ino


def _remove(path: str, mark: tuple[int, ...]) -> None:
    """Remove a damaged catalog, unless another process has already replaced it."""
    folder, name = os.path.split(path)
    room = Room(folder)
    lock = room.lock(f"{name}.lock")
    try:
        if _mark(path) != mark:
            return
        for ending in ("-shm", "-wal", "-journal", ""):
            with suppress(FileNotFoundError):
                room.remove(f"{name}{ending}")
    finally:
        os.close(lock)
