"""The record of runs: one SQLite file in which every acknowledged step is on the disk."""

import asyncio
import contextlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from threading import RLock
from typing import Any, ClassVar, NamedTuple, TypeVar

from metier.errors import NotFoundError, RunLostError, StoreError, UsageError
from metier.run.owner import is_gone
from metier.run.tables import EPOCHS, TABLES, VIEW
from metier.run.writes import (
    FENCED,
    LEASE_SECONDS,
    NO_PLACE,
    SAVE_STEP,
    Claim,
    Place,
    Write,
    dumped,
    step_write,
)
from metier.storage.database import BUSY_SECONDS, Database
from metier.values.models import Usage
from metier.values.runs import RESUMABLE, Failure, RunRecord, RunState, StepRecord

FILE_NAME = "runs.db"
LOG_COMMITS = 64
INTERRUPTED = Failure("RUN_INTERRUPTED", "its process ended before the run did")

_RUN_COLUMNS = (
    "id, agent, task, state, created, (SELECT data FROM blob WHERE blob.key = request),"
    " (SELECT data FROM blob WHERE blob.key = profile), finished, parent, parent_step,"
    " forked_from, failure, usage, output, key, epoch, undoing"
)
_CLAIM = (
    "UPDATE run SET owner = ?, lease = ?, state = 'running', cancel = 0, failure = NULL,"
    " finished = NULL, epoch = epoch + 1 WHERE key = ? RETURNING epoch"
)
_CANCEL = (
    "UPDATE run SET state = iif(undoing IS NULL, 'cancelled', 'rollback_incomplete'),"
    " failure = ifnull(undoing, failure), owner = NULL, lease = NULL, epoch = epoch + 1"
    " WHERE key = ?"
)
_KEEP = (
    "UPDATE run SET owner = ?, lease = ?, state = 'running', failure = NULL"
    " WHERE key = ? AND epoch = ? AND state IN ('running', 'pending')"
)

R = TypeVar("R")
Waiting = tuple[Sequence[Write], "asyncio.Future[None]"]


class Renewed(NamedTuple):
    """What a process learns when it says that it lives."""

    cancelled: list[str]
    """Runs that somebody wants cancelled."""
    lost: list[str]
    """Runs that somebody else has claimed."""


