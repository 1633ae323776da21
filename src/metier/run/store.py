"""The record of runs: one SQLite file in which every acknowledged step is on the disk."""

import asyncio
import contextlib
import json
import sqlite3
import time
from collections.abc import Callable, Sequence
from hashlib import blake2b
from threading import RLock
from typing import Any, ClassVar, NamedTuple, TypeVar

from metier.core.frozen import FrozenDict
from metier.errors import NotFoundError, StoreError, UsageError
from metier.run.owner import is_gone
from metier.run.tables import TABLES, VIEW
from metier.storage.database import BUSY_SECONDS, Database
from metier.values.models import Usage
from metier.values.runs import NOTHING_USED, Failure, RunRecord, RunState, StepRecord

FILE_NAME = "runs.db"
LEASE_SECONDS = 15.0
LOG_COMMITS = 64
INTERRUPTED = Failure("RUN_INTERRUPTED", "its process ended before the run did")

SAVE_STEP = (
    "INSERT INTO step VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT DO UPDATE SET"
    " step_index = iif(seq = excluded.seq, ifnull(excluded.step_index, step_index),"
    " excluded.step_index),"
    " memory = iif(seq = excluded.seq, ifnull(excluded.memory, memory), excluded.memory),"
    " seq = excluded.seq, state = excluded.state, attempts = excluded.attempts,"
    " input = excluded.input, output = excluded.output, failure = excluded.failure,"
    " usage = excluded.usage, started = excluded.started, finished = excluded.finished"
)
"""What a step says of its checkpoint stays as long as its place among the steps does."""
_SAVE_RUN = (
    "INSERT INTO run (key, id, agent, task, state, created, request, profile, parent, parent_step,"
    " forked_from, owner, lease)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_RUN_COLUMNS = (
    "id, agent, task, state, created, (SELECT data FROM blob WHERE blob.key = request),"
    " (SELECT data FROM blob WHERE blob.key = profile), finished, parent, parent_step,"
    " forked_from, failure, usage, output, key"
)

R = TypeVar("R")
Write = tuple[str, tuple[Any, ...]]
"""A statement and its values."""
Place = tuple[int | None, int | None]
"""Of a checkpoint: the last of the workflow's steps before which all are done, its memory's key."""
NO_PLACE: Place = (None, None)


class Kept(NamedTuple):
    """A value that is kept once, however often it is needed."""

    key: int
    write: Write


class NewRun(NamedTuple):
    """A run that is to begin."""

    run_id: str
    agent_id: str
    task: str
    created: float
    request: Kept
    profile: Kept
    parent_run: str = ""
    parent_step: str = ""
    forked_from: str = ""


