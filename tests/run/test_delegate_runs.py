"""Delegation in runs: every refusal is a value, a delegate's run is linked, resumed, counted."""

import asyncio
from typing import Any

import pytest

from metier.run.delegation import DelegationResult
from metier.run.models import ScriptedModel
from metier.run.tool import ToolContext
from metier.values.agents import AgentProfile
from metier.values.models import ModelReply
from metier.values.runs import Event, RunResult, Usage
from run.world import (
    BROKEN,
    RETRYABLE,
    Data,
    World,
    agent,
    delegate,
    do,
    forever,
    hurried,
    loop,
    outputs,
    parallel,
    prompt,
    states,
)


def told(world: World, profile: AgentProfile) -> tuple[RunResult, Data]:
    """A run, and what was told of its first delegation that ended."""
    events: list[Event] = []
    result = world.run(profile, on_event=events.append)
    finished = [one.data for one in events if one.kind == "delegation.finished"]
    return result, dict(finished[0])


def chain(length: int, **more: Any) -> list[AgentProfile]:
    """Agents each of which delegates to the next; the last does something."""
    last = agent(do("end"), agent_id=f"a{length - 1}")
    return [
        *(
            agent(delegate(f"d{n}", f"a{n + 1}"), agent_id=f"a{n}", **(more if n == 0 else {}))
            for n in range(length - 1)
        ),
        last,
    ]


# What comes back


def test_the_output_of_a_delegate_is_that_of_the_step_and_its_run_is_linked() -> None:
    world = World(agent(do("k", input={"t": "{{ task }}", "i": "{{ input }}"}), agent_id="kid"))
    world.acts["k"] = {"x": 1}
    step = delegate("d", "kid", task="say {{ input }}", input={"deep": ["{{ input }}"]})
    result = world.run(agent(step), "parent", input="hello")
    assert outputs(result) == {"d": {"x": 1}}
    assert world.given["k"] == {"t": "say hello", "i": {"deep": ["hello"]}}
    (child,) = world.store.children(result.run_id)
    assert (child.agent_id, child.state, child.task) == ("kid", "succeeded", "say hello")
    assert (child.parent_run, child.parent_step) == (result.run_id, "d")
    assert world.store.children(child.run_id) == []


def test_without_a_task_the_delegate_gets_that_of_its_caller() -> None:
    world = World(agent(do("k"), agent_id="kid"))
    result = world.run(agent(delegate("d", "kid")), "the task")
    (child,) = world.store.children(result.run_id)
    assert (child.task, child.request["input"]) == ("the task", None)


def test_what_a_delegate_used_is_counted_for_its_caller() -> None:
    used = Usage(6, 4, 0.5, 1)
    world = World(
        agent(prompt("k"), do("l"), agent_id="kid"),
        model=ScriptedModel([ModelReply("x", usage=used)] * 2),
    )
    result = world.run(agent(delegate("d", "kid"), prompt("p")))
    (child,) = world.store.children(result.run_id)
    assert child.usage == Usage(6, 4, 0.5, 1, 1)
    assert {one.id: one.usage for one in result.steps} == {"d": child.usage, "p": used}
    assert result.usage == Usage(12, 8, 1.0, 2, 1)


def test_what_a_delegate_that_failed_used_is_counted_too() -> None:
    model = ScriptedModel([ModelReply("x", usage=Usage(6, 4, 0.5, 1))])
    world = World(agent(prompt("k"), do("l"), agent_id="kid"), model=model)
    world.acts["l"] = BROKEN
    result = world.run(agent(delegate("d", "kid")))
    assert (result.state, result.usage) == ("failed", Usage(6, 4, 0.5, 1, 1))


def test_a_delegate_has_no_more_tokens_than_its_caller_has_left() -> None:
    used = [ModelReply("x", usage=Usage(6, 4, 0.5, 1))] * 4
    for limits in ({"tokens": 25}, {"cost": 1.2}):
        model = ScriptedModel(used)
        world = World(agent(prompt("k"), prompt("l"), prompt("m"), agent_id="kid"), model=model)
        result = world.run(agent(prompt("p"), delegate("d", "kid"), limits=limits))
        (child,) = world.store.children(result.run_id)
        assert child.failure is not None
        assert child.failure.code == "RUN_LIMIT_EXCEEDED"
        assert len(model.requests) == 3


