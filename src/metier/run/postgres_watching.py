"""Notifications about one run in PostgreSQL, by LISTEN and NOTIFY."""

import secrets
import time
from contextlib import suppress

import psycopg

from metier.run import worker_tables as tables
from metier.storage.postgres import Connection, connector

_ANNOUNCED_SECONDS = 60.0
"""How long changes of a run are announced to a watcher that does not ask again."""


class RunWatcher:
    """Waits for changes of a run without asking for them."""

    def __init__(self, address: str, namespace: str, key: int) -> None:
        """`key` is that of the run. Nothing is connected yet."""
        self._connect = connector(address)
        self._run = namespace, key
        self._name = secrets.token_hex(8)
        self._connection: Connection | None = None
        self._renewed = 0.0

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                connection.execute(tables.UNWATCH, (*self._run, self._name))
            connection.close()

    def wait(self, seconds: float) -> bool:
        """Whether the run may have changed: at once after connecting, then when it did."""
        try:
            if self._connection is None:
                self._open()
                return True
            self._renew(self._connection)
            said = " ".join(map(str, self._run))
            heard = self._connection.notifies(timeout=seconds, stop_after=1)
            return any(one.payload == said for one in heard)
        except psycopg.Error:
            self._connection = None
            time.sleep(min(seconds, 1.0))  # PostgreSQL is away
            return False

    def _open(self) -> None:
        self._connection, self._renewed = self._connect(), 0.0
        self._connection.execute(f"LISTEN {tables.WATCHED}")
        self._renew(self._connection)

    def _renew(self, connection: Connection) -> None:
        now = time.monotonic()
        if not self._renewed or now - self._renewed > _ANNOUNCED_SECONDS / 2:
            connection.execute(tables.WATCH, (*self._run, self._name, _ANNOUNCED_SECONDS))
            self._renewed = now