class RunStore(Database):
    """All runs of a workspace. One object serves one event loop; any process may have the file."""

    called = "the record of runs"
    rebuilt_by = if_damaged = "move the file away; the runs in it are lost"
    migrations = (TABLES,)
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
        self._noted: dict[tuple[int, str], StepRecord] = {}
        self._waiting: list[tuple[Sequence[Write], asyncio.Future[None]]] = []

    @classmethod
    def _connected(cls, path: str, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
        return sqlite3.connect(
            path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
        )

    # Writing

    def note(self, key: int, step: StepRecord) -> None:
        """Have a step written with what is saved next, unless it changes before; nobody waits."""
        self._noted[key, step.id] = step

    def step(self, key: int, step: StepRecord, checkpoint: Place = NO_PLACE) -> Write:
        """What writes a step of the run with that key, in place of what was noted of it."""
        self._noted.pop((key, step.id), None)
        return step_write(key, step, checkpoint)

    async def save(self, writes: Sequence[Write]) -> None:
        """Return when these are on the disk. Those of many runs go there together."""
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

    def save_now(self, writes: Sequence[Write] = ()) -> None:
        """Write these, and what was noted, in one transaction."""
        with self._lock, self.transaction() as connection:
            connection.executemany(SAVE_STEP, self._take_noted())
            for statement, values in writes:
                connection.execute(statement, values)

    def _reuse_log(self) -> None:
        """Begin SQLite's log anew now and then: overwriting it costs less than lengthening it."""
        self._saved_alone += 1
        if self._saved_alone % LOG_COMMITS == 0:
            with contextlib.suppress(StoreError):  # somebody else is at it
                self.rows("PRAGMA wal_checkpoint(PASSIVE)")

    def _take_noted(self) -> list[tuple[Any, ...]]:
        noted, self._noted = self._noted, {}
        return [step_write(key, step)[1] for (key, _), step in noted.items()]

    def _save_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        by_statement = {SAVE_STEP: self._take_noted()}
        for writes, _ in waiting:
            for statement, values in writes:
                by_statement.setdefault(statement, []).append(values)
        try:
            with self._lock, self.transaction() as connection:
                for statement, rows in by_statement.items():
                    connection.executemany(statement, rows)
        except Exception:
            self._save_one_by_one(waiting)
            return
        for _, future in waiting:
            if not future.done():
                future.set_result(None)

    def _save_one_by_one(
        self, waiting: Sequence[tuple[Sequence[Write], asyncio.Future[None]]]
    ) -> None:
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
        run = self.run(run_id)
        with self._lock, self.transaction() as connection:
            owned = connection.execute("SELECT owner, lease FROM run WHERE key = ?", (run.key,))
            holder, lease = owned.fetchone()
            if holder and holder != owner and not is_gone(holder, lease, now):
                raise UsageError(f"run '{run_id}' is at work in another process", code="RUN_BUSY")
            connection.execute(
                "UPDATE run SET owner = ?, lease = ?, state = 'running', cancel = 0,"
                " failure = NULL, finished = NULL WHERE key = ?",
                (owner, now + LEASE_SECONDS, run.key),
            )
        return run

    def renew(self, owner: str, now: float) -> list[str]:
        """Say that `owner` lives; the runs of it that somebody wants cancelled."""
        renewal = "UPDATE run SET lease = ? WHERE owner = ? AND state = 'running'"
        self.save_now([(renewal, (now + LEASE_SECONDS, owner))])
        found = self.rows("SELECT id FROM run WHERE owner = ? AND cancel = 1", (owner,))
        return [run_id for (run_id,) in found]

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

    def ask_to_cancel(self, run_id: str) -> bool:
        """Ask whoever is at work on a run to stop; whether there is somebody."""
        with self._lock, self.transaction() as connection:
            changed = connection.execute(
                "UPDATE run SET cancel = 1 WHERE id = ? AND state = 'running'", (run_id,)
            )
            if changed.rowcount:
                return True
            connection.execute(
                "UPDATE run SET state = 'cancelled' WHERE id = ? AND state = 'pending'", (run_id,)
            )
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

    def children(self, run_id: str) -> list[RunRecord]:
        """The runs that a run has delegated to, in their order."""
        found = self.rows(
            f"SELECT {_RUN_COLUMNS} FROM run WHERE parent = ? AND parent != '' ORDER BY created",
            (run_id,),
        )
        return [self._read(_run_of, row) for row in found]

    def steps(self, key: int) -> list[StepRecord]:
        """The steps of a run that began, in the order in which they ended."""
        found = self.rows(
            "SELECT id, seq, state, attempts, input, output, failure, usage, started, finished"
            " FROM step WHERE run = ? ORDER BY seq = 0, seq, started, id",
            (key,),
        )
        return [self._read(_step_of, row) for row in found]

    def _read(self, read: Callable[[tuple[Any, ...]], R], row: tuple[Any, ...]) -> R:
        """What a row holds. Raises `StoreError` when that makes no sense."""
        with self.checked():
            return read(row)


def begun(run: NewRun, key: int, owner: str | None = None) -> list[Write]:
    """What writes a run that begins: at work by `owner`, or waiting for somebody."""
    row = (
        key, run.run_id, run.agent_id, run.task, "running" if owner else "pending", run.created,
        run.request.key, run.profile.key, run.parent_run, run.parent_step, run.forked_from, owner,
        run.created + LEASE_SECONDS if owner else None,
    )  # fmt: skip
    return [run.request.write, run.profile.write, NO_MEMORY.write, (_SAVE_RUN, row)]


def ended(run: RunRecord) -> Write:
    """What writes the end of a run."""
    failure = dumped(run.failure.to_json()) if run.failure else None
    return (
        "UPDATE run SET state = ?, finished = ?, failure = ?, usage = ?, output = ?,"
        " owner = NULL, lease = NULL WHERE key = ?",
        (
            run.state,
            run.finished,
            failure,
            _usage_text(run.usage),
            dumped(run.output),
            run.key,
        ),
    )


def step_write(key: int, step: StepRecord, checkpoint: Place = NO_PLACE) -> Write:
    """What writes a step of the run with that key."""
    return SAVE_STEP, (
        key,
        step.id,
        step.seq,
        step.state,
        step.attempts,
        None if step.input is None else dumped(step.input),
        None if step.output is None else dumped(step.output),
        None if step.failure is None else dumped(step.failure.to_json()),
        _usage_text(step.usage) if step.usage is not NOTHING_USED else None,
        step.started,
        step.finished,
        *checkpoint,
    )


def kept_once(value: Any) -> Kept:
    """The key of `value`, a hash of it, and what writes it unless it is there."""
    data = dumped(value)
    key = key_of(data)
    return Kept(key, ("INSERT OR IGNORE INTO blob VALUES (?, ?)", (key, data)))


def key_of(data: str) -> int:
    """The key under which a value is kept: a hash of its text."""
    return int.from_bytes(blake2b(data.encode(), digest_size=8).digest(), signed=True)


def _usage_text(usage: Usage) -> str:
    """As JSON, which a list of numbers is as it stands."""
    tokens_in, tokens_out, cost, requests, calls = usage
    return f"[{tokens_in},{tokens_out},{cost!r},{requests},{calls}]"


def dumped(value: Any) -> str:
    return "{}" if type(value) in _MAPPINGS and not value else _encoder.encode(value)


_MAPPINGS = (dict, FrozenDict)
_encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
NO_MEMORY = kept_once([])


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
    )
