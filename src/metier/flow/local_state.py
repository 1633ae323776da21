"""The state of a workspace on this machine, whatever the settings say."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import NamedTuple

from metier.errors import UsageError
from metier.flow.hook_log import decision_rows
from metier.flow.reports import ReportFiles
from metier.resolve.reliability import Reliability
from metier.run.sqlite_store import SqliteRunStore
from metier.storage.room import Room
from metier.storage.workspace import RUNS_FILE


class Counts(NamedTuple):
    """How many records of each kind."""

    runs: int
    steps: int
    checkpoints: int
    reports: int
    outcomes: int
    decisions: int


class LocalState(NamedTuple):
    runs: SqliteRunStore
    reports: ReportFiles
    room: Room
    workspace: str
    is_trusted: bool

    @classmethod
    @contextmanager
    def opened(cls, room: Room, workspace: str, *, is_trusted: bool) -> Iterator["LocalState"]:
        """Raises `StoreError`."""
        with closing(SqliteRunStore.open(room.file(RUNS_FILE))) as runs:
            yield cls(runs, ReportFiles(room), room, workspace, is_trusted)

    def counts(self) -> Counts:
        """Raises `StoreError` and `OSError`."""
        runs, steps, checkpoints = (
            int(self.runs.rows(f"SELECT count(*) FROM {table}")[0][0])
            for table in ("run", "step", "any_checkpoint")
        )
        outcomes = sum(map(len, self.outcomes().values()))
        decisions = sum(1 for _ in decision_rows(self.room))
        return Counts(runs, steps, checkpoints, len(self.reports.ids()), outcomes, decisions)

    def outcomes(self) -> Mapping[str, Sequence[int]]:
        """Those of an untrusted workspace do not count."""
        return Reliability(self.workspace).outcomes() if self.is_trusted else {}

    def check_idle(self) -> None:
        """Raise `UsageError` while a run is running."""
        self.runs.recover(time.time())
        for run in self.runs.runs(state="running", limit=1):
            raise UsageError(
                f"run '{run.run_id}' is running",
                code="RUN_BUSY",
                where=self.runs.path,
                hint=f"wait for it, or stop it: metier runs cancel {run.run_id}",
            )
