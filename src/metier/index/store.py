"""The catalogue file."""

from typing import ClassVar

from metier.index.migrations import MIGRATIONS
from metier.storage.database import Database


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
