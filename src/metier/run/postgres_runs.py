"""Runs and steps in PostgreSQL.

Every write names the claim of its writer, and changes nothing once the run was claimed again.
Whether a process is alive is known by its lease only, by the clock of the database.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import TimeoutError as TooLateError
from contextlib import suppress
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar

from metier.errors import (
    DamagedError,
    RunLostError,
    RunReleasedError,
    StoreError,
    UsageError,
)
from metier.run import browsing, worker_tables
from metier.run import postgres_tables as tables
from metier.run.postgres_migrations import MIGRATIONS
from metier.run.postgres_writer import Notes, Request, Write, Writer, is_one_step
from metier.run.rows import (
    CANCELLED,
    INTERRUPTED,
    Row,
    dumped,
    end_values,
    failure_text,
    is_storable,
    kept_checkpoints,
    memory_text,
    no_such_run,
    request_text,
    run_of,
    step_of,
    step_values,
)
from metier.run.store import LEASE_SECONDS, CheckpointMark, Renewed
from metier.storage.database import MEANINGLESS
from metier.storage.outages import Outage
from metier.storage.postgres import PATIENCE_SECONDS, Connection, Postgres, scalar
from metier.values.runs import RESUMABLE, Claim, Failure, RunRecord, RunRow, RunsAsked, StepRecord

R = TypeVar("R")
NOW_SECONDS = 10.0
"""How long to block a caller that cannot await; its writes stay queued."""
_CALLED = "the record of runs"
_NAMESPACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_LAST_CHARACTER = "\U0010ffff"


class Held(NamedTuple):
    """A run whose row is locked, and which process owns it."""

    key: int
    state: str
    owner: str | None
    is_free: bool
    """Whether it has no owner, or one whose lease is over."""


class PostgresRuns:
    """The runs of a namespace, with group commit, for any number of machines."""

    def __init__(self, address: str, namespace: str, *, patience: float = PATIENCE_SECONDS) -> None:
        """`address` is a connection string or URL. Raises `StoreError` if it does not answer.

        Once connected, calls wait up to `patience` seconds for a server that is away.
        """
        if not _NAMESPACE.fullmatch(namespace):
            raise UsageError(
                f"'{namespace}' is not a valid namespace",
                hint="use up to 63 letters, digits, dots, hyphens and underscores",
            )
        self.namespace = namespace
        self.path = f"postgresql:{namespace}"
        self.live = 0
        self.worker = ""
        """The id of this worker, or empty. A worker claims runs only while it counts as alive."""
        self._noted: Notes = {}
        self._noting = threading.Lock()
        self._keys = range(0)
        self._profiles: dict[str, tuple[Mapping[str, Any], Write]] = {}
        self.outage = Outage()
        self._database, writing = (
            Postgres(
                address,
                called=_CALLED,
                migrations=MIGRATIONS,
                patience=patience,
                outage=self.outage,
            )
            for _ in range(2)
        )
        self._writer = Writer(writing, namespace, self._note_again)
        self._database.open()

    def close(self) -> None:
        self._writer.close()
        self._database.close()

    # Executing a run

    def new_key(self) -> int:
        if not self._keys:
            first = int(self._database.call(lambda one: scalar(one, tables.NEW_KEYS)))
            self._keys = range(first, first + tables.KEYS_AT_ONCE)
        key, self._keys = self._keys[0], self._keys[1:]
        return key

    def add(self, run: RunRecord, steps: Sequence[StepRecord] = ()) -> None:
        more = [self._step_write(run.claim, one) for one in steps]
        self._save_now([*self._added(run), *more], None)

    async def begin(self, run: RunRecord, owner: str, parent: Claim | None = None) -> None:
        await self._save(self._added(run, owner, parent), parent)

    def _added(
        self, run: RunRecord, owner: str | None = None, parent: Claim | None = None
    ) -> list[Write]:
        known = self._profiles.get(run.agent_id)
        if known is None or known[0] is not run.profile:
            known = self._profiles[run.agent_id] = run.profile, self._blob(dumped(run.profile))
        profile, request = known[1], self._blob(request_text(run))
        row = (
            self.namespace, run.key, run.run_id, run.agent_id, dumped(run.task),
            "running" if owner else "pending", run.created, _key_of(request), _key_of(profile),
            *kept_checkpoints(run.profile), run.parent_run, run.parent_step, run.forked_from, owner,
            LEASE_SECONDS if owner else None, run.epoch,
        )  # fmt: skip
        if parent is None:
            return [request, profile, (tables.ADD_RUN, row)]
        return [request, profile, (tables.ADD_CHILD, (*row, *self._claimed(parent)))]

    def note(self, claim: Claim, step: StepRecord) -> None:
        with self._noting:
            self._noted[claim, step.id] = step

    def _note_again(self, noted: Notes) -> None:
        """Note steps again that could not be stored, unless they have changed."""
        with self._noting:
            self._noted = {**noted, **self._noted}

    async def save_step(
        self, claim: Claim, step: StepRecord, checkpoint: CheckpointMark | None = None
    ) -> None:
        with self._noting:
            self._noted.pop((claim, step.id), None)
        if checkpoint is None:
            await self._save([self._step_write(claim, step)], claim)
            return
        memory = self._memory(checkpoint)
        key = _key_of(memory[0]) if memory else None
        write = self._step_write(claim, step, checkpoint.step_index, key)
        await self._save([*memory, write], claim)

    async def begin_rollback(self, claim: Claim, failure: Failure) -> None:
        row = (failure_text(failure), *self._claimed(claim))
        await self._save([(tables.BEGIN_ROLLBACK, row)], claim)

    async def end_run(self, run: RunRecord, checkpoint: CheckpointMark | None = None) -> None:
        await self._save(self._ended(run, checkpoint), run.claim)

    def end_run_now(self, run: RunRecord, checkpoint: CheckpointMark | None = None) -> None:
        self._save_now(self._ended(run, checkpoint), run.claim)

    def release(self, claim: Claim, failure: Failure) -> None:
        row = (failure_text(failure), *self._claimed(claim))
        release = [(tables.RELEASE, row)]
        if self.outage.is_on:
            self._writer.submit(self._request(release, claim))
            return
        with suppress(StoreError):  # lost, or written as soon as it can be
            self._save_now(release, claim)

    # Writing

    async def _save(self, writes: Sequence[Write], claim: Claim | None) -> None:
        """Return when these are committed; the writes of several runs share one commit."""
        request = self._request(writes, claim)
        is_alone = self.live < 2 and self._writer.is_idle and is_one_step(request)
        if self.outage.is_on or not is_alone or not self._save_in_place(request):
            await self._writer.execute(request)

    def _save_in_place(self, request: Request) -> bool:
        """Commit a step in one statement, without the writer; false if that would have to wait."""
        values = (*request.writes[0][1], self.namespace, self.namespace)

        def job(connection: Connection) -> int:
            return connection.execute(tables.SAVE_STEP_ALONE, values).rowcount

        try:
            changed = self._database.call(job, patience=0.0)
        except StoreError as error:
            if error.code in ("STORE_UNREACHABLE", "STORE_LOCKED"):
                return False
            raise
        if not changed:
            raise RunLostError
        return True

    def _save_now(self, writes: Sequence[Write], claim: Claim | None) -> None:
        try:
            self._writer.submit(self._request(writes, claim)).result(NOW_SECONDS)
        except TooLateError:
            message = "PostgreSQL cannot be reached: it is written as soon as it answers"
            raise StoreError(message, code="STORE_UNREACHABLE") from None

    def _request(self, writes: Sequence[Write], claim: Claim | None) -> Request:
        """A request that also stores what was noted before."""
        is_child = writes[-1][0] is tables.ADD_CHILD
        if not self._noted:
            return Request(writes, claim, is_child)
        with self._noting:
            noted, self._noted = self._noted, {}
        before = [self._step_write(by, step) for (by, _), step in noted.items()]
        return Request([*before, *writes], claim, is_child, noted)

    def _claimed(self, claim: Claim) -> tuple[str, int, int]:
        return self.namespace, *claim

    def _step_write(
        self,
        claim: Claim,
        step: StepRecord,
        step_index: int | None = None,
        memory: bytes | None = None,
    ) -> Write:
        """The last two arguments are those of its checkpoint."""
        values = step_values(step, step_index, memory)
        return tables.SAVE_STEP, (*values, self.namespace, *claim)

    def _ended(self, run: RunRecord, checkpoint: CheckpointMark | None) -> list[Write]:
        claimed = self._claimed(run.claim)
        end = tables.END, (*end_values(run), *claimed)
        if checkpoint is None:
            return [end]
        memory = self._memory(checkpoint)
        row = (
            checkpoint.seq, checkpoint.step_index, checkpoint.after,
            _key_of(memory[0]) if memory else None, run.finished, checkpoint.expires, *claimed,
        )  # fmt: skip
        return [end, *memory, (tables.SAVE_LAST_CHECKPOINT, row)]

    def _memory(self, checkpoint: CheckpointMark) -> list[Write]:
        return [self._blob(memory_text(checkpoint))] if checkpoint.memory else []

    def _blob(self, data: str) -> Write:
        """A value that is stored once, under a hash of it."""
        key = blake2b(data.encode(), digest_size=16).digest()
        return tables.ADD_BLOB, (self.namespace, key, data)

    # Owning a run

    def claim(self, run_id: str, owner: str, now: float, parent: Claim | None = None) -> RunRecord:
        lease = LEASE_SECONDS + _from_now(now)

        def job(connection: Connection) -> RunRecord:
            with connection.transaction():
                self._check_worker(connection)
                run, held = self._held(connection, run_id, now, parent)
                if held.state != "running" and held.state not in RESUMABLE:
                    message = f"run '{run_id}' is {held.state} now"
                    raise UsageError(message, code="RUN_NOT_RESUMABLE")
                if held.owner != owner and not held.is_free:
                    message = f"run '{run_id}' is already running in another process"
                    raise UsageError(message, code="RUN_BUSY")
                values = (owner, lease, self.namespace, held.key)
                epoch = int(scalar(connection, tables.CLAIM, values))
            return run._replace(state="running", failure=None, finished=None, epoch=epoch)

        return self._database.call(job)

    def _check_worker(self, connection: Connection) -> None:
        """Raise `RunReleasedError` if the others have taken over: a frozen worker starts nothing.

        Before the run is locked: a take-over locks in this order, too.
        """
        known = worker_tables.IS_KNOWN, (self.namespace, self.worker)
        if self.worker and connection.execute(*known).fetchone() is None:
            raise RunReleasedError

    def _held(
        self, connection: Connection, run_id: str, now: float, parent: Claim | None = None
    ) -> tuple[RunRecord, Held]:
        """Lock the row of a run; the run as it is then, and its owner. Check its parent's claim."""
        key = self._only(self._found(connection, run_id), run_id).key
        if parent is not None:
            keys = sorted((parent.key, key))
            locked = connection.execute(tables.LOCK, (keys, self.namespace)).fetchall()
            if (*parent, True) not in locked:
                raise RunLostError
        values = (_from_now(now), self.namespace, key)
        held = Held(*connection.execute(tables.HELD, values).fetchall()[0])
        (run,) = self._runs(connection, "AND key = %s", key)
        return run, held

    async def renew(self, owner: str, claims: Iterable[Claim], now: float) -> Renewed:
        epochs = dict(claims)
        keys, lease = list(epochs), LEASE_SECONDS + _from_now(now)
        renew = (
            keys, list(epochs.values()), self.namespace, owner, lease - LEASE_SECONDS / 3,
            owner, lease, self.namespace,
        )  # fmt: skip

        def job(connection: Connection) -> list[Row]:
            with connection.pipeline():
                connection.execute(tables.RENEW, renew)
                found = connection.execute(tables.RENEWED, (self.namespace, keys))
            return found.fetchall()

        rows = await self._writer.execute(Request(job=job))
        lost = [run_id for run_id, key, epoch, _ in rows if epoch != epochs[key]]
        return Renewed([one[0] for one in rows if one[3] and one[0] not in lost], lost)

    async def check(self, claim: Claim) -> None:
        values = self._claimed(claim)
        job = Request(job=lambda connection: scalar(connection, tables.CHECK, values))
        if not await self._writer.execute(job):
            raise RunLostError

    def recover(self, now: float) -> list[str]:
        why = failure_text(INTERRUPTED)
        values = (self.namespace, _from_now(now), why, self.namespace)
        return [run_id for (run_id,) in self._rows(tables.RECOVER, *values)]

    def lease_left(self, run: RunRecord, now: float) -> float:
        ((left,),) = self._rows(tables.LEASE_LEFT, _from_now(now), self.namespace, run.key)
        return max(0.0, float(left))

    def is_abandoned(self, run: RunRecord, now: float) -> bool:
        return bool(self._rows(tables.ABANDONED, _from_now(now), self.namespace, run.key)[0][0])

    def request_cancel(self, run_id: str, now: float, idle: str = "") -> bool:
        def job(connection: Connection) -> bool:
            with connection.transaction():
                _, held = self._held(connection, run_id, now)
                is_owned = held.owner != idle and not held.is_free
                values = (self.namespace, held.key)
                if held.state == "running" and is_owned:
                    connection.execute(tables.REQUEST_CANCEL, values)
                    return True
                if held.state in ("running", "pending"):
                    connection.execute(tables.CANCEL, (failure_text(CANCELLED), *values))
            return False

        return self._database.call(job)

    # Reading

    def run(self, run_id: str) -> RunRecord:
        return self._only(self._database.call(lambda one: self._found(one, run_id)), run_id)

    def _found(self, connection: Connection, run_id: str) -> list[RunRecord]:
        """The run of that id, or at most two whose ids begin with it."""
        if not is_storable(run_id):
            return []
        found = self._runs(connection, "AND id = %s", run_id)
        if not found and run_id:
            which = "AND id >= %s AND id < %s LIMIT 2"
            found = self._runs(connection, which, run_id, run_id + _LAST_CHARACTER)
        return found

    def _only(self, found: Sequence[RunRecord], run_id: str) -> RunRecord:
        if len(found) != 1:
            raise no_such_run(run_id)
        return found[0]

    def runs(
        self, *, state: str | None = None, limit: int = 50, delegated: bool = True
    ) -> list[RunRecord]:
        which, values = _listed(state, delegated)
        which += " ORDER BY created DESC, id DESC LIMIT %s"
        last = limit if limit >= 0 else None
        return self._database.call(lambda one: self._runs(one, which, *values, last))

    def count_runs(self, *, state: str | None = None, delegated: bool = True) -> int:
        which, values = _listed(state, delegated)
        ((count,),) = self._rows(f"{tables.COUNT_RUNS} {which}", self.namespace, *values)
        return int(count)

    def browse(self, asked: RunsAsked) -> tuple[list[RunRow], int]:
        if not all(map(is_storable, (asked.state, asked.agent, asked.text))):
            return [], 0
        parts, values = browsing.condition(asked, browsing.POSTGRES)
        which = f"FROM metier.run WHERE {' AND '.join(['namespace = %s', *parts])}"
        ((total,),) = self._rows(f"SELECT count(*) {which}", self.namespace, *values)
        select = f"SELECT {browsing.columns(browsing.POSTGRES)} {which}"
        page = (self.namespace, *values, asked.limit, asked.offset)
        select += f" {browsing.order(asked, browsing.POSTGRES)} LIMIT %s OFFSET %s"
        return _read(browsing.postgres_row, self._rows(select, *page)), int(total)

    def children(self, run_id: str, step: str | None = None) -> list[RunRecord]:
        if not is_storable(run_id):
            return []
        which = "AND parent = %s AND parent <> '' AND coalesce(%s, parent_step) = parent_step"
        which += " ORDER BY created, key"
        return self._database.call(lambda one: self._runs(one, which, run_id, step))

    def _runs(self, connection: Connection, which: str, *values: Any) -> list[RunRecord]:
        rows = connection.execute(f"{tables.RUNS} {which}", (self.namespace, *values)).fetchall()
        return _read(_run_of, rows)

    def steps(self, key: int) -> list[StepRecord]:
        return _read(step_of, self._rows(tables.STEPS, self.namespace, key))

    def last_numbers(self, key: int) -> tuple[int, int]:
        ((last, by_steps),) = self._rows(tables.LAST_NUMBERS, self.namespace, key)
        return last, by_steps

    def _rows(self, statement: str, *values: Any) -> list[Row]:
        return self._database.call(lambda one: one.execute(statement, values).fetchall())


def _listed(state: str | None, delegated: bool) -> tuple[str, tuple[str, ...]]:
    """The condition on runs in a list, and its values."""
    which = "" if state is None else "AND state = %s "
    which += "" if delegated else "AND parent = ''"
    return which, () if state is None else (state,)


def _key_of(blob: Write) -> bytes:
    key = blob[1][1]
    assert isinstance(key, bytes)
    return key


def _from_now(now: float) -> float:
    """How far a moment of this machine's clock is away, so that skew does not matter."""
    return now - time.time()


def _run_of(row: Row) -> RunRecord:
    return run_of((*row[:2], json.loads(row[2]), *row[3:]))


def _read(read: Callable[[Row], R], rows: Sequence[Row]) -> list[R]:
    """The records of rows. Raises `DamagedError` for an invalid row."""
    try:
        return [read(row) for row in rows]
    except MEANINGLESS as error:
        raise DamagedError(
            f"{_CALLED} is damaged", hint="restore a copy of the database"
        ) from error