def test_what_a_delegate_used_is_counted_once_though_it_was_tried_twice() -> None:
    used = Usage(6, 4, 0.5, 1)
    model = ScriptedModel([ModelReply("x", usage=used)] * 2)
    world = World(agent(prompt("k"), do("l"), prompt("m"), agent_id="kid"), model=model)
    world.acts["l"] = iter([RETRYABLE, 1])
    step = delegate("d", "kid", retryPolicy={"maxAttempts": 2, "backoffMs": 100})
    result = world.run(agent(step))
    (child,) = world.store.children(result.run_id)
    assert (child.usage.tokens, child.usage.requests) == (20, 2)
    assert (result.usage.tokens, result.usage.requests) == (20, 2)


def test_a_delegate_that_goes_on_has_no_more_tokens_than_its_caller_has_left() -> None:
    model = ScriptedModel([ModelReply("x", usage=Usage(6, 4, 0.5, 1))] * 5)
    kid = agent(prompt("k"), do("l"), prompt("m"), prompt("n"), prompt("o"), agent_id="kid")
    world = World(kid, model=model)
    world.acts["l"] = iter([RETRYABLE, 1])
    step = delegate("d", "kid", retryPolicy={"maxAttempts": 2, "backoffMs": 100})
    world.run(agent(step, limits={"tokens": 25}))
    assert len(model.requests) == 3


def test_the_model_of_the_call_is_that_of_delegates_too() -> None:
    world = World(agent(prompt("k"), agent_id="kid", model="test:own"))
    world.run(agent(delegate("d", "kid"), prompt("p")), model="test:asked")
    assert world.models == ["test:asked", "test:asked"]
    world.models.clear()
    world.run(agent(delegate("d", "kid"), prompt("p")))
    assert world.models == ["test:own", ""]


# Refusals


@pytest.mark.invariant(id="INV-DT-001")
@pytest.mark.parametrize(("length", "success"), [(5, True), (6, True), (7, False), (8, False)])
def test_five_delegations_may_follow_each_other_and_the_sixth_is_refused(
    length: int, success: bool
) -> None:
    world = World(*chain(length))
    result = world.run(world.profiles["a0"])
    assert result.success == success
    assert (world.calls == ["end"]) == success
    assert len(world.store.runs()) == min(length, 6)
    if not success:
        deepest = world.store.runs()[0]
        assert deepest.failure is not None
        assert deepest.failure.code == "DELEGATION_MAX_DEPTH_EXCEEDED"
        assert "the limit is 5" in deepest.failure.message


@pytest.mark.invariant(id="INV-DT-001")
def test_depth_is_tested_before_the_list_of_those_who_may_be_delegated_to() -> None:
    world = World(agent(do("k"), agent_id="kid"))
    result = world.run(agent(delegate("d", "kid"), delegation={"maxDepth": 0, "to": ["other"]}))
    assert result.run.failure is not None
    assert result.run.failure.code == "DELEGATION_MAX_DEPTH_EXCEEDED"


@pytest.mark.parametrize(("max_depth", "runs"), [(0, 1), (1, 2), (2, 3), (10, 4)])
def test_the_limit_of_the_root_governs(max_depth: int, runs: int) -> None:
    world = World(*chain(4, delegation={"maxDepth": max_depth}))
    result = world.run(world.profiles["a0"])
    assert len(world.store.runs()) == runs
    assert result.success == (max_depth >= 3)


def test_a_delegate_that_states_a_limit_bounds_what_is_below_it() -> None:
    world = World(*chain(4))
    bounded = {**world.profiles["a1"].data, "delegation": {"maxDepth": 1}}
    world.profiles["a1"] = AgentProfile.of(bounded)
    world.run(world.profiles["a0"])
    assert [one.agent_id for one in world.store.runs()][::-1] == ["a0", "a1", "a2"]
    generous = {**world.profiles["a1"].data, "delegation": {"maxDepth": 10}}
    world.profiles["a1"] = AgentProfile.of(generous)
    strict = {**world.profiles["a0"].data, "delegation": {"maxDepth": 1}}
    result = world.run(AgentProfile.of(strict))
    assert result.state == "failed"
    assert len(world.store.children(result.run_id)) == 1


@pytest.mark.invariant(id="INV-DT-002")
@pytest.mark.parametrize("back_to", ["a0", "a1", "a2"])
def test_nobody_delegates_to_itself_or_to_one_above_it(back_to: str) -> None:
    world = World(
        agent(delegate("d", "a1"), agent_id="a0"),
        agent(delegate("e", "a2"), agent_id="a1"),
        agent(delegate("f", back_to), agent_id="a2"),
    )
    result = world.run(world.profiles["a0"])
    assert result.state == "failed"
    deepest = world.store.runs()[0]
    assert deepest.failure is not None
    assert (deepest.agent_id, deepest.failure.code) == ("a2", "DELEGATION_CIRCULAR")
    assert deepest.failure.message.endswith(f"a0 → a1 → a2 → {back_to}")
    assert len(world.store.runs()) == 3


