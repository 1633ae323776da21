"""Checkpoints: full records from which a run can go on (INV-CP-001, INV-CP-002)."""

import builtins
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from metier.core.timestamps import from_iso, to_iso
from metier.core.unread import why_not_json
from metier.errors import MetierError, NotFoundError, StoreError, UsageError
from metier.run.store import RunStore
from metier.run.writes import Claim, NewRun, Write, begun, dumped, kept_once
from metier.values.agents import Checkpoint

_SAVE = "INSERT OR REPLACE INTO checkpoint VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_COLUMNS = (
    "SELECT checkpoint.run, seq, name, step_index, completed,"
    " (SELECT data FROM blob WHERE blob.key = context),"
    " (SELECT data FROM blob WHERE blob.key = memory), checkpoint.created, expires, id, agent,"
    " (SELECT data FROM blob WHERE blob.key = outputs),"
    " ifnull((SELECT json_extract(data, '$.checkpoint.maximum') FROM blob"
    " WHERE blob.key = profile), 10)"
    " FROM any_checkpoint AS checkpoint JOIN run ON run.key = checkpoint.run"
)
_DIGITS = 18
"""SQLite takes no number of more."""
_NEWER = "SELECT count(*) FROM any_checkpoint WHERE run = ? AND seq > ? AND name = ''"
_FORGET = (
    "DELETE FROM checkpoint WHERE (run, seq) IN ({which})",
    "UPDATE step SET step_index = NULL, memory = NULL"
    " WHERE step_index IS NOT NULL AND (run, seq) IN ({which})",
)
_UNTIL = "SELECT run, seq FROM any_checkpoint WHERE run = ? AND seq <= ?"
_EXPIRED = "SELECT run, seq FROM any_checkpoint WHERE expires <= ?"
_NEWEST = "SELECT seq FROM any_checkpoint WHERE run = ? ORDER BY seq DESC LIMIT 1 OFFSET ?"


class ResumeContext(NamedTuple):
    """Where a run goes on, and with what."""

    resume_from_step: int
    """The step after the checkpoint."""
    step_outputs: Mapping[str, Any]
    skipped_step_ids: tuple[str, ...]
    context: Mapping[str, Any]
    memory: Mapping[str, Any]


def resume_context(checkpoint: Checkpoint) -> ResumeContext:
    """What a checkpoint alone says about going on."""
    return ResumeContext(
        checkpoint.step_index + 1,
        checkpoint.step_outputs,
        checkpoint.skipped_step_ids,
        checkpoint.context,
        {one["key"]: one["value"] for one in checkpoint.memory_snapshot},
    )


def checkpoint_problems(checkpoint: Checkpoint) -> list[str]:
    """What keeps a record from being one from which a run can go on."""
    problems = [
        f"{name} is missing"
        for name, value in (
            ("checkpointId", checkpoint.checkpoint_id),
            ("runId", checkpoint.run_id),
            ("agentId", checkpoint.agent_id),
            ("completedStepId", checkpoint.completed_step_id),
            ("createdAt", checkpoint.created_at),
        )
        if not isinstance(value, str) or not value
    ]
    problems += [
        f"'{moment}' is no ISO time"
        for moment in (checkpoint.created_at, checkpoint.expires_at)
        if moment and not _is_moment(moment)
    ]
    index = checkpoint.step_index
    if isinstance(index, bool) or not isinstance(index, int) or index < -1:
        problems.append("stepIndex is no whole number from -1 on")
    for name, value in (
        ("stepOutputs", checkpoint.step_outputs),
        ("context", checkpoint.context),
    ):
        if not isinstance(value, Mapping):
            problems.append(f"{name} is no mapping")
    problems += _memory_problems(checkpoint.memory_snapshot)
    if not problems:
        try:
            dumped(checkpoint.to_json())
        except (TypeError, ValueError, RecursionError) as error:
            problems.append(f"it is no JSON: {why_not_json(error)}")
    return problems


