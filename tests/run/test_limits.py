"""What ends a run before its end: limits of tokens, cost, steps and seconds, and cancellation."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any

import pytest

from metier.errors import NotFoundError, UsageError
from metier.run.models import ScriptedModel
from metier.run.runner import Runner
from metier.run.tool import ToolContext
from metier.values.agents import Limits
from metier.values.models import ModelReply, ModelRequest
from metier.values.runs import Event, RunResult, Usage
from run.world import (
    BROKEN,
    Data,
    World,
    agent,
    delegate,
    do,
    forever,
    loop,
    parallel,
    prompt,
    states,
)


def spending(*usages: Usage) -> ScriptedModel:
    return ScriptedModel([ModelReply("said", usage=one) for one in usages])


TEN = Usage(input_tokens=6, output_tokens=4, cost=0.5, requests=1)


# Limits


@pytest.mark.parametrize(
    ("limits", "asked", "success"),
    [
        ({"tokens": 9}, 1, False),
        ({"tokens": 10}, 2, False),
        ({"tokens": 29}, 3, False),
        ({"tokens": 30}, 3, True),
        ({"cost": 0}, 1, False),
        ({"cost": 0.9}, 2, False),
        ({"cost": 1.5}, 3, True),
    ],
)
def test_tokens_and_cost_stop_the_run_at_the_first_answer_beyond_them(
    limits: Data, asked: int, success: bool
) -> None:
    model = spending(*[TEN] * 3)
    steps = [prompt(f"p{number}") for number in range(3)]
    result = World(model=model).run(agent(*steps, limits=limits))
    assert (len(model.requests), result.success) == (asked, success)
    if not success:
        assert result.run.failure is not None
        assert (result.state, result.run.failure.code) == ("failed", "RUN_LIMIT_EXCEEDED")
        assert next(iter(limits)) in result.run.failure.message


@pytest.mark.parametrize(("most", "calls"), [(1, 1), (2, 2), (3, 3), (4, 3)])
def test_at_most_so_many_steps_begin(most: int, calls: int) -> None:
    world = World()
    result = world.run(agent(do("a"), do("b"), do("c"), limits={"steps": most}))
    assert world.calls == ["a", "b", "c"][:calls]
    assert result.success == (most >= 3)
    assert result.run.failure is None or result.run.failure.code == "RUN_LIMIT_EXCEEDED"


def test_turns_of_a_loop_and_steps_inside_count() -> None:
    world = World()
    result = world.run(agent(loop("l", "[1, 2, 3, 4]", do("a")), limits={"steps": 3}))
    assert world.calls == ["a[0]", "a[1]"]
    assert result.state == "failed"


def test_a_limit_in_parallel_stops_what_is_in_flight() -> None:
    world = World(model=spending(TEN))
    stopped = []

    async def hang(args: Data, context: ToolContext) -> None:
        try:
            await forever(args, context)
        finally:
            stopped.append(context.step_id)

    world.acts["a"] = hang
    profile = agent(do("a"), prompt("p"), execution="parallel", limits={"tokens": 9})
    result = world.run(profile)
    assert (result.state, stopped, states(result)["a"]) == ("failed", ["a"], "cancelled")


def test_the_time_of_a_run_ends_it_with_everything_in_flight() -> None:
    world = World()
    world.acts = {"b": forever, "c": forever}
    group = parallel("g", do("b"), do("c"))
    result = world.run(agent(do("a"), group, do("d"), limits={"seconds": 0.2}))
    assert result.run.failure is not None
    assert (result.state, result.run.failure.code) == ("failed", "RUN_TIMEOUT")
    kept = world.kept(result.run)
    assert kept["a"] == "succeeded"
    assert (kept["b"], kept["c"], kept["g"]) == ("cancelled",) * 3
    assert "d" not in world.calls


@pytest.mark.parametrize("execution", ["sequential", "parallel"])
def test_no_step_of_a_run_that_met_its_limit_is_left_running(execution: Any) -> None:
    world = World(model=spending(TEN))
    result = world.run(agent(prompt("p"), do("b"), limits={"tokens": 9}), execution=execution)
    assert "running" not in states(result).values()
    assert "running" not in world.kept(result.run).values()


def test_a_run_whose_time_is_over_is_rolled_back() -> None:
    world = World()
    world.acts["b"] = forever
    steps = [do("a", compensate=do("undo")), do("b"), do("c")]
    limits = {"seconds": 0.2}
    result = world.run(agent(*steps, failureStrategy="rollback", limits=limits))
    assert (result.state, world.calls) == ("rolled_back", ["a", "b", "undo"])


def test_a_run_that_met_its_limit_can_still_be_rolled_back() -> None:
    world = World()
    steps = [do("a", compensate=do("undo")), do("b")]
    result = world.run(agent(*steps, failureStrategy="rollback", limits={"steps": 1}))
    assert (result.state, world.calls) == ("rolled_back", ["a", "undo"])


def test_limits_hold_again_after_groups_have_undone_themselves() -> None:
    world = World(model=spending(*[TEN] * 3))
    waiting: list[str] = []
    both_there = asyncio.Event()

    async def undo(_args: Data, context: ToolContext) -> None:
        waiting.append(context.step_id)
        if len(waiting) == 2:
            both_there.set()
        await both_there.wait()

    groups = []
    for name in "xy":
        world.acts |= {f"undo_{name}": undo, f"bad_{name}": BROKEN}
        inner = [do(name, compensate=do(f"undo_{name}")), do(f"bad_{name}", name)]
        groups.append(parallel(f"g_{name}", *inner, failureStrategy="rollback"))
    both = parallel("both", *groups, failureStrategy="continueOnError")
    more: Data = {"failureStrategy": "continueOnError", "limits": {"tokens": 15}}
    result = world.run(agent(both, prompt("p"), prompt("q"), prompt("r"), **more))
    assert len(waiting) == 2
    assert result.run.failure is not None
    assert result.run.failure.code == "RUN_LIMIT_EXCEEDED"


def test_usage_is_added_up_by_step_and_run() -> None:
    model = spending(TEN, TEN)
    world = World(model=model)
    result = world.run(agent(prompt("p"), do("a"), prompt("q")))
    by_step = {one.id: one.usage for one in result.steps}
    assert by_step == {"p": TEN, "a": Usage(tool_calls=1), "q": TEN}
    assert result.usage == Usage(12, 8, 1.0, 2, 1)
    assert world.store.run(result.run_id).usage == result.usage


# Cancellation


class Held:
    """A run of an agent that hangs in the steps called `hang`, and what to do with it then."""

    def __init__(self, world: World, *steps: Data, **more: Any) -> None:
        self.world = world
        self.stopped: list[str] = []
        self.profile = agent(*steps, **more)
        self.events: list[Event] = []
        world.acts["hang"] = self._hang

    async def _hang(self, args: Data, context: ToolContext) -> None:
        self._reached.set()
        try:
            await forever(args, context)
        finally:
            self.stopped.append(context.step_id)

    def then(self, act: Callable[[Runner, str, "asyncio.Task[RunResult]"], Any]) -> RunResult:
        async def main() -> RunResult:
            self._reached = asyncio.Event()
            runner = self.world.runner()
            task = asyncio.create_task(runner.run(self.profile, "t", on_event=self.events.append))
            await self._reached.wait()
            act(runner, self.events[0].run_id, task)
            return await task

        return asyncio.run(main())


def test_a_cancelled_run_stops_its_work_and_can_be_resumed() -> None:
    world = World()
    held = Held(world, do("a"), do("hang"), do("b", "hang"))
    result = held.then(lambda runner, run, _task: runner.cancel(run))
    assert (result.state, held.stopped) == ("cancelled", ["hang"])
    assert states(result) == {"a": "succeeded", "hang": "cancelled"}
    assert result.run.failure is not None
    assert result.run.failure.code == "RUN_CANCELLED"
    assert world.store.run(result.run_id).state == "cancelled"
    world.acts["hang"] = "fine"
    resumed = world.resume(result.run_id)
    assert (resumed.state, world.calls) == ("succeeded", ["a", "hang", "hang", "b"])


def test_cancelling_the_task_cancels_the_run_and_is_not_swallowed() -> None:
    world = World()
    held = Held(world, parallel("g", do("hang"), loop("l", "[1]", do("a"))), do("b"))
    with pytest.raises(asyncio.CancelledError):
        held.then(lambda _runner, _run, task: task.cancel())
    (run,) = world.store.runs()
    assert (run.state, held.stopped) == ("cancelled", ["hang"])
    assert world.kept(run) == {
        "hang": "cancelled",
        "a[0]": "succeeded",
        "l": "succeeded",
        "g": "cancelled",
    }


def test_cancelling_stops_a_delegate_too_and_both_can_go_on() -> None:
    world = World(agent(do("x"), do("hang"), agent_id="kid"))
    held = Held(world, do("a"), delegate("d", "kid"))
    result = held.then(lambda runner, run, _task: runner.cancel(run))
    (child,) = world.store.children(result.run_id)
    assert (result.state, child.state) == ("cancelled", "cancelled")
    world.acts["hang"] = "fine"
    assert world.resume(result.run_id).output == "fine"
    assert world.calls == ["a", "x", "hang", "hang"]
    assert world.store.run(child.run_id).state == "succeeded"


def test_cancelling_only_the_delegate_fails_the_step() -> None:
    world = World(agent(do("hang"), agent_id="kid"))
    held = Held(world, delegate("d", "kid"), do("b"), failureStrategy="continueOnError")

    def cancel_child(runner: Runner, run: str, _task: Any) -> None:
        (child,) = world.store.children(run)
        assert runner.cancel(child.run_id)

    result = held.then(cancel_child)
    assert states(result) == {"d": "failed", "b": "succeeded"}
    assert result.run.failure is not None
    assert result.run.failure.code == "DELEGATION_FAILED"


def test_a_wish_in_the_store_cancels_a_run_at_the_next_heartbeat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another process can do no more than ask."""
    monkeypatch.setattr("metier.run.leases.HEARTBEAT_SECONDS", 0.001)
    world = World()
    held = Held(world, do("hang"))
    result = held.then(lambda _runner, run, _task: world.store.request_cancel(run, time.time()))
    assert (result.state, held.stopped) == ("cancelled", ["hang"])


