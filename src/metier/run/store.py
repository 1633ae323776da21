"""What a runner asks of a store of runs, and which process owns a run."""

import os
import secrets
import socket
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol

from metier.storage.outages import Outage
from metier.values.agents import Checkpoint
from metier.values.runs import Claim, Failure, RunRecord, RunRow, RunsAsked, StepRecord

LEASE_SECONDS = 15.0
SILENT_SECONDS = 60.0
"""After this long without renewal even a live process no longer owns its runs."""


class CheckpointMark(NamedTuple):
    """What a checkpoint adds to the steps that are stored anyway."""

    step_index: int
    """The last of the workflow's steps up to which all are done."""
    memory: Mapping[str, Any]
    after: str = ""
    """This and the next two: only for the checkpoint at the end of a run."""
    seq: int = 0
    expires: float = 0.0


class Renewed(NamedTuple):
    """Runs to cancel, and runs that another process has claimed."""

    cancelled: list[str]
    lost: list[str]


class RunStore(Protocol):
    """Stores runs, steps and checkpoints. One object serves one event loop.

    What is awaited is durable when it returns. Every write that names a claim, or a run with its
    claim, raises `RunLostError` when another process has claimed the run since. `now` is a moment
    by the clock of this machine; a store with its own clock converts it.
    """

    path: str
    live: int
    """Runs that execute through this object; the writes of several are committed together."""

    @property
    def outage(self) -> Outage | None:
        """Whether the store is away; none for a file, which never is."""

    def close(self) -> None: ...

    # Executing a run

    def new_key(self) -> int:
        """A key for a new run; keys increase."""

    def add(self, run: RunRecord, steps: Sequence[StepRecord] = ()) -> None:
        """Store a pending run and the steps that it need not run again."""

    async def begin(self, run: RunRecord, owner: str, parent: Claim | None = None) -> None:
        """Store a new run that `owner` executes. Raises `UsageError` for a non-JSON request.

        With the claim of its parent: raises `RunLostError` if that is not the latest, or if the
        parent has ended.
        """

    def note(self, claim: Claim, step: StepRecord) -> None:
        """Store a step with the next write, unless it changes before."""

    async def save_step(
        self, claim: Claim, step: StepRecord, checkpoint: CheckpointMark | None = None
    ) -> None:
        """Store a step, and in the same transaction the checkpoint that it causes."""

    async def begin_rollback(self, claim: Claim, failure: Failure) -> None:
        """Store that the run is being rolled back, and why."""

    async def end_run(self, run: RunRecord, checkpoint: CheckpointMark | None = None) -> None: ...
    def end_run_now(self, run: RunRecord, checkpoint: CheckpointMark | None = None) -> None:
        """The same without waiting, for a task that is being cancelled."""

    def release(self, claim: Claim, failure: Failure) -> None:
        """Let other processes resume a run: now, or as soon as the store can be written."""

    # Owning a run

    def claim(self, run_id: str, owner: str, now: float, parent: Claim | None = None) -> RunRecord:
        """Make `owner` the owner of a run. Raises `UsageError` while another process owns it.

        `parent` is checked as in `begin`.
        """

    async def renew(self, owner: str, claims: Iterable[Claim], now: float) -> Renewed:
        """Renew the leases of these runs. A released, unclaimed run is claimed again."""

    async def check(self, claim: Claim) -> None:
        """Raise `RunLostError` when another process has claimed the run."""

    def recover(self, now: float) -> list[str]:
        """Make runs pending whose process is gone; their ids."""

    def lease_left(self, run: RunRecord, now: float) -> float:
        """For how many seconds the process that executes a run has it, unless it renews that."""

    def is_abandoned(self, run: RunRecord, now: float) -> bool:
        """Whether a run is still `running`, and the process that executed it is gone."""

    def request_cancel(self, run_id: str, now: float, idle: str = "") -> bool:
        """Ask the owner of a run, other than `idle`, to cancel it; whether it has one."""

    # Removing

    def removable(self, before: float, *, resumable: bool = False) -> list[str]:
        """Runs that ended before a moment, oldest first, without those that runs delegated.

        With `resumable` also runs that could be resumed; never one that is running, or of which
        a delegated run is running.
        """

    def remove(self, run_ids: Sequence[str]) -> int:
        """Delete runs, the runs that they delegated, their steps and checkpoints; how many runs.

        Raises `UsageError` with RUN_BUSY, and deletes nothing, if one of them is running.
        """

    # Reading

    def run(self, run_id: str) -> RunRecord:
        """A run by its id or by a unique prefix of it. Raises `NotFoundError`."""

    def runs(
        self, *, state: str | None = None, limit: int = 50, delegated: bool = True
    ) -> list[RunRecord]:
        """The latest runs, newest first."""

    def count_runs(self, *, state: str | None = None, delegated: bool = True) -> int: ...

    def browse(self, asked: RunsAsked) -> tuple[list[RunRow], int]:
        """Some runs without what only they themselves need, and how many there are in all."""

    def children(self, run_id: str, step: str | None = None) -> list[RunRecord]:
        """The runs that a run, or one of its steps, delegated to, oldest first."""

    def steps(self, key: int) -> list[StepRecord]:
        """The steps of a run in the order in which they ended; then those that did not."""

    def last_numbers(self, key: int) -> tuple[int, int]:
        """The highest `seq` of a run's checkpoints: of all, and of those not saved by hand."""

    # Checkpoints

    def save_checkpoint(self, checkpoint: Checkpoint) -> None: ...
    def checkpoint(self, checkpoint_id: str) -> Checkpoint | None: ...
    def checkpoints(
        self, run_id: str, now: float, *, only_latest: bool = False
    ) -> list[Checkpoint]:
        """The checkpoints of a run that have not expired, oldest first."""

    def prune_checkpoints(self, run_id: str | None, maximum: int | None, now: float) -> int:
        """Delete expired checkpoints and, of one run, all but the newest; how many."""


# The process that owns a run


@cache
def this_process() -> str:
    """A unique name for this process: machine, pid, start time and a random part."""
    pid = os.getpid()
    return f"{_machine()}/{pid}/{_started(pid)}/{secrets.token_hex(4)}"


os.register_at_fork(after_in_child=this_process.cache_clear)


def is_gone(owner: str | None, lease: float | None, now: float) -> bool:
    """Whether the process `owner` has ended or was silent too long.

    Of a process on another machine only the lease is known.
    """
    if not owner:
        return True
    machine, pid, started, _ = (*owner.rsplit("/", 3), "", "", "")[:4]
    if machine == _machine() and pid.isdigit() and started:
        has_ended = _started(int(pid)) != started
        return has_ended or (lease is not None and lease + SILENT_SECONDS < now)
    return lease is None or lease < now


@cache
def _machine() -> str:
    """Where a pid is unique: host, boot and pid namespace."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    parts = (socket.gethostname(), _read("/proc/sys/kernel/random/boot_id"), namespace)
    return ":".join(part for part in parts if part)


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def _started(pid: int) -> str:
    """When a process began, in clock ticks since boot; empty for a dead one."""
    try:
        facts = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
        return "" if facts[0] == "Z" else facts[19]
    except IndexError:
        return ""
