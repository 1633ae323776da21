"""What `metier doctor` asks of shared state."""

import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from metier.flow.shared import SharedState
from metier.run.postgres_migrations import MIGRATIONS
from metier.run.queue_tables import idle_runs
from metier.storage.postgres import Connection, scalar

MOST_SKEW = 5.0
"""Seconds by which clocks may differ: leases are by the clock of PostgreSQL, times of steps are
not."""
RECENT_DAYS = 7
"""Older runs are not counted: there may be too many."""
_CLOCK = "SELECT extract(epoch FROM clock_timestamp())::float8"
_TLS = "SELECT coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false)"
_SUPERUSER = "SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user"
_SCHEMA = "SELECT max(number) FROM metier.migration"
_WORKERS = (
    "SELECT count(*), count(*) FILTER (WHERE lease < clock_timestamp())"
    " FROM metier.worker WHERE namespace = %s"
)
_QUEUES = "SELECT queue FROM metier.worker WHERE namespace = %s AND lease >= clock_timestamp()"
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
    """Runs in a queue."""
    oldest_seconds: float
    """The age of the oldest run in a queue."""
    workers: int
    dead_workers: int
    other_documents: int
    """Pending runs that were started with documents that no live worker has."""
    given_up: int = 0
    """Runs of the last days that workers took too often without ending them."""
    of_dead_workers: int = 0
    """Runs that a dead worker had taken from a queue."""
    unserved: Mapping[str, int] = MappingProxyType({})
    """Runs in queues from which no live worker takes runs, by queue."""
    in_no_queue: int = 0
    """Runs that stopped, and that no worker will take."""
    oldest_in_no_queue: str = ""
    """The id of the oldest of them."""
    is_superuser: bool = False
    """Whether the login may do anything in the database."""


def shared_health(shared: SharedState) -> Health:
    """Raises `StoreError`."""
    return shared.database.call(lambda connection: _health(connection, shared.namespace))


def _health(connection: Connection, namespace: str) -> Health:
    before = time.time()
    clock = float(scalar(connection, _CLOCK))
    skew = clock - (before + time.time()) / 2
    idle = idle_runs(connection, namespace)
    waiting = [one for one in idle if one.queue and not one.is_left]
    stopped = next((one for one in idle if not one.queue), None)
    workers, dead = _row(connection, _WORKERS, namespace)
    (others,) = _row(connection, _OTHER_DOCUMENTS, namespace)
    (given_up,) = _row(connection, _GIVEN_UP, namespace)
    served = _served(connection, namespace)
    return Health(
        _version(connection.info.server_version),
        bool(scalar(connection, _TLS)),
        int(scalar(connection, _SCHEMA)),
        len(MIGRATIONS),
        skew,
        sum(one.number for one in waiting),
        max((one.oldest_seconds for one in waiting), default=0.0),
        int(workers),
        int(dead),
        int(others),
        int(given_up),
        sum(one.number for one in idle if one.is_left),
        {one.queue: one.number for one in waiting if one.queue not in served},
        stopped.number if stopped else 0,
        stopped.oldest if stopped else "",
        bool(scalar(connection, _SUPERUSER)),
    )


def _served(connection: Connection, namespace: str) -> set[str]:
    """The queues from which live workers take runs."""
    rows = connection.execute(_QUEUES, (namespace,)).fetchall()
    return {name for (names,) in rows for name in names.split(", ")}


def _row(connection: Connection, statement: str, namespace: str) -> tuple[Any, ...]:
    return connection.execute(statement, (namespace,)).fetchall()[0]


def _version(number: int) -> str:
    """`180001` as `18.1`."""
    return f"{number // 10_000}.{number % 10_000}"
