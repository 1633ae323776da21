"""Steps side by side: how many at once, what waits for what, and what a failure does."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.run.tool import ToolContext
from metier.values.runs import RunResult
from run.world import BROKEN, Data, World, agent, choose, do, loop, outputs, parallel, states
from soak import examples


class Counter:
    """An act that counts how many are at work at once and in which order they began and ended."""

    def __init__(self) -> None:
        self.at_work: set[str] = set()
        self.peak = 0
        self.ended: list[str] = []
        self.ended_at_start: dict[str, set[str]] = {}

    async def __call__(self, _args: Data, context: ToolContext) -> str:
        self.ended_at_start[context.step_id] = set(self.ended)
        self.at_work.add(context.step_id)
        self.peak = max(self.peak, len(self.at_work))
        await World.pause()
        self.at_work.remove(context.step_id)
        self.ended.append(context.step_id)
        return context.step_id


def counted(*steps: Data, **more: Any) -> tuple[Counter, World, RunResult]:
    world, counter = World(), Counter()
    names = [one["stepId"] for one in steps]
    inner = [one["stepId"] for step in steps for one in step["config"].get("steps", ())]
    world.acts = dict.fromkeys([*names, *inner], counter)
    return counter, world, world.run(agent(*steps, **more))


# How many at once


@pytest.mark.invariant(id="INV-PE-001")
@pytest.mark.parametrize("limit", [1, 2, 3, 10])
def test_independent_steps_run_at_once_up_to_the_limit(limit: int) -> None:
    steps = [do(f"s{number}") for number in range(10)]
    counter, world, result = counted(*steps, execution="parallel", maxConcurrency=limit)
    assert counter.peak == limit
    assert result.success
    assert sorted(world.calls) == sorted(one["stepId"] for one in steps)


@pytest.mark.invariant(id="INV-PE-001")
def test_the_limit_is_5_unless_something_else_is_said() -> None:
    steps = [do(f"s{number}") for number in range(10)]
    assert counted(*steps, execution="parallel")[0].peak == 5
    assert counted(parallel("g", *steps))[0].peak == 5
    assert counted(parallel("g", *steps, maxConcurrency=2))[0].peak == 2
    assert counted(*steps)[0].peak == 1


def test_a_free_place_is_taken_at_once() -> None:
    """The second place goes on working while the first is held."""
    world = World()
    release = asyncio.Event()

    async def hold(args: Data, context: ToolContext) -> None:
        await release.wait()

    async def last(args: Data, context: ToolContext) -> None:
        release.set()

    world.acts = {"slow": hold, "d": last}
    steps = [do("slow"), do("a"), do("b", "a"), do("c", "b"), do("d", "c")]
    result = world.run(agent(*steps, execution="parallel", maxConcurrency=2))
    assert result.success
    assert [one.id for one in result.steps][-1] == "slow"


# What waits for what


@st.composite
def workflows(draw: st.DrawFn) -> list[Data]:
    names = [f"s{number}" for number in range(draw(st.integers(1, 7)))]
    steps = []
    for place, name in enumerate(names):
        waits = draw(st.lists(st.sampled_from(names[:place]), unique=True)) if place else []
        more = {"condition": "false"} if draw(st.integers(0, 4)) == 0 else {}
        steps.append(do(name, *waits, **more))
    return draw(st.permutations(steps))


@pytest.mark.invariant(id="INV-PE-002")
@examples(50)
@given(workflows(), st.integers(1, 4))
def test_a_step_starts_only_when_everything_it_depends_on_has_ended(
    steps: list[Data], limit: int
) -> None:
    counter, _, result = counted(*steps, execution="parallel", maxConcurrency=limit)
    skipped = {one["stepId"] for one in steps if "condition" in one}
    for one in steps:
        waits = set(one.get("dependencies", ())) - skipped
        if one["stepId"] not in skipped:
            assert waits <= counter.ended_at_start[one["stepId"]]
    assert result.success
    assert counter.peak <= limit
    assert {name for name, state in states(result).items() if state == "skipped"} == skipped


@pytest.mark.invariant(id="INV-PE-002")
def test_results_of_dependencies_are_there_when_a_step_starts() -> None:
    world = World()
    world.acts = {"a": 1, "b": 2}
    both = {"sum": "{{ steps.a.output + steps.b.output }}"}
    profile = agent(do("c", "a", "b", input=both), do("a"), do("b"), execution="parallel")
    assert world.run(profile).success
    assert world.given["c"] == {"sum": 3}


# Failures


@pytest.mark.invariant(id="INV-PE-003")
def test_in_order_fail_fast_stops_after_the_failing_step() -> None:
    world = World()
    world.acts["b"] = BROKEN
    steps = [do("a"), do("b"), do("c", "b"), do("d"), do("e", "c"), do("f", "d"), do("g", "a")]
    result = world.run(agent(*steps))
    assert states(result) == {
        "a": "succeeded",
        "b": "failed",
        "c": "blocked",
        "d": "cancelled",
        "e": "blocked",
        "f": "cancelled",
        "g": "cancelled",
    }
    assert world.kept(result.run) == states(result)
    assert (result.state, world.calls) == ("failed", ["a", "b"])
    assert result.run.failure is not None
    assert (result.run.failure.step, result.run.failure.code) == ("b", "TOOL_EXECUTION_ERROR")


@pytest.mark.invariant(id="INV-PE-003")
@pytest.mark.parametrize("execution", ["sequential", "parallel"])
def test_continue_on_error_blocks_dependents_and_finishes_the_rest(execution: Any) -> None:
    world = World()
    world.acts = {"a": BROKEN, "d": BROKEN}
    steps = [do("a"), do("b", "a"), do("c", "b"), do("d"), do("e"), do("f", "e")]
    result = world.run(agent(*steps, failureStrategy="continueOnError"), execution=execution)
    assert states(result) == {
        "a": "failed",
        "b": "blocked",
        "c": "blocked",
        "d": "failed",
        "e": "succeeded",
        "f": "succeeded",
    }
    assert (result.state, result.output, outputs(result)) == ("failed", "f", {"e": "e", "f": "f"})
    assert result.run.failure is not None
    assert result.run.failure.step == "a"
    failed = [one for one in result.steps if one.failure]
    assert [(one.id, one.failure and one.failure.message) for one in failed] == [
        ("a", "'do': broken"),
        ("d", "'do': broken"),
    ]


def held(world: World) -> list[str]:
    """Make the steps called `slow…` wait for ever; the ids of those that were stopped."""
    stopped: list[str] = []

    async def wait(args: Data, context: ToolContext) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(context.step_id)

    async def fail(args: Data, context: ToolContext) -> None:
        await World.pause()
        raise BROKEN

    world.acts |= {"slow": wait, "slow2": wait, "bad": fail}
    return stopped


@pytest.mark.invariant(id="INV-PE-003")
def test_in_parallel_fail_fast_stops_the_work_in_flight_and_what_has_not_begun() -> None:
    world = World()
    stopped = held(world)
    steps = [
        do("quick"), do("slow"), do("bad"), do("after_slow", "slow"), do("after_bad", "bad"),
        do("both", "after_slow", "after_bad"), do("later"),
    ]  # fmt: skip
    result = world.run(agent(*steps, execution="parallel", maxConcurrency=3))
    assert states(result) == {
        "quick": "succeeded",
        "slow": "cancelled",
        "bad": "failed",
        "after_slow": "cancelled",
        "after_bad": "blocked",
        "both": "blocked",
        "later": "succeeded",
    }
    assert stopped == ["slow"]
    assert world.kept(result.run) == states(result)
    assert result.state == "failed"


@pytest.mark.invariant(id="INV-PE-003")
def test_what_waits_for_a_place_is_cancelled_too() -> None:
    world = World()
    stopped = held(world)
    steps = [do("slow"), do("bad"), do("x"), do("y", "x")]
    result = world.run(agent(*steps, execution="parallel", maxConcurrency=2))
    assert states(result) == {
        "slow": "cancelled",
        "bad": "failed",
        "x": "cancelled",
        "y": "cancelled",
    }
    assert stopped == ["slow"]
    assert "x" not in world.calls


def test_two_failures_at_once_are_both_kept() -> None:
    world = World()
    world.acts = {"a": BROKEN, "b": BROKEN}
    result = world.run(agent(do("a"), do("b"), do("c", "b"), execution="parallel"))
    assert states(result) == {"a": "failed", "b": "failed", "c": "blocked"}


# Groups inside


def test_a_group_has_a_strategy_of_its_own() -> None:
    world = World()
    world.acts["x"] = BROKEN
    inner = [do("x"), do("y", "x"), do("z")]
    careful = parallel("g", *inner, failureStrategy="continueOnError")
    result = world.run(agent(careful, do("after")))
    assert states(result) == {
        "x": "failed",
        "y": "blocked",
        "z": "succeeded",
        "g": "failed",
        "after": "cancelled",
    }


def test_fail_fast_in_a_group_stops_its_own_steps_and_the_run_decides_about_the_rest() -> None:
    world = World()
    stopped = held(world)
    group = parallel("g", do("slow"), do("bad"), do("next", "slow"))
    profile = agent(group, do("after"), failureStrategy="continueOnError")
    result = world.run(profile)
    assert states(result) == {
        "slow": "cancelled",
        "bad": "failed",
        "next": "cancelled",
        "g": "failed",
        "after": "succeeded",
    }
    assert (stopped, result.state) == (["slow"], "failed")


def test_a_failure_outside_stops_the_steps_inside_a_group() -> None:
    world = World()
    stopped = held(world)
    group = parallel("g", do("slow"), parallel("h", do("slow2")))
    result = world.run(agent(group, do("bad"), execution="parallel"))
    assert states(result) == {
        "slow": "cancelled",
        "slow2": "cancelled",
        "h": "cancelled",
        "g": "cancelled",
        "bad": "failed",
    }
    assert sorted(stopped) == ["slow", "slow2"]
    assert world.kept(result.run) == states(result)


def test_the_output_of_a_group_is_the_map_of_its_steps_in_their_order() -> None:
    world = World()
    steps = [do("b", "a"), do("a"), do("c", condition="false")]
    result = world.run(agent(parallel("g", *steps)))
    assert result.output == {"b": "b", "a": "a"}
    assert list(result.output) == ["b", "a"]


def test_runs_side_by_side_do_not_mix() -> None:
    world = World()
    world.acts["b"] = BROKEN

    async def main() -> list[RunResult]:
        runner = world.runner()
        profiles = [
            agent(do("a", outputs=["x"]), do("c"), agent_id="one"),
            agent(do("a", outputs=["y"]), do("b"), agent_id="two"),
            agent(do("a", input={"i": "{{ input }}"}, outputs=["z"]), agent_id="three"),
        ]
        runs = [runner.run(one, "t", input=one.agent_id) for one in profiles * 3]
        return await asyncio.gather(*runs)

    results = asyncio.run(main())
    assert [one.state for one in results] == ["succeeded", "failed", "succeeded"] * 3
    assert [list(one.outputs) for one in results] == [["x"], ["y"], ["z"]] * 3
    for one in results:
        assert world.store.run(one.run_id) == one.run
        assert world.store.steps(one.run.key) == list(one.steps)


def test_nothing_of_a_run_is_left_in_the_loop() -> None:
    async def main() -> int:
        await World().runner().run(agent(do("a"), parallel("g", do("b"))), "t")
        await World.pause()
        return len(asyncio.all_tasks())

    assert asyncio.run(main()) == 1


def test_no_heartbeat_is_left_when_no_run_is_at_work() -> None:
    world = World()

    async def main() -> int:
        release = asyncio.Event()

        async def wait(args: Data, context: ToolContext) -> None:
            await release.wait()

        world.acts["slow"] = wait
        longer = asyncio.create_task(world.runner().run(agent(do("slow")), "t"))
        await World.pause()
        await world.runner().run(agent(do("a")), "t")
        release.set()
        await longer
        await World.pause()
        return len(asyncio.all_tasks())

    assert asyncio.run(main()) == 1


def test_a_turn_of_a_loop_sees_nothing_of_the_turn_before() -> None:
    world = World()
    seen = do("s", input={"big": "{{ steps.big.output | default('nothing') }}"})
    turns = loop("l", "[1, 2]", choose("c", "item == 1", [do("big")], [do("other")]), seen)
    assert world.run(agent(turns)).success
    assert [world.given[f"s[{turn}]"]["big"] for turn in (0, 1)] == ["big[0]", "nothing"]


def test_every_failure_of_a_run_that_goes_on_is_told() -> None:
    world = World()
    world.acts |= {"a": BROKEN, "b": BROKEN}
    result = world.run(agent(do("a"), do("b"), do("c"), failureStrategy="continueOnError"))
    assert [one.step for one in result.errors] == ["a", "b"]
    assert [one["step"] for one in result.to_json()["errors"]] == ["a", "b"]


def test_a_step_that_is_done_is_not_marked_as_cancelled_when_another_fails() -> None:
    world = World()
    world.acts["b"] = iter([BROKEN, BROKEN])
    profile = agent(do("a"), do("b"), do("c"))
    result = world.run(profile)
    again = world.resume(result.run_id)
    assert world.kept(again.run) == {"a": "succeeded", "b": "failed", "c": "cancelled"}
