"""Going on with a run: after what is done, with what it gave."""

import asyncio
from typing import Any

import pytest

from metier.errors import NotFoundError
from metier.run.checkpoints import CheckpointStore, resume_context
from metier.run.models import ScriptedModel
from metier.run.tool import ToolContext
from metier.values.agents import AgentProfile
from metier.values.models import ModelReply
from metier.values.runs import RunResult, StepRecord, Usage
from run.world import (
    BROKEN,
    Data,
    World,
    agent,
    choose,
    do,
    forever,
    loop,
    parallel,
    prompt,
    states,
)


def failed_once(world: World, step: str, profile: AgentProfile, **more: Any) -> RunResult:
    """A run that failed in `step`, which would succeed now."""
    world.acts[step] = iter([BROKEN, "now"])
    result = world.run(profile, **more)
    assert result.state == "failed"
    return result


# Where it goes on


@pytest.mark.invariant(id="INV-CP-002")
@pytest.mark.parametrize("execution", ["sequential", "parallel"])
def test_it_goes_on_after_what_is_done_with_the_outputs_of_before(execution: Any) -> None:
    world = World()
    world.acts["a"] = iter([{"x": 1}])
    steps = [do("a"), do("b", "a"), do("c", "b", input={"a": "{{ steps.a.output.x }}"})]
    result = failed_once(world, "b", agent(*steps), execution=execution)
    assert states(result) == {"a": "succeeded", "b": "failed", "c": "blocked"}
    record = CheckpointStore(world.store).latest(result.run_id)
    assert record is not None
    assert resume_context(record).resume_from_step == 1
    resumed = world.resume(result.run_id)
    assert world.calls == ["a", "b", "b", "c"]
    assert world.given["c"] == {"a": 1}
    assert states(resumed) == {"a": "succeeded", "b": "succeeded", "c": "succeeded"}
    assert (resumed.run_id, resumed.state, resumed.run.failure) == (
        result.run_id,
        "succeeded",
        None,
    )
    assert world.store.run(result.run_id).state == "succeeded"


@pytest.mark.invariant(id="INV-CP-002")
def test_skipped_steps_stay_skipped_and_failed_blocked_and_cancelled_ones_are_tried() -> None:
    world = World()
    seen = do("s", condition="input.skip | default(true)")
    steps = [do("no", condition="false"), seen, do("a"), do("b"), do("c", "b"), do("d")]
    result = failed_once(world, "b", agent(*steps), input={})
    assert states(result) == {
        "no": "skipped",
        "s": "succeeded",
        "a": "succeeded",
        "b": "failed",
        "c": "blocked",
        "d": "cancelled",
    }
    resumed = world.resume(result.run_id)
    assert world.calls == ["s", "a", "b", "b", "c", "d"]
    assert resumed.success
    assert states(resumed)["no"] == "skipped"


def test_outputs_beyond_the_step_index_are_restored_not_computed_again() -> None:
    world = World()
    world.acts["a"] = iter([BROKEN, 1])
    steps = [do("a"), do("b"), do("c", "a", "b", input={"b": "{{ steps.b.output }}"})]
    profile = agent(*steps, execution="parallel", failureStrategy="continueOnError")
    result = world.run(profile)
    record = CheckpointStore(world.store).latest(result.run_id)
    assert record is not None
    assert (record.step_index, dict(record.step_outputs)) == (-1, {"b": "b"})
    assert world.resume(result.run_id).success
    assert world.calls == ["a", "b", "a", "c"]


def test_a_loop_goes_on_with_the_turn_that_failed() -> None:
    world = World()
    world.acts["t[1]"] = iter([BROKEN, "now"])
    body = [do("s", input={"item": "{{ item }}"}), do("t", input={"s": "{{ steps.s.output }}"})]
    result = world.run(agent(loop("l", "[5, 6, 7]", *body)))
    resumed = world.resume(result.run_id)
    assert world.calls == ["s[0]", "t[0]", "s[1]", "t[1]", "t[1]", "s[2]", "t[2]"]
    assert world.given["t[1]"] == {"s": "s[1]"}
    assert resumed.output == [
        {"s": f"s[{n}]", "t": "now" if n == 1 else f"t[{n}]"} for n in range(3)
    ]


