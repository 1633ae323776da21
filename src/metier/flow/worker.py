"""A worker: takes runs from the queue, and executes them with the documents of its workspace."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol, TypeVar

from metier import __version__
from metier.errors import (
    ConfigError,
    DamagedError,
    MetierError,
    RunLostError,
    RunReleasedError,
    StoreError,
    TrustError,
    UsageError,
)
from metier.flow.queueing import enqueue_new, limits_of, request_of
from metier.flow.running import Agency
from metier.flow.state_settings import StateSettings
from metier.run.dbos_queue import DbosQueue
from metier.run.dbos_worker import DbosWorker
from metier.run.heartbeat import Heartbeat
from metier.run.postgres_store import PostgresRunStore
from metier.run.queue import DEFAULT_QUEUE, MOST_ATTEMPTS, QueuedRun
from metier.run.store import LEASE_SECONDS as RUN_LEASE
from metier.run.store import this_process
from metier.run.workers import TakeOver, Worker, Workers
from metier.values.runs import Event, Failure, OnEvent, RunResult, RunState
from metier.values.settings import WORKER_LEASE_SECONDS, WORKER_STOP_SECONDS

RETURN_SECONDS = 15.0
MOST_RETURNS = 40
"""For ten minutes a run waits for a worker that has its documents and may execute it."""
KEPT_SECONDS = 86_400.0
"""How long the queue keeps what has ended; the runs themselves stay."""
_TIDY_SECONDS = 600.0
_BUSY_SECONDS = 2.0
_GIVEN_UP = Failure(
    "RUN_GIVEN_UP",
    f"workers have taken the run from the queue {MOST_ATTEMPTS} times, and it never ended",
    hint="if it did not stop the workers: metier runs resume --detach RUN",
)
_AWAY = "PostgreSQL does not answer; runs wait up to two minutes for it"
_BACK = "PostgreSQL answers again"
Returned = TypeVar("Returned", str, QueuedRun)


class WorkerOptions(NamedTuple):
    queues: Sequence[str] = ()
    """Empty: the default queue and those of the settings."""
    concurrency: int = 4
    same_documents: bool = False
    """Whether to return runs that were started with other documents."""
    stop_after: float = WORKER_STOP_SECONDS
    lease: float = WORKER_LEASE_SECONDS


class WorkerCatalog(Protocol):
    """The parts of a catalog that a worker uses."""

    @property
    def agency(self) -> Agency: ...
    def refresh(self) -> object: ...
    def version(self) -> object: ...
    def ship_decisions(self) -> None: ...
    def require_trust(self, what: str) -> None: ...


class Counts:
    """What a worker has done since it started."""

    def __init__(self) -> None:
        self.ended: dict[str, int] = {}
        """Runs by the state in which they ended here."""
        self.taken_over = 0
        self.returned = 0
        self.lost = 0


class RunWorker:
    """One worker process. Everything is executed in the event loop of `work`."""

    def __init__(
        self,
        catalog: WorkerCatalog,
        state: StateSettings,
        options: WorkerOptions,
        *,
        log: Callable[[str], None],
        on_event: OnEvent | None = None,
    ) -> None:
        """`log` is called with a line for everything that a supervisor may want to know."""
        self.id = this_process()
        self.counts = Counts()
        self.running: dict[str, Agency] = {}
        """The runs that execute here."""
        self.options = options
        self._catalog = catalog
        self._state = state
        self._log = log
        self._on_event = on_event
        self._stopping = asyncio.Event()
        self._is_hurried = self._is_closed = False
        self._lost_by: MetierError | None = None
        """Why it must end: it counts as dead, or is too old for the schema."""
        self._heartbeat: Heartbeat | None = None
        self._workers = Workers(state.conninfo, state.namespace, lease=options.lease)

    def stop(self) -> None:
        """Stop soon; the second time, without waiting for runs. Only within the event loop."""
        self._is_hurried = self.is_stopping
        self._stopping.set()

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    @property
    def is_healthy(self) -> bool:
        """Whether it reaches PostgreSQL, and has its runs; also while it stops."""
        return not self.problem

    @property
    def problem(self) -> str:
        """Why it is not healthy; empty if it is."""
        if self._heartbeat is None:
            return "it is starting"
        if self._lost_by is not None:
            return self._lost_by.message
        return "" if self._heartbeat.is_healthy else "PostgreSQL does not answer"

    def queue_lengths(self) -> dict[str, int]:
        """Runs that wait, by queue; empty before the worker has started."""
        return self._queue.lengths() if self.is_healthy else {}

    def live_runs(self) -> dict[str, int]:
        return self._workers.live_runs()

    # The life of a worker

    async def work(self) -> None:
        """Execute runs until `stop` is called. Raises `StoreError` if the worker is lost."""
        self._catalog.require_trust("running a worker")
        agency, address = self._catalog.agency, self._state.conninfo
        self._loop = asyncio.get_running_loop()
        store = agency.store
        assert isinstance(store, PostgresRunStore)  # it has shared state
        self.agency, self.store = agency, store
        self._version, self._documents = self._catalog.version(), agency.documents()
        with contextlib.ExitStack() as stack:
            stack.callback(self._workers.close)
            self._queue = DbosQueue(address, self._state.namespace)
            stack.callback(self._queue.close)
            stack.callback(setattr, self.store, "worker", "")
            await self._work(address)
        if self._lost_by is not None:
            raise self._lost_by

    async def _work(self, address: str) -> None:
        queues = self._registered()
        self._workers.join(
            Worker(
                self.id, ", ".join(queues), self.options.concurrency, self._documents, __version__
            )
        )
        self.store.worker = self.id
        heartbeat = Heartbeat(
            self._workers, self.id,
            queue=self._queue,
            on_lost=lambda why: self._from_thread(self._lost, why),
            on_take_over=lambda taken: self._from_thread(self._took_over, taken),
            on_outage=lambda is_away: self._from_thread(self._log, _AWAY if is_away else _BACK),
        )  # fmt: skip
        dbos = DbosWorker(
            address, self._state.namespace, self.id, execute=self._execute, start=self._start
        )
        heartbeat.start()
        try:
            await asyncio.to_thread(dbos.launch, queues, self.options.concurrency)
            self._heartbeat = heartbeat
            self._log(f"waiting for runs in {', '.join(queues)}")
            tidying = asyncio.create_task(self._tidy())
            await self._stopping.wait()
            tidying.cancel()
            await self._leave(dbos)
        finally:
            heartbeat.stop()

    async def _tidy(self) -> None:
        """Delete what DBOS keeps of runs that ended long ago; send the decisions of hooks."""
        while True:
            await asyncio.to_thread(self._catalog.ship_decisions)
            with contextlib.suppress(StoreError):  # PostgreSQL is away
                while await asyncio.to_thread(self._queue.forget, KEPT_SECONDS):
                    pass
            await asyncio.sleep(_TIDY_SECONDS)

    def _registered(self) -> list[str]:
        queues = list(self.options.queues) or [DEFAULT_QUEUE, *self.agency.queues]
        queues = list(dict.fromkeys(queues))
        for name in queues:
            self._queue.register(name, limits_of(self.agency, name), update=True)
        return queues

    async def _leave(self, dbos: DbosWorker) -> None:
        """Let runs end for a while, return those that have not, and leave."""
        limit = 0.0 if self._lost_by else self.options.stop_after
        if not self.running:
            self._log("stopping")
        else:
            more = "; a second signal returns them at once" if limit else ""
            self._log(f"stopping; {len(self.running)} running, up to {limit:g} seconds{more}")
        stopped = asyncio.create_task(asyncio.to_thread(dbos.stop, limit + RETURN_SECONDS))
        deadline = self._loop.time() + limit
        while self.running and self._loop.time() < deadline and not self._is_hurried:
            await asyncio.sleep(0.05)
        while self.running and self._loop.time() < deadline + RETURN_SECONDS:
            for agency in self.running.values():
                agency.runner.release_all()
            await asyncio.sleep(0.05)
        if not self.is_healthy:  # nothing can be returned to the queue: others take over
            dbos.hurry()
        await stopped
        self._is_closed = True
        if self._lost_by is None or self._lost_by.code != "WORKER_LOST":
            await asyncio.to_thread(self._return_rest)

    def _return_rest(self) -> None:
        """Return what was taken from the queue in the last moment."""
        try:
            self._workers.release_runs(self.id)
            self._queue.enqueue_again(self.id)
            self._workers.leave(self.id)
        except StoreError as error:  # others take over when the lease is over
            self._log(f"could not sign off:  {error.message}")

    def _from_thread(self, call: Callable[..., None], *given: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(call, *given)

    def _lost(self, why: MetierError) -> None:
        self._lost_by = why
        self._stopping.set()

    def _took_over(self, taken: TakeOver) -> None:
        self.counts.taken_over += len(taken.runs)
        self._log(f"took over from {taken.worker}: {', '.join(taken.runs) or 'no run'}")

    # Runs

    async def _execute(self, queued: QueuedRun) -> None:
        """Execute a run from the queue; it is returned when it cannot continue here."""
        try:
            if self.is_stopping or not await self._run(queued):
                await self._give_back(queued)
        except asyncio.CancelledError:  # released in the moment in which it ended
            if task := asyncio.current_task():
                task.uncancel()
            await self._give_back(queued)
        except StoreError as error:  # not the fault of the run
            self._log(f"run {queued.run_id} could not be executed: {error.message}")
            await self._give_back(queued, delay=RETURN_SECONDS)
        except Exception as error:
            message = error.message if isinstance(error, MetierError) else type(error).__name__
            self._log(f"run {queued.run_id} could not be executed: {message}")
            await self._return(queued.run_id, self._queue.enqueue_again, queued.run_id)

    async def _is_given_up(self, run_id: str) -> bool:
        """Whether a run was taken too often without ending; then it fails, and can be resumed."""
        attempts = await asyncio.to_thread(self._queue.attempts, self.id, run_id)
        if attempts <= MOST_ATTEMPTS:
            return False
        self._log(f"run {run_id} failed: {_GIVEN_UP.message}")
        with contextlib.suppress(
            UsageError, DamagedError
        ):  # it has ended, or another process executes it
            run = self.store.claim(run_id, self.id, time.time())
            state: RunState = "failed" if run.rollback is None else "rollback_incomplete"
            ended = run._replace(state=state, finished=time.time(), failure=_GIVEN_UP)
            await self.store.end_run(ended)
            self._workers.note(run_id, _GIVEN_UP.code, _GIVEN_UP.message, self.id)
            self.counts.ended[state] = self.counts.ended.get(state, 0) + 1
        return True

    async def _run(self, queued: QueuedRun) -> bool:
        """Whether the workflow is done: not when the run was released."""
        if await self._is_given_up(queued.run_id):
            return True
        self._refresh()
        try:
            if await self._is_for_another(queued):
                return True
            result = await self._resumed(queued.run_id)
        except RunReleasedError:
            return False
        except RunLostError:
            self.counts.lost += 1
            self._log(f"run {queued.run_id} was taken over by another worker")
            return True
        except (TrustError, ConfigError) as error:
            await self._pass_on(queued, Failure(error.code, error.message, hint=error.hint))
            return True
        except MetierError as error:
            if isinstance(error, StoreError) and not isinstance(error, DamagedError):
                raise
            self._refuse(queued.run_id, Failure(error.code, error.message, hint=error.hint))
            return True
        if result is not None:
            self.counts.ended[result.state] = self.counts.ended.get(result.state, 0) + 1
            self._log(f"run {queued.run_id} {result.state}")
        return True

    async def _resumed(self, run_id: str) -> RunResult | None:
        """The result of a run; None if it has ended, or another process executes it."""
        deadline = time.monotonic() + RUN_LEASE
        agency = self.running[run_id] = self.agency.for_one_run()
        try:
            while True:
                if self.is_stopping:  # meanwhile; what starts now would end with this process
                    raise RunReleasedError
                run = self.store.run(run_id)
                if run.state not in ("running", "pending"):
                    return None
                try:
                    self._log(f"run {run_id} starts")
                    return await agency.resume(run_id, on_event=self._heard)
                except MetierError as error:
                    if error.code != "RUN_BUSY":
                        raise
                if time.monotonic() > deadline:
                    return None  # its owner is alive
                await asyncio.sleep(_BUSY_SECONDS)
        finally:
            del self.running[run_id]

    def _heard(self, event: Event) -> None:
        if self._on_event is not None:
            self._on_event(event)

    def _refuse(self, run_id: str, failure: Failure) -> None:
        """Record why this worker may not execute a run, which stays pending."""
        self._log(f"run {run_id} was rejected: {failure.message}")
        with contextlib.suppress(MetierError):  # it has ended, or another process executes it
            run = self.store.claim(run_id, self.id, time.time())
            self.store.release(run.claim, failure)

    async def _give_back(self, queued: QueuedRun, delay: float = 0.0) -> None:
        await self._return(queued.run_id, partial(self._queue.give_back, delay=delay), queued)

    async def _return(
        self, run_id: str, call: Callable[[str, Returned], object], given: Returned
    ) -> None:
        """Return a run to the queue; as often as it takes while PostgreSQL is away.

        A worker that was taken over does so as well: it may have taken the run afterwards.
        """
        while not self._is_closed:
            try:
                await asyncio.to_thread(call, self.id, given)
            except StoreError:
                await asyncio.sleep(1)
                continue
            self.counts.returned += 1
            self._log(f"run {run_id} was returned to the queue")
            return

    # Documents

    def _refresh(self) -> None:
        try:
            self._catalog.refresh()
        except MetierError as error:
            self._log(f"the catalog was not refreshed: {error.message}")
        version = self._catalog.version()
        if version != self._version:
            self._version, self._documents = version, self.agency.documents()
            self._workers.set_documents(self.id, self._documents)

    async def _is_for_another(self, queued: QueuedRun) -> bool:
        """Note that the documents differ; whether the run was enqueued for another worker."""
        run = self.store.run(queued.run_id)
        wanted = run.request.get("documents") or self._documents
        if wanted == self._documents or run.state not in ("running", "pending"):
            return False
        message = f"started with documents {wanted[:12]}, this worker has {self._documents[:12]}"
        if not self.options.same_documents:
            self._workers.note(queued.run_id, "RUN_DOCUMENTS_DIFFER", message, self.id)
            self._log(f"warning: run {queued.run_id} was {message}")
            return False
        if not queued.returned:
            self._workers.note(queued.run_id, "RUN_DOCUMENTS_DIFFER", message, self.id)
        await self._pass_on(queued, _no_such_worker(message))
        return True

    async def _pass_on(self, queued: QueuedRun, why: Failure) -> None:
        """Leave a run to another worker, some seconds later; not for ever."""
        if queued.returned >= MOST_RETURNS:
            self._refuse(queued.run_id, why)
            return
        self._log(f"run {queued.run_id} is left to another worker: {why.message}")
        again = queued._replace(returned=queued.returned + 1)
        await self._give_back(again, delay=RETURN_SECONDS)

    # Schedules

    async def _start(self, name: str, at: str, start: Mapping[str, Any]) -> None:
        """Add a run by a schedule. When it is repeated, nothing is added."""
        while True:
            try:
                self._refresh()
                request, placement = request_of(start)
                run_id = _scheduled_id(name, at)
                enqueue_new(self.agency.for_one_run(), self._queue, request, placement, run_id)
                self._log(f"run {run_id} of {request.agent} was added by its schedule")
                return
            except StoreError as error:
                self._log(f"schedule {name}: {error.message}")
                await asyncio.sleep(1)
            except (MetierError, KeyError, TypeError, ValueError) as error:
                message = error.message if isinstance(error, MetierError) else "it is not valid"
                self._log(f"schedule {name}: {message}")
                return


def _scheduled_id(name: str, at: str) -> str:
    """The id of the run that a schedule adds at a time."""
    stamp = datetime.fromisoformat(at).astimezone(UTC).strftime("%Y%m%dT%H%M%S.%f")
    return f"{stamp}-{blake2b(name.encode(), digest_size=4).hexdigest()}"


def _no_such_worker(message: str) -> Failure:
    return Failure(
        "RUN_DOCUMENTS_DIFFER", f"no worker has the documents of the run: {message}",
        hint="update the workers, then metier runs resume --detach RUN",
    )  # fmt: skip
