"""Cards in the table of a database."""

import os
import sqlite3
import stat
import time
from contextlib import closing

from metier.core.text import printable
from metier.discover.sources.source import LARGEST, LIMIT_SECONDS, SourcedCard, file_stem, reason
from metier.errors import SourceError

MOST_CARDS = 5_000
BUSY_SECONDS = 1.0


class DatabaseSource:
    """The rows of the table `card (id, text)` of an SQLite file, which is only read."""

    type = "database"

    def __init__(
        self, path: str, *, busy_seconds: float = BUSY_SECONDS, limit: float = LIMIT_SECONDS
    ) -> None:
        self.location = path
        self._busy_seconds = busy_seconds
        self._limit = limit

    def load(self) -> list[SourcedCard]:
        try:
            if not stat.S_ISREG(os.stat(self.location).st_mode):
                raise self._failed("it is not a regular file")
            with closing(self._connect()) as connection:
                self._restrict(connection)
                rows = connection.execute("SELECT id, text FROM card LIMIT ?", (MOST_CARDS + 1,))
                cards = sorted(self._card(*row) for row in rows)
        except (OSError, ValueError, sqlite3.Error) as error:
            why = reason(error)
            late = f"it took more than {self._limit:g} s"
            raise self._failed(late if why == "interrupted" else why) from None
        if len(cards) > MOST_CARDS:
            raise self._failed(f"it has more than {MOST_CARDS} cards")
        return cards

    def _connect(self) -> sqlite3.Connection:
        from urllib.parse import quote  # few workspaces have such a source

        address = f"file:{quote(os.path.abspath(self.location))}?mode=ro"
        return sqlite3.connect(address, uri=True, timeout=self._busy_seconds)

    def _restrict(self, connection: sqlite3.Connection) -> None:
        """No writing, no query without end, no value that fills the memory."""
        deadline = time.monotonic() + self._limit
        connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1 << 20)
        connection.execute("PRAGMA query_only = ON")

    def _card(self, key: object, text: object) -> SourcedCard:
        if not isinstance(key, str) or not isinstance(text, str):
            raise self._failed(f"id and text of card {key!r} are not both text")
        data = text.encode()
        if len(data) > LARGEST:
            raise self._failed(f"card {key!r} has more than {LARGEST} bytes")
        return SourcedCard(file_stem(key), data)

    def _failed(self, detail: str) -> SourceError:
        return SourceError(
            f"cannot be read as a database of cards: {detail[:200]}",
            where=printable(self.location),
            hint="it needs a table card (id TEXT PRIMARY KEY, text TEXT)",
        )
