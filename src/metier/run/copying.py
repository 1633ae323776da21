"""Copy runs from a SQLite store to PostgreSQL: rows as they are, under new keys."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from metier.run import postgres_tables as tables
from metier.run.rows import Row, dumped, kept_checkpoints
from metier.run.sqlite_store import SqliteRunStore
from metier.run.store import RunStore
from metier.storage.postgres import Connection, Postgres

_AT_ONCE = 100
_RUNS = (
    "SELECT key, id, agent, task, state, created, finished,"
    " (SELECT data FROM blob WHERE blob.key = request),"
    " (SELECT data FROM blob WHERE blob.key = profile), parent, parent_step, forked_from,"
    " failure, usage, output, epoch, undoing FROM run"
    " WHERE key > ? AND state != 'running' ORDER BY key LIMIT ?"
)
_STEPS = (
    "SELECT id, seq, state, attempts, input, output, failure, usage, started, finished,"
    " step_index, (SELECT data FROM blob WHERE blob.key = memory), generation"
    " FROM step WHERE run = ?"
)
_CHECKPOINTS = (
    "SELECT seq, name, step_index, completed, (SELECT data FROM blob WHERE blob.key = context),"
    " (SELECT data FROM blob WHERE blob.key = memory), created, expires,"
    " (SELECT data FROM blob WHERE blob.key = outputs) FROM checkpoint WHERE run = ?"
)
_KNOWN = (
    "SELECT id, key, epoch, owner IS NOT NULL FROM metier.run"
    " WHERE namespace = %s AND id = ANY(%s) FOR UPDATE"
)
_DONE = (
    "SELECT id, started, finished FROM metier.step"
    " WHERE namespace = %s AND run = %s AND state = 'succeeded'"
)
_NEW_KEYS = "SELECT nextval('metier.run_keys') FROM generate_series(1, %s)"
_DELETE = (
    "DELETE FROM metier.checkpoint WHERE namespace = %s AND run = ANY(%s)",
    "DELETE FROM metier.step WHERE namespace = %s AND run = ANY(%s)",
    "DELETE FROM metier.run WHERE namespace = %s AND key = ANY(%s)",
)
_ADD_RUN = (
    "INSERT INTO metier.run (namespace, key, id, agent, task, state, created, finished, request,"
    " profile, retention_hours, checkpoints, parent, parent_step, forked_from, failure, usage,"
    " output, epoch, rollback) VALUES (" + ", ".join(["%s"] * 20) + ")"
)
_ADD_STEP = (
    "INSERT INTO metier.step (namespace, run, id, seq, state, attempts, input, output, failure,"
    " usage, started, finished, step_index, memory, generation)"
    " VALUES (" + ", ".join(["%s"] * 15) + ")"
)
_ADD_CHECKPOINT = (
    "INSERT INTO metier.checkpoint (namespace, run, seq, name, step_index, completed, context,"
    " memory, created, expires, outputs) VALUES (" + ", ".join(["%s"] * 11) + ")"
    " ON CONFLICT DO NOTHING"
)
_NO_MEMORY = "[]"
_STEP_INDEX = 10


class CopiedRuns(NamedTuple):
    """What became of the runs of a store."""

    new: tuple[str, ...] = ()
    """Runs that were copied, or copied again because they went on since."""
    known: tuple[str, ...] = ()
    """Runs that were copied before."""
    newer: tuple[str, ...] = ()
    """Runs that went on in PostgreSQL since they were copied."""
    steps: int = 0
    checkpoints: int = 0

    def joined(self, more: "CopiedRuns") -> "CopiedRuns":
        return CopiedRuns(
            self.new + more.new,
            self.known + more.known,
            self.newer + more.newer,
            self.steps + more.steps,
            self.checkpoints + more.checkpoints,
        )


class _Run(NamedTuple):
    """The rows of a run."""

    row: Row
    steps: list[Row]
    checkpoints: list[Row]

    @property
    def id(self) -> str:
        return str(self.row[1])

    @property
    def epoch(self) -> int:
        return int(self.row[15])

    @property
    def checkpoint_count(self) -> int:
        """A step's row holds the checkpoint that it causes."""
        return len(self.checkpoints) + sum(row[_STEP_INDEX] is not None for row in self.steps)


class _There(NamedTuple):
    """A run in PostgreSQL."""

    key: int
    epoch: int
    is_owned: bool


def copy_runs(source: SqliteRunStore, database: Postgres, namespace: str) -> CopiedRuns:
    """Copy all runs that are not running. Raises `StoreError`."""
    copied = CopiedRuns()
    for runs in _batches(source):
        copied = copied.joined(database.call(_Batch(runs, namespace)))
    return copied


