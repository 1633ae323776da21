"""The catalog for pages: read-only connections in threads, refreshed by its own connection."""

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TypeVar

from metier.catalog import Catalog
from metier.errors import StoreError
from metier.flow.boundary import Boundary
from metier.safety.redactor import NOTHING, Redactor
from metier.serving.catalog_thread import CatalogThread, trust_stamp

T = TypeVar("T")
TRUST_EVERY = 0.5
"""Seconds between two looks at the user's trust; a form looks at once."""
REFRESH_EVERY = 3.0
"""Seconds between two looks for changed documents, while pages are asked for."""
PATIENCE = 0.25
"""Seconds that a page waits for such a look; a longer one counts for the next page."""


class CatalogSource:
    """Opens the catalog under the user's trust as it is now."""

    def __init__(self, boundary: Callable[[], Boundary], *, home: str = "") -> None:
        self._boundary = boundary
        self._home = home
        self.redactor: Redactor = NOTHING
        """Of the catalog that was opened last; errors are shown when there is none."""

    @contextmanager
    def opened(self) -> Iterator[Catalog]:
        """The catalog, up to date; nothing can be written through it, and no probe starts."""
        boundary = self._quiet()
        try:
            self._refresh(boundary)
            catalog = Catalog.within(boundary, home=self._home, read_only=True)
        except StoreError as error:
            if error.code != "STORE_READ_ONLY":
                raise
            catalog = self._in_memory(boundary)
        if not catalog.is_kept:
            catalog.refresh()
            catalog.prepare_for_reading()
        with catalog:
            self.redactor = catalog.redactor
            yield catalog

    def refresh(self) -> None:
        """Bring the file up to date; catalogs in memory are opened anew instead."""
        with suppress(StoreError):
            self._refresh(self._quiet())

    def _refresh(self, boundary: Boundary) -> None:
        if boundary.config.is_workspace:
            with Catalog.within(boundary, home=self._home) as catalog:
                catalog.refresh()
                catalog.prepare_for_reading()

    def _in_memory(self, boundary: Boundary) -> Catalog:
        return Catalog.in_memory(boundary, home=self._home)

    def _quiet(self) -> Boundary:
        boundary = self._boundary()
        return boundary._replace(config=boundary.config._replace(probes=()))

    @contextmanager
    def writable(self) -> Iterator[Catalog]:
        """The catalog with all that the user's trust allows, for what a POST asks for."""
        with Catalog.within(self._boundary(), home=self._home) as catalog:
            self.redactor = catalog.redactor
            yield catalog


class Reading:
    """Asks the catalog in threads, so that a page that computes delays no other."""

    def __init__(self, source: CatalogSource, *, refresh_every: float = REFRESH_EVERY) -> None:
        self._source = source
        self._every = refresh_every
        self._generation = 0
        self._quick = CatalogThread(source.opened, _Stamp(self))
        self._slow = CatalogThread(source.opened, _Stamp(self))
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="writer")
        self._is_closed = False
        self._refreshing: asyncio.Future[None] | None = None
        self._checked = time.monotonic()

    def start(self) -> None:
        """Open the catalog; raises its errors."""
        self._quick.start()

    def close(self) -> None:
        """End the threads; again is no error."""
        if self._is_closed:
            return
        self._is_closed = True
        self._writer.shutdown()
        self._slow.close()
        self._quick.close()

    async def ask(self, question: Callable[[Catalog], T], *, computes: bool = False) -> T:
        """The answer to a question; one that computes much has its own thread."""
        thread = self._slow if computes else self._quick
        return await thread.ask(question)

    @property
    def redactor(self) -> Redactor:
        """Removes the values of secrets from errors."""
        return self._source.redactor

    @property
    def writable(self) -> Callable[[], AbstractContextManager[Catalog]]:
        """Opens its own catalog, for what goes on after a form was answered."""
        return self._source.writable

    async def write(self, change: Callable[[Catalog], T]) -> T:
        """Change something, in its own thread."""

        def changed() -> T:
            with self._source.writable() as catalog:
                return change(catalog)

        return await asyncio.get_running_loop().run_in_executor(self._writer, changed)

    async def catch_up(self) -> None:
        """Look for changed documents if the last look was a while ago; waits only briefly."""
        if time.monotonic() - self._checked < self._every:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._started()), PATIENCE)

    async def refresh(self) -> None:
        """Look for changed documents now."""
        await self._started()

    def _started(self) -> "asyncio.Future[None]":
        if self._refreshing is None or self._refreshing.done():
            loop = asyncio.get_running_loop()
            self._refreshing = asyncio.ensure_future(
                loop.run_in_executor(self._writer, self._refresh)
            )
        return self._refreshing

    def _refresh(self) -> None:
        self._source.refresh()
        self._generation += 1
        self._checked = time.monotonic()

    @property
    def generation(self) -> int:
        """How often documents were looked for."""
        return self._generation


class _Stamp:
    """Changes with the user's trust; for a catalog in memory with each refresh, too."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._catalog: Catalog | None = None
        self._looked = 0.0
        self._trust: object = None

    def __call__(self, catalog: Catalog) -> object:
        now = time.monotonic()
        if catalog is not self._catalog or now - self._looked >= TRUST_EVERY:
            self._catalog, self._looked, self._trust = catalog, now, trust_stamp(catalog)
        return self._trust, 0 if catalog.is_kept else self._reading.generation
