"""The store of runs in PostgreSQL: runs, steps and checkpoints."""

from collections.abc import Sequence
from typing import Any

from metier.core.timestamps import from_iso
from metier.run import postgres_tables as tables
from metier.run.postgres_runs import PostgresRuns
from metier.run.rows import (
    Row,
    check_idle,
    checkpoint_of,
    checkpoint_texts,
    is_storable,
    numbered,
)
from metier.storage.postgres import Connection, scalar
from metier.values.agents import Checkpoint
from metier.values.runs import ENDED, RESUMABLE, RunRecord


class PostgresRunStore(PostgresRuns):
    """A `RunStore` in the schema `metier` of a PostgreSQL database."""

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        created = from_iso(checkpoint.created_at)
        if not self._key(checkpoint.run_id):
            run_id, agent, context = checkpoint.run_id, checkpoint.agent_id, checkpoint.context
            key = self.new_key()
            self.add(RunRecord(run_id, agent, "", "pending", created, dict(context), {}, key=key))
        expires = from_iso(checkpoint.expires_at) if checkpoint.expires_at else None
        blobs = [self._blob(text) for text in checkpoint_texts(checkpoint)]
        given, memory, outputs = (values[1] for _, values in blobs)
        values = (
            checkpoint.checkpoint_id, checkpoint.step_index, checkpoint.completed_step_id,
            given, memory, created, expires, outputs,
        )  # fmt: skip

        def job(connection: Connection) -> None:
            with connection.transaction():
                for statement, row in sorted(blobs):
                    connection.execute(statement, row)
                self._add_checkpoint(connection, checkpoint.run_id, values)

        self._database.call(job)

    def _add_checkpoint(self, connection: Connection, run_id: str, values: Row) -> None:
        """Add a row under the next number of its run, and delete the one it replaces."""
        find = f"{tables.KEY_OF} FOR UPDATE"
        key = scalar(connection, find, (self.namespace, run_id))
        run = (self.namespace, key)
        seq = scalar(connection, tables.LAST_SEQ, run * 2)
        connection.execute(tables.FORGET_NAME, (self.namespace, values[0]))
        connection.execute(tables.SAVE_CHECKPOINT, (*run, seq, *values))

    def checkpoint(self, checkpoint_id: str) -> Checkpoint | None:
        if not is_storable(checkpoint_id):
            return None
        named = self._rows(tables.NAMED, self.namespace, checkpoint_id)
        if checkpoint_id and named:
            wanted = (*named[0], checkpoint_id)
        else:
            run_id, seq = numbered(checkpoint_id)
            wanted = self._key(run_id), seq, ""
        found = self._checkpoints(wanted[0], "AND checkpoint.seq = %s AND name = %s", *wanted[1:])
        return found[0] if found else None

    def checkpoints(
        self, run_id: str, now: float, *, only_latest: bool = False
    ) -> list[Checkpoint]:
        which = "AND (expires IS NULL OR expires > %s) ORDER BY checkpoint.seq"
        if only_latest:
            which += " DESC LIMIT 1"
        return self._checkpoints(self._key(run_id), which, now)

    def _checkpoints(self, key: int, which: str, *values: Any) -> list[Checkpoint]:
        rows = self._rows(f"{tables.CHECKPOINTS} {which}", self.namespace, key, *values)
        steps = self.steps(key) if any(row[-1] is None for row in rows) else []
        return [checkpoint_of(row, steps) for row in rows]

    def prune_checkpoints(self, run_id: str | None, maximum: int | None, now: float) -> int:
        key = self.run(run_id).key if run_id is not None and maximum is not None else 0

        def job(connection: Connection) -> int:
            with connection.transaction():
                removed = self._forget(connection, tables.EXPIRED, now)
                newest = (self.namespace, key, maximum)
                for (seq,) in connection.execute(tables.NEWEST, newest).fetchall():
                    removed += self._forget(connection, tables.UNTIL, key, seq)
            return removed

        return self._database.call(job)

    def _forget(self, connection: Connection, which: str, *values: Any) -> int:
        """Delete the checkpoints that a query selects; how many."""
        bound = (self.namespace, self.namespace, *values)
        statements = [one.format(which=which) for one in tables.FORGET]
        return sum(connection.execute(one, bound).rowcount for one in statements)

    def removable(self, before: float, *, resumable: bool = False) -> list[str]:
        states = [*ENDED, *(RESUMABLE if resumable else ())]
        values = (self.namespace, self.namespace, self.namespace, before, states)
        return [str(row[0]) for row in self._rows(tables.REMOVABLE, *values)]

    def remove(self, run_ids: Sequence[str]) -> int:
        wanted = [one for one in run_ids if is_storable(one)]

        def job(connection: Connection) -> int:
            with connection.transaction():
                connection.execute(tables.LOCK_BLOBS)
                tree = (self.namespace, wanted, self.namespace)
                found = connection.execute(tables.TREE, tree).fetchall()
                keys, ids = [row[0] for row in found], [row[1] for row in found]
                locked = connection.execute(tables.LOCK_RUNS, (self.namespace, keys)).fetchall()
                check_idle(locked)
                blobs = connection.execute(tables.BLOBS_OF, (self.namespace, keys) * 3).fetchall()
                for statement, values in zip(
                    tables.REMOVE, (keys, keys, keys, keys, ids), strict=True
                ):
                    connection.execute(statement, (self.namespace, values))
                unused = [key for (key,) in blobs if key is not None]
                connection.execute(tables.REMOVE_BLOBS, (self.namespace, unused))
            return len(found)

        return self._database.call(job)

    def _key(self, run_id: str) -> int:
        """The key of a run; 0 if unknown."""
        if not is_storable(run_id):
            return 0
        found = self._rows(tables.KEY_OF, self.namespace, run_id)
        return int(found[0][0]) if found else 0
