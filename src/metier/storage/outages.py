"""When a database is away, for all connections of a store."""

import threading
import time
from collections.abc import Callable

OnOutage = Callable[[bool], None]
"""Called with true when the database has gone away, with false when it is back."""


class Outage:
    """Shared by connections, so that all of them wait for the same moment and no longer."""

    def __init__(self) -> None:
        self.on_change: OnOutage | None = None
        """Called in the thread that noticed the change."""
        self._since: float | None = None
        self._lock = threading.Lock()

    @property
    def is_on(self) -> bool:
        return self._since is not None

    def begin(self) -> float:
        """The database could not be reached; since when that is so, by the monotonic clock."""
        with self._lock:
            if self._since is not None:
                return self._since
            self._since = began = time.monotonic()
        self._tell(True)
        return began

    def end(self) -> None:
        """The database has answered."""
        with self._lock:
            if self._since is None:
                return
            self._since = None
        self._tell(False)

    def _tell(self, is_away: bool) -> None:
        if self.on_change is not None:
            self.on_change(is_away)
