"""Where the runs of a test are stored: the same behaviour is expected of every kind of store."""

import secrets
from collections.abc import Sequence
from typing import Any, Protocol

from metier.run.postgres_store import PostgresRunStore
from metier.run.postgres_writer import Write
from metier.run.sqlite_store import SqliteRunStore
from metier.run.store import RunStore
from metier.values.runs import Claim
from run.random_plans import CrashedError, DyingStore


class Stores(Protocol):
    """Opens stores over the same runs, as several processes do, and closes them in the end."""

    def open(self) -> RunStore: ...
    def dying(self) -> Any:
        """A store that dies after `most` commits; see `DyingStore`."""

    def anew(self) -> "Stores":
        """The same kind of store, without any run."""

    def close(self) -> None: ...


class SqliteStores:
    def __init__(self, path: str) -> None:
        self.path = path
        self._opened: list[RunStore] = []

    def open(self) -> RunStore:
        self._opened.append(SqliteRunStore.open(self.path))
        return self._opened[-1]

    def dying(self) -> DyingStore:
        store = DyingStore.open(self.path)
        store.commits = 0
        self._opened.append(store)
        return store

    def anew(self) -> "SqliteStores":
        return SqliteStores(f"{self.path}-{secrets.token_hex(4)}")

    def close(self) -> None:
        for one in self._opened:
            one.close()


class PostgresStores:
    def __init__(self, address: str) -> None:
        self.address = address
        self.namespace = f"test-{secrets.token_hex(6)}"
        self._opened: list[RunStore] = []

    def open(self) -> RunStore:
        self._opened.append(PostgresRunStore(self.address, self.namespace))
        return self._opened[-1]

    def dying(self) -> "DyingPostgresStore":
        store = DyingPostgresStore(self.address, self.namespace)
        self._opened.append(store)
        return store

    def anew(self) -> "PostgresStores":
        return PostgresStores(self.address)

    def close(self) -> None:
        for one in self._opened:
            one.close()


class DyingPostgresStore(PostgresRunStore):
    """A store that dies after so many commits: the next one is not made, nor any later."""

    commits = 0
    most: int | None = None
    at_once = False
    """Whether it dies with the last commit itself, or when the next one is wanted."""

    async def _save(self, writes: Sequence[Write], claim: Claim | None) -> None:
        self._before()
        await super()._save(writes, claim)
        self._after()

    def _save_now(self, writes: Sequence[Write], claim: Claim | None) -> None:
        self._before()
        super()._save_now(writes, claim)
        self._after()

    def _before(self) -> None:
        if self.most is not None and self.commits >= self.most:
            raise CrashedError

    def _after(self) -> None:
        self.commits += 1
        if self.at_once and self.commits == self.most:
            raise CrashedError
