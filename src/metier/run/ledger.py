"""The state of a run while it executes: its steps, outputs, memory, usage and checkpoints."""

import asyncio
import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from metier.errors import MetierError
from metier.run.plan import ReadyStep
from metier.run.services import RunStoppedError, StepFailedError
from metier.run.store import LEASE_SECONDS, CheckpointMark, RunStore
from metier.values.agents import CheckpointSettings, Limits
from metier.values.runs import DONE, Claim, Failure, StepRecord, StepState, Usage

UNSTORED_SECONDS = 0.3
"""How long a step may run before others see that it has begun; most end sooner."""
_USAGE = StepRecord._fields.index("usage")
_ROLLING_BACK: ContextVar[bool] = ContextVar("rolling_back", default=False)


@contextmanager
def rolling_back() -> Iterator[None]:
    """No limit stops what runs in the block, and no checkpoint is saved."""
    before = _ROLLING_BACK.set(True)
    try:
        yield
    finally:
        _ROLLING_BACK.reset(before)


class Ledger:
    """The steps of one run, in memory and in the store."""

    def __init__(
        self,
        store: RunStore,
        claim: Claim,
        order: Sequence[str],
        settings: CheckpointSettings,
        limits: Limits,
        known: Sequence[StepRecord],
    ) -> None:
        """`order` are the ids of top-level steps; `known` are stored records."""
        self.store = store
        self.claim = claim
        self.leased_until = time.time() + LEASE_SECONDS
        self.records = {one.id: one for one in known}
        """By full id, as in `check[2]`."""
        self._iterations: dict[str, dict[str, None]] = {}
        """The full ids of the steps in each iteration, as `[2]` or `[2][0]`."""
        for one in known:
            self._add_to_iteration(one.id)
        self.seen: dict[str, dict[str, Any]] = {}
        """The steps as templates see them."""
        self.memory: dict[str, Any] = {}
        self.usage = Usage()
        for one in known:
            self.usage = self.usage.plus(one.usage)
        self.limits = limits
        self.is_rolled_back = False
        self.last_checkpoint: CheckpointMark | None = None
        """The checkpoint that was saved when the run ended."""
        self._started: dict[str, float] = {}
        """When running steps began, by the monotonic clock."""
        self._unstored: dict[str, None] = {}
        """The steps that have begun since the last look, and may not be stored as running."""
        self._timer: asyncio.TimerHandle | None = None
        self._storing: asyncio.Task[None] | None = None
        self._compensated_by: dict[str, StepRecord] = {}
        self._order = order
        self._settings = settings
        self._interval = max(1, settings.interval)
        last, self._latest_checkpoint = store.last_numbers(claim.key) if known else (0, 0)
        self._seq = max([last, *(one.seq for one in known)])
        self._begun = sum(one.seq > 0 for one in known)
        self._successes = sum(one.state == "succeeded" for one in known)
        self._prefix = -1

    @property
    def is_lease_over(self) -> bool:
        """Whether another process may have claimed the run; call `check_claim` then."""
        return time.time() >= self.leased_until

    async def check_claim(self) -> None:
        """Raise `RunLostError` if another process has claimed the run."""
        await self.store.check(self.claim)

    def done(self, key: str) -> StepRecord | None:
        """The record of a step that need not run again."""
        record = self.records.get(key)
        return record if record is not None and record.state in DONE else None

    def in_order(self) -> list[StepRecord]:
        """All records in the order in which steps ended, then the others."""
        return sorted(self.records.values(), key=lambda one: (one.seq == 0, one.seq, one.started))

    def timed(self, record: StepRecord, **changes: Any) -> StepRecord:
        """The record of a step that ends now; its duration is that of the monotonic clock."""
        started, finished = self._times(record)
        return record._replace(started=started, finished=finished, **changes)

    def _times(self, record: StepRecord) -> tuple[float, float]:
        """When a step that ends now began and ended."""
        now = time.time()
        began = self._started.pop(record.id, None)
        took = now - record.started if began is None else time.monotonic() - began
        return now - max(0.0, took), now

    # Limits

    def count(self) -> None:
        """Count a step that begins. Raises `RunStoppedError` at a limit."""
        self._begun += 1
        self._check("steps", self._begun, self.limits.steps, "")
        self._check_usage("")

    def add_usage(self, key: str, usage: Usage) -> None:
        """Count what a step has used. Raises `RunStoppedError` at a limit."""
        record = self.records[key]
        used = record.usage.plus(usage)
        self.records[key] = StepRecord._make((*record[:_USAGE], used, *record[_USAGE + 1 :]))
        self.usage = self.usage.plus(usage)
        self._check_usage(key)

    def _check_usage(self, step: str) -> None:
        tokens, cost = self.limits.tokens, self.limits.cost
        if tokens is not None or cost is not None:
            self._check("tokens", self.usage.tokens, tokens, step)
            self._check("cost", self.usage.cost, cost, step)

    def _check(self, name: str, used: float, limit: float | None, step: str) -> None:
        if limit is not None and used > limit and not _ROLLING_BACK.get():
            message = f"{name}: {used:g} used, the limit is {limit:g}"
            raise RunStoppedError(Failure("RUN_LIMIT_EXCEEDED", message, step=step))

    # Steps

    def fresh(self, key: str, state: StepState) -> StepRecord:
        """The record of a step that begins now; of an earlier attempt it keeps input and usage."""
        now = time.time()
        self._started[key] = time.monotonic()
        before = self.records.get(key)
        if before is None:
            self._add_to_iteration(key)
            return StepRecord(key, state, started=now)
        is_interrupted = before.state in ("running", "cancelled")
        cut_off = before.attempts + 1 if before.state == "running" else 0
        return StepRecord(
            key, state, before.seq, cut_off, before.input, usage=before.usage, started=now,
            failure=before.failure if is_interrupted else None,
            generation=before.generation + (before.state == "compensated"),
        )  # fmt: skip

    def note(self, record: StepRecord) -> None:
        """Keep a record, and store it with the next write."""
        self.records[record.id] = record
        self.store.note(self.claim, record)

    def begin(self, record: StepRecord) -> None:
        """Keep the record of a step that begins; stored with the next write, or after a while."""
        self.note(record)
        self._unstored[record.id] = None
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(UNSTORED_SECONDS, self._store_begun)

    def _store_begun(self) -> None:
        self._timer = None
        begun, self._unstored = [*self._unstored], {}
        running = [key for key in begun if self.records[key].state == "running"]
        if running:
            self._storing = asyncio.ensure_future(self._store_running(running))

    async def _store_running(self, keys: Sequence[str]) -> None:
        with suppress(MetierError):  # the run notices with its next write
            for key in keys:
                if self.records[key].state == "running":
                    await self.store.save_step(self.claim, self.records[key])

    def close(self) -> None:
        """Store no more steps on its own."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def add_call(self, key: str, call: dict[str, Any]) -> None:
        """Add a call of a model or a tool to the input of a step; stored when the step ends."""
        record = self.records[key]
        given = record.input if isinstance(record.input, Mapping) else {}
        calls = [*given.get("calls", ()), call]
        self.records[key] = record._replace(input={**given, "calls": calls})

    async def keep_input(self, key: str, given: dict[str, Any]) -> None:
        """Store the input of a step before it is sent."""
        self.records[key] = self.records[key]._replace(input=given)
        await self.store.save_step(self.claim, self.records[key])

    async def end(
        self,
        step: ReadyStep,
        before: StepRecord,
        state: StepState,
        attempts: int = 0,
        output: Any = None,
        failure: Failure | None = None,
    ) -> tuple[StepRecord, bool]:
        """Store the end of a step; its record, and whether a checkpoint was saved with it."""
        self._seq += 1
        attempts += before.attempts  # those that ended with their process
        record = StepRecord(
            before.id, state, self._seq, attempts, before.input, output, failure, before.usage,
            *self._times(before), before.generation,
        )  # fmt: skip
        self.records[record.id] = record
        self.show(step.id, record)
        mark = None
        if record.state == "succeeded":
            self._successes += 1
            if record.id in self._compensated_by:
                self.note(self._compensated_by.pop(record.id))
            if self._is_checkpoint_due(step):
                self._latest_checkpoint = self._seq
                mark = CheckpointMark(self._prefix, self.memory)
        await self.store.save_step(self.claim, record, mark)
        return record, mark is not None

    def _is_checkpoint_due(self, step: ReadyStep) -> bool:
        if not self._settings.enabled or _ROLLING_BACK.get() or step.declared.checkpoint is False:
            return False
        return step.declared.checkpoint is True or self._successes % self._interval == 0

    def ending(self) -> CheckpointMark | None:
        """The checkpoint of a run that ends, if due."""
        ended = [one for one in self.records.values() if one.state == "succeeded"]
        if not (self._settings.enabled and ended) or self.is_rolled_back:
            return None
        if self._latest_checkpoint == self._seq:
            return None
        latest = max(ended, key=lambda one: one.seq)
        expires = time.time() + self._settings.retention_hours * 3600
        self._latest_checkpoint = self._seq
        self.last_checkpoint = CheckpointMark(
            self._prefix, self.memory, latest.id, self._seq, expires
        )
        return self.last_checkpoint

    # Rolling back

    def begin_compensation(self, key: str, record: StepRecord) -> None:
        """Store `record` as compensated once the step `key` succeeds."""
        self._add_to_iteration(key)
        before = self.records.get(key, StepRecord(key, "pending"))
        self.records[key] = before._replace(
            state="pending", input=None, generation=record.generation
        )
        self._compensated_by[key] = record._replace(state="compensated")

    async def begin_rollback(self, key: str, failure: Failure) -> None:
        """Store why the steps inside a running step are rolled back."""
        self.records[key] = self.records[key]._replace(failure=failure)
        await self.store.save_step(self.claim, self.records[key])

    def end_rollback(self, key: str, inside: Collection[str], iteration: str) -> None:
        """Forget the inputs of the steps inside a step, in case it is tried again."""
        self.note(self.records[key]._replace(failure=None))
        for record in list(self.records.values()):
            if record.input is not None and is_inside(record.id, inside, iteration):
                self.note(record._replace(input=None))

    # Loops

    def keep_items(self, key: str, items: Sequence[Any]) -> None:
        """Store what a loop iterates over, if it is JSON."""
        record = self.records[key]
        with suppress(TypeError, ValueError, RecursionError):
            json.dumps(items, allow_nan=False)
            self.note(record._replace(input={**(record.input or {}), "items": list(items)}))

    def items(self, key: str) -> list[Any] | None:
        """What a loop iterates over, once it has begun."""
        record = self.records.get(key)
        given = record.input if record is not None else None
        return given.get("items") if isinstance(given, dict) else None

    def forget(self, step: ReadyStep) -> None:
        """Hide earlier iterations of a loop from templates."""
        for inner in step.walk():
            self.seen.pop(inner.id, None)

    # What templates see

    def show(self, step_id: str, record: StepRecord) -> None:
        """Let templates see a step that has ended."""
        self.seen[step_id] = _seen(record)
        order = self._order
        while self._prefix + 1 < len(order) and self.done(order[self._prefix + 1]) is not None:
            self._prefix += 1

    def seen_in_iteration(self, key: str) -> dict[str, dict[str, Any]]:
        """The steps as templates see them in the iteration that the step `key` is in."""
        seen = dict(self.seen)
        for one in self._around(key):
            if one.state != "running":
                seen[one.id.partition("[")[0]] = _seen(one)
        return seen

    def _add_to_iteration(self, key: str) -> None:
        start = key.find("[")
        if start >= 0:
            self._iterations.setdefault(key[start:], {})[key] = None

    def _around(self, key: str) -> Iterator[StepRecord]:
        """The records of the iterations that `key` is in: of `a[2][0]`, `[2]` and `[2][0]`."""
        end = key.index("[")
        start = end
        while (end := key.find("]", end) + 1) > 0:
            for one in self._iterations.get(key[start:end], ()):
                if one in self.records:
                    yield self.records[one]

    def remember(self, step: ReadyStep, output: Any) -> None:
        """Add the named outputs of a step to the memory. Raises `StepFailedError`."""
        names = step.declared.outputs
        if not names:
            return
        given = output if isinstance(output, dict) else {}
        missing = [name for name in names if name not in given]
        if missing and len(names) > 1:
            message = f"its output has no '{missing[0]}'"
            raise StepFailedError(Failure("STEP_OUTPUT_MISSING", message))
        self.memory.update({name: given.get(name, output) for name in names})


def is_inside(key: str, ids: Collection[str], iteration: str) -> bool:
    """Whether a full id such as `a[2][0]` is in `ids` and in an iteration such as `[2]`."""
    name, bracket, rest = key.partition("[")
    return name in ids and f"{bracket}{rest}".startswith(iteration)


def _seen(record: StepRecord) -> dict[str, Any]:
    if record.state in ("succeeded", "compensated"):
        return {"state": record.state, "output": record.output}
    return {"state": record.state}
