"""Removing runs: with everything below them, never a running one, on both stores."""

import time
from typing import Any

import pytest

from metier.errors import NotFoundError, UsageError
from metier.run.checkpoints import CheckpointStore
from metier.run.store import RunStore
from metier.values.runs import RunResult
from run.stores import Stores
from run.world import BROKEN, World, agent, delegate, do

LATER = 1e12


def world(stores: Stores) -> World:
    child = agent(do("c"), agent_id="child")
    parent = agent(do("a"), delegate("d", "child"), agent_id="parent")
    other = agent(do("x"), do("y"), agent_id="other")
    return World(parent, child, other, store=stores.open())


def run(made: World, name: str, secret: str = "") -> RunResult:
    return made.run(made.profiles[name], task=f"task {secret}", input={"given": secret})


def stored(store: RunStore) -> list[str]:
    return sorted(one.run_id for one in store.runs(limit=100))


def texts(store: Any) -> str:
    """Everything that the tables of runs hold."""
    tables = ("run", "step", "checkpoint", "blob")
    if hasattr(store, "namespace"):
        rows = [store._rows(f"SELECT * FROM metier.{one}") for one in tables]
    else:
        rows = [store.rows(f"SELECT * FROM {one}") for one in tables]
    return str(rows)


def test_a_run_is_removed_with_what_it_delegated_and_nothing_else(stores: Stores) -> None:
    made = world(stores)
    gone, stays = run(made, "parent", "gone-input"), run(made, "other", "kept-input")
    assert len(stored(made.store)) == 3
    assert made.store.remove([gone.run_id]) == 2
    assert stored(made.store) == [stays.run_id]
    assert made.store.steps(gone.run.key) == []
    assert CheckpointStore(made.store).list(gone.run_id) == []
    assert "gone-input" not in texts(made.store)
    kept = made.store.run(stays.run_id)
    assert kept.request["input"] == {"given": "kept-input"}
    assert CheckpointStore(made.store).list(stays.run_id) != []
    with pytest.raises(NotFoundError):
        made.store.run(gone.run_id)


def test_a_run_like_a_removed_one_can_begin_and_be_read(stores: Stores) -> None:
    """A writer remembers what it stored; a removal must not make that untrue."""
    made = world(stores)
    first = run(made, "parent", "same")
    made.store.remove([first.run_id])
    again = run(made, "parent", "same")
    assert again.success
    read = made.store.run(again.run_id)
    assert read.request["input"] == {"given": "same"}
    assert read.profile == again.run.profile
    assert CheckpointStore(made.store).list(again.run_id) != []


def test_a_running_run_is_not_removed_nor_are_others_with_it(stores: Stores) -> None:
    made = world(stores)
    ended = run(made, "other")
    made.acts["y"] = BROKEN
    failed = run(made, "other")
    made.store.claim(failed.run_id, "elsewhere/1//y", time.time())
    with pytest.raises(UsageError) as refused:
        made.store.remove([ended.run_id, failed.run_id])
    assert refused.value.code == "RUN_BUSY"
    assert len(stored(made.store)) == 2
    assert made.store.removable(LATER, resumable=True) == [ended.run_id]


def test_what_can_be_resumed_is_removable_only_on_request(stores: Stores) -> None:
    made = world(stores)
    ended = run(made, "parent")
    made.acts["y"] = BROKEN
    failed = run(made, "other")
    assert made.store.removable(LATER) == [ended.run_id]
    assert made.store.removable(LATER, resumable=True) == [ended.run_id, failed.run_id]
    assert made.store.removable(ended.run.created) == []


def test_a_run_of_which_a_delegated_run_is_running_is_not_removable(stores: Stores) -> None:
    made = world(stores)
    made.acts["c"] = BROKEN
    parent = run(made, "parent")
    (child,) = made.store.children(parent.run_id)
    assert made.store.removable(LATER, resumable=True) == [parent.run_id]
    made.store.claim(child.run_id, "elsewhere/1//y", time.time())
    assert made.store.removable(LATER, resumable=True) == []


def test_an_unknown_id_removes_nothing(stores: Stores) -> None:
    made = world(stores)
    run(made, "other")
    assert made.store.remove(["unknown", "nul\0"]) == 0
    assert made.store.remove([]) == 0
    assert len(stored(made.store)) == 1
