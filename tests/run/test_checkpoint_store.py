"""The store of checkpoints: what is saved is loaded, whole or not at all."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.errors import NotFoundError, StoreError, UsageError
from metier.run.checkpoints import CheckpointStore, checkpoint_problems, resume_context
from metier.run.sqlite_store import SqliteRunStore
from metier.values.agents import Checkpoint
from run.world import BROKEN, World, agent, do

WHOLE = Checkpoint(
    checkpoint_id="cp-1",
    run_id="run-1",
    agent_id="agent-1",
    step_index=1,
    completed_step_id="b",
    step_outputs={"a": 1, "b": {"x": [None]}},
    context={"input": "x"},
    memory_snapshot=({"key": "k", "value": 1},),
    created_at="2026-01-02T03:04:05.678+00:00",
    skipped_step_ids=("c",),
)


def test_what_is_saved_is_what_is_loaded() -> None:
    store = CheckpointStore()
    store.save(WHOLE)
    loaded = store.load("cp-1")
    assert replace(loaded, memory_snapshot=tuple(loaded.memory_snapshot)) == WHOLE
    assert store.latest("run-1") == loaded
    assert store.latest("run-2") is None


@pytest.mark.invariant(id="INV-CP-001")
@pytest.mark.parametrize(
    "wrong",
    [
        {"checkpoint_id": ""},
        {"run_id": ""},
        {"agent_id": ""},
        {"completed_step_id": ""},
        {"created_at": ""},
        {"created_at": "yesterday"},
        {"expires_at": "tomorrow"},
        {"step_index": -2},
        {"step_index": 1.5},
        {"step_index": True},
        {"step_index": None},
        {"step_outputs": None},
        {"step_outputs": ["a"]},
        {"step_outputs": {"a": float("nan")}},
        {"step_outputs": {"a": object()}},
        {"context": None},
        {"context": {"x": {1, 2}}},
        {"memory_snapshot": None},
        {"memory_snapshot": "text"},
        {"memory_snapshot": [{"key": "k"}]},
        {"memory_snapshot": [{"value": 1}]},
        {"memory_snapshot": [7]},
    ],
)
def test_a_record_that_is_not_whole_is_not_saved(wrong: dict[str, Any]) -> None:
    store = CheckpointStore()
    bad = replace(WHOLE, **wrong)
    assert checkpoint_problems(bad) != []
    with pytest.raises(UsageError) as raised:
        store.save(bad)
    assert raised.value.code == "CHECKPOINT_INVALID"
    assert store.list("run-1") == []
    with pytest.raises(NotFoundError) as missing:
        store.load("cp-1")
    assert missing.value.code == "CHECKPOINT_NOT_FOUND"


def test_every_problem_is_told_at_once() -> None:
    bad = replace(WHOLE, run_id="", step_index=-9, context=[])  # type: ignore[arg-type]  # wrong
    assert len(checkpoint_problems(bad)) == 3


def test_a_store_that_cannot_be_written_says_so() -> None:
    store = SqliteRunStore.in_memory()
    checkpoints = CheckpointStore(store)
    store.connection.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreError) as raised:
        checkpoints.save(WHOLE)
    assert raised.value.code == "CHECKPOINT_SAVE_FAILED"


@given(st.lists(st.dictionaries(st.sampled_from("abd"), st.integers()), min_size=1, max_size=4))
def test_the_latest_is_the_one_saved_last_and_each_keeps_its_own_outputs(
    saved: list[dict[str, int]],
) -> None:
    store = CheckpointStore()
    grown: list[dict[str, int]] = [{}]
    for number, more in enumerate(saved):
        grown.append({**more, **grown[-1]})
        store.save(replace(WHOLE, checkpoint_id=f"cp-{number}", step_outputs=grown[-1]))
    latest = store.latest("run-1")
    assert latest is not None
    assert latest.checkpoint_id == f"cp-{len(saved) - 1}"
    assert [one.step_outputs for one in store.list("run-1")] == grown[1:]
    assert store.prune("run-1", maximum=2) == max(0, len(saved) - 2)
    assert len(store.list("run-1")) == min(2, len(saved))


def test_a_record_of_one_s_own_is_not_overwritten_by_the_run() -> None:
    world = World()
    world.acts["b"] = iter([BROKEN, 1])
    result = world.run(agent(do("a"), do("b"), do("c")))
    store = CheckpointStore(world.store)
    mine = replace(store.list(result.run_id)[0], checkpoint_id="mine")
    store.save(mine)
    world.resume(result.run_id)
    assert store.load("mine") == mine


@pytest.mark.invariant(id="INV-CP-001")
@pytest.mark.parametrize("later", [{"b": 2}, {"a": 5, "b": 2}, {}])
def test_a_record_keeps_its_own_outputs_whatever_is_saved_later(later: dict[str, int]) -> None:
    store = CheckpointStore()
    store.save(replace(WHOLE, checkpoint_id="one", step_outputs={"a": 1}))
    store.save(replace(WHOLE, checkpoint_id="two", step_outputs=later))
    assert store.load("one").step_outputs == {"a": 1}
    assert store.load("two").step_outputs == later


@pytest.mark.invariant(id="INV-CP-001")
def test_a_record_alone_says_how_to_go_on() -> None:
    going_on = resume_context(WHOLE)
    assert going_on.resume_from_step == WHOLE.step_index + 1
    assert going_on.step_outputs == WHOLE.step_outputs
    assert going_on.skipped_step_ids == ("c",)
    assert going_on.context == {"input": "x"}
    assert going_on.memory == {"k": 1}


def test_looking_at_the_checkpoints_of_one_run_does_not_go_through_those_of_others() -> None:
    world = World()
    run_id = world.run(agent(do("a"), do("b"))).run_id
    asked: list[str] = []
    world.store.connection.set_trace_callback(asked.append)
    store = CheckpointStore(world.store)
    (first, *_) = store.list(run_id)
    assert store.load(first.checkpoint_id) == first
    store.latest(run_id)
    world.store.connection.set_trace_callback(None)
    questions = [one for one in asked if one.startswith("SELECT")]
    assert len(questions) > 3
    for one in questions:
        plan = [row[3] for row in world.store.rows(f"EXPLAIN QUERY PLAN {one}")]
        assert not any(step.startswith("SCAN step") for step in plan), (one, plan)


def test_a_record_that_another_process_holds_is_named_in_the_error(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    with (
        closing(SqliteRunStore.open(str(file), busy_seconds=0.05)) as store,
        closing(sqlite3.connect(file, isolation_level=None)) as holder,
    ):
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another process holds the record of runs") as caught:
            store.recover(0.0)
    assert caught.value.code == "STORE_LOCKED"
    assert caught.value.hint == "try again when it has finished"
