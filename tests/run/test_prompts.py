"""Prompt steps: what is sent, when tools are called, what an answer must be, what goes wrong."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import metier
from metier.errors import ModelError
from metier.lint.agents import validate_agent
from metier.run.models import OfflineModel, ScriptedModel
from metier.run.services import Prepared
from metier.run.tool import ToolContext, schema_tool
from metier.values.models import ModelReply, ToolCall
from metier.values.runs import Event, RunResult, Usage
from run.world import (
    BROKEN,
    Data,
    World,
    agent,
    do,
    prompt,
)


def handed(text: str = "KNOWLEDGE", **record: Any) -> Prepared:
    return Prepared(text, record, tuple(record.get("providers", ())))


def calls(*args: Any, name: str = "do") -> ModelReply:
    """A reply that wants tools called, one for each of the arguments."""
    wanted = [ToolCall(f"call-{number}", name, one) for number, one in enumerate(args)]
    return ModelReply("", tool_calls=wanted)


# What is sent


@pytest.mark.invariant(id="INV-AGT-ABL-001")
def test_what_is_handed_over_stands_before_the_system_prompt_of_the_one_call() -> None:
    model = ScriptedModel(["said"])
    world = World(model=model)
    world.prepared = lambda _agent, _step, _task: handed()
    world.run(agent(prompt("p", "do {{ input }}"), systemPrompt="BASE"), input="it")
    (request,) = model.requests
    assert request.system == "KNOWLEDGE\n\nBASE"
    assert [(one.role, one.text) for one in request.messages] == [("user", "do it")]


@pytest.mark.invariant(id="INV-AGT-ABL-001")
def test_nothing_is_handed_over_once_the_prompt_was_sent() -> None:
    asked: list[str] = []
    model = ScriptedModel([calls({}), calls({}), "said"])
    world = World(model=model)

    def prepare(_agent: Any, _step: Any, task: str) -> Prepared:
        assert len(model.requests) == 0
        asked.append(task)
        return handed()

    world.prepared = prepare
    world.run(agent(prompt("p", "ask"), tools=["do"]))
    assert asked == ["ask"]
    assert [one.system for one in model.requests] == ["KNOWLEDGE"] * 3


def test_the_prompt_and_every_call_of_a_model_and_a_tool_are_kept_with_the_step() -> None:
    world = World(model=ScriptedModel([calls({"n": 1}), calls({"n": "x" * 9_000}), "said"]))
    result = world.run(agent(prompt("p", "ask {{ input }}"), tools=["do"]), input="it")
    (step,) = world.store.steps(result.run.key)
    assert step.input["prompt"] == "ask it"
    kinds = ["tool" if "tool" in one else "model" for one in step.input["calls"]]
    assert kinds == ["model", "tool", "model", "tool", "model"]
    short, long = (one for one in step.input["calls"] if "tool" in one)
    assert (short["tool"], short["args"], short["success"]) == ("do", '{"n": 1}', True)
    assert len(long["args"]) < 5_000


def test_without_anything_to_hand_over_the_system_prompt_stands_alone() -> None:
    model = ScriptedModel(["said", "said"])
    World(model=model).run(agent(prompt("p"), systemPrompt="BASE"))
    World(model=model).run(agent(prompt("p")))
    assert [one.system for one in model.requests] == ["BASE", ""]


def test_an_agent_without_a_workflow_is_sent_the_task_and_the_input() -> None:
    model = ScriptedModel(["said"] * 3)
    for given in (None, {"notes": ["ä"]}, "a text"):
        World(model=model).run(agent(), "write", input=given)
    sent = [one.messages[-1].text for one in model.requests]
    assert sent == ["write", 'write\n\nInput: {"notes": ["ä"]}', "write\n\nInput: a text"]


def test_temperature_and_length_of_the_profile_are_sent() -> None:
    model = ScriptedModel(["said"])
    World(model=model).run(agent(prompt("p"), temperature=0.5, maxTokens=77))
    assert (model.requests[0].temperature, model.requests[0].max_tokens) == (0.5, 77)


def test_the_model_is_that_of_the_call_else_of_the_profile_else_the_default() -> None:
    world = World()
    world.run(agent(prompt("p"), model="a:b"), model="c:d")
    world.run(agent(prompt("p"), model="a:b"))
    world.run(agent(prompt("p")))
    assert world.models == ["c:d", "a:b", ""]


def test_the_offline_model_says_what_it_is() -> None:
    result = World(model=OfflineModel()).run(agent(prompt("p", "{{ task }}")), "hello")
    assert "[offline model]" in result.output
    assert "Asked: hello" in result.output


# Tools


def test_the_model_calls_the_agent_s_tools_and_sees_what_they_gave() -> None:
    model = ScriptedModel([calls({"n": 1}, {"n": 2}), "said"])
    world = World(model=model)
    world.acts["p"] = iter([{"got": 1}, BROKEN])
    result = world.run(agent(prompt("p"), tools=["do"]))
    assert (result.output, world.calls) == ("said", ["p", "p"])
    _, second = model.requests
    user, assistant, one, two = second.messages
    assert (user.role, assistant.role) == ("user", "assistant")
    assert [one.name for one in assistant.tool_calls] == ["do", "do"]
    assert (one.role, one.call_id, one.tool_name) == ("tool", "call-0", "do")
    assert json.loads(one.text) == {"got": 1}
    assert json.loads(two.text)["error"]["code"] == "TOOL_EXECUTION_ERROR"
    assert (result.usage.requests, result.usage.tool_calls) == (2, 2)


async def nothing(_args: Data) -> None:
    """Do nothing."""


@pytest.mark.parametrize(
    ("of_step", "of_agent", "offered"),
    [
        (None, ["read", "write"], ["read", "write"]),
        (["write", "do"], ["read", "write"], ["write"]),
        ([], ["read", "write"], []),
        (None, None, []),
        (None, [], []),
        (["read"], ["write"], []),
        (["read"], None, ["read"]),
    ],
)
def test_only_tools_of_the_agent_that_the_step_names_are_offered(
    of_step: list[str] | None, of_agent: list[str] | None, offered: list[str]
) -> None:
    model = ScriptedModel(["said"])
    world = World(model=model)
    for name in ("read", "write"):
        world.tools.register(schema_tool(name, {}, nothing))
    step = prompt("p", **({} if of_step is None else {"tools": of_step}))
    more: Data = {} if of_agent is None else {"tools": of_agent}
    world.run(agent(step, **more))
    assert [one.name for one in model.requests[0].tools] == offered


def test_a_tool_that_the_agent_may_not_call_is_refused_as_a_value() -> None:
    model = ScriptedModel([calls({}), "said"])
    world = World(model=model)
    world.tools.register(schema_tool("other", {}, nothing))
    result = world.run(agent(prompt("p"), tools=["other"]))
    assert (result.output, world.calls) == ("said", [])
    assert "TOOL_PERMISSION_DENIED" in model.requests[1].messages[-1].text


def test_a_tool_that_the_step_does_not_list_is_refused_as_a_value() -> None:
    world = World(model=ScriptedModel([calls({}), "said"]))
    world.run(agent(prompt("p", tools=[]), tools=["do"]))
    assert world.calls == []


def test_a_call_that_is_malformed_is_a_value_for_the_model() -> None:
    model = ScriptedModel([calls("no JSON"), calls({}, name="gone"), "said"])
    world = World(model=model)
    result = world.run(agent(prompt("p"), tools=["do"]))
    assert (result.output, world.calls) == ("said", [])
    assert "TOOL_VALIDATION_ERROR" in model.requests[1].messages[-1].text
    assert "TOOL_NOT_FOUND" in model.requests[2].messages[-1].text


@pytest.mark.parametrize(("rounds", "success"), [(2, False), (3, True), (None, True)])
def test_the_rounds_of_tool_calls_are_bounded(rounds: int | None, success: bool) -> None:
    model = ScriptedModel([calls({}), calls({}), calls({}), "said"])
    world = World(model=model)
    more: Data = {} if rounds is None else {"maxToolRounds": rounds}
    result = world.run(agent(prompt("p", **more), tools=["do"]))
    assert result.success == success
    if not success:
        assert result.run.failure is not None
        assert result.run.failure.code == "MODEL_TOOL_ROUNDS_EXCEEDED"
        assert len(model.requests) == 3


def test_the_rounds_are_8_unless_the_step_says_otherwise() -> None:
    model = ScriptedModel([*[calls({})] * 20])
    result = World(model=model).run(agent(prompt("p"), tools=["do"]))
    assert result.run.failure is not None
    assert (result.run.failure.code, len(model.requests)) == ("MODEL_TOOL_ROUNDS_EXCEEDED", 9)


@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_no_tool_is_called_beyond_the_rounds(rounds: int) -> None:
    world = World(model=ScriptedModel([calls({})] * 4))
    world.run(agent(prompt("p", maxToolRounds=rounds), tools=["do"]))
    assert len(world.calls) == rounds


def test_a_tool_of_a_model_knows_its_step_and_attempt() -> None:
    world = World(model=ScriptedModel([calls({}), "said"]))
    contexts: list[ToolContext] = world.contexts
    result = world.run(agent(prompt("p"), tools=["do"]))
    assert [(one.run_id, one.step_id, one.attempt) for one in contexts] == [(result.run_id, "p", 1)]


def test_two_calls_of_a_model_are_two_pieces_of_work() -> None:
    world = World(model=ScriptedModel([calls({"to": "ann"}, {"to": "bob"}), "said"]))
    world.run(agent(prompt("p"), tools=["do"]))
    assert len({one.idempotency_key for one in world.contexts}) == 2


@pytest.mark.parametrize(
    ("again", "keys"),
    [
        ("ann", 1),
        ("bob", 2),
    ],
)
def test_the_same_call_in_the_next_attempt_is_the_same_work_and_another_is_not(
    again: str, keys: int
) -> None:
    model = ScriptedModel([calls({"to": "ann"}), "no JSON", calls({"to": again}), "[1]"])
    world = World(model=model)
    retry = {"maxAttempts": 2, "backoffMs": 100}
    step = prompt("p", outputSchema={"type": "array"}, retryPolicy=retry)
    assert world.run(agent(step, tools=["do"])).success
    assert len({one.idempotency_key for one in world.contexts}) == keys


# Answers


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize("answer", ['{"n": 1}', '```json\n{"n": 1}\n```'])
def test_an_answer_under_a_schema_is_a_value(answer: str) -> None:
    model = ScriptedModel([answer])
    result = World(model=model).run(agent(prompt("p", outputSchema=SCHEMA, outputs=["n"])))
    assert (result.output, result.outputs) == ({"n": 1}, {"n": 1})
    assert model.requests[0].output_schema == SCHEMA


@pytest.mark.parametrize("answer", ["", "text", '{"n": "x"}', "{}", "[1]", '{"n": 1'])
def test_an_answer_that_does_not_fit_its_schema_fails_and_may_be_tried_again(answer: str) -> None:
    retry = {"maxAttempts": 2, "backoffMs": 100}
    world = World(model=ScriptedModel([answer, '{"n": 2}']))
    assert world.run(agent(prompt("p", outputSchema=SCHEMA, retryPolicy=retry))).output == {"n": 2}
    result = World(model=ScriptedModel([answer])).run(agent(prompt("p", outputSchema=SCHEMA)))
    assert result.run.failure is not None
    assert result.run.failure.code == "MODEL_OUTPUT_INVALID"
    assert len(result.run.failure.message.splitlines()) == 1


def outcome(model: ScriptedModel, *steps: Data) -> RunResult:
    return World(agent(do("k"), agent_id="kid"), model=model).run(agent(*steps))


def test_an_answer_that_is_no_json_is_a_failure() -> None:
    result = outcome(ScriptedModel(["[NaN]"]), prompt("p", outputSchema={}))
    assert result.state == "failed"


@pytest.mark.parametrize("schema", [{"type": "text"}, {"type": "string", "pattern": "("}])
def test_a_schema_that_is_none_is_an_error_of_the_profile(schema: Data) -> None:
    data = {"agentId": "a", "description": "d", "workflow": [prompt("p", outputSchema=schema)]}
    assert [issue.code for issue in validate_agent(data)] == ["AG702"]


def test_a_schema_that_refers_to_what_is_not_there_is_a_failure() -> None:
    result = outcome(ScriptedModel(['"x"']), prompt("p", outputSchema={"$ref": "#/gone"}))
    assert result.state == "failed"


# Errors


@pytest.mark.parametrize("kind", ["timeout", "rateLimit", "serverError", "networkError", ""])
def test_an_error_of_the_model_is_a_failure_of_its_kind(kind: str) -> None:
    events: list[Event] = []
    model = ScriptedModel([ModelError("it is busy", kind=kind, code="MODEL_BUSY")])
    result = World(model=model).run(agent(prompt("p")), on_event=events.append)
    failure = result.run.failure
    assert failure is not None
    assert (failure.code, failure.message, failure.kind) == ("MODEL_BUSY", "it is busy", kind)
    assert failure.retryable == bool(kind)
    (failed,) = [one for one in events if one.kind == "model.failed"]
    schema = json.loads((Path(metier.__file__).parent / "schemas/event.v1.schema.json").read_text())
    jsonschema.validate(failed.to_json(), schema)
    assert failed.to_json()["errorKind"] == kind


def test_what_the_model_did_is_told() -> None:
    events: list[Event] = []
    model = ScriptedModel([ModelReply("said", usage=Usage(1, 2, requests=1))], name="test:x")
    World(model=model).run(agent(prompt("p")), on_event=events.append)
    told = {one.kind: one.data for one in events if one.kind.startswith("model.")}
    assert list(told) == ["model.asked", "model.text", "model.answered"]
    assert told["model.answered"]["usage"]["outputTokens"] == 2
    assert told["model.text"]["text"] == "said"