class RunStore(Database):
    """All runs of a workspace. One object serves one event loop; any process may have the file."""

    called = "the record of runs"
    rebuilt_by = if_damaged = "move the file away; the runs in it are lost"
    migrations = (TABLES, EPOCHS)
    pragmas: ClassVar[tuple[str, ...]] = (
        "PRAGMA synchronous = FULL",
        "PRAGMA temp_store = MEMORY",
        "PRAGMA wal_autocheckpoint = 4000",
        VIEW,
    )

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        super().__init__(connection, path)
        self.live = 0
        """Runs at work through this object."""
        self._lock = RLock()
        self._last_key = 0
        self._saved_alone = 0
        self._noted: dict[tuple[Claim, str], StepRecord] = {}
        self._waiting: list[Waiting] = []

    @classmethod
    def _connected(cls, path: str, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
        return sqlite3.connect(
            path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
        )

    # Writing

    def note(self, claim: Claim, step: StepRecord) -> None:
        """Have a step written with what is saved next, unless it changes before; nobody waits."""
        self._noted[claim, step.id] = step

    def step(self, claim: Claim, step: StepRecord, checkpoint: Place = NO_PLACE) -> Write:
        """What writes a step of a run, in place of what was noted of it."""
        self._noted.pop((claim, step.id), None)
        return step_write(claim, step, checkpoint)

    async def save(self, writes: Sequence[Write]) -> None:
        """Return when these are on the disk. Those of many runs go there together.

        Raises `RunLostError` when somebody else has claimed the run.
        """
        if self.live < 2 and not self._waiting:
            self.save_now(writes)
            self._reuse_log()
            return
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.append((writes, future))
        if len(self._waiting) == 1:
            loop.call_soon(self._save_all)
        await future

    def save_now(self, writes: Iterable[Write] = ()) -> None:
        """Write these, and what was noted, in one transaction."""
        by_statement: dict[str, list[tuple[Any, ...]]] = {}
        for statement, values in writes:
            by_statement.setdefault(statement, []).append(values)
        noted = self._noted
        with self._lock, self.transaction() as connection:
            rows = [step_write(claim, step)[1] for (claim, _), step in noted.items()]
            connection.executemany(SAVE_STEP, rows)
            for statement, group in by_statement.items():
                _write(connection, statement, group)
        self._noted = {}

    def _reuse_log(self) -> None:
        """Begin SQLite's log anew now and then: overwriting it costs less than lengthening it."""
        self._saved_alone += 1
        if self._saved_alone % LOG_COMMITS == 0:
            with contextlib.suppress(StoreError):  # somebody else is at it
                self.rows("PRAGMA wal_checkpoint(PASSIVE)")

    def _save_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        try:
            self.save_now(write for writes, _ in waiting for write in writes)
        except Exception:
            self._save_one_by_one(waiting)
            return
        for _, future in waiting:
            if not future.done():
                future.set_result(None)

    def _save_one_by_one(self, waiting: Sequence[Waiting]) -> None:
        """What one run cannot save does not keep the others from it."""
        for writes, future in waiting:
            try:
                self.save_now(writes)
                if not future.done():
                    future.set_result(None)
            except Exception as error:
                if not future.done():
                    future.set_exception(error)

    def flush(self) -> None:
        """Write at once what waits to be written."""
        if self._waiting:
            self._save_all()

    # Runs

    def new_key(self) -> int:
        """A key that no run has: it grows with the time."""
        self._last_key = max(self._last_key + 1, time.time_ns())
        return self._last_key

    def claim(self, run_id: str, owner: str, now: float) -> RunRecord:
        """Make `owner` the one at work on a run. Raises when somebody else is."""
        with self._lock, self.transaction() as connection:
            run = self.run(run_id)
            if run.state != "running" and run.state not in RESUMABLE:
                raise UsageError(f"run '{run_id}' is {run.state} now", code="RUN_NOT_RESUMABLE")
            holder, lease = self._holder(run.key)
            if holder and holder != owner and not is_gone(holder, lease, now):
                raise UsageError(f"run '{run_id}' is at work in another process", code="RUN_BUSY")
            claimed = connection.execute(_CLAIM, (owner, now + LEASE_SECONDS, run.key))
            epoch = int(claimed.fetchone()[0])
        return run._replace(state="running", failure=None, finished=None, epoch=epoch)

    def _holder(self, key: int) -> tuple[str | None, float | None]:
        owner, lease = self.rows("SELECT owner, lease FROM run WHERE key = ?", (key,))[0]
        return owner, lease

    def renew(self, owner: str, claims: Iterable[Claim], now: float) -> Renewed:
        """Say that `owner` lives and is at work on these runs; what it must know of them.

        A run that was set free meanwhile, and that nobody has claimed, is taken back.
        """
        with self._lock, self.transaction() as connection:
            claims = list(claims)
            keep = [(owner, now + LEASE_SECONDS, *claim) for claim in claims]
            connection.executemany(_KEEP, keep)
            told = [
                (claim, *self.rows("SELECT id, epoch, cancel FROM run WHERE key = ?", claim[:1])[0])
                for claim in claims
            ]
        held = [(run_id, cancel) for claim, run_id, epoch, cancel in told if epoch == claim.epoch]
        lost = [run_id for claim, run_id, epoch, _ in told if epoch != claim.epoch]
        return Renewed([run_id for run_id, cancel in held if cancel], lost)

    def check(self, claim: Claim) -> None:
        """Raise `RunLostError` when somebody else has claimed the run."""
        if not self.rows("SELECT 1 FROM run WHERE key = ? AND epoch = ?", claim):
            raise RunLostError

    def recover(self, now: float) -> list[str]:
        """Set runs free whose process is gone; their ids."""
        with self._lock, self.transaction() as connection:
            running = connection.execute(
                "SELECT id, owner, lease FROM run WHERE state = 'running'"
            ).fetchall()
            free = [run_id for run_id, owner, lease in running if is_gone(owner, lease, now)]
            connection.executemany(
                "UPDATE run SET state = 'pending', owner = NULL, lease = NULL, failure = ?"
                " WHERE id = ?",
                [(dumped(INTERRUPTED.to_json()), run_id) for run_id in free],
            )
        return free

    def ask_to_cancel(self, run_id: str, now: float, idle: str = "") -> bool:
        """Ask whoever is at work on a run to stop; whether there is somebody.

        `idle` is a process that is known not to be at work on it.
        """
        with self._lock, self.transaction() as connection:
            run = self.run(run_id)
            holder, lease = self._holder(run.key)
            is_at_work = holder != idle and not is_gone(holder, lease, now)
            if run.state == "running" and is_at_work:
                connection.execute("UPDATE run SET cancel = 1 WHERE key = ?", (run.key,))
                return True
            if run.state in ("running", "pending"):
                connection.execute(_CANCEL, (run.key,))
        return False

    def run(self, run_id: str) -> RunRecord:
        """A run by its id, or by a beginning that only one has. Raises `NotFoundError`."""
        found = self.rows(f"SELECT {_RUN_COLUMNS} FROM run WHERE id = ?", (run_id,))
        if not found and run_id:
            pattern = run_id.replace("*", "[*]").replace("?", "[?]") + "*"
            found = self.rows(f"SELECT {_RUN_COLUMNS} FROM run WHERE id GLOB ? LIMIT 2", (pattern,))
        if len(found) != 1:
            raise NotFoundError(f"no run is called '{run_id}'", hint="metier runs list")
        return self._read(_run_of, found[0])

    def runs(
        self, *, state: str | None = None, limit: int = 50, delegated: bool = True
    ) -> list[RunRecord]:
        """The latest runs, newest first; `delegated` ones are among them or not."""
        found = self.rows(
            f"SELECT {_RUN_COLUMNS} FROM run WHERE (?1 IS NULL OR state = ?1)"
            " AND (?3 OR parent = '') ORDER BY created DESC, id DESC LIMIT ?2",
            (state, limit, delegated),
        )
        return [self._read(_run_of, row) for row in found]

    def children(self, run_id: str, step: str | None = None) -> list[RunRecord]:
        """The runs that a run, or one step of it, has delegated to, in their order."""
        found = self.rows(
            f"SELECT {_RUN_COLUMNS} FROM run WHERE parent = ?1 AND parent != ''"
            " AND (?2 IS NULL OR parent_step = ?2) ORDER BY created",
            (run_id, step),
        )
        return [self._read(_run_of, row) for row in found]

    def steps(self, key: int) -> list[StepRecord]:
        """The steps of a run that began, in the order in which they ended."""
        found = self.rows(
            "SELECT id, seq, state, attempts, input, output, failure, usage, started, finished,"
            " generation"
            " FROM step WHERE run = ? ORDER BY seq = 0, seq, started, id",
            (key,),
        )
        return [self._read(_step_of, row) for row in found]

    def _read(self, read: Callable[[tuple[Any, ...]], R], row: tuple[Any, ...]) -> R:
        """What a row holds. Raises `StoreError` when that makes no sense."""
        with self.checked():
            return read(row)


def _write(connection: sqlite3.Connection, statement: str, rows: list[tuple[Any, ...]]) -> None:
    changed = connection.executemany(statement, rows)
    if statement in FENCED and changed.rowcount != len(rows):
        raise RunLostError


def _loaded(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _run_of(row: tuple[Any, ...]) -> RunRecord:
    state: RunState = row[3]
    return RunRecord(
        run_id=row[0],
        agent_id=row[1],
        task=row[2],
        state=state,
        created=row[4],
        request=json.loads(row[5]),
        profile=json.loads(row[6]),
        finished=row[7],
        parent_run=row[8],
        parent_step=row[9],
        forked_from=row[10],
        failure=Failure.of(_loaded(row[11])) if row[11] else None,
        usage=Usage(*_loaded(row[12]) or ()),
        output=_loaded(row[13]),
        key=row[14],
        epoch=row[15],
        undoing=Failure.of(_loaded(row[16])) if row[16] else None,
    )


def _step_of(row: tuple[Any, ...]) -> StepRecord:
    return StepRecord(
        id=row[0],
        seq=row[1],
        state=row[2],
        attempts=row[3],
        input=_loaded(row[4]),
        output=_loaded(row[5]),
        failure=Failure.of(_loaded(row[6])) if row[6] else None,
        usage=Usage(*_loaded(row[7]) or ()),
        started=row[8],
        finished=row[9],
        generation=row[10],
    )
