"""The catalog in several threads, each with its own connection."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from metier.catalog import Catalog
from metier.serving.catalog_thread import CatalogThread, Opened, Stamp

T = TypeVar("T")
THREADS = 4


class CatalogPool:
    """Answers questions of one event loop in parallel.

    One thread opens the catalog and brings it up to date; it answers nothing, so that no thread
    waits for another's question. The others open the same file when they are first needed. A
    catalog in memory is asked in the thread that opened it.
    """

    def __init__(
        self, opened: Opened, stamp: Stamp = lambda _: None, *, threads: int = THREADS
    ) -> None:
        self._opener = CatalogThread(opened, stamp)
        self._threads = [CatalogThread(self._reader, stamp) for _ in range(threads)]
        self._idle = [*reversed(self._threads)]
        self._waiting: deque[asyncio.Future[CatalogThread]] = deque()

    def start(self) -> None:
        """Open the catalog; raises its errors."""
        self._opener.start()
        if not self._opener.now(lambda catalog: catalog.is_kept):
            self._idle = [self._opener]

    @property
    def waiting(self) -> int:
        """Questions that wait for a thread."""
        return len(self._waiting)

    async def ask(self, question: Callable[[Catalog], T]) -> T:
        thread = self._idle.pop() if self._idle else await self._next_free()
        try:
            return await thread.ask(question)
        finally:
            self._release(thread)

    def close(self) -> None:
        """Answer what was asked, close the catalogs and end the threads."""
        for thread in (*self._threads, self._opener):
            thread.close()

    @contextmanager
    def _reader(self) -> Iterator[Catalog]:
        """Another connection to the catalog, under the user's trust as it is now."""
        connect = self._opener.now(lambda catalog: catalog.new_connection)
        with connect() as catalog:
            yield catalog

    async def _next_free(self) -> CatalogThread:
        turn: asyncio.Future[CatalogThread] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release(turn.result())
            raise

    def _release(self, thread: CatalogThread) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(thread)
                return
        self._idle.append(thread)
