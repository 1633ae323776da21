"""One thread that writes for all runs of a process: what waits is committed together."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from metier.errors import RunLostError, StoreError
from metier.run import postgres_tables as tables
from metier.run.rows import Row
from metier.storage.postgres import Connection, Postgres
from metier.values.runs import Claim, StepRecord

Write = tuple[str, Row]
Notes = dict[tuple[Claim, str], StepRecord]
Job = Callable[[Connection], Any]
_Literal = Callable[[Any], str]
_KNOWN_BLOBS = 10_000
_PROFILE = 8
"""Where the row of a run has the key of its profile."""
_SMALL_BATCH = 32
_QUICK_COMMIT = 0.005
"""Seconds. Quicker commits are limited by the CPU, slower ones by the disk."""


@dataclass(eq=False, slots=True)
class Request:
    """Writes of one run that are committed together, or a separate job."""

    writes: Sequence[Write] = ()
    claim: Claim | None = None
    """The right to make these writes; None for a new run, which no other process knows."""
    begins_child: bool = False
    """Whether the claim is that of the parent of a new run: it must not have ended."""
    noted: Notes | None = None
    """Steps that are stored along with them, if their claims still count."""
    job: Job | None = None
    loop: asyncio.AbstractEventLoop | None = None
    """The event loop that awaits the result; None: a thread waits for it."""
    future: Any = None
    result: Any = None
    error: BaseException | None = None

    def settle(self) -> None:
        """Set the result of the future."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class Writer:
    """Commits requests in the order in which they came, as many at a time as wait."""

    def __init__(self, database: Postgres, namespace: str, note_again: Callable[[Notes], None]):
        """`note_again` is called with the steps of a request that could not be stored."""
        self._database = database
        self._namespace = namespace
        self._note_again = note_again
        self._gathered: list[Request] = []
        """What one turn of the event loop has asked for so far."""
        self._turn: asyncio.AbstractEventLoop | None = None
        """The event loop that flushes them at the end of its turn."""
        self._waiting: list[Request] = []
        self._is_busy = False
        self._last_size, self._last_seconds = 0, 0.0
        self._is_closing = False
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._thread: threading.Thread | None = None
        self._blobs: set[bytes] = set()
        """Profiles that are known to be stored; other blobs may be removed with their runs."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits that was asked for earlier."""
        return not (self._gathered or self._waiting or self._is_busy)

    def submit(self, request: Request) -> "Future[Any]":
        """Have a request executed; the result is for another thread than the writer's."""
        request.future = Future()
        with self._changed:
            self._gathered.append(request)
            self._flush()
        return request.future  # type: ignore[no-any-return]  # it is a Future, see above

    def execute(self, request: Request) -> "asyncio.Future[Any]":
        """Have a request executed; its result comes once it is committed."""
        request.loop = loop = asyncio.get_running_loop()
        request.future = future = loop.create_future()
        with self._lock:
            self._gathered.append(request)
            if self._turn is not loop:
                self._turn = loop
                loop.call_soon(self._flush)
        return future

    def close(self) -> None:
        """Execute what waits, and end. Wait no longer for a database that is away."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._database.stop()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._database.close()

    def _flush(self) -> None:
        """Pass what was gathered to the writer thread, all at once."""
        with self._changed:
            gathered, self._gathered = self._gathered, []
            self._turn = None
            if not gathered:
                return
            if self._is_closing:
                for one in gathered:
                    one.error = StoreError(f"{self._database.called} is closed")
                _settle_all(gathered)
                return
            self._waiting += gathered
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="metier-writer", daemon=True
                )
                self._thread.start()
            self._changed.notify()

    # In the thread

    def _work(self) -> None:
        while batch := self._taken():
            started = time.monotonic()
            try:
                if writing := [one for one in batch if one.job is None]:
                    self._commit(writing)
                for one in batch:
                    if one.job is not None:
                        self._run(one, one.job)
            except Exception as error:  # a future that is never set would block a run
                for one in batch:
                    one.error = one.error or error
            self._last_size, self._last_seconds = len(batch), time.monotonic() - started
            self._is_busy = False
            _settle(batch)

    def _taken(self) -> list[Request]:
        """What waits; nothing once the writer is closed."""
        with self._changed:
            while not self._waiting and not self._is_closing:
                self._changed.wait()
            most = self._share()
            batch, self._waiting = self._waiting[:most], self._waiting[most:]
            self._is_busy = bool(batch)
            return batch

    def _share(self) -> int:
        """How many requests to commit next.

        Half of all: while these are committed, the event loop executes the other runs. If commits
        are slow, all that wait: then fewer commits are faster.
        """
        waiting = len(self._waiting)
        if self._last_seconds > _QUICK_COMMIT:
            return waiting
        return max(_SMALL_BATCH, (waiting + self._last_size + 1) // 2)

    def _run(self, request: Request, job: Job) -> None:
        try:
            request.result = self._database.call(job)
        except Exception as error:
            request.error = error

    def _commit(self, requests: Sequence[Request]) -> None:
        try:
            locked = self._database.call(lambda connection: self._written(connection, requests))
        except Exception as error:
            is_away = isinstance(error, StoreError) and error.code == "STORE_UNREACHABLE"
            if len(requests) == 1 or is_away:
                for one in requests:
                    one.error = error
                    self._note_again(one.noted or {})
                return
            for one in requests:  # what one run cannot save must not stop the others
                self._commit([one])
            return
        for one in requests:
            if one.claim is not None:
                epoch, is_live = locked.get(one.claim.key, (None, False))
                if epoch != one.claim.epoch or (one.begins_child and not is_live):
                    one.error = RunLostError()

    def _written(
        self, connection: Connection, requests: Sequence[Request]
    ) -> dict[int, tuple[int, bool]]:
        """Commit all in one round trip; the runs by key: epoch, and whether it has not ended.

        It may be repeated: writes name their epoch and replace what is there.
        """
        rows = self._by_statement(requests)
        steps = rows.pop(tables.SAVE_STEP, [])
        keys = {one.claim.key for one in requests if one.claim is not None}
        keys.update(row[-2] for row in steps)
        if len({(row[0], row[-2]) for row in steps}) < len(steps):  # one statement cannot save both
            rows[tables.SAVE_STEP], steps = steps, []
        with connection.pipeline(), connection.transaction():
            self._execute(connection, tables.BEFORE_LOCK, rows)
            lock = (self._namespace, self._namespace, sorted(keys), self._namespace)
            locked = connection.execute(tables.LOCK_AND_ANNOUNCE, lock)
            if steps:
                columns = _columns(_STEP_LITERALS, steps)
                values = (self._namespace, *columns, self._namespace)
                connection.execute(tables.SAVE_STEPS, values)
            self._execute(connection, tables.AFTER_LOCK, rows)
        for statement in (tables.ADD_RUN, tables.ADD_CHILD):
            self._remember(row[_PROFILE] for row in rows.get(statement, ()))
        return {key: (epoch, is_live) for key, epoch, is_live, _ in locked.fetchall()}

    def _execute(
        self,
        connection: Connection,
        statements: Iterable[str],
        rows: Mapping[str, Sequence[Row]],
    ) -> None:
        for statement in statements:
            some = rows.get(statement, ())
            if len(some) > 1 and statement == tables.ADD_RUN:
                values = (self._namespace, *_columns(_RUN_LITERALS, some))
                connection.execute(tables.ADD_RUNS, values)
            elif len(some) > 1 and statement == tables.END:
                values = (*_columns(_END_LITERALS, some), self._namespace)
                connection.execute(tables.END_RUNS, values)
            elif some:
                connection.cursor().executemany(statement, some)

    def _by_statement(self, requests: Iterable[Request]) -> dict[str, list[Row]]:
        rows: dict[str, list[Row]] = {}
        for request in requests:
            for statement, values in request.writes:
                rows.setdefault(statement, []).append(values)
        if blobs := rows.pop(tables.ADD_BLOB, None):
            new = {row[1]: row for row in blobs if row[1] not in self._blobs}
            rows[tables.ADD_BLOB] = [new[key] for key in sorted(new)]  # in order: no deadlock
        return rows

    def _remember(self, profiles: Iterable[bytes]) -> None:
        if len(self._blobs) > _KNOWN_BLOBS:
            self._blobs.clear()
        self._blobs.update(profiles)


def is_one_step(request: Request) -> bool:
    return len(request.writes) == 1 and request.writes[0][0] == tables.SAVE_STEP


def _columns(literals: Sequence[_Literal | None], rows: Sequence[Row]) -> list[str]:
    """The columns of rows as array literals."""
    pairs = zip(literals, zip(*rows, strict=True), strict=True)
    return [literal(column) for literal, column in pairs if literal is not None]


def _settle(batch: Iterable[Request]) -> None:
    """Set all results, with one wake-up for each event loop."""
    by_loop: dict[asyncio.AbstractEventLoop | None, list[Request]] = {}
    for one in batch:
        by_loop.setdefault(one.loop, []).append(one)
    for loop, requests in by_loop.items():
        if loop is None:
            _settle_all(requests)
        else:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(_settle_all, requests)


def _settle_all(requests: Iterable[Request]) -> None:
    for one in requests:
        one.settle()


# Array literals: many rows are sent as one text for each column


def _numbers(values: Iterable[float | None]) -> str:
    return f"{{{','.join(['NULL' if one is None else repr(one) for one in values])}}}"


def _texts(values: Iterable[str | None]) -> str:
    return f"{{{','.join(['NULL' if one is None else _quoted(one) for one in values])}}}"


def _blobs(values: Iterable[bytes | None]) -> str:
    return _texts(None if one is None else rf"\x{one.hex()}" for one in values)


def _quoted(text: str) -> str:
    if "\\" in text or '"' in text:
        text = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


# What makes a literal of each value of a row; None for the namespace, which comes only once.

_STEP_LITERALS = (
    _texts, _numbers, _texts, _numbers, _texts, _texts, _texts, _texts, _numbers, _numbers,
    _numbers, _blobs, _numbers, None, _numbers, _numbers,
)  # fmt: skip
_RUN_LITERALS = (
    None, _numbers, _texts, _texts, _texts, _texts, _numbers, _blobs, _blobs, _numbers, _numbers,
    _texts, _texts, _texts, _texts, _numbers, _numbers,
)  # fmt: skip
_END_LITERALS = (_texts, _numbers, _texts, _texts, _texts, None, _numbers, _numbers)
