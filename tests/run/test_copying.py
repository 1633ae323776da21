"""Runs that are copied from SQLite to PostgreSQL are the same there, whatever is in them."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import pytest

from metier.run.copying import copy_runs, run_digest
from metier.run.postgres_migrations import MIGRATIONS
from metier.run.postgres_store import PostgresRunStore
from metier.run.sqlite_store import SqliteRunStore
from metier.run.store import CheckpointMark
from metier.storage.postgres import Postgres
from metier.values.agents import Checkpoint
from metier.values.runs import Failure, RunRecord, RunState, StepRecord, Usage
from shared_states import new_namespace

pytestmark = pytest.mark.slow

MINE = "here/1//x"
WHY = Failure("X", "it broke: ä \0 \ud800", "timeout", True, "a", "try again")
NAMED = Checkpoint(
    checkpoint_id="by-hand", run_id="20260101T000000.000003-0000", agent_id="a", step_index=1,
    completed_step_id="b", step_outputs={"a": 1, "b": {"x": [None, "\0"]}},
    context={"input": "x"}, memory_snapshot=[{"key": "k", "value": 1}],
    created_at="2026-01-02T03:04:05.678+00:00", skipped_step_ids=("c",),
)  # fmt: skip


@pytest.fixture
def local(tmp_path: Path) -> Iterator[SqliteRunStore]:
    with closing(SqliteRunStore.open(str(tmp_path / "runs.db"))) as store:
        yield store


@pytest.fixture
def target(postgres: str) -> Iterator[Postgres]:
    database = Postgres(postgres, called="it", migrations=MIGRATIONS, patience=1.0)
    with closing(database):
        yield database


@pytest.fixture
def there(postgres: str) -> Iterator[PostgresRunStore]:
    with closing(PostgresRunStore(postgres, new_namespace())) as store:
        yield store


def begun(store: SqliteRunStore, number: int, **more: Any) -> RunRecord:
    values = {
        "run_id": f"20260101T000000.{number:06}-0000", "agent_id": "a", "task": "do \0 \ud800 it",
        "state": "running", "created": 1_794_842_036.989353 + number,
        "request": {"input": {"x": [1, None, "\0"]}}, "key": store.new_key(), "epoch": 1,
        "profile": {"agentId": "a", "checkpoint": {"maximum": 3, "retentionHours": 1.5}}, **more,
    }  # fmt: skip
    values["task"] = str(values["task"]).replace("\ud800", "")  # SQLite rejects it
    run = RunRecord(**values)
    asyncio.run(store.begin(run, MINE))
    return run


def saved(store: SqliteRunStore, run: RunRecord, seq: int, **memory: Any) -> None:
    step = StepRecord(
        f"s{seq}", "succeeded", seq, 2, {"in": seq}, {"out": "\0"}, WHY, Usage(1, 2, 0.25, 3, 4),
        1.5, time.time(), 1,
    )  # fmt: skip
    asyncio.run(store.save_step(run.claim, step, CheckpointMark(seq - 1, memory)))


def ended(store: SqliteRunStore, run: RunRecord, state: RunState) -> None:
    done = run._replace(
        state=state, finished=9.5, failure=WHY, usage=Usage(1, 2, 3.5, 4, 5), output={"o": [1]}
    )
    mark = CheckpointMark(2, {"k": [1]}, "s3", 9, time.time() + 3600)
    asyncio.run(store.end_run(done, mark))


@pytest.fixture
def used(local: SqliteRunStore) -> SqliteRunStore:
    """Runs in every state, with steps, memory, a rollback, children and checkpoints."""
    states = [state for state in get_args(RunState) if state not in ("running", "pending")]
    for number, state in enumerate(states):
        run = begun(local, number, parent_run="above", parent_step="s[2]", forked_from="above:3")
        for seq in range(1, 6):
            saved(local, run, seq, **({"k": seq, "m": "ä"} if seq % 2 else {}))
        if number == 1:
            asyncio.run(local.begin_rollback(run.claim, WHY))
        ended(local, run, state)
    pending = begun(local, 99)
    local.release(pending.claim, WHY)
    local.save_checkpoint(NAMED)
    return local


def test_every_run_is_the_same_there(
    used: SqliteRunStore, target: Postgres, there: PostgresRunStore
) -> None:
    copied = copy_runs(used, target, there.namespace)
    runs = used.runs(limit=-1)
    assert len(runs) > 5
    assert sorted(copied.new) == sorted(run.run_id for run in runs)
    now = time.time()
    for run in runs:
        other = there.run(run.run_id)
        assert other._replace(key=0) == run._replace(key=0)
        assert there.steps(other.key) == used.steps(run.key)
        assert there.checkpoints(run.run_id, now) == used.checkpoints(run.run_id, now)
        assert there.last_numbers(other.key) == used.last_numbers(run.key)
        for whole in (True, False):
            digests = {run_digest(store, run.run_id, now, checkpoints=whole)
                       for store in (used, there)}  # fmt: skip
            assert len(digests) == 1
    assert there.checkpoint("by-hand") == used.checkpoint("by-hand") == NAMED


def test_a_digest_depends_on_runs_steps_and_checkpoints(local: SqliteRunStore) -> None:
    run = begun(local, 1)
    now = time.time()

    def digest(*, checkpoints: bool = True) -> str:
        return run_digest(local, run.run_id, now, checkpoints=checkpoints)

    seen = [digest()]
    saved(local, run, 1, k=1)
    seen.append(digest())
    before = digest(checkpoints=False)
    local.prune_checkpoints(run.run_id, 0, now)
    seen.append(digest())
    assert digest(checkpoints=False) == before
    ended(local, run, "failed")
    seen.append(digest())
    assert len(set(seen)) == 4


def test_a_run_that_is_running_is_not_copied(
    local: SqliteRunStore, target: Postgres, there: PostgresRunStore
) -> None:
    begun(local, 1)
    assert copy_runs(local, target, there.namespace).new == ()
    assert there.runs() == []


def test_more_runs_than_fit_into_a_batch_are_copied(
    local: SqliteRunStore, target: Postgres, there: PostgresRunStore
) -> None:
    for number in range(205):
        run = begun(local, number)
        local.release(run.claim, WHY)
    assert len(copy_runs(local, target, there.namespace).new) == 205
    again = copy_runs(local, target, there.namespace)
    assert (again.new, len(again.known), again.newer) == ((), 205, ())


def test_a_run_that_executes_there_is_not_replaced(
    local: SqliteRunStore, target: Postgres, there: PostgresRunStore
) -> None:
    run = begun(local, 1)
    local.release(run.claim, WHY)
    copy_runs(local, target, there.namespace)
    claimed = there.claim(run.run_id, MINE, time.time())
    for _ in range(3):
        local.release(local.claim(run.run_id, MINE, time.time()).claim, WHY)
    assert copy_runs(local, target, there.namespace).newer == (run.run_id,)
    asyncio.run(there.check(claimed.claim))
