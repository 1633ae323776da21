"""The catalogue file."""

import os
from contextlib import suppress
from typing import ClassVar

from metier.database import BUSY_SECONDS, Database
from metier.index.migrations import MIGRATIONS
from metier.workspace import mark_of

FILE_NAME = "metier.db"
_HOME = "home"
"""The setting that says in which folder the catalogue was made."""


class Store(Database):
    """One open catalogue. Not shared between threads; any number of processes may have it."""

    called = "the catalogue"
    rebuilt_by = "remove the file: the next refresh builds it again"
    migrations = MIGRATIONS
    pragmas: ClassVar[tuple[str, ...]] = (
        "PRAGMA foreign_keys = ON",
        "PRAGMA synchronous = NORMAL",
        "PRAGMA temp_store = MEMORY",
        "PRAGMA cache_size = -32768",
    )

    @classmethod
    def open(cls, path: str, *, busy_seconds: float = BUSY_SECONDS) -> "Store":
        """Open the catalogue at `path`, making or migrating it. Raises `StoreError`.

        One that came here by a copy or a clone is made anew: whoever made it could have written
        anything into it.
        """
        store = super().open(path, busy_seconds=busy_seconds)
        with store._named_errors(path):
            mark = mark_of(os.path.dirname(path) or ".")
        known = store.setting(_HOME)
        if known == mark:
            return store
        if known or store.setting("counts"):
            store.close()
            with cls._named_errors(path):
                _remove(path)
            store = super().open(path, busy_seconds=busy_seconds)
        store.remember(_HOME, mark)
        return store

    def version(self) -> tuple[int, int]:
        """Changes with everything that is written, here or by another process."""
        return self.data_version(), self.connection.total_changes

    def setting(self, name: str) -> str:
        found = self.rows("SELECT value FROM setting WHERE name = ?", (name,))
        return str(found[0][0]) if found else ""

    def remember(self, name: str, value: str) -> None:
        """Keep a setting; nothing is written when it has that value already."""
        if self.setting(name) != value:
            with self.transaction() as connection:
                connection.execute("INSERT OR REPLACE INTO setting VALUES (?, ?)", (name, value))


def _remove(path: str) -> None:
    os.unlink(path)
    for ending in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(path + ending)
