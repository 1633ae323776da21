"""Rows of the stores of runs: what both stores write, and the records made of what they read."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from metier.core.json_values import FrozenDict
from metier.core.timestamps import to_iso
from metier.core.unread import why_not_json
from metier.errors import RUNS_HINT, NotFoundError, UsageError
from metier.run.store import CheckpointMark
from metier.values.agents import Checkpoint, CheckpointSettings
from metier.values.runs import NOTHING_USED, Failure, RunRecord, StepRecord, Usage

Row = tuple[Any, ...]
INTERRUPTED = Failure("RUN_INTERRUPTED", "its process ended before the run did")
CANCELLED = Failure("RUN_CANCELLED", "the run was cancelled")

# Writing


def check_idle(states: Iterable[tuple[str, str]]) -> None:
    """Raise `UsageError` if one of these runs, each with its state, is running."""
    for run_id, state in states:
        if state == "running":
            stop = f"metier runs cancel {run_id} (Python: catalog.cancel('{run_id}'))"
            hint = f"wait for it, or stop it: {stop}"
            raise UsageError(f"run '{run_id}' is running", code="RUN_BUSY", hint=hint)


def no_such_run(run_id: str) -> NotFoundError:
    return NotFoundError(f"no run is called '{run_id}'", hint=RUNS_HINT)


def dumped(value: Any) -> str:
    """JSON in ASCII: no database rejects it, whatever the strings in it hold."""
    return "{}" if type(value) in _MAPPINGS and not value else _encoder.encode(value)


def request_text(run: RunRecord) -> str:
    """Raises `UsageError` for a non-JSON request."""
    try:
        return dumped(run.request)
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(f"the input is not JSON: {why_not_json(error)}") from None


def failure_text(failure: Failure | None) -> str | None:
    return None if failure is None else dumped(failure.to_json())


def usage_text(usage: Usage) -> str:
    """As JSON, built by hand for speed."""
    tokens_in, tokens_out, cost, requests, calls = usage
    return f"[{tokens_in},{tokens_out},{cost!r},{requests},{calls}]"


def memory_text(checkpoint: CheckpointMark) -> str:
    return dumped([{"key": key, "value": value} for key, value in checkpoint.memory.items()])


def step_values(step: StepRecord, step_index: int | None = None, memory: Any = None) -> Row:
    """The columns of a step; the last two arguments are those of its checkpoint."""
    return (
        step.id,
        step.seq,
        step.state,
        step.attempts,
        None if step.input is None else dumped(step.input),
        None if step.output is None else dumped(step.output),
        None if step.failure is None else failure_text(step.failure),
        None if step.usage is NOTHING_USED else usage_text(step.usage),
        step.started,
        step.finished,
        step_index,
        memory,
        step.generation,
    )


def end_values(run: RunRecord) -> Row:
    """What the end of a run changes: state, finished, failure, usage, output."""
    output = dumped(run.output)
    return run.state, run.finished, failure_text(run.failure), usage_text(run.usage), output


def kept_checkpoints(profile: Mapping[str, Any]) -> tuple[float, float]:
    """For how many hours checkpoints are kept, and how many of them."""
    default = CheckpointSettings()
    given = profile.get("checkpoint") or {}
    hours, most = given.get("retentionHours"), given.get("maximum")
    return (
        default.retention_hours if hours is None else float(hours),
        default.maximum if most is None else float(most),
    )


def is_storable(text: str) -> bool:
    """Whether PostgreSQL can hold a text as it is; an id that it cannot hold is not there."""
    return not _UNSTORABLE.search(text)


# Reading


def run_of(row: Row) -> RunRecord:
    (run_id, agent, task, state, created, request, profile, finished, parent, step, forked,
     failure, usage, output, key, epoch, rollback) = row  # fmt: skip
    return RunRecord(
        run_id, agent, task, state, created, json.loads(request), json.loads(profile), finished,
        parent, step, forked, _failure_of(failure), usage_of(usage), _loaded(output), key, epoch,
        _failure_of(rollback),
    )  # fmt: skip


def step_of(row: Row) -> StepRecord:
    key, state, seq, attempts, given, output, failure, usage, *times = row
    return StepRecord(
        key, state, seq, attempts, _loaded(given), _loaded(output), _failure_of(failure),
        usage_of(usage), *times,
    )  # fmt: skip


def checkpoint_of(row: Row, steps: Sequence[StepRecord]) -> Checkpoint:
    """`steps` are those of its run, unless the row has outputs of its own."""
    _, seq, name, index, completed, context, memory, created, expires, run_id, agent, own = row
    outputs = json.loads(own) if own else _outputs_until(steps, seq)
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


def checkpoint_texts(checkpoint: Checkpoint) -> tuple[str, str, str]:
    """Context, memory and outputs of a checkpoint that is saved by hand."""
    done, skipped = dict(checkpoint.step_outputs), list(checkpoint.skipped_step_ids)
    return (
        dumped(dict(checkpoint.context)),
        dumped([dict(one) for one in checkpoint.memory_snapshot]),
        dumped({"done": done, "skipped": skipped}),
    )


def numbered(checkpoint_id: str) -> tuple[str, int]:
    """The run and the number in an id such as `RUN:3`; without one, 0."""
    run_id, _, seq = checkpoint_id.rpartition(":")
    return run_id, int(seq) if seq.isdecimal() and len(seq) < _DIGITS else 0


def _outputs_until(steps: Sequence[StepRecord], seq: int) -> dict[str, Any]:
    """The outputs of the steps that had ended when the `seq`-th did."""
    ended = [one for one in steps if 0 < one.seq <= seq]
    done = {one.id: one.output for one in ended if one.state in ("succeeded", "compensated")}
    return {"done": done, "skipped": [one.id for one in ended if one.state == "skipped"]}


def _failure_of(text: str | None) -> Failure | None:
    return Failure.of(json.loads(text)) if text else None


def usage_of(text: str | None) -> Usage:
    return Usage(*_loaded(text) or ())


def _loaded(text: str | None) -> Any:
    return None if text is None else json.loads(text)


_DIGITS = 18
"""SQLite takes no integer with more."""
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_MAPPINGS = (dict, FrozenDict)
_encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
