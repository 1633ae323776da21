"""The tools that an agent names: who gets them, which do not exist, what a model sees of them."""

import json
from typing import Any

import pytest

from metier.run.models import ScriptedModel
from metier.run.tool import schema_tool
from metier.values.models import ModelReply, ToolCall
from metier.values.runs import Event, RunResult
from run.office import Office, office
from run.world import BROKEN, Data, World, agent, choose, delegate, do, loop, prompt, states

__all__ = ["office"]


def calls(name: str = "do", **args: Any) -> ModelReply:
    return ModelReply("", tool_calls=[ToolCall("call-1", name, args)])


async def nothing(_args: Data) -> None:
    """Do nothing."""


def world_with(model: ScriptedModel, *names: str) -> World:
    world = World(model=model)
    for name in names:
        world.tools.register(schema_tool(name, {}, nothing))
    return world


def failure_of(result: RunResult) -> tuple[str, str, str]:
    assert result.run.failure is not None
    return result.run.failure.code, result.run.failure.message, result.run.failure.hint


# Tools of a prompt step, without a list in the profile


def test_a_prompt_step_gets_the_tools_that_it_names() -> None:
    model = ScriptedModel([calls(), "said"])
    world = World(model=model)
    result = world.run(agent(prompt("p", tools=["do"])))
    assert (result.output, world.calls) == ("said", ["p"])
    assert [one.name for one in model.requests[0].tools] == ["do"]


def test_a_prompt_step_in_a_loop_gets_the_tools_that_it_names() -> None:
    world = World(model=ScriptedModel([calls(), "said"]))
    result = world.run(agent(loop("l", "[1]", prompt("p", tools=["do"]))))
    assert (result.success, world.calls) == (True, ["p[0]"])


def test_what_one_prompt_step_names_another_does_not_get() -> None:
    model = ScriptedModel(["one", calls("read"), "two"])
    world = world_with(model, "read")
    world.run(agent(prompt("p", tools=["read"]), prompt("q")))
    first, second, third = model.requests
    assert [one.name for one in first.tools] == ["read"]
    assert second.tools == []
    assert "TOOL_PERMISSION_DENIED" in third.messages[-1].text


def test_a_prompt_step_without_a_list_still_gets_what_tool_steps_name() -> None:
    model = ScriptedModel(["said"])
    world = World(model=model)
    world.run(agent(do("a"), prompt("p")))
    assert [one.name for one in model.requests[0].tools] == ["do"]


def test_a_command_that_a_prompt_step_names_needs_consent_as_any_other(office: Office) -> None:
    office.workspace.write("metier.toml", '[tools.greet]\nargv = ["echo", "hi"]\n')
    office.agent(prompt("p", tools=["greet"]))
    office.model = ScriptedModel([calls("greet"), "one", calls("greet"), "two"])
    assert office.run().output == "one"
    assert "TOOL_PERMISSION_DENIED" in office.model.requests[1].messages[-1].text
    office.catalog.agency.consent.add("greet")
    assert office.run().output == "two"
    assert office.model.requests[3].messages[-1].text == "hi"


# Tools that do not exist

NAMED: dict[str, tuple[list[Data], Data]] = {
    "profile": ([prompt("p")], {"tools": ["gone"]}),
    "prompt step": ([prompt("p"), prompt("q", tools=["gone"])], {}),
    "tool step": ([prompt("p"), {**do("a"), "config": {"tool": "gone"}}], {}),
    "inner step": ([prompt("p"), choose("c", "false", [prompt("q", tools=["gone"])])], {}),
    "step beside a list": ([prompt("p"), prompt("q", tools=["gone"])], {"tools": ["do"]}),
    "compensation": (
        [{**prompt("p"), "compensate": {**do("u"), "config": {"tool": "gone"}}}],
        {},
    ),
}


@pytest.mark.parametrize("where", NAMED)
def test_a_tool_that_nobody_provides_fails_the_run_before_anything_is_sent(where: str) -> None:
    steps, more = NAMED[where]
    model = ScriptedModel(["said"] * 3)
    world = World(model=model)
    result = world.run(agent(*steps, **more))
    assert result.state == "failed"
    code, message, _ = failure_of(result)
    assert code == "TOOL_NOT_FOUND"
    assert message == "agent 'worker' names the tool 'gone', which does not exist"
    assert (model.requests, world.calls) == ([], [])
    assert set(states(result).values()) == {"cancelled"}


