"""The catalog in its own thread."""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import TypeVar

from metier.catalog import Catalog
from metier.errors import DamagedError
from metier.flow.boundary import Boundary
from metier.flow.hook_refresh import depended_on
from metier.storage.hook_files import stamp_of

T = TypeVar("T")
Opened = Callable[[], AbstractContextManager[Catalog]]
Stamp = Callable[[Catalog], object]
"""Changes when the user's trust in the workspace may have changed."""


class CatalogThread:
    """Answers questions in one thread; reopens the catalog if its file or trust changed."""

    def __init__(self, opened: Opened, stamp: Stamp = lambda _: None) -> None:
        self._opened = opened
        self._stamp = stamp
        self._stamped: object = None
        self._holding = ExitStack()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="catalog")
        self._catalog: Catalog | None = None
        self._opened_file = (0, 0)

    def start(self) -> None:
        """Open the catalog; raises its errors."""
        self._thread.submit(self._current).result()

    async def ask(self, question: Callable[[Catalog], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: self._answer(question))

    def now(self, question: Callable[[Catalog], T]) -> T:
        """The answer, for another thread that waits for it."""
        return self._thread.submit(self._answer, question).result()

    def close(self) -> None:
        """Answer what was asked, close the catalog and end the thread."""
        self._thread.submit(self._close).result()
        self._thread.shutdown()

    def _answer(self, question: Callable[[Catalog], T]) -> T:
        catalog = self._current()
        try:
            return question(catalog)
        except DamagedError as error:
            if error.where not in ("", catalog.store.path):
                raise
            catalog.store.is_damaged = True  # closing it removes the file
            self._close()
            return question(self._current())

    def _current(self) -> Catalog:
        if self._catalog is not None and self._is_outdated(self._catalog):
            self._close()
        if self._catalog is None:
            self._catalog = self._holding.enter_context(self._opened())
            self._opened_file = _file_id(self._catalog.store.path)
            self._stamped = self._stamp(self._catalog)
        return self._catalog

    def _is_outdated(self, catalog: Catalog) -> bool:
        is_replaced = _file_id(catalog.store.path) != self._opened_file
        return is_replaced or self._stamp(catalog) != self._stamped

    def _close(self) -> None:
        self._catalog = None
        self._holding.close()


def _file_id(path: str) -> tuple[int, int]:
    with suppress(OSError):
        info = os.stat(path)
        return info.st_dev, info.st_ino
    return 0, 0


def trust_stamp(catalog: Catalog) -> list[str]:
    """What the user's trust depends on, as it is now."""
    boundary = Boundary(catalog.workspace, catalog.trust, catalog.config)
    return [stamp_of(path) for path in depended_on(boundary)]
