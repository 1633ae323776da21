"""Takes runs from the queue in this process, through DBOS. Needs the extra `workers`.

DBOS decides when a run starts and on which worker. The run itself is executed elsewhere: the
workflow only waits for it, and has no steps of its own.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from dbos import DBOS

from metier.run.dbos_queue import (
    APPLICATION,
    START,
    VERSION,
    JsonSerializer,
    engine_of,
    named_errors,
)
from metier.run.queue import MOST_ATTEMPTS, QueuedRun
from metier.run.queue_tables import RUN, schema_of

Execute = Callable[[QueuedRun], Coroutine[Any, Any, None]]
Start = Callable[[str, str, Mapping[str, Any]], Coroutine[Any, Any, None]]
"""Adds a run by a schedule. Its name and time are the same when this start is repeated."""
_SCHEDULES_SECONDS = 5.0
_POOL = 10


class DbosWorker:
    """The one DBOS instance of a process. Neither function may raise."""

    def __init__(
        self,
        address: str,
        namespace: str,
        worker_id: str,
        *,
        execute: Execute,
        start: Start,
    ) -> None:
        """Both functions are executed in the event loop of the caller."""
        self._engine = engine_of(address, pool=_POOL)
        self._schema = schema_of(namespace)
        self._worker_id = worker_id
        self._execute = execute
        self._start = start
        self._loop = asyncio.get_running_loop()

    def launch(self, queues: Sequence[str], concurrency: int) -> None:
        """Take at most `concurrency` runs at a time from each of these queues, from now on."""
        dbos = DBOS(
            config={
                "name": APPLICATION,
                "application_version": VERSION,
                "executor_id": self._worker_id,
                "system_database_engine": self._engine,
                "dbos_system_schema": self._schema,
                "serializer": JsonSerializer(),
                "use_listen_notify": True,
                "scheduler_polling_interval_sec": _SCHEDULES_SECONDS,
                "enable_otlp": False,
            }
        )
        # Not limited by DBOS, which would drop the run without a word: `execute` counts.
        DBOS.workflow(name=RUN, max_recovery_attempts=None)(self._run_workflow())
        DBOS.workflow(name=START, max_recovery_attempts=MOST_ATTEMPTS)(self._start_workflow())
        DBOS.listen_queues(())
        with named_errors():
            DBOS.launch()
        self._dbos = dbos
        self._limit(dbos, concurrency)
        dbos._listening_queues = list(queues)  # it is read once a second

    def _limit(self, dbos: DBOS, concurrency: int) -> None:
        """Limit this process: a limit that is stored with a queue counts for all its workers."""
        tables: Any = dbos._sys_db
        read = tables.get_queue

        def get_queue(name: str, **more: Any) -> Any:
            queue = read(name, **more)
            if queue is not None:
                queue._worker_concurrency = concurrency
            return queue

        tables.get_queue = get_queue

    def stop(self, seconds: float) -> None:
        """Take no more runs, and wait for those that execute."""
        DBOS.destroy(destroy_registry=True, workflow_completion_timeout_sec=int(seconds) + 1)
        self._engine.dispose()

    def hurry(self) -> None:
        """Have `stop` not wait any longer: what executes cannot be ended or returned."""
        active: Any = self._dbos._active_workflows_set
        active.activeList = list

    # Workflows. DBOS executes them in its own loop.

    def _run_workflow(self) -> Callable[[dict[str, Any]], Coroutine[Any, Any, None]]:
        async def run(given: dict[str, Any]) -> None:
            await self._in_our_loop(self._execute(QueuedRun(**given)))

        return run

    def _start_workflow(self) -> Callable[[str, dict[str, Any]], Coroutine[Any, Any, None]]:
        async def start(time: str, given: dict[str, Any]) -> None:
            await self._in_our_loop(self._start(DBOS.workflow_id or "", time, given))

        return start

    async def _in_our_loop(self, work: Coroutine[Any, Any, None]) -> None:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))
