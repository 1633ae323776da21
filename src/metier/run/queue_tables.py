"""What DBOS's tables say about runs, read without DBOS: only a worker and the queue need it."""

from hashlib import blake2b
from typing import NamedTuple

from metier.storage.postgres import Connection, scalar

RUN = "metier.run"
"""The name of the workflow that executes a run. Its id is that of the run, `:` and a number."""
_LONGEST_NAME = 63
_EXISTS = "SELECT to_regclass(%s) IS NOT NULL"
_ACTIVE = f"name = '{RUN}' AND status IN ('ENQUEUED', 'DELAYED', 'PENDING')"
_RUN_ID = "regexp_replace(workflow_uuid, ':[^:]*$', '')"
_QUEUE_OF = (
    f"SELECT queue_name FROM {{table}} WHERE {_ACTIVE} AND {_RUN_ID} = %s"
    " ORDER BY created_at DESC LIMIT 1"
)
_NOTHING_QUEUED = "SELECT ''::text AS id, ''::text AS queue, false AS is_left WHERE false"
_QUEUED = (
    f"SELECT {_RUN_ID} AS id, queue_name AS queue,"
    " status = 'PENDING' AND executor_id NOT IN (SELECT id FROM metier.worker"
    " WHERE namespace = %(namespace)s AND lease >= clock_timestamp()) AS is_left"
    f" FROM {{table}} WHERE {_ACTIVE}"
)
_IDLE_RUNS = (
    "WITH queued AS ({queued}), idle AS (SELECT id, created FROM metier.run"
    " WHERE namespace = %(namespace)s AND parent = '' AND (state = 'pending' OR state = 'running'"
    " AND (owner IS NULL OR lease IS NULL OR lease < clock_timestamp())))"
    " SELECT coalesce(queue, ''), coalesce(is_left, false), count(*),"
    " greatest(0, extract(epoch FROM clock_timestamp())::float8 - min(created)),"
    " (array_agg(idle.id ORDER BY created, idle.id))[1]"
    " FROM idle LEFT JOIN queued USING (id) GROUP BY 1, 2 ORDER BY 1, 2"
)


class IdleRuns(NamedTuple):
    """Runs that no process executes, and that have not ended; those of delegates not counted."""

    queue: str
    """Empty: they are in no queue."""
    is_left: bool
    """Whether a worker had taken them that is dead now."""
    number: int
    oldest_seconds: float
    oldest: str
    """The id of the oldest."""


def schema_of(namespace: str) -> str:
    """The schema of DBOS's tables for a namespace."""
    name = f"metier_queue_{namespace}"
    if len(name) <= _LONGEST_NAME:
        return name
    return f"metier_queue_{blake2b(namespace.encode(), digest_size=16).hexdigest()}"


def idle_runs(connection: Connection, namespace: str) -> list[IdleRuns]:
    """Runs that wait, by queue, and runs that stopped and were not enqueued."""
    table = _table(connection, namespace)
    queued = _QUEUED.format(table=table) if table else _NOTHING_QUEUED
    found = connection.execute(_IDLE_RUNS.format(queued=queued), {"namespace": namespace})
    return [IdleRuns(*row) for row in found.fetchall()]


def queue_of(connection: Connection, namespace: str, run_id: str) -> str:
    """The queue in which a run waits, or from which a worker has taken it; empty if none."""
    table = _table(connection, namespace)
    if not table:
        return ""
    row = connection.execute(_QUEUE_OF.format(table=table), (run_id,)).fetchone()
    return str(row[0]) if row else ""


def _table(connection: Connection, namespace: str) -> str:
    """The table of workflows; empty while there is none."""
    name = f'"{schema_of(namespace)}".workflow_status'
    return name if scalar(connection, _EXISTS, (name,)) else ""