@pytest.mark.invariant(id="INV-DT-002")
def test_the_same_agent_may_be_delegated_to_again_when_it_is_not_above() -> None:
    world = World(agent(do("k"), agent_id="kid"), agent(delegate("m", "kid"), agent_id="mid"))
    steps = [delegate("d", "kid"), delegate("e", "kid"), delegate("f", "mid")]
    for execution in ("sequential", "parallel"):
        assert world.run(agent(*steps), execution=execution).success


def test_an_agent_delegates_only_to_those_that_it_lists() -> None:
    kids = [agent(do("k"), agent_id=name) for name in ("yes", "no")]
    for to, success in ((["yes"], True), ([], False), (["no"], False), (None, True)):
        world = World(*kids)
        settings: Data = {} if to is None else {"delegation": {"to": to}}
        result, said = told(world, agent(delegate("d", "yes"), **settings))
        assert result.success == success
        assert said["success"] == success
        if not success:
            assert said["errorCode"] == "DELEGATION_NOT_ALLOWED"
            assert world.store.children(result.run_id) == []


@pytest.mark.parametrize("kid", [None, agent(do("k"), agent_id="kid", enabled=False)])
def test_nobody_delegates_to_one_that_is_not_there_or_disabled(kid: AgentProfile | None) -> None:
    world = World(*([kid] if kid else []))
    result, said = told(
        world, agent(delegate("d", "kid"), do("b"), failureStrategy="continueOnError")
    )
    assert said["errorCode"] == "DELEGATION_TARGET_NOT_FOUND"
    assert "'kid'" in said["error"]
    assert states(result) == {"d": "failed", "b": "succeeded"}


def test_a_misspelt_delegate_fails_with_the_nearest_name() -> None:
    failure = (
        World(agent(do("k"), agent_id="writer")).run(agent(delegate("d", "writr"))).run.failure
    )
    assert failure is not None
    assert (failure.code, failure.hint) == ("DELEGATION_TARGET_NOT_FOUND", "did you mean 'writer'?")


def test_a_delegate_over_its_time_is_stopped_and_its_run_can_go_on() -> None:
    world = World(agent(do("x"), do("hang"), agent_id="kid"))
    stopped: list[str] = []

    async def hang(args: Data, context: ToolContext) -> None:
        try:
            await forever(args, context)
        finally:
            stopped.append(context.run_id)

    world.acts["hang"] = iter([hang, "done"])
    profile = hurried(agent(delegate("d", "kid"), delegation={"timeoutMs": 1000}))
    result, said = told(world, profile)
    (child,) = world.store.children(result.run_id)
    assert (said["errorCode"], child.state, stopped) == (
        "DELEGATION_TIMEOUT",
        "cancelled",
        [child.run_id],
    )
    failure = result.steps[0].failure
    assert failure is not None
    assert (failure.kind, failure.retryable) == ("timeout", True)
    assert world.resume(result.run_id).output == "done"
    assert world.calls == ["x", "hang", "hang"]


def test_what_a_delegate_used_before_its_time_was_over_is_counted() -> None:
    model = ScriptedModel([ModelReply("x", usage=Usage(6, 4, 0.5, 1))])
    world = World(agent(prompt("k"), do("hang"), agent_id="kid"), model=model)
    world.acts["hang"] = forever
    result = world.run(hurried(agent(delegate("d", "kid"), delegation={"timeoutMs": 1000})))
    assert result.usage.tokens == 10


def test_only_what_the_delegate_itself_used_is_counted_when_its_time_is_over() -> None:
    model = ScriptedModel([ModelReply("x", usage=Usage(6, 4, 0.5, 1))])
    world = World(
        agent(do("hang"), agent_id="slow"), agent(prompt("k"), agent_id="quick"), model=model
    )
    world.acts["hang"] = forever
    steps = [delegate("d", "slow"), delegate("e", "quick")]
    more: Data = {"execution": "parallel", "failureStrategy": "continueOnError"}
    result = world.run(hurried(agent(*steps, delegation={"timeoutMs": 1000}, **more)))
    used = {one.id: one.usage.tokens for one in result.steps}
    assert (used, result.usage.tokens) == ({"d": 0, "e": 10}, 10)