def test_cancelling_what_nobody_works_on() -> None:
    world = World()
    result = world.run(agent(do("a")))
    runner = world.runner()
    assert not runner.cancel(result.run_id)
    assert world.store.run(result.run_id).state == "succeeded"
    with pytest.raises(NotFoundError):
        runner.cancel("nobody")


def test_a_run_that_is_cancelled_while_it_rolls_back_does_not_stay_running() -> None:
    world = World()
    world.acts["b"] = BROKEN
    held = Held(world, do("a", compensate=do("hang")), do("b"), failureStrategy="rollback")
    result = held.then(lambda runner, run, _task: runner.cancel(run))
    assert result.state in ("cancelled", "rollback_incomplete")


def test_whenever_a_run_is_cancelled_it_does_not_stay_running() -> None:
    world = World()
    world.acts["hang"] = forever

    async def main(turns: int) -> None:
        runner = world.runner()
        other = asyncio.create_task(runner.run(agent(do("hang")), "other"))
        await World.pause()
        task = asyncio.create_task(runner.run(agent(do("a"), do("hang"), do("b")), "this"))
        for _ in range(turns):
            await asyncio.sleep(0)
        for one in (task, other):
            one.cancel()
        await asyncio.gather(task, other, return_exceptions=True)

    for turns in range(12):
        asyncio.run(main(turns))
        assert world.store.runs(state="running") == [], turns


