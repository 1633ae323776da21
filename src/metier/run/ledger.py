"""What is kept of a run while it is at work: its steps, their outputs, its checkpoints."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from metier.run.records import Records
from metier.run.services import RunStoppedError
from metier.run.store import NO_MEMORY, RunStore, Write, kept_once
from metier.run.workflow import ReadyStep
from metier.values.agents import CheckpointSettings, Limits
from metier.values.models import Usage
from metier.values.runs import DONE, Failure, StepRecord

_SAVE_LAST = (
    "INSERT OR REPLACE INTO checkpoint"
    " SELECT key, ?, '', ?, ?, request, ?, ?, ?, NULL FROM run WHERE key = ?"
)
_LATEST = "SELECT max(seq) FROM any_checkpoint WHERE run = ?"


_IS_UNDOING: ContextVar[bool] = ContextVar("is_undoing", default=False)


@contextmanager
def undoing() -> Iterator[None]:
    """While steps only undo others no limit stops them, and no checkpoint is written."""
    before = _IS_UNDOING.set(True)
    try:
        yield
    finally:
        _IS_UNDOING.reset(before)


class Ledger:
    """The steps of one run, in memory and on the disk."""

    def __init__(
        self,
        store: RunStore,
        key: int,
        order: Sequence[str],
        settings: CheckpointSettings,
        limits: Limits,
        known: Sequence[StepRecord],
    ) -> None:
        """`order` are the ids of the workflow's own steps; `known` is what an earlier try left."""
        self.store = store
        self.key = key
        self.records = Records(known)
        self.seen: dict[str, dict[str, Any]] = {}
        """What templates see of steps."""
        self.memory: dict[str, Any] = {}
        self.usage = Usage()
        for one in known:
            self.usage = self.usage.plus(one.usage)
        self.limits = limits
        self.has_undone = False
        """Whether the whole run was taken back."""
        self._started: dict[str, float] = {}
        """When steps at work began, by a clock that nobody can set."""
        self._undone_with: dict[str, StepRecord] = {}
        self._order = order
        self._settings = settings
        self._seq = max((one.seq for one in known), default=0)
        self._begun = sum(one.seq > 0 for one in known)
        self._successes = 0
        self._prefix = -1
        self._latest_checkpoint = store.rows(_LATEST, (key,))[0][0] if known else None
        self._memory = NO_MEMORY.key
        self.last_checkpoint: StepRecord | None = None
        """The step after which a checkpoint was written when the run ended, with its place."""

    def done(self, key: str) -> StepRecord | None:
        """The record of a step that need not run again."""
        record = self.records.get(key)
        return record if record is not None and record.state in DONE else None

    def in_order(self) -> list[StepRecord]:
        """All records: those that ended first, in the order in which they did."""
        return sorted(self.records.values(), key=lambda one: (one.seq == 0, one.seq, one.started))

    def start(self, key: str) -> float:
        """Note that a step begins now; the moment."""
        self._started[key] = time.monotonic()
        return time.time()

    def timed(self, record: StepRecord, seq: int = 0) -> StepRecord:
        """The record of a step that ends now, as long after its beginning as it took.

        The clock may have been set since, so the beginning is told by the other one.
        """
        now = time.time()
        began = self._started.pop(record.id, None)
        took = now - record.started if began is None else time.monotonic() - began
        return record.at(seq or record.seq, now - max(0.0, took), now)

    def count(self) -> None:
        """Count a step that begins. Raises when the run may do no more."""
        self._begun += 1
        self._check("steps", self._begun, self.limits.steps, "")
        self._check("tokens", self.usage.tokens, self.limits.tokens, "")
        self._check("cost", self.usage.cost, self.limits.cost, "")

    def add_usage(self, key: str, usage: Usage) -> None:
        """Count what a step has used. Raises when the run may use no more."""
        self.records[key] = self.records[key].using(usage)
        self.usage = self.usage.plus(usage)
        self._check("tokens", self.usage.tokens, self.limits.tokens, key)
        self._check("cost", self.usage.cost, self.limits.cost, key)

    def _check(self, name: str, used: float, limit: float | None, step: str) -> None:
        if limit is not None and used > limit and not _IS_UNDOING.get():
            message = f"{name}: {used:g} used, the limit is {limit:g}"
            raise RunStoppedError(Failure("RUN_LIMIT_EXCEEDED", message, step=step))

    def note(self, record: StepRecord) -> None:
        """Keep a record that nobody waits for."""
        self.records[record.id] = record
        self.store.note(self.key, record)

    def undone_with(self, key: str, record: StepRecord) -> None:
        """Have a step kept as undone in the moment in which its compensation is."""
        self._undone_with[key] = record._replace(state="compensated")

    async def keep_input(self, key: str, handed: dict[str, Any]) -> None:
        """Put on the disk what a step is handed, before it is sent."""
        record = self.records[key]._replace(input=handed)
        self.records[key] = record
        await self.store.save([self.store.step(self.key, record)])

    async def end(self, one: ReadyStep, record: StepRecord) -> StepRecord:
        """Acknowledge the end of a step: it is on the disk when this returns."""
        self._seq += 1
        record = self.timed(record, self._seq)
        self.records[record.id] = record
        self.show(one.id, record)
        if record.state == "succeeded":
            self._successes += 1
            if record.id in self._undone_with:
                self.note(self._undone_with.pop(record.id))
        if record.state == "succeeded" and self._is_checkpoint_due(one):
            memory = self._kept_memory()
            self._latest_checkpoint = self._seq
            place = self._prefix, self._memory
            await self.store.save([*memory, self.store.step(self.key, record, place)])
        else:
            await self.store.save([self.store.step(self.key, record)])
        return record

    def show(self, step_id: str, record: StepRecord) -> None:
        """Let templates see a step that has ended."""
        self.seen[step_id] = _seen(record)
        order = self._order
        while self._prefix + 1 < len(order) and self.done(order[self._prefix + 1]) is not None:
            self._prefix += 1

    def seen_in_turn(self, key: str) -> dict[str, dict[str, Any]]:
        """What templates see of steps in the turn of a loop in which the step `key` is."""
        seen = dict(self.seen)
        for one in self.records.around(key):
            if one.state != "running":
                seen[one.id.partition("[")[0]] = _seen(one)
        return seen

    def ending(self) -> list[Write]:
        """The last checkpoint of a run that ends in an orderly way, if one is due."""
        ended = [one for one in self.records.values() if one.state == "succeeded"]
        if not (self._settings.enabled and ended) or self.has_undone:
            return []
        if self._latest_checkpoint == self._seq:
            return []
        latest = max(ended, key=lambda one: one.seq)
        memory, now = self._kept_memory(), time.time()
        self._latest_checkpoint = self._seq
        self.last_checkpoint = latest._replace(seq=self._seq)
        expires = now + self._settings.retention_hours * 3600
        row = (self._seq, self._prefix, latest.id, self._memory, now, expires, self.key)
        return [*memory, (_SAVE_LAST, row)]

    def is_checkpoint(self, seq: int) -> bool:
        """Whether the latest checkpoint is that of the step that ended as that one."""
        return seq == self._latest_checkpoint

    def _is_checkpoint_due(self, one: ReadyStep) -> bool:
        if not self._settings.enabled or _IS_UNDOING.get() or one.step.checkpoint is False:
            return False
        every = max(1, self._settings.interval)
        return one.step.checkpoint is True or self._successes % every == 0

    def _kept_memory(self) -> list[Write]:
        """What writes the memory as it is now, if there is any."""
        if not self.memory:
            return []
        snapshot = [{"key": key, "value": value} for key, value in self.memory.items()]
        self._memory, keep = kept_once(snapshot)
        return [keep]


def _seen(record: StepRecord) -> dict[str, Any]:
    """What templates see of a step that has ended."""
    if record.state in ("succeeded", "compensated"):
        return {"state": record.state, "output": record.output}
    return {"state": record.state}
