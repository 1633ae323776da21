"""One heartbeat that renews the leases of all runs that execute through a store."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Protocol

from metier.errors import MetierError
from metier.run.ledger import Ledger
from metier.run.store import LEASE_SECONDS, Renewed, RunStore, this_process

HEARTBEAT_SECONDS = 1.0


class Executor(Protocol):
    """What executes runs: a runner."""

    def ledgers(self) -> Sequence[Ledger]:
        """Those of the runs that it executes now."""

    def stop_runs(self, renewed: Renewed) -> None:
        """Stop what is lost or to be cancelled, as far as this object executes it."""


class Leases:
    """Shared by all runners of one store, which run in one event loop."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._executors: list[Executor] = []
        """A runner is in it once for each of its runs."""
        self._heartbeat: asyncio.Task[None] | None = None

    @contextmanager
    def renewed(self, executor: Executor) -> Iterator[None]:
        """Renew the leases of what `executor` executes within the block."""
        self._executors.append(executor)
        if self._heartbeat is None:
            self._heartbeat = asyncio.create_task(self._beat())
        try:
            yield
        finally:
            self._executors.remove(executor)
            if not self._executors and self._heartbeat is not None:
                self._heartbeat.cancel()
                self._heartbeat = None

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            with suppress(MetierError):  # a busy store is asked again
                await self._renew(time.time())

    async def _renew(self, now: float) -> None:
        """Renew all leases, and have runs stopped that are lost or to be cancelled."""
        executors = list(dict.fromkeys(self._executors))
        ledgers = [ledger for one in executors for ledger in one.ledgers()]
        claims = [ledger.claim for ledger in ledgers]
        renewed = await self._store.renew(this_process(), claims, now)
        for ledger in ledgers:
            ledger.leased_until = now + LEASE_SECONDS
        for one in executors:
            one.stop_runs(renewed)