def test_a_delegate_that_fails_is_a_value_with_its_reason() -> None:
    world = World(agent(do("k"), agent_id="kid"))
    world.acts["k"] = BROKEN
    result, said = told(world, agent(delegate("d", "kid")))
    (child,) = world.store.children(result.run_id)
    assert (said["success"], said["handledBy"], said["errorCode"], said["finalDepth"]) == (
        False,
        "kid",
        "DELEGATION_FAILED",
        1,
    )
    assert "broken" in said["error"]
    assert said["childRunId"] == child.run_id
    assert (child.state, result.state) == ("failed", "failed")


@pytest.mark.parametrize(
    "step",
    [
        delegate("d", "kid", task="{{ steps.p.output }}"),
        delegate("d", "kid", input="{{ [input.gone] }}"),
    ],
    ids=["half a character in a task", "an undefined value in an input"],
)
def test_what_cannot_be_saved_is_a_failure_of_the_step(step: Data) -> None:
    world = World(agent(do("k"), agent_id="kid"), model=ScriptedModel(["\ud800"]))
    result = world.run(agent(prompt("p"), step), input={})
    assert result.state in ("failed", "succeeded")


def test_a_result_has_the_fields_of_the_spec() -> None:
    good = DelegationResult(True, "kid", {"x": 1}, duration_ms=5.0, final_depth=2)
    assert good.to_json() == {
        "success": True,
        "handledBy": "kid",
        "result": {"x": 1},
        "durationMs": 5.0,
        "finalDepth": 2,
    }
    bad = DelegationResult(False, "kid", error="no", error_code="DELEGATION_CIRCULAR")
    assert set(bad.to_json()) == {
        "success", "handledBy", "error", "errorCode", "durationMs", "finalDepth",
    }  # fmt: skip


# Going on


def test_a_resumed_run_goes_on_with_the_run_of_its_delegate() -> None:
    world = World(agent(do("x"), do("y"), agent_id="kid"))
    world.acts["y"] = iter([BROKEN, "now"])
    result = world.run(agent(do("a"), delegate("d", "kid"), do("b")))
    assert result.state == "failed"
    resumed = world.resume(result.run_id)
    assert world.calls == ["a", "x", "y", "y", "b"]
    assert outputs(resumed)["d"] == "now"
    (child,) = world.store.children(result.run_id)
    assert child.state == "succeeded"


def test_an_attempt_again_goes_on_with_the_run_of_the_delegate() -> None:
    world = World(agent(do("x"), do("y"), agent_id="kid"))
    world.acts["y"] = iter([RETRYABLE, "now"])
    step = delegate("d", "kid", retryPolicy={"maxAttempts": 2, "backoffMs": 100})
    result = world.run(agent(step))
    assert (result.output, world.calls) == ("now", ["x", "y", "y"])
    assert len(world.store.children(result.run_id)) == 1


def test_a_delegate_that_was_rolled_back_is_run_anew() -> None:
    kid = agent(do("x", compensate=do("undo")), do("y"), agent_id="kid", failureStrategy="rollback")
    world = World(kid)
    world.acts["y"] = iter([BROKEN, "now"])
    result = world.run(agent(delegate("d", "kid")))
    assert world.resume(result.run_id).output == "now"
    assert world.calls == ["x", "y", "undo", "x", "y"]
    states_of_children = [one.state for one in world.store.children(result.run_id)]
    assert states_of_children == ["rolled_back", "succeeded"]


def test_each_turn_and_each_step_has_a_delegate_run_of_its_own() -> None:
    world = World(agent(do("k", input={"i": "{{ input }}"}), agent_id="kid"))
    inner = loop("l", "[1, 2]", delegate("d", "kid", input="{{ item }}"))
    result = world.run(agent(parallel("g", inner, delegate("e", "kid", input=3))))
    linked = {one.parent_step: one.request["input"] for one in world.store.children(result.run_id)}
    assert linked == {"d[0]": 1, "d[1]": 2, "e": 3}


def test_delegates_side_by_side_can_be_cancelled_together() -> None:
    world = World(agent(do("hang"), agent_id="kid"))
    world.acts["hang"] = forever
    steps = [delegate("d", "kid"), delegate("e", "kid")]

    async def main() -> RunResult:
        runner = world.runner()
        task = asyncio.create_task(runner.run(agent(*steps, execution="parallel"), "t"))
        await World.pause()
        runner.cancel(world.store.runs(delegated=False)[0].run_id)
        return await task

    assert asyncio.run(main()).state == "cancelled"
    assert {one.state for one in world.store.runs()} == {"cancelled"}
