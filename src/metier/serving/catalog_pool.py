"""The catalog in several threads, each with a connection of its own."""

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
    """Answers questions of one event loop in parallel; the first thread opens the catalog.

    The others start when all before them are busy, and read the same file. A catalog in memory
    has one thread.
    """

    def __init__(
        self, opened: Opened, stamp: Stamp = lambda _: None, *, threads: int = THREADS
    ) -> None:
        self._first = CatalogThread(opened, stamp)
        self._more = [CatalogThread(self._reader, stamp) for _ in range(threads - 1)]
        self._idle = [*reversed(self._more), self._first]
        self._waiting: deque[asyncio.Future[CatalogThread]] = deque()

    def start(self) -> None:
        """Open the catalog; raises its errors."""
        self._first.start()
        if not self._first.now(lambda catalog: catalog.is_kept):
            self._idle = [self._first]

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
        for thread in (*self._more, self._first):
            thread.close()

    @contextmanager
    def _reader(self) -> Iterator[Catalog]:
        """The file of the first thread's catalog, under the same trust; nothing is refreshed."""
        another = self._first.now(lambda catalog: catalog.another)
        with another() as catalog:
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
