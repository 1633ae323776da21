"""Runs and steps in one SQLite file.

Every write names the claim of its writer, and changes nothing once the run was claimed again.
"""

import asyncio
import contextlib
import json
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, ClassVar, NamedTuple, TypeVar

from metier.errors import RunLostError, StoreError, UsageError
from metier.run import browsing
from metier.run import sqlite_tables as tables
from metier.run.rows import (
    CANCELLED,
    INTERRUPTED,
    dumped,
    end_values,
    failure_text,
    memory_text,
    no_such_run,
    request_text,
    run_of,
    step_of,
    step_values,
)
from metier.run.store import LEASE_SECONDS, CheckpointMark, Renewed, is_gone
from metier.storage.database import BUSY_SECONDS, IN_MEMORY, Database
from metier.values.runs import RESUMABLE, Claim, Failure, RunRecord, RunRow, RunsAsked, StepRecord

LOG_COMMITS = 64
RETRY_SECONDS = 1.0
_RETRIES = 60
"""By then the lease is over anyway."""
_LISTED = "WHERE ifnull(?, state) = state AND (? OR parent = '')"

R = TypeVar("R")
Write = tuple[str, tuple[Any, ...]]
_Waiting = tuple[Sequence[Write], "asyncio.Future[None]"]


class Blob(NamedTuple):
    """A value that is stored once, under a hash of it."""

    key: int
    write: Write


