"""Forks: a new run from a checkpoint, perhaps with another input; the old one stays as it was."""

import time
from dataclasses import replace
from typing import Any

import pytest

from metier.errors import MetierError, NotFoundError, UsageError
from metier.run.checkpoints import CheckpointStore
from metier.values.agents import Checkpoint
from metier.values.runs import RunResult
from run.world import BROKEN, World, agent, choose, delegate, do, loop, states

STEPS = [do(name, input={"input": "{{ input }}"}) for name in "abcd"]


def begun(world: World, **more: Any) -> tuple[RunResult, list[Checkpoint]]:
    result = world.run(agent(*STEPS, **more), "the task", input="old")
    return result, CheckpointStore(world.store).list(result.run_id)


@pytest.mark.invariant(id="INV-CP-002")
@pytest.mark.parametrize("place", range(4))
def test_a_fork_begins_after_its_checkpoint_with_the_changed_input(place: int) -> None:
    world = World()
    result, records = begun(world)
    kept = world.store.run(result.run_id), world.store.steps(result.run.key)
    world.calls.clear()
    forked = world.fork(result.run_id, records[place].checkpoint_id, input="new")
    assert world.calls == ["a", "b", "c", "d"][place + 1 :]
    assert all(world.given[one] == {"input": "new"} for one in world.calls)
    assert forked.success
    assert set(states(forked).values()) == {"succeeded"}
    assert forked.run_id != result.run_id
    assert forked.run.forked_from == records[place].checkpoint_id
    assert (forked.run.task, forked.run.agent_id) == ("the task", "worker")
    assert (world.store.run(result.run_id), world.store.steps(result.run.key)) == kept


def test_without_a_checkpoint_the_latest_counts_and_without_an_input_the_old_one() -> None:
    world = World()
    world.acts["c"] = iter([BROKEN, "now"])
    result, records = begun(world)
    forked = world.fork(result.run_id)
    assert forked.run.forked_from == records[-1].checkpoint_id
    assert world.calls == ["a", "b", "c", "c", "d"]
    assert world.given["d"] == {"input": "old"}
    assert forked.run.request["input"] == "old"


def test_an_input_may_be_changed_to_something_empty() -> None:
    world = World()
    result, records = begun(world)
    empties: list[Any] = [{}, [], "", 0, False]
    for empty in empties:
        forked = world.fork(result.run_id, records[0].checkpoint_id, input=empty)
        assert forked.run.request["input"] == empty


def test_what_a_false_condition_skipped_stays_skipped() -> None:
    world = World()
    steps = [do("a", condition="input == 'new'"), do("b"), do("c")]
    result = world.run(agent(*steps), input="old")
    records = CheckpointStore(world.store).list(result.run_id)
    forked = world.fork(result.run_id, records[0].checkpoint_id, input="new")
    assert states(forked) == {"a": "skipped", "b": "succeeded", "c": "succeeded"}
    assert world.calls == ["b", "c", "c"]


def test_a_fork_in_the_middle_of_a_loop_or_branch_goes_on_there() -> None:
    world = World()
    result = world.run(agent(loop("l", "[1, 2]", choose("c", "true", [do("s")]), do("t"))))
    records = CheckpointStore(world.store).list(result.run_id)
    causes = [one.completed_step_id for one in records]
    assert causes == ["s[0]", "c[0]", "t[0]", "s[1]", "c[1]", "t[1]", "l"]
    world.calls.clear()
    forked = world.fork(result.run_id, records[2].checkpoint_id)
    assert world.calls == ["s[1]", "t[1]"]
    assert forked.output == result.output


def test_a_fork_has_checkpoints_of_its_own_and_can_be_resumed_and_forked() -> None:
    world = World()
    result, records = begun(world)
    world.acts["c"] = iter([BROKEN, "now", "again"])
    forked = world.fork(result.run_id, records[0].checkpoint_id)
    assert forked.state == "failed"
    own = CheckpointStore(world.store).list(forked.run_id)
    assert [(one.step_index, one.completed_step_id) for one in own] == [(1, "b"), (1, "b")]
    assert world.resume(forked.run_id).success
    again = world.fork(forked.run_id, own[0].checkpoint_id)
    assert again.success