# What goes wrong outside of steps


def test_a_run_that_cannot_be_saved_does_not_break_the_others() -> None:
    world = World()

    async def main() -> list[Any]:
        runner = world.runner()
        tasks = ["one", "\ud800", "three"]
        runs = [runner.run(agent(do("a"), do("b")), task) for task in tasks]
        return list(await asyncio.gather(*runs, return_exceptions=True))

    first, _, third = asyncio.run(main())
    assert isinstance(first, RunResult)
    assert isinstance(third, RunResult)


@pytest.mark.parametrize("execution", ["sequential", "parallel"])
def test_a_run_whose_services_raise_does_not_stay_running(execution: Any) -> None:
    world = World()

    def no_such_model(name: str, agent_id: str = "") -> Any:
        raise UsageError(f"no model of '{agent_id}' is called '{name}'")

    world.model = no_such_model  # type: ignore[method-assign]  # the fault under test
    with contextlib.suppress(UsageError):
        world.run(agent(do("a"), prompt("p"), do("b")), model="nope", execution=execution)
    (run,) = world.store.runs()
    assert run.state == "failed"
    assert "running" not in world.kept(run).values()


def test_a_model_that_breaks_is_a_failure_of_the_step() -> None:
    def broken(request: ModelRequest) -> str:
        raise KeyError("its own mistake")

    world = World(model=ScriptedModel([broken]))
    result = world.run(agent(prompt("p")))
    assert result.state == "failed"
    assert (result.run.failure and result.run.failure.step) == "p"


def test_who_looks_on_cannot_break_a_run() -> None:
    def look(event: Event) -> None:
        raise ValueError("its own mistake")

    world = World()
    result = world.run(agent(do("a")), on_event=look)
    assert result.success


def test_a_run_that_has_used_all_its_tokens_asks_no_more_and_goes_on_with_a_raised_limit() -> None:
    model = ScriptedModel([ModelReply("x", usage=Usage(30, 30, requests=1))] * 4)
    world = World(model=model)
    profile = agent(prompt("a"), prompt("b"), limits={"tokens": 50})
    result = world.run(profile)
    assert result.run.failure is not None
    assert result.run.failure.code == "RUN_LIMIT_EXCEEDED"
    asked = len(model.requests)
    world.resume(result.run_id)
    assert len(model.requests) == asked
    runner = world.runner()
    raised = asyncio.run(runner.resume(result.run_id, limits=Limits(tokens=1_000)))
    assert raised.success


def test_steps_of_an_earlier_try_count_for_the_limit() -> None:
    world = World()
    world.acts["b"] = iter([BROKEN, 1])
    result = world.run(agent(do("a"), do("b"), do("c"), limits={"steps": 3}))
    again = world.resume(result.run_id)
    assert again.run.failure is not None
    assert again.run.failure.code == "RUN_LIMIT_EXCEEDED"