class SqliteRuns(Database):
    """The runs of a workspace, with group commit, for any number of processes."""

    called = "the record of runs"
    rebuilt_by = if_damaged = (
        "move the file, its -wal and its -shm away; metier starts without runs"
    )
    migrations = (tables.TABLES, tables.EPOCHS)
    pragmas: ClassVar[tuple[str, ...]] = (
        "PRAGMA synchronous = FULL",
        "PRAGMA temp_store = MEMORY",
        "PRAGMA wal_autocheckpoint = 4000",
        tables.VIEW,
    )
    outage = None

    def __init__(self, connection: sqlite3.Connection, path: str) -> None:
        super().__init__(connection, path)
        self.live = 0
        self._lock = threading.RLock()
        self._last_key = 0
        self._saved_alone = 0
        self._noted: dict[tuple[Claim, str], StepRecord] = {}
        self._waiting: list[_Waiting] = []
        self._profiles: dict[str, tuple[Mapping[str, Any], Blob]] = {}

    @classmethod
    def _connected(cls, path: str, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
        return sqlite3.connect(
            path,
            timeout=busy_seconds,
            isolation_level=None,
            check_same_thread=False,
            uri=path.startswith("file:"),
        )

    # Executing a run

    def new_key(self) -> int:
        self._last_key = max(self._last_key + 1, time.time_ns())
        return self._last_key

    def add(self, run: RunRecord, steps: Sequence[StepRecord] = ()) -> None:
        self._save_now([*self._added(run), *(_step_write(run.claim, one) for one in steps)])

    async def begin(self, run: RunRecord, owner: str, parent: Claim | None = None) -> None:
        await self._save(self._added(run, owner, parent))

    def _added(
        self, run: RunRecord, owner: str | None = None, parent: Claim | None = None
    ) -> list[Write]:
        known = self._profiles.get(run.agent_id)
        if known is None or known[0] is not run.profile:
            known = self._profiles[run.agent_id] = run.profile, blob(dumped(run.profile))
        profile = known[1]
        request = blob(request_text(run))
        row = (
            run.key, run.run_id, run.agent_id, run.task, "running" if owner else "pending",
            run.created, request.key, profile.key, run.parent_run, run.parent_step,
            run.forked_from, owner, run.created + LEASE_SECONDS if owner else None, run.epoch,
        )  # fmt: skip
        add = (tables.ADD_CHILD, (*row, *parent)) if parent else (tables.ADD_RUN, row)
        return [request.write, profile.write, NO_MEMORY.write, add]

    def note(self, claim: Claim, step: StepRecord) -> None:
        self._noted[claim, step.id] = step

    async def save_step(
        self, claim: Claim, step: StepRecord, checkpoint: CheckpointMark | None = None
    ) -> None:
        self._noted.pop((claim, step.id), None)
        if checkpoint is None:
            await self._save([_step_write(claim, step)])
            return
        memory = _memory(checkpoint)
        write = _step_write(claim, step, checkpoint.step_index, memory.key)
        await self._save([memory.write, write])

    async def begin_rollback(self, claim: Claim, failure: Failure) -> None:
        await self._save([(tables.BEGIN_ROLLBACK, (failure_text(failure), *claim))])

    async def end_run(self, run: RunRecord, checkpoint: CheckpointMark | None = None) -> None:
        await self._save(_ended(run, checkpoint))

    def end_run_now(self, run: RunRecord, checkpoint: CheckpointMark | None = None) -> None:
        self._save_all()
        self._save_now(_ended(run, checkpoint))

    def release(self, claim: Claim, failure: Failure) -> None:
        write = tables.RELEASE, (failure_text(failure), *claim)
        try:
            self._save_now([write])
        except RunLostError:
            return
        except StoreError:
            if self.path != IN_MEMORY:
                threading.Thread(target=self._release_later, args=(write,), daemon=True).start()

    def _release_later(self, write: Write) -> None:
        """Try for a while, through its own connection: the event loop may be closed."""
        for _ in range(_RETRIES):
            time.sleep(RETRY_SECONDS)
            try:
                with contextlib.closing(
                    type(self).open(self.path, busy_seconds=RETRY_SECONDS)
                ) as store:
                    store._save_now([write])
                return
            except RunLostError:
                return
            except StoreError:
                continue

    # Writing

    async def _save(self, writes: Sequence[Write]) -> None:
        """Return when these are on disk; the writes of several runs share one commit."""
        if self.live < 2 and not self._waiting:
            self._save_now(writes)
            self._reuse_log()
            return
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.append((writes, future))
        if len(self._waiting) == 1:
            loop.call_soon(self._save_all)
        await future

    def _save_now(self, writes: Iterable[Write]) -> None:
        """Write these, and what was noted, in one transaction."""
        by_statement: dict[str, list[tuple[Any, ...]]] = {}
        for statement, values in writes:
            by_statement.setdefault(statement, []).append(values)
        noted = self._noted
        with self._lock, self.transaction() as connection:
            rows = [_step_write(claim, step)[1] for (claim, _), step in noted.items()]
            connection.executemany(tables.SAVE_STEP, rows)
            for statement, group in by_statement.items():
                changed = connection.executemany(statement, group)
                if statement in tables.FENCED and changed.rowcount != len(group):
                    raise RunLostError
        self._noted = {}

    def _reuse_log(self) -> None:
        """Restart SQLite's log: overwriting it is cheaper than growing it."""
        self._saved_alone += 1
        if self._saved_alone % LOG_COMMITS == 0:
            with contextlib.suppress(StoreError):  # another process is doing it
                self.rows("PRAGMA wal_checkpoint(PASSIVE)")

    def _save_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        try:
            self._save_now(write for writes, _ in waiting for write in writes)
        except Exception:
            for writes, future in waiting:  # what one run cannot save must not stop the others
                self._save_for(writes, future)
            return
        for _, future in waiting:
            if not future.done():
                future.set_result(None)

    def _save_for(self, writes: Sequence[Write], future: "asyncio.Future[None]") -> None:
        try:
            self._save_now(writes)
        except Exception as error:
            if not future.done():
                future.set_exception(error)
        else:
            if not future.done():
                future.set_result(None)

    # Owning a run

    def claim(self, run_id: str, owner: str, now: float, parent: Claim | None = None) -> RunRecord:
        with self._lock, self.transaction() as connection:
            if parent is not None and not self.rows(tables.IS_LIVE, parent):
                raise RunLostError
            run = self.run(run_id)
            if run.state != "running" and run.state not in RESUMABLE:
                raise UsageError(f"run '{run_id}' is {run.state} now", code="RUN_NOT_RESUMABLE")
            holder, lease = self._holder(run.key)
            if holder and holder != owner and not is_gone(holder, lease, now):
                message = f"run '{run_id}' is already running in another process"
                raise UsageError(message, code="RUN_BUSY")
            claimed = connection.execute(tables.CLAIM, (owner, now + LEASE_SECONDS, run.key))
            epoch = int(claimed.fetchone()[0])
        return run._replace(state="running", failure=None, finished=None, epoch=epoch)

    def _holder(self, key: int) -> tuple[str | None, float | None]:
        owner, lease = self.rows("SELECT owner, lease FROM run WHERE key = ?", (key,))[0]
        return owner, lease

    async def renew(self, owner: str, claims: Iterable[Claim], now: float) -> Renewed:
        epochs = dict(claims)
        text = json.dumps(list(epochs.items()))
        with self._lock, self.transaction() as connection:
            connection.execute(tables.RENEW, (owner, now + LEASE_SECONDS, text))
            rows = self.rows(tables.RENEWED, (text,))
        lost = [run_id for run_id, key, epoch, _ in rows if epoch != epochs[key]]
        return Renewed([one[0] for one in rows if one[3] and one[0] not in lost], lost)

    async def check(self, claim: Claim) -> None:
        if not self.rows("SELECT 1 FROM run WHERE key = ? AND epoch = ?", claim):
            raise RunLostError

    def recover(self, now: float) -> list[str]:
        with self._lock, self.transaction() as connection:
            running = self.rows("SELECT id, owner, lease FROM run WHERE state = 'running'")
            free = [run_id for run_id, owner, lease in running if is_gone(owner, lease, now)]
            why = failure_text(INTERRUPTED)
            connection.executemany(tables.RECOVER, [(why, run_id) for run_id in free])
        return free

    def lease_left(self, run: RunRecord, now: float) -> float:
        _, lease = self._holder(run.key)
        return max(0.0, (lease or now) - now)

    def is_abandoned(self, run: RunRecord, now: float) -> bool:
        facts = "SELECT owner, lease FROM run WHERE key = ? AND state = 'running'"
        return any(is_gone(owner, lease, now) for owner, lease in self.rows(facts, (run.key,)))

    def request_cancel(self, run_id: str, now: float, idle: str = "") -> bool:
        with self._lock, self.transaction() as connection:
            run = self.run(run_id)
            holder, lease = self._holder(run.key)
            is_owned = holder != idle and not is_gone(holder, lease, now)
            if run.state == "running" and is_owned:
                connection.execute("UPDATE run SET cancel = 1 WHERE key = ?", (run.key,))
                return True
            if run.state in ("running", "pending"):
                connection.execute(tables.CANCEL, (failure_text(CANCELLED), run.key))
        return False

    # Reading

    def run(self, run_id: str) -> RunRecord:
        found = self._found("WHERE id = ?", run_id)
        if not found and run_id:
            pattern = re.sub(r"([\[*?])", r"[\1]", run_id) + "*"
            found = self._found("WHERE id GLOB ? LIMIT 2", pattern)
        if len(found) != 1:
            raise no_such_run(run_id)
        return found[0]

    def runs(
        self, *, state: str | None = None, limit: int = 50, delegated: bool = True
    ) -> list[RunRecord]:
        which = f"{_LISTED} ORDER BY created DESC, id DESC LIMIT ?"
        return self._found(which, state, delegated, limit)

    def count_runs(self, *, state: str | None = None, delegated: bool = True) -> int:
        ((count,),) = self.rows(f"SELECT count(*) FROM run {_LISTED}", (state, delegated))
        return int(count)

    def browse(self, asked: RunsAsked) -> tuple[list[RunRow], int]:
        parts, values = browsing.condition(asked, browsing.SQLITE)
        which = f"FROM run WHERE {' AND '.join(parts) or '1'}"
        ((total,),) = self.rows(f"SELECT count(*) {which}", tuple(values))
        select = f"SELECT {browsing.columns(browsing.SQLITE)} {which}"
        select += f" {browsing.order(asked, browsing.SQLITE)} LIMIT ? OFFSET ?"
        page = (*values, asked.limit, asked.offset)
        return self._read(browsing.sqlite_row, select, page), int(total)

    def children(self, run_id: str, step: str | None = None) -> list[RunRecord]:
        which = (
            "WHERE parent = ? AND parent != '' AND ifnull(?, parent_step) = parent_step"
            " ORDER BY created"
        )
        return self._found(which, run_id, step)

    def _found(self, which: str, *values: Any) -> list[RunRecord]:
        return self._read(run_of, f"SELECT {tables.RUN_COLUMNS} FROM run {which}", values)

    def steps(self, key: int) -> list[StepRecord]:
        return self._read(
            step_of,
            "SELECT id, state, seq, attempts, input, output, failure, usage, started, finished,"
            " generation FROM step WHERE run = ? ORDER BY seq = 0, seq, started, id",
            (key,),
        )

    def last_numbers(self, key: int) -> tuple[int, int]:
        last, by_steps = self.rows(
            "SELECT ifnull(max(seq), 0), ifnull(max(seq) FILTER (WHERE name = ''), 0)"
            " FROM any_checkpoint WHERE run = ?",
            (key,),
        )[0]
        return last, by_steps

    def _read(
        self, read: Callable[[tuple[Any, ...]], R], select: str, values: tuple[Any, ...]
    ) -> list[R]:
        """The records of rows. Raises `StoreError` for an invalid row."""
        rows = self.rows(select, values)
        with self.checked():
            return [read(row) for row in rows]


# Rows


def _ended(run: RunRecord, checkpoint: CheckpointMark | None) -> list[Write]:
    end = tables.END, (*end_values(run), *run.claim)
    if checkpoint is None:
        return [end]
    memory = _memory(checkpoint)
    row = (
        checkpoint.seq, checkpoint.step_index, checkpoint.after, memory.key, run.finished,
        checkpoint.expires, *run.claim,
    )  # fmt: skip
    return [end, memory.write, (tables.SAVE_LAST_CHECKPOINT, row)]


def _step_write(
    claim: Claim, step: StepRecord, step_index: int | None = None, memory: int | None = None
) -> Write:
    """The last two arguments are those of its checkpoint."""
    return tables.SAVE_STEP, (claim.key, *step_values(step, step_index, memory), *claim)


def _memory(checkpoint: CheckpointMark) -> Blob:
    return blob(memory_text(checkpoint)) if checkpoint.memory else NO_MEMORY


def blob(data: str) -> Blob:
    key = key_of(data)
    return Blob(key, ("INSERT OR IGNORE INTO blob VALUES (?, ?)", (key, data)))


def key_of(data: str) -> int:
    return int.from_bytes(blake2b(data.encode(), digest_size=8).digest(), signed=True)


NO_MEMORY = blob("[]")
