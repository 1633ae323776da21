"""What is written of a run, as statements.

Every statement about a step, a checkpoint or an end names the claim of the runner that writes it.
It changes nothing once somebody else has claimed the run.
"""

import json
from hashlib import blake2b
from typing import Any, NamedTuple

from metier.core.frozen import FrozenDict
from metier.values.models import Usage
from metier.values.runs import NOTHING_USED, Failure, RunRecord, StepRecord

LEASE_SECONDS = 15.0

SAVE_STEP = (
    "INSERT INTO step SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"
    " FROM run WHERE key = ? AND epoch = ?"
    " ON CONFLICT DO UPDATE SET"
    " step_index = iif(seq = excluded.seq, ifnull(excluded.step_index, step_index),"
    " excluded.step_index),"
    " memory = iif(seq = excluded.seq, ifnull(excluded.memory, memory), excluded.memory),"
    " seq = excluded.seq, state = excluded.state, attempts = excluded.attempts,"
    " input = excluded.input, output = excluded.output, failure = excluded.failure,"
    " usage = excluded.usage, started = excluded.started, finished = excluded.finished,"
    " generation = excluded.generation"
)
"""What a step says of its checkpoint stays as long as its place among the steps does."""
SAVE_LAST_CHECKPOINT = (
    "INSERT OR REPLACE INTO checkpoint"
    " SELECT key, ?, '', ?, ?, request, ?, ?, ?, NULL FROM run WHERE key = ? AND epoch = ?"
)
_END = (
    "UPDATE run SET state = ?, finished = ?, failure = ?, usage = ?, output = ?,"
    " owner = NULL, lease = NULL WHERE key = ? AND epoch = ?"
)
_BEGIN_ROLLBACK = "UPDATE run SET undoing = ? WHERE key = ? AND epoch = ?"
_RELEASE = (
    "UPDATE run SET state = 'pending', owner = NULL, lease = NULL, failure = ?"
    " WHERE key = ? AND epoch = ?"
)
FENCED = frozenset((SAVE_STEP, SAVE_LAST_CHECKPOINT, _END, _BEGIN_ROLLBACK, _RELEASE))
"""Each of these changes one row, or none when the claim it names is not the latest."""
_SAVE_RUN = (
    "INSERT INTO run (key, id, agent, task, state, created, request, profile, parent, parent_step,"
    " forked_from, owner, lease, epoch)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)

Write = tuple[str, tuple[Any, ...]]
"""A statement and its values."""
Place = tuple[int | None, int | None]
"""Of a checkpoint: the last of the workflow's steps before which all are done, its memory's key."""
NO_PLACE: Place = (None, None)


class Claim(NamedTuple):
    """The right to write about a run. The next claim of the same run ends it."""

    key: int
    """The run's."""
    epoch: int


class Kept(NamedTuple):
    """A value that is kept once, however often it is needed."""

    key: int
    write: Write


class NewRun(NamedTuple):
    """A run that is to begin."""

    run_id: str
    agent_id: str
    task: str
    created: float
    request: Kept
    profile: Kept
    parent_run: str = ""
    parent_step: str = ""
    forked_from: str = ""


def begun(run: NewRun, claim: Claim, owner: str | None = None) -> list[Write]:
    """What writes a run that begins: at work by `owner`, or waiting for somebody."""
    row = (
        claim.key, run.run_id, run.agent_id, run.task, "running" if owner else "pending",
        run.created, run.request.key, run.profile.key, run.parent_run, run.parent_step,
        run.forked_from, owner, run.created + LEASE_SECONDS if owner else None, claim.epoch,
    )  # fmt: skip
    return [run.request.write, run.profile.write, NO_MEMORY.write, (_SAVE_RUN, row)]


def ended(run: RunRecord, claim: Claim) -> Write:
    """What writes the end of a run."""
    failure = dumped(run.failure.to_json()) if run.failure else None
    usage, output = _usage_text(run.usage), dumped(run.output)
    return _END, (run.state, run.finished, failure, usage, output, *claim)


def rollback_begun(failure: Failure, claim: Claim) -> Write:
    """What writes that a run is being undone, and why."""
    return _BEGIN_ROLLBACK, (dumped(failure.to_json()), *claim)


def released(failure: Failure, claim: Claim) -> Write:
    """What lets others go on with a run that this process cannot go on with."""
    return _RELEASE, (dumped(failure.to_json()), *claim)


def step_write(claim: Claim, step: StepRecord, checkpoint: Place = NO_PLACE) -> Write:
    """What writes a step of a run."""
    return SAVE_STEP, (
        claim.key,
        step.id,
        step.seq,
        step.state,
        step.attempts,
        None if step.input is None else dumped(step.input),
        None if step.output is None else dumped(step.output),
        None if step.failure is None else dumped(step.failure.to_json()),
        _usage_text(step.usage) if step.usage is not NOTHING_USED else None,
        step.started,
        step.finished,
        *checkpoint,
        step.generation,
        *claim,
    )


def kept_once(value: Any) -> Kept:
    """The key of `value`, a hash of it, and what writes it unless it is there."""
    data = dumped(value)
    key = key_of(data)
    return Kept(key, ("INSERT OR IGNORE INTO blob VALUES (?, ?)", (key, data)))


def key_of(data: str) -> int:
    """The key under which a value is kept: a hash of its text."""
    return int.from_bytes(blake2b(data.encode(), digest_size=8).digest(), signed=True)


def _usage_text(usage: Usage) -> str:
    """As JSON, which a list of numbers is as it stands."""
    tokens_in, tokens_out, cost, requests, calls = usage
    return f"[{tokens_in},{tokens_out},{cost!r},{requests},{calls}]"


def dumped(value: Any) -> str:
    return "{}" if type(value) in _MAPPINGS and not value else _encoder.encode(value)


_MAPPINGS = (dict, FrozenDict)
_encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
NO_MEMORY = kept_once([])
