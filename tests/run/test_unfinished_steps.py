"""What becomes of the steps that had not finished when a run stopped."""

import asyncio
from typing import Any

import pytest

from metier.run.models import ScriptedModel
from metier.run.tool import ToolContext
from metier.values.models import ModelReply
from metier.values.runs import Event, Usage
from run.world import BROKEN, Data, World, agent, do, forever, loop, parallel, prompt, states

TEN = Usage(input_tokens=6, output_tokens=4, cost=0.5, requests=1)
LIMITS: dict[str, Data] = {
    "tokens": {"tokens": 9},
    "cost": {"cost": 0.1},
    "steps": {"steps": 1},
    "seconds": {"seconds": 0.2},
}


@pytest.mark.parametrize("execution", ["sequential", "parallel"])
@pytest.mark.parametrize("limit", LIMITS)
def test_steps_that_never_began_are_cancelled_when_a_limit_stops_the_run(
    limit: str, execution: Any
) -> None:
    world = World(model=ScriptedModel([ModelReply("said", usage=TEN)]))
    world.acts["slow"] = forever
    first = do("slow") if limit == "seconds" else prompt("slow")
    box = parallel("box", do("x"), dependencies=["last"])
    steps = [first, do("after", "slow"), do("last", "after"), box]
    events: list[Event] = []
    profile = agent(*steps, limits=LIMITS[limit], execution=execution)
    result = world.run(profile, on_event=events.append)
    assert result.state == "failed"
    never = {"after": "cancelled", "last": "cancelled", "box": "cancelled"}
    assert {key: one for key, one in states(result).items() if key != "slow"} == never
    assert world.kept(result.run) == states(result)
    told = {one.step_id for one in events if one.kind == "step.cancelled"}
    assert told >= set(never)


def test_the_rest_of_a_turn_is_cancelled_when_a_limit_stops_the_run_inside_a_loop() -> None:
    result = World().run(agent(loop("l", "[1, 2]", do("a"), do("b"), do("c")), limits={"steps": 2}))
    found = states(result)
    assert (found["a[0]"], found["b[0]"], found["c[0]"]) == ("succeeded", "cancelled", "cancelled")
    assert found["l"] == "failed"


def test_dependents_of_a_failure_are_blocked_though_a_limit_stops_the_run_later() -> None:
    world = World()
    world.acts["a"] = BROKEN
    steps = [do("a"), do("b"), do("c", "b"), do("d", "a")]
    profile = agent(*steps, failureStrategy="continueOnError", limits={"steps": 1})
    assert states(world.run(profile)) == {
        "a": "failed",
        "b": "cancelled",
        "c": "cancelled",
        "d": "blocked",
    }


def test_steps_that_a_limit_kept_from_beginning_run_when_the_run_is_resumed() -> None:
    world = World()
    limited = agent(do("a"), do("b"), limits={"steps": 1})
    result = world.run(limited)
    runner = world.runner()
    again = asyncio.run(runner.resume(result.run_id, limits=limited.limits._replace(steps=None)))
    assert (again.success, world.calls) == (True, ["a", "b"])


async def fails_when_stopped(_args: Data, _context: ToolContext) -> None:
    """What a tool does that answers its cancellation with an error."""
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise BROKEN from None


def test_dependents_of_a_second_failure_are_blocked() -> None:
    world = World()
    world.acts = {"first": BROKEN, "second": fails_when_stopped, "other": forever}
    steps = [
        do("second"),
        do("other"),
        do("first"),
        do("after_first", "first"),
        do("after_second", "second"),
        do("far", "after_second"),
        do("after_other", "other"),
    ]
    result = world.run(agent(*steps, execution="parallel"))
    assert states(result) == {
        "first": "failed",
        "second": "failed",
        "other": "cancelled",
        "after_first": "blocked",
        "after_second": "blocked",
        "far": "blocked",
        "after_other": "cancelled",
    }
    assert result.run.failure is not None
    assert result.run.failure.step == "first"


def test_dependents_of_a_failure_while_time_runs_out_are_blocked() -> None:
    world = World()
    world.acts = {"a": fails_when_stopped, "b": forever}
    steps = [do("a"), do("b"), do("c", "a"), do("d", "b")]
    result = world.run(agent(*steps, execution="parallel", limits={"seconds": 0.2}))
    found = states(result)
    assert (found["a"], found["c"], found["d"]) == ("failed", "blocked", "cancelled")


def test_a_step_that_runs_for_a_while_is_stored_as_running_before_it_ends() -> None:
    world = World()
    seen: list[Any] = []

    async def until_stored(_args: Data, context: ToolContext) -> str:
        run = world.store.run(context.run_id)
        while not (found := [one for one in world.store.steps(run.key) if one.id == "slow"]):
            await asyncio.sleep(0)
        seen.append(found[0].state)
        return "done"

    world.acts["slow"] = until_stored
    result = world.run(agent(do("first"), do("slow")))
    assert seen == ["running"]
    assert states(result) == world.kept(result.run) == {"first": "succeeded", "slow": "succeeded"}
