"""What a step is handed: kept with it, on the disk before it is sent, and how it served."""

from typing import Any

import pytest

from metier.run.models import ScriptedModel
from metier.run.services import Prepared
from metier.values.models import ModelReply
from metier.values.runs import Event, Failure
from run.world import (
    BROKEN,
    Data,
    World,
    agent,
    choose,
    delegate,
    do,
    loop,
    parallel,
    prompt,
    states,
)

PROVIDERS = ("one::skills/one", "two::skills/two")


def handed(text: str = "KNOWLEDGE", **record: Any) -> Prepared:
    return Prepared(text, record, tuple(record.get("providers", ())))


# What is kept of it


def test_what_was_handed_over_is_kept_with_the_step_and_told() -> None:
    world = World(model=ScriptedModel(["said"]))
    world.prepared = lambda _agent, _step, _task: handed("TEXT", abilities=["x"], report="r1")
    events: list[Event] = []
    result = world.run(agent(prompt("p")), on_event=events.append)
    kept = world.store.steps(result.run.key)[0].input
    assert kept is not None
    assert kept.pop("prompt") == "Say it."
    assert [call["model"] for call in kept.pop("calls")] == ["scripted:test"]
    assert kept == {"text": "TEXT", "abilities": ["x"], "report": "r1"}
    (said,) = [one.data for one in events if one.kind == "step.prepared"]
    assert said == {"abilities": ["x"], "report": "r1"}


def test_what_is_handed_over_is_on_the_disk_before_it_is_sent() -> None:
    kept: list[Any] = []
    world = World()

    def look(_request: Any) -> str:
        kept.extend(one.input for one in world.store.steps(world.store.runs()[0].key))
        return "said"

    world._model = ScriptedModel([look])
    world.prepared = lambda _agent, _step, _task: handed("TEXT")
    world.run(agent(prompt("p")))
    assert kept == [{"text": "TEXT", "prompt": "Say it."}]


def test_a_resumed_step_sees_what_it_saw() -> None:
    model = ScriptedModel([ModelReply("not JSON"), "[1]"])
    world = World(model=model)
    texts = iter(["FIRST", "SECOND"])
    world.prepared = lambda _agent, _step, _task: handed(next(texts), providers=list(PROVIDERS))
    result = world.run(agent(prompt("p", outputSchema={"type": "array"})))
    assert result.state == "failed"
    assert world.resume(result.run_id).output == [1]
    assert [one.system for one in model.requests] == ["FIRST", "FIRST"]
    assert world.outcomes[-2:] == [(one, True) for one in PROVIDERS]


def test_a_resumed_step_that_was_handed_nothing_is_handed_nothing() -> None:
    model = ScriptedModel([ModelReply("not JSON"), "[1]"])
    world = World(model=model)
    texts = iter(["", "SECOND"])
    world.prepared = lambda _agent, _step, _task: handed(next(texts))
    result = world.run(agent(prompt("p", outputSchema={"type": "array"})))
    world.resume(result.run_id)
    assert [one.system for one in model.requests] == ["", ""]


def test_each_turn_of_a_loop_is_prepared_by_itself() -> None:
    world = World(model=ScriptedModel(["a", "b"]))
    world.prepared = lambda _agent, _step, task: handed(f"for {task}")
    result = world.run(agent(loop("l", "[1, 2]", prompt("p", "say {{ item }}"))))
    kept = {one.id: one.input for one in world.store.steps(result.run.key)}
    texts = {one: (kept[one] or {})["text"] for one in ("p[0]", "p[1]")}
    assert texts == {"p[0]": "for say 1", "p[1]": "for say 2"}


@pytest.mark.invariant(id="INV-AGT-ABL-002")
@pytest.mark.parametrize("code", ["CAPABILITY_UNRESOLVED", "ABILITY_TOKEN_LIMIT_EXCEEDED"])
def test_a_step_that_cannot_be_prepared_fails_before_anything_is_sent(code: str) -> None:
    model = ScriptedModel(["said"])
    world = World(model=model)
    world.prepared = lambda _agent, _step, _task: Prepared(failure=Failure(code, "why"))
    result = world.run(agent(prompt("p"), do("b", "p")))
    assert result.run.failure is not None
    assert (result.run.failure.code, result.run.failure.step) == (code, "p")
    assert model.requests == []
    assert states(result) == {"p": "failed", "b": "blocked"}


# Outcomes


@pytest.mark.parametrize("success", [True, False])
def test_how_the_step_ended_is_recorded_for_every_provider(success: bool) -> None:
    schema = {"type": "integer"}
    world = World(model=ScriptedModel(["1" if success else "x"]))
    world.prepared = lambda _agent, _step, _task: handed(providers=list(PROVIDERS))
    world.run(agent(prompt("p", outputSchema=schema)))
    assert world.outcomes == [(one, success) for one in PROVIDERS]


@pytest.mark.parametrize("success", [True, False])
def test_a_tool_step_records_its_outcome_too(success: bool) -> None:
    world = World()
    world.acts["a"] = 1 if success else BROKEN
    world.prepared = lambda _agent, _step, _task: handed("", providers=list(PROVIDERS))
    world.run(agent(do("a", requires=["x"])))
    assert world.outcomes == [(one, success) for one in PROVIDERS]


def test_what_the_agent_requires_gains_nothing_from_steps_that_read_no_text() -> None:
    world = World(model=ScriptedModel(["x"]))
    world.prepared = lambda _agent, _step, _task: handed("", providers=list(PROVIDERS))
    world.run(agent(do("a"), requires=["x"]))
    assert world.outcomes == []
    world.run(agent(do("a"), prompt("p"), requires=["x"]))
    assert world.outcomes == [(one, True) for one in PROVIDERS]


def test_a_step_that_succeeds_at_its_second_attempt_is_one_success() -> None:
    world = World(model=ScriptedModel(["x", "1"]))
    world.prepared = lambda _agent, _step, _task: handed(providers=list(PROVIDERS[:1]))
    retry = {"maxAttempts": 2, "backoffMs": 100}
    world.run(agent(prompt("p", outputSchema={"type": "integer"}, retryPolicy=retry)))
    assert world.outcomes == [(PROVIDERS[0], True)]


def test_what_the_profile_or_the_step_requires_is_prepared_for_every_type_of_step() -> None:
    world = World(agent(do("k"), agent_id="kid"))
    prepared: list[str] = []

    def prepare(_agent: Any, step: Any, _task: str) -> Prepared:
        prepared.append(step.step_id)
        return Prepared()

    world.prepared = prepare
    world.run(agent(do("a"), loop("l", "[1]", do("b")), delegate("d", "kid"), requires=["x"]))
    assert {"a", "b", "d"} <= set(prepared)


CONTAINERS = {
    "loop": loop("c", "[1]", do("i"), requires=["x"]),
    "parallel": parallel("c", do("i"), requires=["x"]),
    "conditional": choose("c", "true", [do("i")], requires=["x"]),
}


@pytest.mark.parametrize("step", CONTAINERS.values(), ids=list(CONTAINERS))
def test_a_container_that_requires_what_nobody_provides_fails(step: Data) -> None:
    world = World()
    refused = Prepared(failure=Failure("CAPABILITY_UNRESOLVED", "why"))
    world.prepared = lambda _agent, one, _task: refused if one.requires else Prepared()
    result = world.run(agent(step))
    assert (result.state, world.calls) == ("failed", [])
