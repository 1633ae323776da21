"""The catalog, opened read-only. Light: runs for every prompt."""

from __future__ import annotations

import os

from metier.storage.lightjson import parse
from metier.storage.room import Room
from metier.storage.workspace import CATALOG_FILE, CATALOG_VERSION

try:
    from _sqlite3 import connect  # the package around it would load datetime
except ImportError:
    from sqlite3 import connect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_WAIT_SECONDS = 0.05
_AT_ONCE = 400
_UNSAFE = "%?#"


class CatalogRows:
    """Questions in SQL to a catalog."""

    def rows(self, sql: str, parameters: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def rows_for(self, sql: str, values: Iterable[Any]) -> list[tuple[Any, ...]]:
        """The rows of a query that ends in `IN (…)`, for any number of values."""
        wanted = list(values)
        found: list[tuple[Any, ...]] = []
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            found += self.rows(f"{sql} IN ({','.join('?' * len(some))})", some)
        return found

    def setting(self, name: str) -> str:
        rows = self.rows("SELECT value FROM setting WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else ""


class ReadOnlyCatalog(CatalogRows):
    """One catalog file."""

    def __init__(self, room: Room) -> None:
        path = room.file(CATALOG_FILE)
        try:
            room.vet((CATALOG_FILE, f"{CATALOG_FILE}-wal", f"{CATALOG_FILE}-shm"))
        except OSError as error:
            raise ValueError(f"the catalog cannot be used: {error}") from None
        if not os.path.exists(path):
            raise FileNotFoundError(f"no catalog in {room.path}")
        how = "mode=ro"
        if not os.access(room.path, os.W_OK) and not os.path.exists(f"{path}-wal"):
            how = "mode=ro&immutable=1"  # else SQLite wants to write a file beside it
        for char in _UNSAFE:
            path = path.replace(char, f"%{ord(char):02x}")
        self._connection = connect(f"file:{path}?{how}", timeout=_WAIT_SECONDS, uri=True)
        try:
            self._check()
        except BaseException:
            self.close()
            raise

    def _check(self) -> None:
        self._connection.execute("PRAGMA trusted_schema = OFF")
        version = self.rows("PRAGMA user_version")[0][0]
        if version != CATALOG_VERSION:
            raise ValueError(f"the catalog has version {version}, not {CATALOG_VERSION}")

    def __enter__(self) -> ReadOnlyCatalog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def rows(self, sql: str, parameters: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, tuple(parameters)).fetchall()

    def settings(self, agent: str) -> dict[str, Any]:
        """The settings of `[capabilities]`, with those of the agent's profile."""
        text = self.setting("capabilities")
        settings: dict[str, Any] = parse(text) if text else {}
        profile = settings.get("agents", {}).get(agent)
        return settings | settings["profiles"].get(profile, {}) if profile else settings