def test_every_tool_that_is_missing_is_named_with_what_to_do() -> None:
    world = World()
    _, message, hint = failure_of(world.run(agent(prompt("p"), tools=["dob", "do", "zzz"])))
    assert message == "agent 'worker' names the tools 'dob' and 'zzz', which do not exist"
    assert hint == "did you mean 'do'?"
    _, _, hint = failure_of(world.run(agent(prompt("p"), tools=["zzz"])))
    assert "[tools.zzz]" in hint


def test_the_error_is_told_and_kept() -> None:
    world = World()
    events: list[Event] = []
    result = world.run(agent(prompt("p"), tools=["gone"]), on_event=events.append)
    assert [one.kind for one in events] == ["run.started", "step.cancelled", "run.finished"]
    kept = world.store.run(result.run_id)
    assert kept.failure == result.run.failure
    assert kept.to_json()["error"]["hint"] == failure_of(result)[2]


def test_a_tool_that_a_delegate_lacks_fails_the_run_at_once() -> None:
    kid = agent(prompt("k"), agent_id="kid", tools=["gone"])
    model = ScriptedModel(["said"] * 3)
    world = World(kid, agent(delegate("d", "kid"), agent_id="between"), model=model)
    result = world.run(agent(prompt("p"), delegate("d", "between")))
    assert failure_of(result)[:2] == (
        "TOOL_NOT_FOUND",
        "agent 'kid' names the tool 'gone', which does not exist",
    )
    assert model.requests == []


def test_a_run_goes_on_once_somebody_provides_the_tool() -> None:
    worker = agent(prompt("p"), tools=["read"], failureStrategy="rollback")
    world = World(worker, model=ScriptedModel(["said"]))
    result = world.run(worker)
    assert result.state == "failed"
    assert world.resume(result.run_id).run.failure == result.run.failure
    world.tools.register(schema_tool("read", {}, nothing))
    assert world.resume(result.run_id).success


def test_a_tool_that_is_gone_when_a_run_is_resumed_undoes_nothing() -> None:
    world = World()
    world.tools.register(schema_tool("read", {}, nothing))
    world.acts["b"] = iter([BROKEN, "fine"])
    read = {**do("a"), "config": {"tool": "read"}}
    result = world.run(agent(read, do("b")))
    assert states(result) == {"a": "succeeded", "b": "failed"}
    del world.tools._tools["read"]
    again = world.resume(result.run_id)
    assert failure_of(again)[0] == "TOOL_NOT_FOUND"
    assert states(again)["a"] == "succeeded"


# What the model sees of a result


@pytest.mark.parametrize(
    ("gives", "text"),
    [
        ("plain: ä", "plain: ä"),
        ("", ""),
        ({"got": ["ä", 1]}, '{"got": ["ä", 1]}'),
        (["a"], '["a"]'),
        (None, "null"),
        (3, "3"),
        (True, "true"),
    ],
)
def test_a_model_receives_the_output_of_a_tool_and_nothing_else(gives: Any, text: str) -> None:
    model = ScriptedModel([calls(), "said"])
    world = World(model=model)
    world.acts["p"] = iter([gives])
    world.run(agent(prompt("p"), tools=["do"]))
    assert model.requests[1].messages[-1].text == text


def test_a_model_receives_code_and_message_of_an_error_and_nothing_else() -> None:
    model = ScriptedModel([calls(), "said"])
    world = World(model=model)
    world.acts["p"] = BROKEN
    world.run(agent(prompt("p"), tools=["do"]))
    assert json.loads(model.requests[1].messages[-1].text) == {
        "error": {"code": "TOOL_EXECUTION_ERROR", "message": "'do': broken"}
    }


def test_how_long_a_tool_took_is_told_beside_its_result() -> None:
    events: list[Event] = []
    world = World(model=ScriptedModel([calls(), "said"]))
    world.run(agent(prompt("p"), tools=["do"]), on_event=events.append)
    (told,) = [one.data for one in events if one.kind == "tool.returned"]
    assert told["durationMs"] >= 0
