"""The workers of a namespace: who is alive, and who takes over the runs of a dead worker."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from metier.core.timestamps import to_iso
from metier.run import worker_tables as tables
from metier.run.postgres_migrations import MIGRATIONS
from metier.run.queue_tables import queue_of
from metier.run.rows import failure_text
from metier.storage.postgres import Connection, Postgres
from metier.values.runs import Failure
from metier.values.settings import WORKER_LEASE_SECONDS

HEARTBEATS = 5
"""How many heartbeats fit into a lease: four may be lost."""
_TAKEN_OVER = Failure("RUN_INTERRUPTED", "the worker that executed the run is gone")
_RELEASED = Failure("RUN_RELEASED", "the worker that executed the run was stopped")


class Worker(NamedTuple):
    """A worker as the others see it."""

    id: str
    """Also the owner of its runs, and its executor id in DBOS."""
    queue: str
    concurrency: int
    documents: str
    version: str
    started: float = 0.0
    is_dead: bool = False

    @property
    def queues(self) -> list[str]:
        """Those that `queue` names; no name has a comma in it."""
        return self.queue.split(", ")


class Note(NamedTuple):
    """Something that happened to a run between its steps."""

    at: float
    code: str
    message: str
    worker: str

    def to_json(self) -> dict[str, str]:
        return {
            "at": to_iso(self.at), "code": self.code, "message": self.message,
            "worker": self.worker,
        }  # fmt: skip


class TakeOver(NamedTuple):
    worker: str
    runs: Sequence[str]


class Workers:
    """Reads and writes the table of workers. Errors are raised at once: a heartbeat repeats."""

    def __init__(
        self, address: str, namespace: str, *, lease: float = WORKER_LEASE_SECONDS
    ) -> None:
        self.namespace = namespace
        self.lease = lease
        self._database = Postgres(
            address, called="the record of workers", migrations=MIGRATIONS, patience=0
        )

    def close(self) -> None:
        self._database.close()

    def join(self, worker: Worker) -> None:
        values = (self.namespace, *worker[:5], self.lease)
        self._database.call(lambda one: one.execute(tables.JOIN, values))

    def renew(self, worker_id: str) -> bool:
        """Whether the worker is still counted as alive, and for another lease.

        Raises `StoreError` if PostgreSQL is away, or a newer program has changed the schema.
        """
        values = (self.lease, self.namespace, worker_id)

        def job(connection: Connection) -> bool:
            self._database.check_schema(connection)
            return bool(connection.execute(tables.RENEW, values).rowcount)

        return self._database.call(job)

    def set_documents(self, worker_id: str, documents: str) -> None:
        """Say which documents a worker has now."""
        values = (documents, self.namespace, worker_id)
        self._database.call(lambda one: one.execute(tables.SET_DOCUMENTS, values))

    def leave(self, worker_id: str) -> None:
        """Delete a worker that has no run left."""
        values = (self.namespace, worker_id)
        self._database.call(lambda one: one.execute(tables.LEAVE, values))

    def all(self) -> list[Worker]:
        rows = self._database.call(
            lambda one: one.execute(tables.WORKERS, (self.namespace,)).fetchall()
        )
        return [Worker(*row) for row in rows]

    def take_over(
        self, taker: str, enqueue_again: Callable[[str], Sequence[str]]
    ) -> TakeOver | None:
        """Take over the runs of one dead worker, if there is one.

        No other worker does the same meanwhile. `enqueue_again` returns what a worker had taken
        from the queue; it may be called again if this process dies before the row is deleted.
        Runs that have ended leave the queue on their next turn, and are not among the result.
        """

        def job(connection: Connection) -> TakeOver | None:
            with connection.transaction():
                found = connection.execute(tables.DEAD, (self.namespace,)).fetchone()
                if found is None:
                    return None
                dead = str(found[0])
                self._release(connection, dead, _TAKEN_OVER)
                runs = self._takeable(connection, enqueue_again(dead))
                for run_id in runs:
                    note = (self.namespace, run_id, "RUN_TAKEN_OVER", f"from {dead}", taker)
                    connection.execute(tables.NOTE, note)
                connection.execute(tables.LEAVE, (self.namespace, dead))
            return TakeOver(dead, runs)

        return self._database.call(job)

    def takeable(self, runs: Sequence[str]) -> list[str]:
        """Those of some runs that have not ended, and that no other process executes."""
        return self._database.call(lambda one: self._takeable(one, runs))

    def _takeable(self, connection: Connection, runs: Sequence[str]) -> list[str]:
        rows = connection.execute(tables.NOT_TAKEABLE, (self.namespace, list(runs))).fetchall()
        others = {run_id for (run_id,) in rows}
        return [run_id for run_id in runs if run_id not in others]

    def release_runs(self, worker_id: str) -> list[str]:
        """Make the runs of a worker pending that has stopped executing them; their ids."""
        return self._database.call(lambda one: self._release(one, worker_id, _RELEASED))

    def _release(self, connection: Connection, worker_id: str, why: Failure) -> list[str]:
        values = (self.namespace, worker_id, failure_text(why), self.namespace)
        return [run_id for (run_id,) in connection.execute(tables.RELEASE_RUNS, values).fetchall()]

    # Runs

    def note(self, run_id: str, code: str, message: str, worker_id: str) -> None:
        values = (self.namespace, run_id, code, message, worker_id)
        self._database.call(lambda one: one.execute(tables.NOTE, values))

    def notes(self, run_id: str) -> list[Note]:
        values = (self.namespace, run_id)
        rows = self._database.call(lambda one: one.execute(tables.NOTES, values).fetchall())
        return [Note(*row) for row in rows]

    def queue_of(self, run_id: str) -> str:
        """The queue in which a run waits, or from which a worker has taken it; empty if none."""
        return self._database.call(lambda one: queue_of(one, self.namespace, run_id))

    def live_runs(self) -> dict[str, int]:
        """How many runs are pending or running. Those that have ended are too many to count."""
        values = (self.namespace,)
        rows = self._database.call(lambda one: one.execute(tables.LIVE_RUNS, values).fetchall())
        return {"pending": 0, "running": 0, **{str(state): int(count) for state, count in rows}}
