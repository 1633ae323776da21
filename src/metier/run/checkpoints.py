"""Checkpoints: saved states from which a run can be forked (INV-CP-001, INV-CP-002).

A resume does not need them: it reads the stored steps, which are at least as recent.
"""

import builtins
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from metier.core.timestamps import from_iso
from metier.core.unread import why_not_json
from metier.errors import MetierError, NotFoundError, StoreError, UsageError
from metier.run.sqlite_store import SqliteRunStore
from metier.run.store import RunStore
from metier.values.agents import Checkpoint

_REQUIRED = {
    "checkpointId": "checkpoint_id",
    "runId": "run_id",
    "agentId": "agent_id",
    "completedStepId": "completed_step_id",
    "createdAt": "created_at",
}


class ResumeContext(NamedTuple):
    """Where to continue from a checkpoint, and with what."""

    resume_from_step: int
    step_outputs: Mapping[str, Any]
    skipped_step_ids: tuple[str, ...]
    context: Mapping[str, Any]
    memory: Mapping[str, Any]


def resume_context(checkpoint: Checkpoint) -> ResumeContext:
    return ResumeContext(
        checkpoint.step_index + 1,
        checkpoint.step_outputs,
        checkpoint.skipped_step_ids,
        checkpoint.context,
        {one["key"]: one["value"] for one in checkpoint.memory_snapshot},
    )


def checkpoint_problems(checkpoint: Checkpoint) -> list[str]:
    """Why a checkpoint cannot be used; empty if it can."""
    values = {name: getattr(checkpoint, field) for name, field in _REQUIRED.items()}
    problems = [
        f"{name} is missing"
        for name, value in values.items()
        if not isinstance(value, str) or not value
    ]
    problems += [
        f"'{moment}' is not an ISO time"
        for moment in (checkpoint.created_at, checkpoint.expires_at)
        if moment and not _is_moment(moment)
    ]
    index = checkpoint.step_index
    if isinstance(index, bool) or not isinstance(index, int) or index < -1:
        problems.append("stepIndex is not an integer of at least -1")
    mappings = {"stepOutputs": checkpoint.step_outputs, "context": checkpoint.context}
    problems += [
        f"{name} is not a mapping"
        for name, value in mappings.items()
        if not isinstance(value, Mapping)
    ]
    problems += _memory_problems(checkpoint.memory_snapshot)
    if not problems:
        try:
            json.dumps(checkpoint.to_json(), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            problems.append(f"it is not JSON: {why_not_json(error)}")
    return problems


def _memory_problems(snapshot: Any) -> list[str]:
    if isinstance(snapshot, str) or not isinstance(snapshot, Sequence):
        return ["memorySnapshot is not a list"]
    return [
        f"memorySnapshot[{number}] has no key or no value"
        for number, one in enumerate(snapshot)
        if not (isinstance(one, Mapping) and isinstance(one.get("key"), str) and "value" in one)
    ]


def _is_moment(text: str) -> bool:
    try:
        from_iso(text)
    except (TypeError, ValueError):
        return False
    return True


class CheckpointStore:
    def __init__(self, store: RunStore | None = None) -> None:
        """Without a store, checkpoints are kept in memory."""
        self._store = store or SqliteRunStore.in_memory()

    def save(self, checkpoint: Checkpoint) -> None:
        """Save a checkpoint. Raises `UsageError` with CHECKPOINT_INVALID."""
        if problems := checkpoint_problems(checkpoint):
            message = f"the checkpoint is not valid: {'; '.join(problems)}"
            raise UsageError(message, code="CHECKPOINT_INVALID")
        try:
            self._store.save_checkpoint(checkpoint)
        except StoreError as error:
            raise StoreError(
                error.message, code="CHECKPOINT_SAVE_FAILED", where=error.where, hint=error.hint
            ) from error

    def load(self, checkpoint_id: str, *, now: float | None = None) -> Checkpoint:
        """A checkpoint by its id. Raises with CHECKPOINT_NOT_FOUND or CHECKPOINT_EXPIRED."""
        found = self._store.checkpoint(checkpoint_id)
        if found is None:
            raise NotFoundError(
                f"no checkpoint is called '{checkpoint_id}'", code="CHECKPOINT_NOT_FOUND"
            )
        if found.expires_at is not None and from_iso(found.expires_at) <= _now(now):
            raise MetierError(
                f"checkpoint '{checkpoint_id}' has expired",
                code="CHECKPOINT_EXPIRED",
                hint="fork from a later checkpoint, or run again",
            )
        return found

    def latest(self, run_id: str, *, now: float | None = None) -> Checkpoint | None:
        """The newest checkpoint of a run that has not expired."""
        found = self._store.checkpoints(run_id, _now(now), only_latest=True)
        return found[0] if found else None

    def list(self, run_id: str, *, now: float | None = None) -> builtins.list[Checkpoint]:
        """The checkpoints of a run that have not expired, oldest first."""
        return self._store.checkpoints(run_id, _now(now))

    def prune(
        self, run_id: str | None = None, *, maximum: int | None = None, now: float | None = None
    ) -> int:
        """Delete expired checkpoints and, of one run, all but the `maximum` newest; how many."""
        return self._store.prune_checkpoints(run_id, maximum, _now(now))


def _now(given: float | None) -> float:
    return time.time() if given is None else given
