"""Attempts: how often, after what, how long in between; and time limits that stop the work."""

import asyncio
from typing import Any

import pytest

from metier.errors import ModelError
from metier.run.models import ScriptedModel
from metier.run.tool import ToolContext, ToolError
from metier.values.runs import Event
from run.world import (
    BROKEN,
    RETRYABLE,
    Data,
    World,
    agent,
    do,
    forever,
    hurried,
    loop,
    outputs,
    parallel,
    prompt,
    states,
)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Nobody sleeps; how long steps wanted to."""
    asked: list[float] = []
    real = asyncio.sleep

    async def sleep(seconds: float, result: Any = None) -> Any:
        task = asyncio.current_task()
        if task is not None and "_beat" in repr(task.get_coro()):
            await asyncio.Event().wait()
        if seconds:
            asked.append(seconds)
        return await real(0, result)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return asked


def policy(attempts: int, **more: Any) -> Data:
    return {"retryPolicy": {"maxAttempts": attempts, **more}}


# How often, how long in between


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"backoffMs": 100}, [0.1, 0.2, 0.4]),
        ({"backoffMs": 100, "backoffMultiplier": 1}, [0.1, 0.1, 0.1]),
        ({"backoffMs": 2000, "backoffMultiplier": 1.5}, [2, 3, 4.5]),
        ({}, [1, 2, 4]),
    ],
)
def test_the_wait_grows_by_the_multiplier_after_each_attempt(
    waits: list[float], more: Data, expected: list[float]
) -> None:
    world = World()
    world.acts["a"] = RETRYABLE
    result = world.run(agent(do("a", **policy(4, **more))))
    assert waits == pytest.approx(expected)
    assert world.calls == ["a"] * 4
    (step,) = result.steps
    assert (step.state, step.attempts) == ("failed", 4)
    assert [one.attempt for one in world.contexts] == [1, 2, 3, 4]
    assert len({one.idempotency_key for one in world.contexts}) == 1


def test_attempts_end_with_the_first_success(waits: list[float]) -> None:
    world = World()
    world.acts["a"] = iter([RETRYABLE, RETRYABLE, "done"])
    events: list[Event] = []
    result = world.run(agent(do("a", **policy(5))), on_event=events.append)
    assert (result.output, result.steps[0].attempts) == ("done", 3)
    assert result.steps[0].failure is None
    assert waits == [1, 2]
    told = [one.data for one in events if one.kind == "step.retried"]
    assert [(one["attempt"], one["wait"]) for one in told] == [(1, 1), (2, 2)]
    assert world.store.steps(result.run.key)[0].attempts == 3


@pytest.mark.parametrize("strategy", ["failFast", "continueOnError"])
def test_without_a_policy_there_is_one_attempt(waits: list[float], strategy: str) -> None:
    world = World()
    world.acts["a"] = RETRYABLE
    result = world.run(agent(do("a"), failureStrategy=strategy))
    assert (world.calls, waits, result.steps[0].attempts) == (["a"], [], 1)


def test_the_others_go_on_while_one_waits(waits: list[float]) -> None:
    world = World()
    world.acts["a"] = iter([RETRYABLE, RETRYABLE, 1])
    profile = agent(do("a", **policy(3)), do("b"), do("c", "b"), execution="parallel")
    assert world.run(profile).success
    assert world.calls[:2] == ["a", "b"]


# After what


@pytest.mark.parametrize(
    ("error", "attempts"),
    [
        (ToolError("x", retryable=True), 3),
        (ToolError("x", retryable=False), 1),
        (ToolError("x", code="TOOL_PERMISSION_DENIED"), 1),
        (ToolError("x", code="TOOL_VALIDATION_ERROR"), 1),
        (ToolError("x", code="TOOL_TIMEOUT", retryable=True), 3),
        (ValueError("x"), 3),
    ],
)
def test_only_what_may_pass_by_itself_is_tried_again(
    waits: list[float], error: Exception, attempts: int
) -> None:
    world = World()
    world.acts["a"] = error
    world.run(agent(do("a", **policy(3))))
    assert len(world.calls) == attempts


@pytest.mark.parametrize(
    ("retry_on", "attempts"),
    [(["timeout"], 3), (["rateLimit", "timeout"], 3), (["serverError"], 1), ([], 3)],
)
def test_retry_on_names_the_kinds_of_failure(
    waits: list[float], retry_on: list[str], attempts: int
) -> None:
    world = World()
    world.acts["a"] = ToolError("x", code="TOOL_TIMEOUT", retryable=True)
    world.run(agent(do("a", **policy(3, retryOn=retry_on))))
    assert len(world.calls) == attempts


@pytest.mark.parametrize("kind", ["timeout", "rateLimit", "serverError", "networkError", ""])
@pytest.mark.parametrize("retry_on", [["rateLimit", "networkError"], []])
def test_model_errors_are_retried_by_their_kind(
    waits: list[float], kind: str, retry_on: list[str]
) -> None:
    model = ScriptedModel([ModelError("busy", kind=kind), "said"])
    profile = agent(prompt("a", **policy(2, retryOn=retry_on)))
    result = World(model=model).run(profile)
    wanted = kind in retry_on if retry_on else bool(kind)
    assert result.success == wanted
    assert len(model.requests) == 1 + wanted
    if not wanted:
        assert result.run.failure is not None
        assert (result.run.failure.code, result.run.failure.kind) == ("MODEL_ERROR", kind)


def test_a_template_that_fails_is_not_tried_again(waits: list[float]) -> None:
    world = World()
    result = world.run(agent(do("a", input="{{ input.x }}", **policy(3))), input={})
    assert (waits, result.steps[0].attempts) == ([], 1)


# Containers


def test_a_group_that_is_tried_again_runs_only_what_has_not_succeeded(waits: list[float]) -> None:
    world = World()
    world.acts["b"] = iter([RETRYABLE, 2])
    group = parallel("g", do("a"), do("b", "a"), do("c", "b"), **policy(2))
    result = world.run(agent(group))
    assert world.calls == ["a", "b", "b", "c"]
    assert outputs(result)["g"] == {"a": "a", "b": 2, "c": "c"}
    assert set(states(result).values()) == {"succeeded"}


def test_a_loop_that_is_tried_again_goes_on_with_the_turn_that_failed(waits: list[float]) -> None:
    world = World()
    world.acts["s[1]"] = iter([RETRYABLE, "now"])
    result = world.run(agent(loop("l", "[1, 2, 3]", do("s"), **policy(2))))
    assert world.calls == ["s[0]", "s[1]", "s[1]", "s[2]"]
    assert result.output == [{"s": "s[0]"}, {"s": "now"}, {"s": "s[2]"}]


def test_a_loop_that_is_tried_again_sees_in_each_turn_what_it_saw_before(
    waits: list[float],
) -> None:
    world = World()
    world.acts["s"] = iter([1, RETRYABLE, 2, 3])
    again = "steps.s is not defined or steps.s.output < 3"
    result = world.run(agent(loop("l", None, do("s"), while_=again, **policy(2))))
    assert (result.state, result.output) == ("succeeded", [{"s": 1}, {"s": 2}, {"s": 3}])


# Time limits of steps


def hanging(world: World, *names: str) -> list[str]:
    """Steps that never answer; the ids of those whose work was stopped."""
    stopped: list[str] = []

    async def hang(args: Data, context: ToolContext) -> None:
        try:
            await forever(args, context)
        finally:
            stopped.append(context.step_id)

    world.acts |= dict.fromkeys(names, hang)
    return stopped


def test_a_step_over_its_time_is_stopped_and_failed() -> None:
    world = World()
    stopped = hanging(world, "a")
    result = world.run(hurried(agent(do("a", timeoutMs=1000), do("b", "a"))))
    assert (stopped, states(result)) == (["a"], {"a": "failed", "b": "blocked"})
    failure = result.run.failure
    assert failure is not None
    assert (failure.code, failure.kind, failure.retryable) == ("STEP_TIMEOUT", "timeout", True)
    assert "0.2 seconds" in failure.message


def test_each_attempt_has_the_whole_time_and_a_time_out_may_be_retried(waits: list[float]) -> None:
    world = World()
    stopped = hanging(world, "a")
    step = do("a", timeoutMs=1000, **policy(3, retryOn=["timeout"]))
    result = world.run(hurried(agent(step)))
    assert (stopped, result.steps[0].attempts) == (["a"] * 3, 3)


def test_a_group_over_its_time_stops_all_its_steps() -> None:
    world = World()
    stopped = hanging(world, "a", "b", "c")
    inner = loop("l", "[1, 2]", do("c"))
    group = parallel("g", do("a"), do("b"), inner, do("d"), timeoutMs=1000)
    result = world.run(hurried(agent(group)))
    assert sorted(stopped) == ["a", "b", "c[0]"]
    assert states(result) == {
        "a": "cancelled",
        "b": "cancelled",
        "c[0]": "cancelled",
        "l": "cancelled",
        "d": "succeeded",
        "g": "failed",
    }
    assert world.kept(result.run) == states(result)


def test_a_model_that_never_answers_is_stopped() -> None:
    stopped = []

    class Silent:
        name = "test:silent"

        async def respond(self, request: Any) -> Any:
            try:
                await asyncio.Event().wait()
            finally:
                stopped.append(len(request.messages))

    result = World(model=Silent()).run(hurried(agent(prompt("a", timeoutMs=1000))))
    assert result.run.failure is not None
    assert (result.run.failure.code, stopped) == ("STEP_TIMEOUT", [1])


@pytest.mark.parametrize("limit", [{}, {"timeoutMs": 60_000}])
@pytest.mark.parametrize("text", ["the gateway did not answer in 30 s", ""])
def test_a_time_out_of_the_model_itself_keeps_its_text(limit: dict[str, int], text: str) -> None:
    class Late:
        name = "test:late"

        async def respond(self, request: Any) -> Any:
            assert request.messages
            raise TimeoutError(text)

    failure = World(model=Late()).run(agent(prompt("a", **limit))).run.failure
    assert failure is not None
    assert (failure.code, failure.kind, failure.retryable) == ("STEP_FAILED", "timeout", True)
    assert failure.message == "'a': TimeoutError" + (f": {text}" if text else "")


def test_a_step_within_its_time_is_left_alone() -> None:
    world = World()
    result = world.run(agent(do("a", timeoutMs=3_600_000)))
    assert result.success


def test_a_failure_of_another_kind_within_the_time_stays_what_it_is() -> None:
    world = World()
    world.acts["a"] = BROKEN
    result = world.run(agent(do("a", timeoutMs=1000)))
    assert result.run.failure is not None
    assert result.run.failure.code == "TOOL_EXECUTION_ERROR"
