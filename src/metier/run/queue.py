"""What metier asks of a queue of runs that workers execute."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

DEFAULT_QUEUE = "runs"
DEFAULT_PRIORITY = 100
PRIORITIES = range(1, 1001)


class QueueSettings(NamedTuple):
    """A queue and its limits; 0 means no limit."""

    name: str = DEFAULT_QUEUE
    concurrency: int = 10
    """Runs that each worker executes at a time."""
    total: int = 0
    """Runs that all workers together execute at a time."""
    starts: int = 0
    """Runs that may start within `period` seconds: the rate limit of a model."""
    period: float = 60.0
    poll: float = 1.0
    """Seconds between two looks at the queue."""


class QueuedRun(NamedTuple):
    """What a worker gets from the queue."""

    run_id: str
    queue: str = DEFAULT_QUEUE
    priority: int = DEFAULT_PRIORITY
    returned: int = 0
    """How often workers with other documents have returned it."""


class Schedule(NamedTuple):
    """When a run of an agent starts by itself."""

    name: str
    cron: str
    zone: str
    """An IANA name such as `Europe/Berlin`."""
    start: Mapping[str, Any]
    """What `metier run` takes: agent, task, input, model, queue and priority."""


class RunQueue(Protocol):
    """A durable queue of whole runs."""

    def close(self) -> None: ...

    def enqueue(self, run: QueuedRun, *, delay: float = 0.0, key: str = "") -> str:
        """Enqueue a run; its id, or that of the run which waits or runs under the same `key`."""

    def is_waiting(self, run_id: str) -> bool:
        """Whether the run is in a queue, or was taken from it and has not ended."""

    def cancel(self, run_id: str) -> None:
        """Remove a run from its queue; a run that executes is not stopped."""

    def lengths(self) -> dict[str, int]:
        """How many runs wait, by queue."""

    def schedules(self) -> Sequence[Schedule]: ...
    def add_schedule(self, schedule: Schedule) -> None:
        """Raises `UsageError` for a wrong expression, zone, or a name that is taken."""

    def remove_schedule(self, name: str) -> None:
        """Raises `NotFoundError`."""