def _batches(source: SqliteRunStore) -> Iterator[list[_Run]]:
    last = -1
    while rows := source.rows(_RUNS, (last, _AT_ONCE)):
        last = rows[-1][0]
        yield [
            _Run(row, source.rows(_STEPS, row[:1]), source.rows(_CHECKPOINTS, row[:1]))
            for row in rows
        ]


class _Batch:
    """Copies some runs in one transaction. It can be repeated."""

    def __init__(self, runs: Sequence[_Run], namespace: str) -> None:
        self._runs = runs
        self._namespace = namespace

    def __call__(self, connection: Connection) -> CopiedRuns:
        with connection.transaction():
            found = connection.execute(_KNOWN, (self._namespace, [run.id for run in self._runs]))
            there = {row[0]: _There(*row[1:]) for row in found.fetchall()}
            known = [run for run in self._runs if run.id in there]
            outdated = [run for run in known if self._is_outdated(connection, run, there[run.id])]
            keys = [there[run.id].key for run in outdated]
            for statement in _DELETE:
                connection.execute(statement, (self._namespace, keys))
            new = [run for run in self._runs if run.id not in there] + outdated
            self._insert(connection, new)
        same = [run.id for run in known if run.epoch == there[run.id].epoch]
        others = {run.id for run in known} - {run.id for run in outdated} - set(same)
        return CopiedRuns(
            tuple(run.id for run in new),
            tuple(same),
            tuple(sorted(others)),
            sum(len(run.steps) for run in new),
            sum(run.checkpoint_count for run in new),
        )

    def _is_outdated(self, connection: Connection, run: _Run, there: _There) -> bool:
        """Whether a run went on here since it was copied, and not there."""
        if there.is_owned or run.epoch <= there.epoch:
            return False
        done = connection.execute(_DONE, (self._namespace, there.key)).fetchall()
        here = {(row[0], *row[8:10]) for row in run.steps}
        return here.issuperset(done)

    def _insert(self, connection: Connection, runs: Sequence[_Run]) -> None:
        keys = [row[0] for row in connection.execute(_NEW_KEYS, (len(runs),)).fetchall()]
        blobs: dict[bytes, str] = {}
        rows: dict[str, list[Row]] = {_ADD_RUN: [], _ADD_STEP: [], _ADD_CHECKPOINT: []}
        for run, key in zip(runs, keys, strict=True):
            rows[_ADD_RUN].append((self._namespace, key, *_run_values(run.row, blobs)))
            rows[_ADD_STEP] += [
                (self._namespace, key, *_step_values(row, blobs)) for row in run.steps
            ]
            rows[_ADD_CHECKPOINT] += [
                (self._namespace, key, *_checkpoint_values(row, blobs)) for row in run.checkpoints
            ]
        with connection.cursor() as cursor:
            added = [(self._namespace, *blob) for blob in sorted(blobs.items())]
            cursor.executemany(tables.ADD_BLOB, added)
            for statement, values in rows.items():
                cursor.executemany(statement, values)


def _run_values(row: Row, blobs: dict[bytes, str]) -> Row:
    """The columns of a run from `id` on."""
    run_id, agent, task, state, created, finished, request, profile, *more = row[1:]
    kept = kept_checkpoints(json.loads(profile))
    texts = _blob(request, blobs), _blob(profile, blobs)
    return run_id, agent, dumped(task), state, created, finished, *texts, *kept, *more


def _step_values(row: Row, blobs: dict[bytes, str]) -> Row:
    *first, memory, generation = row
    return *first, _memory(memory, blobs), generation


def _checkpoint_values(row: Row, blobs: dict[bytes, str]) -> Row:
    seq, name, index, completed, context, memory, created, expires, outputs = row
    texts = _blob(context, blobs), _memory(memory, blobs)
    return seq, name, index, completed, *texts, created, expires, _blob(outputs, blobs)


def _blob(data: str | None, blobs: dict[bytes, str]) -> bytes | None:
    """The key of a value that is stored once."""
    if data is None:
        return None
    key = blake2b(data.encode(), digest_size=16).digest()
    blobs[key] = data
    return key


def _memory(data: str | None, blobs: dict[bytes, str]) -> bytes | None:
    return None if data == _NO_MEMORY else _blob(data, blobs)


# Verifying


def run_digest(store: RunStore, run_id: str, now: float, *, checkpoints: bool) -> str:
    """A digest of a run and its steps, and of its checkpoints if wanted."""
    run = store.run(run_id)
    parts: list[Any] = [run._replace(key=0), store.steps(run.key)]
    if checkpoints:
        parts.append([saved.to_json() for saved in store.checkpoints(run_id, now)])
    return hashlib.sha256(dumped(parts).encode()).hexdigest()