def test_a_fork_works_under_its_own_id() -> None:
    world = World()
    result, records = begun(world)
    forked = world.fork(result.run_id, records[0].checkpoint_id)
    keys = [one.idempotency_key for one in world.contexts]
    assert keys[-3:] == [f"{forked.run_id}/{one}" for one in "bcd"]
    assert len(set(keys)) == len(keys)


def test_a_delegate_of_a_fork_is_a_run_of_its_own() -> None:
    world = World(agent(do("k"), agent_id="kid"))
    result = world.run(agent(do("a"), delegate("d", "kid")))
    (record, *_) = CheckpointStore(world.store).list(result.run_id)
    forked = world.fork(result.run_id, record.checkpoint_id)
    assert world.calls == ["a", "k", "k"]
    assert len(world.store.children(forked.run_id)) == 1


def test_names_are_remembered_in_a_fork() -> None:
    world = World()
    result = world.run(agent(do("a", outputs=["x"]), do("b", input={"m": "{{ memory.x }}"})))
    (first, *_) = CheckpointStore(world.store).list(result.run_id)
    forked = world.fork(result.run_id, first.checkpoint_id)
    assert (world.given["b"], forked.outputs) == ({"m": "a"}, {"x": "a"})


@pytest.mark.invariant(id="INV-CP-001")
def test_a_fork_goes_on_with_what_the_checkpoint_itself_holds() -> None:
    world = World()
    result = world.run(agent(do("a"), do("b"), do("c", input={"a": "{{ steps.a.output }}"})))
    store = CheckpointStore(world.store)
    (first, *_) = store.list(result.run_id)
    edited = replace(first, checkpoint_id="mine", step_outputs={"a": "edited"})
    store.save(edited)
    world.calls.clear()
    forked = world.fork(result.run_id, "mine")
    assert (forked.state, world.calls) == ("succeeded", ["b", "c"])
    assert world.given["c"] == {"a": "edited"}


# What cannot be


def test_a_run_without_checkpoints_cannot_be_forked() -> None:
    world = World()
    result, _ = begun(world, checkpoint={"enabled": False})
    with pytest.raises(NotFoundError) as raised:
        world.fork(result.run_id)
    assert raised.value.code == "CHECKPOINT_NOT_FOUND"
    assert len(world.store.runs()) == 1


@pytest.mark.parametrize("name", ["nope", "{run}:99", "{run}:", "{run}:x", ":1", "{run}:-1"])
def test_an_unknown_checkpoint_is_not_found(name: str) -> None:
    world = World()
    result, _ = begun(world)
    with pytest.raises(NotFoundError) as raised:
        world.fork(result.run_id, name.replace("{run}", result.run_id))
    assert raised.value.code == "CHECKPOINT_NOT_FOUND"
    assert len(world.store.runs()) == 1


def test_a_checkpoint_of_another_run_is_refused() -> None:
    world = World()
    one, _ = begun(world)
    _, others = begun(world)
    with pytest.raises(UsageError, match="belongs to another run"):
        world.fork(one.run_id, others[0].checkpoint_id)
    assert len(world.store.runs()) == 2


def test_an_expired_checkpoint_is_refused() -> None:
    world = World()
    result, records = begun(world)
    long_past = time.time() - 10 * 86_400
    world.store.connection.execute("UPDATE step SET finished = ?", (long_past,))
    with pytest.raises(MetierError) as raised:
        world.fork(result.run_id, records[0].checkpoint_id)
    assert raised.value.code == "CHECKPOINT_EXPIRED"
    with pytest.raises(NotFoundError):
        world.fork(result.run_id)