def test_a_branch_goes_on_where_it_stopped() -> None:
    world = World()
    steps = choose("c", "input", [do("a"), parallel("g", do("b"), do("d"))], [do("no")])
    result = failed_once(world, "b", agent(steps), input=True)
    calls = world.calls.copy()
    assert world.resume(result.run_id).output == {"a": "a", "g": {"b": "now", "d": "d"}}
    assert world.calls[len(calls) :] in (["b"], ["b", "d"])


def test_names_are_remembered_again() -> None:
    world = World()
    world.acts["a"] = {"x": 1, "y": 2}
    steps = [do("a", outputs=["x", "y"]), do("b"), do("c", input={"m": "{{ memory }}"})]
    result = failed_once(world, "b", agent(*steps))
    resumed = world.resume(result.run_id)
    assert world.given["c"] == {"m": {"x": 1, "y": 2}}
    assert resumed.outputs == {"x": 1, "y": 2}


@pytest.mark.parametrize(
    "container",
    [
        loop("c", "[1]", do("in", outputs=["m"])),
        parallel("c", do("in", outputs=["m"])),
        choose("c", "true", [do("in", outputs=["m"])]),
    ],
    ids=["loop", "parallel", "conditional"],
)
def test_what_steps_inside_gave_is_known_again(container: Data) -> None:
    world = World()
    told = {"in": "{{ steps.in.output }}", "memory": "{{ memory.m }}"}
    result = failed_once(world, "b", agent(container, do("b"), do("z", input=told)))
    resumed = world.resume(result.run_id)
    assert resumed.success, resumed.run.failure
    assert world.given["z"]["memory"] == world.given["z"]["in"]
    assert list(resumed.outputs) == ["m"]


def test_the_profile_and_input_of_before_count() -> None:
    old, new = agent(do("a"), do("b"), agent_id="x"), agent(do("other"), agent_id="x")
    world = World(new)
    result = failed_once(world, "b", old, input=[1])
    resumed = world.resume(result.run_id)
    assert world.calls == ["a", "b", "b"]
    assert resumed.run.request["input"] == [1]


def test_the_execution_that_the_call_asked_for_counts_again() -> None:
    world = World()
    result = failed_once(world, "b", agent(do("b"), do("a")), execution="parallel")
    world.acts = {"b": 1}
    assert world.resume(result.run_id).success
    assert world.store.run(result.run_id).request["execution"] == "parallel"


def test_a_step_in_flight_has_the_same_key_when_it_runs_again() -> None:
    world = World()
    result = failed_once(world, "b", agent(do("a"), do("b")))
    world.resume(result.run_id)
    first, second = [one.idempotency_key for one in world.contexts if one.step_id == "b"]
    assert first == second == f"{result.run_id}/b"


def test_it_can_be_resumed_again_and_again() -> None:
    world = World()
    world.acts["b"] = iter([BROKEN, BROKEN, BROKEN, "now"])
    result = world.run(agent(do("a"), do("b"), do("c")))
    for _ in range(2):
        assert world.resume(result.run_id).state == "failed"
    assert world.resume(result.run_id).success
    assert world.calls == ["a", "b", "b", "b", "b", "c"]


def test_a_run_that_has_succeeded_is_told_again_and_does_nothing() -> None:
    world = World()
    result = world.run(agent(do("a", outputs=["x"]), do("b")))
    again = world.resume(result.run_id)
    assert world.calls == ["a", "b"]
    assert (again.run, list(again.steps)) == (result.run, list(result.steps))


def test_the_outputs_of_a_run_that_has_succeeded_are_told_again() -> None:
    world = World()
    result = world.run(agent(do("a", outputs=["x"]), do("b")))
    assert world.resume(result.run_id).outputs == result.outputs == {"x": "a"}


LATE = {
    "of the workflow": [loop("l", "steps.a.output", do("s"), dependencies=["a"]), do("a")],
    "of a group": [
        parallel("g", loop("l", "steps.a.output", do("s"), dependencies=["a"]), do("a"))
    ],
}


