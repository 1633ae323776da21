"""What is kept of a run while it is at work: its steps, their outputs, its checkpoints."""

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from metier.run.records import Records
from metier.run.services import RunStoppedError
from metier.run.sqlite_store import RunStore
from metier.run.workflow import ReadyStep
from metier.run.writes import (
    LEASE_SECONDS,
    NO_MEMORY,
    SAVE_LAST_CHECKPOINT,
    Claim,
    Write,
    dumped,
    kept_once,
)
from metier.values.agents import CheckpointSettings, Limits
from metier.values.models import Usage
from metier.values.runs import DONE, Failure, StepRecord, StepState

_LAST_NUMBER = "SELECT ifnull(max(seq), 0) FROM any_checkpoint WHERE run = ?"
_LATEST = "SELECT max(seq) FROM any_checkpoint WHERE run = ? AND name = ''"


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
        claim: Claim,
        order: Sequence[str],
        settings: CheckpointSettings,
        limits: Limits,
        known: Sequence[StepRecord],
    ) -> None:
        """`order` are the ids of the workflow's own steps; `known` is what an earlier try left."""
        self.store = store
        self.claim = claim
        self.leased_until = time.time() + LEASE_SECONDS
        """Until then nobody else can have claimed the run."""
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
        self._seq = self._last_number(known)
        self._begun = sum(one.seq > 0 for one in known)
        self._successes = sum(one.state == "succeeded" for one in known)
        self._prefix = -1
        self._latest_checkpoint = store.rows(_LATEST, (claim.key,))[0][0] if known else None
        self._memory = NO_MEMORY.key
        self.last_checkpoint: StepRecord | None = None
        """The step after which a checkpoint was written when the run ended, with its place."""

    def _last_number(self, known: Sequence[StepRecord]) -> int:
        """The highest number that a step or a checkpoint of the run has: none is given twice."""
        if not known:
            return 0
        checkpoints = int(self.store.rows(_LAST_NUMBER, (self.claim.key,))[0][0])
        return max(checkpoints, *(one.seq for one in known))

    def check_claim(self) -> None:
        """Raise `RunLostError` when somebody else has claimed the run.

        Nobody can as long as the lease runs, so that the file is asked only after it: then this
        process was stopped for a while.
        """
        if time.time() >= self.leased_until:
            self.store.check(self.claim)

    def done(self, key: str) -> StepRecord | None:
        """The record of a step that need not run again."""
        record = self.records.get(key)
        return record if record is not None and record.state in DONE else None

    def in_order(self) -> list[StepRecord]:
        """All records: those that ended first, in the order in which they did."""
        return sorted(self.records.values(), key=lambda one: (one.seq == 0, one.seq, one.started))

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
        self.store.note(self.claim, record)

    def begin_undoing(self, undo: str, record: StepRecord) -> None:
        """Have a step kept as undone in the moment in which the step `undo` succeeds.

        What an earlier time left of that one says nothing: it undid another generation.
        """
        before = self.records.get(undo, StepRecord(undo, "pending"))
        self.records[undo] = before._replace(
            state="pending", input=None, generation=record.generation
        )
        self._undone_with[undo] = record._replace(state="compensated")

    def fresh(self, key: str, state: StepState) -> StepRecord:
        """The record of a step that begins now, or never will.

        Of an earlier try it keeps its place, what it was handed and what it has used.
        """
        now = time.time()
        self._started[key] = time.monotonic()
        before = self.records.get(key)
        if before is None:
            return StepRecord(key, state, started=now)
        is_undoing = before.state in ("running", "cancelled")
        return StepRecord(
            key, state, before.seq, input=before.input, usage=before.usage, started=now,
            failure=before.failure if is_undoing else None,
            generation=before.generation + (before.state == "compensated"),
        )  # fmt: skip

    async def begin_rollback(self, key: str, failure: Failure) -> None:
        """Put on the disk that what is inside a step is being undone, and why.

        A step that has a failure while it runs is one of these.
        """
        self.records[key] = self.records[key]._replace(failure=failure)
        await self.store.save([self.store.step(self.claim, self.records[key])])

    def end_rollback(self, key: str, inside: Collection[str], turn: str) -> None:
        """Let the steps inside a step begin as if they never had, should it be tried again."""
        self.note(self.records[key]._replace(failure=None))
        for record in list(self.records.values()):
            name, bracket, rest = record.id.partition("[")
            if name in inside and f"{bracket}{rest}".startswith(turn) and record.input is not None:
                self.note(record._replace(input=None))

    def keep_items(self, key: str, items: Sequence[Any]) -> None:
        """Keep what a loop goes over, as far as it can be: a later try goes over the same."""
        record = self.records[key]
        with suppress(TypeError, ValueError, RecursionError):
            dumped(items)
            self.note(record._replace(input={**(record.input or {}), "items": list(items)}))

    def items(self, key: str) -> list[Any] | None:
        """What a loop goes over, once it has begun."""
        record = self.records.get(key)
        handed = record.input if record is not None else None
        return handed.get("items") if isinstance(handed, dict) else None

    def forget(self, one: ReadyStep) -> None:
        """Let the steps of a loop see nothing that an earlier turn or attempt has left."""
        for inner in one.walk():
            self.seen.pop(inner.id, None)

    async def keep_input(self, key: str, handed: dict[str, Any]) -> None:
        """Put on the disk what a step is handed, before it is sent."""
        record = self.records[key]._replace(input=handed)
        self.records[key] = record
        await self.store.save([self.store.step(self.claim, record)])

    async def end(self, one: ReadyStep, record: StepRecord) -> tuple[StepRecord, bool]:
        """Acknowledge the end of a step: it is on the disk when this returns.

        Its record, and whether a checkpoint was written with it.
        """
        self._seq += 1
        record = self.timed(record, self._seq)
        self.records[record.id] = record
        self.show(one.id, record)
        if record.state == "succeeded":
            self._successes += 1
            if record.id in self._undone_with:
                self.note(self._undone_with.pop(record.id))
        is_checkpoint = record.state == "succeeded" and self._is_checkpoint_due(one)
        if is_checkpoint:
            memory = self._kept_memory()
            self._latest_checkpoint = self._seq
            place = self._prefix, self._memory
            await self.store.save([*memory, self.store.step(self.claim, record, place)])
        else:
            await self.store.save([self.store.step(self.claim, record)])
        return record, is_checkpoint

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
        row = (self._seq, self._prefix, latest.id, self._memory, now, expires, *self.claim)
        return [*memory, (SAVE_LAST_CHECKPOINT, row)]

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
