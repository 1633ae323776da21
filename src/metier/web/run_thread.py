"""Executes runs that forms begin, in a thread with its own loop."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from metier.catalog import Catalog
from metier.errors import UsageError
from metier.values.runs import Event, OnEvent

T = TypeVar("T")
MOST_AT_ONCE = 8
Work = Callable[[Catalog, OnEvent], Awaitable[str]]
"""Executes a run to its end; returns its id."""


class RunThread:
    """Each run has its own catalog, opened under the trust of that moment."""

    def __init__(self, opened: Callable[[], AbstractContextManager[Catalog]]) -> None:
        self._opened = opened
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._running: set[asyncio.Task[str]] = set()

    async def begin(self, work: Work) -> str:
        """The id of a run once it has begun; raises why it does not begin."""
        return await asyncio.wrap_future(self._submitted(self._begin(work)))

    def close(self) -> None:
        """Cancel what is running, and wait until that is stored."""
        if self._loop is None or self._thread is None:
            return
        self._submitted(self._leave()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = None

    def _submitted(self, work: Coroutine[Any, Any, T]) -> Any:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="runs", daemon=True)
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    # In the thread

    async def _begin(self, work: Work) -> str:
        if len(self._running) >= MOST_AT_ONCE:
            message = f"{MOST_AT_ONCE} runs that were started here are running"
            raise UsageError(message, code="RUN_BUSY", hint="wait for one to end")
        begun: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def on_event(event: Event) -> None:
            if event.kind == "run.started" and not begun.done():
                begun.set_result(event.run_id)

        task = asyncio.create_task(self._work(work, on_event))
        self._running.add(task)
        task.add_done_callback(self._ended)
        await asyncio.wait((task, begun), return_when=asyncio.FIRST_COMPLETED)
        return begun.result() if begun.done() else task.result()

    async def _work(self, work: Work, on_event: OnEvent) -> str:
        with self._opened() as catalog:
            return await work(catalog, on_event)

    def _ended(self, task: "asyncio.Task[str]") -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # it is stored with the run, or was raised to the caller

    async def _leave(self) -> None:
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
