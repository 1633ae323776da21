"""Recent outcomes of candidates in PostgreSQL, shared by a namespace."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from metier.errors import StoreError
from metier.resolve.reliability import WINDOW, History, history_of
from metier.storage.postgres import Connection, Postgres

_READ = (
    "SELECT candidate, success FROM (SELECT candidate, number, success,"
    " row_number() OVER (PARTITION BY candidate ORDER BY number DESC) AS age"
    " FROM metier.outcome WHERE namespace = %s) AS outcome WHERE age <= %s"
    " ORDER BY candidate, number"
)
_ADD = (
    "INSERT INTO metier.outcome (namespace, candidate, success, id) VALUES (%s, %s, %s, %s)"
    " ON CONFLICT (namespace, id) DO NOTHING"
)
"""With an id: when a connection is lost, a statement may be repeated that was committed."""
_PRUNE = (
    "DELETE FROM metier.outcome WHERE namespace = %s AND candidate = %s AND number <="
    " (SELECT number FROM metier.outcome WHERE namespace = %s AND candidate = %s"
    " ORDER BY number DESC LIMIT 1 OFFSET %s)"
)
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('metier.outcome'), hashtext(%s))"


class Outcome(NamedTuple):
    candidate: str
    success: bool
    id: str


def _new(candidate: str, success: bool) -> Outcome:
    return Outcome(candidate, success, secrets.token_hex(8))


class PostgresOutcomes:
    """An `OutcomeStore`. What cannot be stored is kept in memory, as in a file."""

    def __init__(self, database: Postgres, namespace: str) -> None:
        self._database = database
        self._namespace = namespace
        self._unsaved: list[Outcome] = []

    def history(self) -> History:
        try:
            outcomes = self.read()
        except StoreError as error:
            return history_of(_grouped({}, self._unsaved), "ephemeral", error.message)
        if self._unsaved:
            warning = "outcomes cannot be kept in the shared state"
            return history_of(_grouped(outcomes, self._unsaved), "ephemeral", warning)
        return history_of(outcomes, "persistent")

    def record(self, candidate: str, *, success: bool) -> History:
        """Add an outcome; it is kept in memory when it cannot be stored."""
        self._unsaved = [*self._unsaved, _new(candidate, success)][-WINDOW * WINDOW :]
        try:
            self._add(self._unsaved)
            self._unsaved = []
        except StoreError as error:
            return history_of(_grouped({}, self._unsaved), "ephemeral", error.message)
        return self.history()

    def read(self) -> dict[str, list[int]]:
        """The last outcomes of each candidate, oldest first. Raises `StoreError`."""
        values = (self._namespace, WINDOW)
        rows = self._database.call(lambda connection: connection.execute(_READ, values).fetchall())
        return _grouped({}, rows)

    def add_missing(self, outcomes: Mapping[str, Sequence[int]]) -> list[str]:
        """Add the outcomes of candidates that have none here; their ids. Raises `StoreError`."""

        def job(connection: Connection) -> list[str]:
            with connection.transaction():
                connection.execute(_LOCK, (self._namespace,))
                known = connection.execute(_READ, (self._namespace, 1)).fetchall()
                new = sorted(outcomes.keys() - {candidate for candidate, _ in known})
                added = [_new(key, bool(outcome)) for key in new for outcome in outcomes[key]]
                self._insert(connection, added)
            return new

        return self._database.call(job)

    def _add(self, outcomes: Sequence[Outcome]) -> None:
        def job(connection: Connection) -> None:
            with connection.transaction():
                connection.execute(_LOCK, (self._namespace,))
                self._insert(connection, outcomes)

        self._database.call(job)

    def _insert(self, connection: Connection, outcomes: Sequence[Outcome]) -> None:
        """Add outcomes in this order, and delete those that no longer count."""
        space = self._namespace
        with connection.cursor() as cursor:
            cursor.executemany(_ADD, [(space, *outcome) for outcome in outcomes])
            names = dict.fromkeys(outcome.candidate for outcome in outcomes)
            cursor.executemany(_PRUNE, [(space, name, space, name, WINDOW) for name in names])


def _grouped(
    known: Mapping[str, Sequence[int]], rows: Iterable[tuple[Any, ...]]
) -> dict[str, list[int]]:
    outcomes = {key: list(value) for key, value in known.items()}
    for candidate, success, *_ in rows:
        outcomes[candidate] = [*outcomes.get(candidate, []), int(success)][-WINDOW:]
    return outcomes
