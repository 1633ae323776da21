"""The heartbeat of a worker: says that it is alive, and takes over the runs of dead ones."""

import threading
import time
from collections.abc import Callable

from metier.errors import MetierError, StoreError
from metier.run.queue import TakenRuns
from metier.run.workers import HEARTBEATS, TakeOver, Workers
from metier.storage.outages import OnOutage, Outage


class Heartbeat:
    """A thread of its own, since a step can keep the event loop busy."""

    def __init__(
        self,
        workers: Workers,
        worker_id: str,
        *,
        queue: TakenRuns,
        on_lost: Callable[[MetierError], None],
        on_take_over: Callable[[TakeOver], None],
        on_outage: OnOutage,
    ) -> None:
        """`on_lost` is called with the reason when this worker must end; then the heartbeat ends.

        The others count it as dead, or a newer program has changed the schema.
        """
        self._workers = workers
        self._worker_id = worker_id
        self._queue = queue
        self._on_lost = on_lost
        self._on_take_over = on_take_over
        self.outage = Outage()
        self.outage.on_change = on_outage
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="metier-heartbeat", daemon=True)
        self._since = self.last = time.monotonic()
        """Since when no heartbeat failed or came late, and when the last one succeeded."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    @property
    def is_healthy(self) -> bool:
        """Whether the last heartbeat reached PostgreSQL, and was not too long ago."""
        return not self.outage.is_on and time.monotonic() - self.last < self._workers.lease

    def _beat(self) -> None:
        while not self._stopped.wait(self._workers.lease / HEARTBEATS):
            try:
                if not self._workers.renew(self._worker_id):
                    self._on_lost(_counted_as_dead())
                    return
                self._renewed()
                self._take_over()
            except Exception as error:  # PostgreSQL is away; whatever it is, continue
                if isinstance(error, MetierError) and error.code == "STORE_NEWER":
                    self._on_lost(error)
                    return
                if isinstance(error, MetierError) and error.code == "STORE_UNREACHABLE":
                    self.outage.begin()
                self._since = time.monotonic()

    def _renewed(self) -> None:
        now = time.monotonic()
        if now - self.last > self._workers.lease:
            self._since = now
        self.last = now
        self.outage.end()

    def _take_over(self) -> None:
        """Only after a whole lease without trouble.

        After PostgreSQL was away, or when workers start together, the others must be able to
        renew their leases first.
        """
        if self.last - self._since < self._workers.lease:
            return
        while taken := self._workers.take_over(self._worker_id, self._queue.enqueue_again):
            self._on_take_over(taken)
        orphans = self._queue.enqueue_orphans(self._known)
        if orphans and (runs := self._workers.takeable(orphans)):
            self._on_take_over(TakeOver("a worker that is gone", runs))

    def _known(self) -> set[str]:
        return {worker.id for worker in self._workers.all()}


def _counted_as_dead() -> StoreError:
    return StoreError(
        "the other workers counted this one as dead, and took over its runs",
        code="WORKER_LOST",
        hint="start it again; was the machine suspended, or PostgreSQL out of reach?",
    )