def _memory_problems(snapshot: Any) -> list[str]:
    if isinstance(snapshot, str) or not isinstance(snapshot, Sequence):
        return ["memorySnapshot is no list"]
    return [
        f"memorySnapshot[{number}] has no key or no value"
        for number, one in enumerate(snapshot)
        if not (isinstance(one, Mapping) and isinstance(one.get("key"), str) and "value" in one)
    ]


class CheckpointStore:
    """The checkpoints in a record of runs."""

    def __init__(self, store: RunStore | None = None) -> None:
        """Without a store they live as long as this object."""
        self._store = store or RunStore.in_memory()

    def save(self, checkpoint: Checkpoint) -> None:
        """Keep a record. Raises `UsageError` with CHECKPOINT_INVALID for one that is not whole."""
        if problems := checkpoint_problems(checkpoint):
            raise UsageError(
                f"the checkpoint is not whole: {'; '.join(problems)}", code="CHECKPOINT_INVALID"
            )
        try:
            self._save(checkpoint)
        except StoreError as error:
            raise StoreError(
                error.message, code="CHECKPOINT_SAVE_FAILED", where=error.where, hint=error.hint
            ) from error

    def _save(self, checkpoint: Checkpoint) -> None:
        key = self._key_of_run(checkpoint)
        last = self._store.rows(
            "SELECT max(seq) FROM (SELECT seq FROM checkpoint WHERE run = ?1"
            " UNION ALL SELECT seq FROM step WHERE run = ?1)",
            (key,),
        )[0][0]
        self._store.save_now(list(self._writes(checkpoint, key, 1 + (last or 0))))

    def _key_of_run(self, checkpoint: Checkpoint) -> int:
        known = self._key(checkpoint.run_id)
        if known:
            return known
        run = NewRun(
            run_id=checkpoint.run_id,
            agent_id=checkpoint.agent_id,
            task="",
            created=from_iso(checkpoint.created_at),
            request=kept_once(dict(checkpoint.context)),
            profile=kept_once({}),
        )
        key = self._store.new_key()
        self._store.save_now(begun(run, Claim(key, 0)))
        return key

    def _writes(self, checkpoint: Checkpoint, key: int, seq: int) -> Iterable[Write]:
        context = kept_once(dict(checkpoint.context))
        memory = kept_once([dict(one) for one in checkpoint.memory_snapshot])
        own = {"done": dict(checkpoint.step_outputs), "skipped": list(checkpoint.skipped_step_ids)}
        outputs = kept_once(own)
        expires = checkpoint.expires_at
        row = (
            key,
            seq,
            checkpoint.checkpoint_id,
            checkpoint.step_index,
            checkpoint.completed_step_id,
            context.key,
            memory.key,
            from_iso(checkpoint.created_at),
            from_iso(expires) if expires else None,
            outputs.key,
        )
        return context.write, memory.write, outputs.write, (_SAVE, row)

    def load(self, checkpoint_id: str, *, now: float | None = None) -> Checkpoint:
        """A record by its id. Raises with CHECKPOINT_NOT_FOUND or CHECKPOINT_EXPIRED."""
        found = self._store.rows(
            f"{_COLUMNS} WHERE checkpoint.run = ? AND seq = ? AND name = ?",
            self._place(checkpoint_id),
        )
        if not found or self._is_beyond(found[0]):
            raise NotFoundError(
                f"no checkpoint is called '{checkpoint_id}'", code="CHECKPOINT_NOT_FOUND"
            )
        expires = found[0][8]
        if expires is not None and expires <= _now(now):
            raise MetierError(
                f"checkpoint '{checkpoint_id}' is no longer kept",
                code="CHECKPOINT_EXPIRED",
                hint="fork from a later one, or run again",
            )
        return self._of(found[0])

    def _place(self, checkpoint_id: str) -> tuple[int, int, str]:
        """The run of a record, its place there, and its name if somebody has given it one."""
        named = self._store.rows(
            "SELECT run, seq FROM checkpoint WHERE name = ? AND name != ''", (checkpoint_id,)
        )
        if named:
            return (*named[0], checkpoint_id)
        run_id, _, seq = checkpoint_id.rpartition(":")
        number = int(seq) if seq.isdecimal() and len(seq) < _DIGITS else 0
        return self._key(run_id), number, ""

    def _key(self, run_id: str) -> int:
        """The key of a run; 0 for one that there is not."""
        found = self._store.rows("SELECT key FROM run WHERE id = ?", (run_id,))
        return int(found[0][0]) if found else 0

    def latest(self, run_id: str, *, now: float | None = None) -> Checkpoint | None:
        """The newest record of a run that still counts."""
        found = self._rows_of(run_id, now)
        return self._of(found[-1]) if found else None

    def list(self, run_id: str, *, now: float | None = None) -> builtins.list[Checkpoint]:
        """The records of a run that still count, the oldest first."""
        return [self._of(row) for row in self._rows_of(run_id, now)]

    def _rows_of(self, run_id: str, now: float | None) -> builtins.list[tuple[Any, ...]]:
        found = self._store.rows(
            f"{_COLUMNS} WHERE checkpoint.run = ? AND (expires IS NULL OR expires > ?)"
            " ORDER BY seq",
            (self._key(run_id), _now(now)),
        )
        return [row for row in found if not self._is_beyond(row)]

    def _is_beyond(self, row: tuple[Any, ...]) -> bool:
        """Whether as many newer ones count as a run may have; those saved by hand always do."""
        key, seq, name, *_, most = row
        return not name and int(self._store.rows(_NEWER, (key, seq))[0][0]) >= most

    def prune(
        self,
        run_id: str | None = None,
        *,
        maximum: int | None = None,
        now: float | None = None,
    ) -> int:
        """Remove what has expired and, of one run, all but the `maximum` newest; how many."""
        removed = 0
        with self._store.transaction() as connection:
            for forget in _FORGET:
                which = forget.format(which=_EXPIRED)
                removed += connection.execute(which, (_now(now),)).rowcount
            if run_id is not None and maximum is not None:
                key = self._store.run(run_id).key
                for (seq,) in self._store.rows(_NEWEST, (key, maximum)):
                    for forget in _FORGET:
                        which = forget.format(which=_UNTIL)
                        removed += connection.execute(which, (key, seq)).rowcount
        return removed

    def _of(self, row: tuple[Any, ...]) -> Checkpoint:
        key, seq, name, index, completed, context, memory, created, expires = row[:9]
        run_id, agent, own = row[9:12]
        outputs = json.loads(own) if own else self._outputs_until(key, seq)
        return Checkpoint(
            checkpoint_id=name or f"{run_id}:{seq}",
            run_id=run_id,
            agent_id=agent,
            step_index=index,
            completed_step_id=completed,
            step_outputs=outputs["done"],
            skipped_step_ids=tuple(outputs["skipped"]),
            context=json.loads(context),
            memory_snapshot=json.loads(memory),
            created_at=to_iso(created),
            expires_at=to_iso(expires) if expires is not None else None,
        )

    def _outputs_until(self, key: int, seq: int) -> dict[str, Any]:
        """What the steps of a run had given when its `seq`-th one ended."""
        steps = [one for one in self._store.steps(key) if 0 < one.seq <= seq]
        done = {one.id: one.output for one in steps if one.state in ("succeeded", "compensated")}
        return {"done": done, "skipped": [one.id for one in steps if one.state == "skipped"]}


def _now(given: float | None) -> float:
    return time.time() if given is None else given


def _is_moment(text: str) -> bool:
    try:
        from_iso(text)
    except (TypeError, ValueError):
        return False
    return True
