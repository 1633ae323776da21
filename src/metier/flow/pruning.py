"""Remove what is old: ended runs, reports, decisions of hooks, counts of sessions, catalogs."""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from metier.config import Config
from metier.errors import DamagedError, MetierError
from metier.flow.gone_workspaces import old_catalogs
from metier.flow.prune_times import is_due, mark_pruned
from metier.flow.pruned_decisions import forget_decisions, old_decisions
from metier.flow.queueing import run_facts
from metier.flow.reports import ReportFiles, ReportStore
from metier.flow.running import Agency
from metier.flow.usage_kept import forget_sessions, old_sessions
from metier.run.store import RunStore
from metier.storage.places import user_room
from metier.storage.room import Room
from metier.values.runs import RESUMABLE

if TYPE_CHECKING:
    from metier.flow.shared import SharedState

_DAY = 86_400.0
_SESSION_DAYS = 365
"""Counts of sessions hold no text, and say which skills are never used: they are kept longer."""
_AT_ONCE = 200


class PrunedCatalog(Protocol):
    """The parts of a catalog that this needs."""

    config: Config
    room: Room | None

    @property
    def agency(self) -> Agency: ...
    @property
    def shared(self) -> "SharedState | None": ...
    @property
    def is_kept(self) -> bool: ...


class Pruned(NamedTuple):
    """How much of what was removed, or would be."""

    runs: int = 0
    reports: int = 0
    decisions: int = 0
    sessions: int = 0
    catalogs: int = 0
    bytes: int = 0
    """Of the catalogs."""


class Pruning:
    """What is old in the state of a workspace, and in what belongs to none."""

    def __init__(self, catalog: PrunedCatalog, now: float | None = None) -> None:
        self._now = time.time() if now is None else now
        self._before = self._now - catalog.config.keep_days * _DAY
        self._sessions = self._now - max(catalog.config.keep_days, _SESSION_DAYS) * _DAY
        self._agency: Agency = catalog.agency
        self._shared: SharedState | None = catalog.shared
        self._is_kept = catalog.is_kept
        self._rooms = [one for one in (catalog.room, user_room()) if one is not None]
        self._room = catalog.room
        self.damaged = ""
        """The record of runs on this machine, if it is damaged: it is left as it is."""

    def found(self, *, resumable: bool = False) -> Pruned:
        """What `remove` would remove. Raises `StoreError` and `OSError`."""
        runs = self._in_stores(lambda store: len(self._runs(store, resumable)))
        decisions = sum(old_decisions(room, self._before) for room in self._rooms)
        if self._shared is not None:
            decisions += self._shared.decisions.count_before(self._before)
        sessions = sum(old_sessions(room, self._sessions) for room in self._rooms)
        catalogs = list(old_catalogs())
        reports = sum(len(self._reports(store)) for store in self._report_stores())
        size = sum(one.bytes for one in catalogs)
        return Pruned(runs, reports, decisions, sessions, len(catalogs), size)

    def remove(self, *, resumable: bool = False) -> Pruned:
        """Raises `StoreError` and `OSError`."""
        runs = self._in_stores(lambda store: self._remove_runs(store, resumable))
        decisions = sum(forget_decisions(room, self._before) for room in self._rooms)
        if self._shared is not None:
            decisions += self._shared.decisions.remove_before(self._before)
        sessions = sum(forget_sessions(room, self._sessions) for room in self._rooms)
        catalogs = list(old_catalogs())
        for one in catalogs:
            one.remove()
        reports = [(store, old) for store in self._report_stores() for old in self._reports(store)]
        for store_of, old in reports:
            store_of.remove(old)
        size = sum(one.bytes for one in catalogs)
        return Pruned(runs, len(reports), decisions, sessions, len(catalogs), size)

    def _in_stores(self, count: Callable[[RunStore], int]) -> int:
        """The sum for the stores of runs: the shared one, if any, and that of this machine."""
        total = count(self._agency.store) if self._shared is not None else 0
        if not (self._is_kept and self._agency.has_local_runs):
            return total
        try:
            with closing(self._agency.local_store()) as store:
                return total + count(store)
        except DamagedError as error:
            self.damaged = error.where
            return total

    def _remove_runs(self, store: RunStore, resumable: bool) -> int:
        removed = _removed(store, self._runs(store, resumable))
        store.prune_checkpoints(None, None, self._now)
        return removed

    def _runs(self, store: RunStore, resumable: bool) -> list[str]:
        found = store.removable(self._before, resumable=resumable)
        if not resumable or self._shared is None:
            return found
        return [one for one in found if not self._is_queued(store, one)]

    def _is_queued(self, store: RunStore, run_id: str) -> bool:
        is_waiting = store.run(run_id).state in RESUMABLE
        return is_waiting and bool(run_facts(self._agency, run_id).queue)

    def _report_stores(self) -> list[ReportStore]:
        local = [ReportFiles(self._room)] if self._room is not None else []
        return [*local, *([self._shared.reports] if self._shared is not None else [])]

    def _reports(self, store: ReportStore) -> list[str]:
        """The ids of old reports: an id begins with the moment of the report."""
        limit = f"{datetime.fromtimestamp(self._before, UTC):%Y%m%dT%H%M%S}"
        return [one for one in store.ids() if one[: len(limit)] < limit]


def _removed(store: RunStore, run_ids: Sequence[str]) -> int:
    for start in range(0, len(run_ids), _AT_ONCE):
        store.remove(run_ids[start : start + _AT_ONCE])
    return len(run_ids)


# Once a day


def prune_daily(catalog: PrunedCatalog, now: float | None = None) -> Pruned:
    """Remove what is old if that is due. A failure waits for the next day."""
    room, now = catalog.room, time.time() if now is None else now
    if room is None or not catalog.is_kept or not is_due(room, now):
        return Pruned()
    try:
        mark_pruned(room, now)
        return Pruning(catalog, now).remove()
    except (MetierError, OSError):
        return Pruned()