@pytest.mark.parametrize("steps", LATE.values(), ids=list(LATE))
def test_what_is_restored_may_stand_before_what_it_depends_on(steps: list[Data]) -> None:
    world = World()
    world.acts["a"] = [1, 2]
    profile = agent(*steps, do("z", "l" if len(steps) == 2 else "g"), execution="parallel")
    result = failed_once(world, "z", profile)
    resumed = world.resume(result.run_id)
    assert resumed.success
    again = world.resume(result.run_id)
    assert (again.run, again.outputs) == (resumed.run, resumed.outputs)
    assert sorted(world.calls) == ["a", "s[0]", "s[1]", "z", "z"]


def test_what_was_used_before_counts() -> None:
    used = Usage(6, 4, 0.5, 1)
    model = ScriptedModel([ModelReply("x", usage=used)] * 2)
    world = World(model=model)
    result = failed_once(world, "b", agent(prompt("p"), do("b"), prompt("q")))
    total = world.resume(result.run_id).usage
    assert (total.input_tokens, total.output_tokens, total.cost, total.requests) == (12, 8, 1.0, 2)


def test_what_attempts_that_failed_used_counts_however_often_it_is_resumed() -> None:
    used = Usage(6, 4, 0.5, 1)
    model = ScriptedModel([ModelReply("x", usage=used)] * 2 + [ModelReply("[1]", usage=used)])
    world = World(model=model)
    result = world.run(agent(prompt("p", outputSchema={"type": "array"})))
    world.resume(result.run_id)
    last = world.resume(result.run_id)
    assert (last.output, last.usage.tokens) == ([1], 30)


def test_a_step_that_was_running_when_its_process_died_counts_that_attempt() -> None:
    world = World()
    result = failed_once(world, "b", agent(do("a"), do("b")))
    asyncio.run(world.store.save_step(result.run.claim, StepRecord("b", "running")))
    resumed = world.resume(result.run_id)
    assert {one.id: one.attempts for one in resumed.steps} == {"a": 1, "b": 2}


def test_a_resumed_run_keeps_to_its_limit_of_tokens() -> None:
    model = ScriptedModel([ModelReply("x", usage=Usage(6, 4, 0.5, 1))] * 2)
    world = World(model=model)
    profile = agent(prompt("p"), do("b"), prompt("q"), limits={"tokens": 15})
    result = failed_once(world, "b", profile)
    resumed = world.resume(result.run_id)
    assert resumed.run.failure is not None
    assert resumed.run.failure.code == "RUN_LIMIT_EXCEEDED"


def test_a_resumed_run_can_undo_the_turns_of_a_loop() -> None:
    world = World()
    undo = do("undo", input={"item": "{{ item }}"})
    steps = [loop("l", "['x']", do("s", compensate=undo)), do("z")]

    async def main() -> RunResult:
        runner = world.runner()
        reached = asyncio.Event()

        async def hang(args: Data, context: ToolContext) -> None:
            reached.set()
            await forever(args, context)

        world.acts["z"] = iter([hang, BROKEN])
        task = asyncio.create_task(runner.run(agent(*steps, failureStrategy="rollback"), "t"))
        await reached.wait()
        runner.cancel(world.store.runs()[0].run_id)
        return await world.runner().resume((await task).run_id)

    assert asyncio.run(main()).state == "rolled_back"
    assert world.given["undo[0]"] == {"item": "x"}


def test_an_unknown_run_is_not_found() -> None:
    with pytest.raises(NotFoundError, match="no run is called 'nobody'"):
        World().resume("nobody")


def test_memory_is_restored_in_the_order_in_which_steps_ended() -> None:
    world = World()
    last = asyncio.Event()

    async def slow(_args: Data, _context: ToolContext) -> str:
        await last.wait()
        return "slow"

    async def fast(_args: Data, _context: ToolContext) -> str:
        last.set()
        return "fast"

    world.acts |= {"a": slow, "b": fast, "c": iter([BROKEN, 1])}
    both = parallel("p", do("a", outputs=["x"]), do("b", outputs=["x"]))
    result = world.run(agent(both, do("c")))
    assert result.outputs == {"x": "slow"}
    again = world.resume(result.run_id)
    assert again.success
    assert again.outputs == {"x": "slow"}
    assert world.resume(result.run_id).outputs == {"x": "slow"}
