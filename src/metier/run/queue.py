"""What metier asks of a queue of runs that workers execute."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from metier.values.settings import QueueSetting

DEFAULT_QUEUE = "runs"
DEFAULT_PRIORITY = 100
PRIORITIES = range(1, 1001)
MOST_ATTEMPTS = 20
"""How often a run is taken from the queue without ending: it may be what kills the workers."""


class QueuedRun(NamedTuple):
    """What a worker gets from the queue."""

    run_id: str
    queue: str = DEFAULT_QUEUE
    priority: int = DEFAULT_PRIORITY
    returned: int = 0
    """How often workers that may not execute it have given it back."""


class Schedule(NamedTuple):
    """When a run of an agent starts by itself."""

    name: str
    cron: str
    zone: str
    """An IANA name such as `Europe/Berlin`."""
    start: Mapping[str, Any]
    """What `metier run` takes: agent, task, input, model, queue and priority."""


class TakenRuns(Protocol):
    """What workers have taken from a queue."""

    def enqueue_again(self, worker_id: str) -> Sequence[str]:
        """Return to the queue what a worker has taken and has not ended; ids of runs."""

    def enqueue_orphans(self, known: Callable[[], Collection[str]]) -> Sequence[str]:
        """The same for workers that are not among the known ones."""


class RunQueue(TakenRuns, Protocol):
    """A durable queue of whole runs."""

    def close(self) -> None: ...

    def register(self, name: str, limits: QueueSetting, *, update: bool) -> None:
        """Create a queue; if it exists and `update`, change its limits."""

    def enqueue(self, run: QueuedRun, *, delay: float = 0.0, key: str = "") -> str:
        """Enqueue a run; its id, or that of the run which waits or runs under the same `key`."""

    def holder(self, queue: str, key: str) -> str:
        """The id of the run that waits or runs under a key, or empty."""

    def is_waiting(self, run_id: str) -> bool:
        """Whether the run is in a queue, or was taken from it and has not ended."""

    def cancel(self, run_id: str) -> None:
        """Remove a run from its queue; a run that executes is not stopped."""

    def attempts(self, worker_id: str, run_id: str) -> int:
        """How often workers took a run that `worker_id` has now; not what was given back."""

    def give_back(self, worker_id: str, run: QueuedRun, *, delay: float = 0.0) -> None:
        """Return a run that a worker has taken, to its queue; it keeps its key and its limits."""

    def lengths(self) -> dict[str, int]:
        """How many runs wait, by queue."""

    def schedules(self) -> Sequence[Schedule]: ...
    def add_schedule(self, schedule: Schedule) -> None:
        """Raises `UsageError` for a wrong expression, zone, or a name that is taken."""

    def remove_schedule(self, name: str) -> Schedule:
        """Remove a schedule; what it was. Raises `NotFoundError`."""
