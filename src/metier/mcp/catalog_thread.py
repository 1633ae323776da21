"""Who has the catalogue: one thread. All others ask it, and nobody sees half a change."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import TypeVar

from metier.catalog import Catalog
from metier.errors import DamagedError

T = TypeVar("T")


class CatalogThread:
    """Opens the catalogue in a thread of its own and answers questions there, one by one.

    A connection to SQLite belongs to one thread, and what a catalogue remembers is not made for
    several. Every question sees the catalogue as it is then: what another process has written is
    there, and a file that took the place of the old one is opened instead. So is another catalogue
    when the user's trust in the workspace has changed.
    """

    def __init__(
        self,
        opened: Callable[[], AbstractContextManager[Catalog]],
        stamp: Callable[[Catalog], object] = lambda _: None,
    ) -> None:
        """`opened` gives the catalogue, open and ready to be asked; it is called in the thread.

        `stamp` changes with what the user's trust depends on.
        """
        self._opened = opened
        self._stamp = stamp
        self._stamped: object = None
        self._holding = ExitStack()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="catalogue")
        self._catalog: Catalog | None = None
        self._mark = (0, 0)

    def start(self) -> None:
        """Open the catalogue now, so that what is wrong with it is told now."""
        self._thread.submit(self._current).result()

    async def ask(self, question: Callable[[Catalog], T]) -> T:
        """What `question` gives. Raises what it raises."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: self._answer(question))

    def close(self) -> None:
        """Close the catalogue once all that was asked is answered; the thread ends."""
        self._thread.submit(self._leave).result()
        self._thread.shutdown()

    def _answer(self, question: Callable[[Catalog], T]) -> T:
        catalog = self._current()
        try:
            return question(catalog)
        except DamagedError as error:
            if error.where not in ("", catalog.store.path):
                raise
            catalog.store.is_damaged = True  # it is removed when it is closed
            self._leave()
            return question(self._current())

    def _current(self) -> Catalog:
        if self._catalog is not None and self._is_outdated(self._catalog):
            self._leave()
        if self._catalog is None:
            self._catalog = self._holding.enter_context(self._opened())
            self._mark = _mark(self._catalog.store.path)
            self._stamped = self._stamp(self._catalog)
        return self._catalog

    def _is_outdated(self, catalog: Catalog) -> bool:
        return _mark(catalog.store.path) != self._mark or self._stamp(catalog) != self._stamped

    def _leave(self) -> None:
        self._catalog = None
        self._holding.close()


def _mark(path: str) -> tuple[int, int]:
    """Which file has that name; nothing for one in memory, or when it has gone."""
    with suppress(OSError):
        info = os.stat(path)
        return info.st_dev, info.st_ino
    return 0, 0
