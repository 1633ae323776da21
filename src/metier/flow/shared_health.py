"""What `metier doctor` asks of shared state."""

import time
from typing import Any, NamedTuple

from metier.flow.shared import SharedState
from metier.run.postgres_migrations import MIGRATIONS
from metier.storage.postgres import Connection, scalar

MOST_SKEW = 5.0
"""Seconds by which clocks may differ: leases are by the clock of PostgreSQL, times of steps are
not."""
RECENT_DAYS = 7
"""Older runs are not counted: there may be too many."""
_CLOCK = "SELECT extract(epoch FROM clock_timestamp())::float8"
_TLS = "SELECT coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false)"
_SCHEMA = "SELECT max(number) FROM metier.migration"
_WAITING = (
    "SELECT count(*), extract(epoch FROM clock_timestamp())::float8 - min(created)"
    " FROM metier.run WHERE namespace = %s AND state = 'pending'"
)
_HAS_WORKERS = (
    "SELECT count(*) FROM pg_catalog.pg_tables WHERE schemaname = 'metier' AND tablename = 'worker'"
)
_WORKERS = (
    "SELECT count(*), count(*) FILTER (WHERE lease < clock_timestamp())"
    " FROM metier.worker WHERE namespace = %s"
)
_OTHER_DOCUMENTS = (
    "SELECT count(*) FROM metier.run JOIN metier.blob"
    " ON blob.namespace = run.namespace AND blob.key = run.request"
    " WHERE run.namespace = %s AND state = 'pending'"
    " AND data::json ->> 'documents' NOT IN (SELECT documents FROM metier.worker"
    " WHERE worker.namespace = run.namespace AND lease >= clock_timestamp())"
)
_GIVEN_UP = (
    "SELECT count(*) FROM metier.run WHERE namespace = %s"
    " AND state IN ('failed', 'rollback_incomplete') AND failure LIKE '%%\"RUN_GIVEN_UP\"%%'"
    f" AND created > extract(epoch FROM clock_timestamp())::float8 - {RECENT_DAYS * 86_400}"
)


class Health(NamedTuple):
    server: str
    """The version of PostgreSQL."""
    is_encrypted: bool
    schema: int
    newest_schema: int
    skew: float
    """Seconds by which the clock of PostgreSQL is ahead of this machine's."""
    waiting: int
    """Pending runs."""
    oldest_seconds: float | None
    """The age of the oldest pending run."""
    workers: int | None
    """None if the database has no workers yet."""
    dead_workers: int
    other_documents: int
    """Pending runs that were started with documents that no live worker has."""
    given_up: int = 0
    """Runs of the last days that workers took too often without ending them."""


def shared_health(shared: SharedState) -> Health:
    """Raises `StoreError`."""
    return shared.database.call(lambda connection: _health(connection, shared.namespace))


def _health(connection: Connection, namespace: str) -> Health:
    before = time.time()
    clock = float(scalar(connection, _CLOCK))
    skew = clock - (before + time.time()) / 2
    waiting, oldest = _row(connection, _WAITING, namespace)
    workers, dead, others, given_up = None, 0, 0, 0
    if scalar(connection, _HAS_WORKERS):
        workers, dead = _row(connection, _WORKERS, namespace)
        (others,) = _row(connection, _OTHER_DOCUMENTS, namespace)
        (given_up,) = _row(connection, _GIVEN_UP, namespace)
    return Health(
        _version(connection.info.server_version),
        bool(scalar(connection, _TLS)),
        int(scalar(connection, _SCHEMA)),
        len(MIGRATIONS),
        skew,
        int(waiting),
        None if oldest is None else max(0.0, float(oldest)),
        workers,
        int(dead),
        int(others),
        int(given_up),
    )


def _row(connection: Connection, statement: str, namespace: str) -> tuple[Any, ...]:
    return connection.execute(statement, (namespace,)).fetchall()[0]


def _version(number: int) -> str:
    """`180001` as `18.1`."""
    return f"{number // 10_000}.{number % 10_000}"
