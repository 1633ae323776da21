"""Rollback: what had succeeded is undone, the latest first, and what could not be is told."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.errors import UsageError
from metier.run.checkpoints import CheckpointStore
from metier.run.tool import ToolContext
from metier.values.agents import AgentProfile
from run.world import (
    BROKEN,
    RETRYABLE,
    Data,
    World,
    agent,
    choose,
    delegate,
    do,
    forever,
    loop,
    parallel,
    states,
)
from soak import examples

pytestmark = pytest.mark.slow


def undone(step_id: str, *depends: str, **more: Any) -> Data:
    """A step with a compensation."""
    return do(step_id, *depends, compensate=do(f"undo_{step_id}"), **more)


def rollback(*steps: Data, **more: Any) -> AgentProfile:
    return agent(*steps, failureStrategy="rollback", **more)


@pytest.mark.invariant(id="INV-PE-003")
def test_in_order_what_succeeded_is_undone_the_latest_first_and_not_what_failed() -> None:
    world = World()
    world.acts["c"] = BROKEN
    result = world.run(rollback(undone("a"), undone("b"), undone("c"), undone("d"), do("e", "c")))
    assert world.calls == ["a", "b", "c", "undo_b", "undo_a"]
    assert result.state == "rolled_back"
    assert states(result) == {
        "a": "compensated",
        "b": "compensated",
        "c": "failed",
        "d": "cancelled",
        "e": "blocked",
        "undo_b": "succeeded",
        "undo_a": "succeeded",
    }
    assert world.kept(result.run) == states(result)
    assert result.run.failure is not None
    assert result.run.failure.step == "c"


@pytest.mark.invariant(id="INV-PE-003")
def test_in_parallel_the_order_of_completion_counts() -> None:
    world = World()
    turn = asyncio.Event()

    async def first(_args: Data, _context: ToolContext) -> None:
        await turn.wait()

    async def second(_args: Data, _context: ToolContext) -> None:
        turn.set()

    world.acts |= {"a": first, "b": second, "bad": BROKEN, "hang": forever}
    steps = [undone("a"), undone("b"), undone("hang"), do("bad", "a", "b")]
    result = world.run(rollback(*steps, execution="parallel"))
    assert [one for one in world.calls if one.startswith("undo")] == ["undo_a", "undo_b"]
    assert states(result)["hang"] == "cancelled"
    assert result.state == "rolled_back"


def test_a_run_without_a_failure_undoes_nothing() -> None:
    world = World()
    result = world.run(rollback(undone("a"), undone("b", condition="false")))
    assert (result.state, world.calls) == ("succeeded", ["a"])


def test_other_strategies_undo_nothing() -> None:
    for strategy in ("failFast", "continueOnError"):
        world = World()
        world.acts["b"] = BROKEN
        result = world.run(agent(undone("a"), do("b"), failureStrategy=strategy))
        assert (result.state, world.calls) == ("failed", ["a", "b"])


def test_skipped_steps_need_no_compensation() -> None:
    world = World()
    world.acts["b"] = BROKEN
    result = world.run(rollback(do("a", condition="false"), do("b")))
    assert (result.state, world.calls) == ("rolled_back", ["b"])


def test_a_succeeded_step_without_compensation_makes_it_incomplete_and_the_others_go_on() -> None:
    world = World()
    world.acts["d"] = BROKEN
    result = world.run(rollback(undone("a"), do("b"), undone("c"), do("d")))
    assert world.calls == ["a", "b", "c", "d", "undo_c", "undo_a"]
    assert result.state == "rollback_incomplete"
    assert states(result) == {
        "a": "compensated",
        "b": "succeeded",
        "c": "compensated",
        "d": "failed",
        "undo_a": "succeeded",
        "undo_c": "succeeded",
    }


def test_a_failing_compensation_makes_it_incomplete_and_the_others_go_on() -> None:
    world = World()
    world.acts |= {"c": BROKEN, "undo_b": BROKEN}
    result = world.run(rollback(undone("a"), undone("b"), do("c")))
    assert world.calls == ["a", "b", "c", "undo_b", "undo_a"]
    assert result.state == "rollback_incomplete"
    found = states(result)
    assert (found["a"], found["b"], found["undo_b"]) == ("compensated", "succeeded", "failed")
    assert result.run.failure is not None
    assert result.run.failure.step == "c"


def test_a_compensation_has_attempts_and_sees_outputs() -> None:
    world = World()
    world.acts |= {"a": {"id": 7}, "b": BROKEN, "undo": iter([RETRYABLE, "gone"])}
    undo = do("undo", input={"id": "{{ steps.a.output.id }}"})
    undo["retryPolicy"] = {"maxAttempts": 2, "backoffMs": 100}
    result = world.run(rollback(do("a", compensate=undo), do("b")))
    assert (result.state, world.given["undo"]) == ("rolled_back", {"id": 7})
    assert world.calls == ["a", "b", "undo", "undo"]


def test_steps_inside_containers_are_undone_one_by_one() -> None:
    world = World()
    world.acts["z"] = BROKEN
    undo = do("undo_row", input={"item": "{{ item }}", "index": "{{ index }}"})
    profile = rollback(
        loop("l", "['x', 'y']", do("row", compensate=undo)),
        choose("c", "true", [undone("t")]),
        parallel("g", undone("p")),
        do("z"),
    )
    result = world.run(profile)
    undoing = [one for one in world.calls if one.startswith("undo")]
    assert undoing == ["undo_p", "undo_t", "undo_row[1]", "undo_row[0]"]
    assert world.given["undo_row[0]"] == {"item": "x", "index": 0}
    assert world.given["undo_row[1]"] == {"item": "y", "index": 1}
    assert result.state == "rolled_back"
    assert states(result)["row[1]"] == "compensated"


def test_a_container_with_a_step_that_cannot_be_undone_is_incomplete() -> None:
    world = World()
    world.acts["z"] = BROKEN
    result = world.run(rollback(parallel("g", do("p"), undone("q")), do("z")))
    assert result.state == "rollback_incomplete"
    assert "undo_q" in world.calls


def test_what_succeeded_in_the_container_that_failed_is_undone_too() -> None:
    world = World()
    world.acts["s[1]"] = BROKEN
    profile = rollback(undone("a"), loop("l", "[1, 2]", undone("t"), undone("s")))
    result = world.run(profile)
    undoing = [one for one in world.calls if one.startswith("undo")]
    assert undoing == ["undo_t[1]", "undo_s[0]", "undo_t[0]", "undo_a"]
    assert result.state == "rolled_back"


def test_a_delegation_is_undone_by_its_own_compensation() -> None:
    world = World(agent(do("k"), agent_id="kid"))
    world.acts["b"] = BROKEN
    result = world.run(rollback(delegate("d", "kid", compensate=do("recall")), do("b")))
    assert (world.calls, result.state) == (["k", "b", "recall"], "rolled_back")


def test_a_group_with_rollback_undoes_itself_and_the_run_goes_on_as_it_says() -> None:
    world = World()
    world.acts["y"] = BROKEN
    group = parallel("g", undone("x"), do("y", "x"), failureStrategy="rollback")
    result = world.run(agent(undone("a"), group, do("b"), failureStrategy="continueOnError"))
    assert world.calls == ["a", "x", "y", "undo_x", "b"]
    assert states(result) == {
        "a": "succeeded",
        "x": "compensated",
        "y": "failed",
        "undo_x": "succeeded",
        "g": "failed",
        "b": "succeeded",
    }
    assert result.state == "failed"


def test_a_group_in_a_turn_undoes_only_its_own_turn() -> None:
    world = World()
    world.acts["y[1]"] = BROKEN
    group = parallel("g", undone("x"), do("y", "x"), failureStrategy="rollback")
    result = world.run(agent(loop("l", "[1, 2]", group)))
    assert [one for one in world.calls if one.startswith("undo")] == ["undo_x[1]"]
    found = states(result)
    assert (found["x[0]"], found["x[1]"]) == ("succeeded", "compensated")


def test_a_group_that_is_tried_again_is_undone_again() -> None:
    world = World()
    world.acts["y"] = RETRYABLE
    group = parallel("g", undone("x"), do("y", "x"), failureStrategy="rollback")
    group["retryPolicy"] = {"maxAttempts": 2, "backoffMs": 100}
    world.run(agent(group))
    assert world.calls == ["x", "y", "undo_x", "x", "y", "undo_x"]


# Afterwards


@pytest.mark.parametrize("strategy", ["complete", "incomplete"])
def test_a_rolled_back_run_cannot_be_resumed(strategy: str) -> None:
    world = World()
    world.acts["b"] = BROKEN
    first = undone("a") if strategy == "complete" else do("a")
    result = world.run(rollback(first, do("b")))
    calls = list(world.calls)
    with pytest.raises(UsageError, match="and cannot be resumed") as raised:
        world.resume(result.run_id)
    assert (raised.value.code, raised.value.hint) == (
        "RUN_NOT_RESUMABLE",
        f"metier runs fork {result.run_id}",
    )
    assert world.calls == calls
    assert world.store.run(result.run_id).state == result.state


def test_a_fork_of_a_rolled_back_run_does_again_what_was_undone() -> None:
    world = World()
    world.acts["b"] = iter([BROKEN, "fine"])
    result = world.run(rollback(undone("a"), do("b")))
    assert world.calls == ["a", "b", "undo_a"]
    forked = world.fork(result.run_id)
    assert forked.success
    assert world.calls == ["a", "b", "undo_a", "a", "b"]


def test_compensations_write_no_checkpoints() -> None:
    world = World()
    world.acts["b"] = BROKEN
    result = world.run(rollback(undone("a"), do("b")))
    records = CheckpointStore(world.store).list(result.run_id)
    assert {one.completed_step_id for one in records} == {"a"}


@examples(40)
@given(st.lists(st.booleans(), min_size=1, max_size=5), st.integers(0, 4))
def test_every_succeeded_step_is_undone_exactly_once_whatever_fails(
    have_undo: list[bool], fails_at: int
) -> None:
    world = World()
    names = [f"s{number}" for number in range(len(have_undo))]
    steps = [undone(name) if has else do(name) for name, has in zip(names, have_undo, strict=True)]
    steps.insert(min(fails_at, len(steps)), do("bad"))
    world.acts["bad"] = BROKEN
    result = world.run(rollback(*steps))
    before = names[: min(fails_at, len(names))]
    expected = [f"undo_{one}" for one in reversed(before) if have_undo[names.index(one)]]
    assert world.calls == [*before, "bad", *expected]
    complete = all(have_undo[: len(before)])
    assert result.state == ("rolled_back" if complete else "rollback_incomplete")


def test_each_turn_of_a_loop_is_undone_with_what_that_turn_gave() -> None:
    world = World()
    world.acts |= {"make[0]": "x", "make[1]": "y", "bad": BROKEN}
    undo = do("undo", input={"what": "{{ steps.make.output }}", "item": "{{ item }}"})
    turns = loop("l", "[1, 2]", do("make", compensate=undo))
    world.run(agent(turns, do("bad"), failureStrategy="rollback"))
    assert world.given["undo[1]"] == {"what": "y", "item": 2}
    assert world.given["undo[0]"] == {"what": "x", "item": 1}


# What was undone is undone, and no more


def test_a_compensation_that_was_skipped_did_not_happen() -> None:
    world = World()
    world.acts["bad"] = BROKEN
    step = do("a", compensate=do("undo_a", condition="false"))
    result = world.run(rollback(step, undone("b"), do("bad")))
    assert world.calls == ["a", "b", "bad", "undo_b"]
    assert result.state == "rollback_incomplete"
    assert (states(result)["a"], states(result)["undo_a"]) == ("succeeded", "skipped")


@pytest.mark.parametrize(
    "container",
    [
        parallel("box", undone("a"), undone("b")),
        choose("box", "true", [undone("a"), undone("b")]),
        loop("box", "[1, 2]", undone("a"), undone("b")),
        loop("box", "[1]", parallel("inner", undone("a"), undone("b"))),
    ],
    ids=["parallel", "branch", "loop", "nested"],
)
def test_a_container_whose_steps_were_all_undone_is_undone(container: Data) -> None:
    world = World()
    world.acts["bad"] = BROKEN
    result = world.run(rollback(container, do("bad")))
    assert result.state == "rolled_back"
    left = {name for name, state in states(result).items() if state == "succeeded"}
    assert all(name.startswith("undo_") for name in left), left
    assert states(result)["box"] == "compensated"
    assert world.kept(result.run) == states(result)


def test_a_container_of_which_a_step_could_not_be_undone_is_not_undone() -> None:
    world = World()
    world.acts["bad"] = BROKEN
    result = world.run(rollback(parallel("box", undone("a"), do("b")), do("bad")))
    assert result.state == "rollback_incomplete"
    assert states(result)["box"] == "succeeded"
    assert states(result)["a"] == "compensated"


@pytest.mark.parametrize("turns", [1, 2], ids=["once", "twice"])
def test_work_that_is_done_again_after_it_was_undone_has_a_new_key_each_time(turns: int) -> None:
    world = World()
    world.acts["bad"] = iter([RETRYABLE] * turns + [1])
    retry = {"maxAttempts": turns + 1, "backoffMs": 100}
    box = parallel(
        "box", undone("a"), do("bad", "a"), failureStrategy="rollback", retryPolicy=retry
    )
    result = world.run(agent(box))
    assert result.success
    keys: dict[str, list[str]] = {}
    for one in world.contexts:
        keys.setdefault(one.step_id, []).append(one.idempotency_key)
    assert len(keys["a"]) == len(set(keys["a"])) == turns + 1
    assert len(keys["undo_a"]) == len(set(keys["undo_a"])) == turns
    assert len(set(keys["bad"])) == 1, "it was never undone"


def test_a_delegate_that_was_undone_is_run_again() -> None:
    world = World(agent(do("x"), agent_id="kid"))
    world.acts["bad"] = iter([RETRYABLE, 1])
    retry = {"maxAttempts": 2, "backoffMs": 100}
    box = parallel(
        "box",
        delegate("d", "kid", compensate=do("undo_d")),
        do("bad", "d"),
        failureStrategy="rollback",
        retryPolicy=retry,
    )
    assert world.run(agent(box)).success
    assert world.calls == ["x", "bad", "undo_d", "x", "bad"]


# Interrupted rollbacks


def interrupted(world: World, profile: AgentProfile, undo: str) -> str:
    """The id of a run whose process ended in the middle of a compensation."""

    async def main() -> None:
        begun = asyncio.Event()

        async def hang(_args: Data, _context: ToolContext) -> None:
            begun.set()
            await asyncio.Event().wait()

        world.acts[undo] = hang
        task = asyncio.create_task(world.runner().run(profile, "t"))
        await begun.wait()
        world.store.connection.execute("CREATE TEMP TABLE at_kill AS SELECT * FROM run")
        world.store.connection.execute("CREATE TEMP TABLE steps_at_kill AS SELECT * FROM step")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    for statement in (
        "DELETE FROM run",
        "INSERT INTO run SELECT * FROM at_kill",
        "DELETE FROM step",
        "INSERT INTO step SELECT * FROM steps_at_kill",
    ):
        world.store.connection.execute(statement)
    world.acts[undo] = "undone"
    return str(world.store.runs()[-1].run_id)


def test_a_run_killed_while_it_was_undone_is_only_undone_when_it_is_resumed() -> None:
    world = World()
    world.acts["bad"] = iter([BROKEN, "fine by now"])
    run_id = interrupted(world, rollback(undone("a"), undone("b"), do("bad")), "undo_a")
    world.calls.clear()
    result = world.resume(run_id)
    assert result.state == "rolled_back"
    assert world.calls == ["undo_a"]
    assert result.run.failure is not None
    assert result.run.failure.step == "bad"


def test_the_compensations_of_a_resumed_rollback_see_what_they_would_have_seen() -> None:
    world = World()
    world.acts["bad"] = BROKEN
    given = {"of": "{{ steps.a.output }}", "item": "{{ item }}", "kept": "{{ memory.list }}"}
    inner = do("a", compensate=do("undo_a", input=given), outputs=["list"])
    profile = rollback(
        do("list", outputs=["list"], compensate=do("undo_list")),
        loop("each", "memory.list", inner, compensate=do("undo_each")),
        do("bad"),
    )
    world.acts["list"] = lambda *_: listed(["x", "y"])
    run_id = interrupted(world, profile, "undo_a[0]")
    result = world.resume(run_id)
    assert result.state == "rolled_back"
    assert world.given["undo_a[0]"] == {"of": "a[0]", "item": "x", "kept": "a[1]"}


async def listed(items: list[str]) -> list[str]:
    return items


def test_a_cancelled_run_that_was_being_undone_never_goes_forward() -> None:
    world = World()
    world.acts["bad"] = iter([BROKEN, "fine by now"])
    run_id = interrupted(world, rollback(undone("a"), do("bad")), "undo_a")
    world.store.recover(0.0)
    world.runner().cancel(run_id)
    run = world.store.run(run_id)
    assert (run.state, run.failure and run.failure.step) == ("rollback_incomplete", "bad")
    with pytest.raises(UsageError):
        world.resume(run_id)


def test_steps_inside_a_step_that_were_being_undone_are_only_undone_before_it_is_tried_again() -> (
    None
):
    world = World()
    world.acts["bad"] = BROKEN
    box = parallel("box", undone("a"), undone("b"), do("bad", "a", "b"), failureStrategy="rollback")
    run_id = interrupted(world, agent(box, do("after")), "undo_a")
    world.calls.clear()
    result = world.resume(run_id)
    assert world.calls == ["undo_a"]
    assert result.state == "failed"
    assert states(result)["box"] == "failed"
    world.acts["bad"] = "fine by now"
    world.calls.clear()
    assert world.resume(run_id).success
    assert sorted(world.calls) == ["a", "after", "b", "bad"]


def test_a_loop_goes_over_the_same_items_after_a_crash_though_its_steps_changed_them() -> None:
    world = World()
    world.acts["list"] = lambda *_: listed(["x", "y", "z"])
    world.acts["work"] = lambda *_: listed(["only"])
    world.acts["work[1]"] = BROKEN
    profile = agent(
        do("list", outputs=["queue"]), loop("each", "memory.queue", do("work", outputs=["queue"]))
    )
    run_id = world.run(profile).run_id
    del world.acts["work[1]"]
    result = world.resume(run_id)
    assert result.success
    assert world.calls == ["list", "work[0]", "work[1]", "work[1]", "work[2]"]
