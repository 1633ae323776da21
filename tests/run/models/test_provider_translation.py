"""What a provider's model is asked, and what becomes of its answer; no server is needed."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai import messages as theirs
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel as ToolCallingModel  # pytest would collect a Test…
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.usage import RequestUsage

from metier.core.json_values import freeze
from metier.errors import ModelError
from metier.run.models import ProviderModel
from metier.values.models import Message, ModelReply, ModelRequest, ToolCall, ToolSpec
from metier.values.runs import Usage

LOOK = ToolSpec("look", "Looks at it.", {"type": "object", "properties": {"at": {}}})
HELLO = ModelRequest("Be kind.", [Message("user", "Hello")])
ANSWER = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


class Recorder:
    """Answers with given parts, and keeps what it was asked."""

    def __init__(self, *parts: theirs.ModelResponsePart, **more: Any) -> None:
        self.response = theirs.ModelResponse(parts=parts, **more)
        self.messages: list[theirs.ModelMessage] = []

    def __call__(
        self, messages: list[theirs.ModelMessage], info: AgentInfo
    ) -> theirs.ModelResponse:
        self.messages, self.info = messages, info
        return self.response

    def asked(self, request: ModelRequest, profile: ModelProfile | None = None) -> ModelReply:
        return respond(FunctionModel(self, profile=profile), request)


def respond(client: Model, request: ModelRequest) -> ModelReply:
    model = ProviderModel("their:model", connect=lambda: client)
    return asyncio.run(model.respond(request))


def text(content: str) -> theirs.TextPart:
    return theirs.TextPart(content=content)


def shape(message: theirs.ModelMessage) -> list[tuple[str, Any]]:
    """The kind of each part of a message, with what matters of it."""
    found: list[tuple[str, Any]] = []
    for part in message.parts:
        if isinstance(part, theirs.ToolCallPart):
            found.append((part.tool_call_id, part.args))
        elif isinstance(part, theirs.ToolReturnPart):
            found.append((f"{part.tool_name} {part.tool_call_id}", part.content))
        else:
            found.append((part.part_kind, getattr(part, "content", None)))
    return found


def test_the_system_prompt_goes_before_the_talk() -> None:
    there = Recorder(text("Hi"))
    there.asked(HELLO)
    assert there.info.instructions == "Be kind."
    assert [shape(message) for message in there.messages] == [[("user-prompt", "Hello")]]


def test_without_a_system_prompt_none_is_sent() -> None:
    there = Recorder(text("Hi"))
    there.asked(HELLO._replace(system=""))
    assert there.info.instructions is None


def test_the_history_keeps_its_order_calls_and_results() -> None:
    there = Recorder(text("Hi"))
    calls = [ToolCall("1", "look", freeze({"at": ["a"]})), ToolCall("2", "look", "{at:")]
    talk = [
        Message("user", "OnEvent"),
        Message("assistant", "I look.", calls),
        Message("tool", "seen a", call_id="1", tool_name="look"),
        Message("tool", "no JSON", call_id="2", tool_name="look"),
        Message("assistant", ""),
        Message("user", "And now?"),
    ]
    there.asked(HELLO._replace(messages=talk))
    assert [shape(message) for message in there.messages] == [
        [("user-prompt", "OnEvent")],
        [("text", "I look."), ("1", {"at": ["a"]}), ("2", "{at:")],
        [("look 1", "seen a"), ("look 2", "no JSON")],
        [("user-prompt", "And now?")],
    ]


def test_tools_are_offered_with_their_parameters() -> None:
    there = Recorder(text("Hi"))
    there.asked(HELLO._replace(tools=[LOOK]))
    (tool,) = there.info.function_tools
    assert (tool.name, tool.description) == (LOOK.name, LOOK.description)
    assert tool.parameters_json_schema == LOOK.parameters


def test_only_settings_that_were_given_are_sent_and_nothing_is_tried_twice() -> None:
    there = Recorder(text("Hi"))
    there.asked(HELLO)
    assert there.info.model_settings == {"max_retries": 0}
    there.asked(HELLO._replace(temperature=0.0, max_tokens=7))
    expected = {"max_retries": 0, "temperature": 0.0, "max_tokens": 7}
    assert there.info.model_settings == expected


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ('{"at": 1}', {"at": 1}),
        ({"at": 1}, {"at": 1}),
        ('{"at": ', '{"at": '),
        ("[1]", "[1]"),
        ('{"at": NaN}', '{"at": NaN}'),
        ("[" * 100_000, "[" * 100_000),
        ("", {}),
        (None, {}),
    ],
    ids=["object", "mapping", "broken", "list", "not a number", "deep", "empty", "none"],
)
def test_arguments_that_are_no_json_object_stay_a_text(args: Any, expected: Any) -> None:
    reply = Recorder(theirs.ToolCallPart("look", args, tool_call_id="7")).asked(HELLO)
    assert reply.tool_calls == [ToolCall("7", "look", expected)]
    assert reply.text == ""


def test_thoughts_are_no_part_of_the_text() -> None:
    reply = Recorder(theirs.ThinkingPart(content="hm"), text("Yes")).asked(HELLO)
    assert reply.text == "Yes"


def test_the_usage_is_what_the_provider_counted() -> None:
    used = RequestUsage(input_tokens=11, output_tokens=5)
    assert Recorder(text("Hi"), usage=used).asked(HELLO).usage == Usage(11, 5, 0.0, requests=1)


def test_an_answer_that_the_provider_held_back_is_an_error() -> None:
    with pytest.raises(ModelError, match="content filter") as caught:
        Recorder(finish_reason="content_filter").asked(HELLO)
    assert caught.value.kind == ""


def test_a_model_that_can_is_held_to_the_schema() -> None:
    there = Recorder(text('{"a": 1}'))
    reply = there.asked(HELLO._replace(output_schema=freeze(ANSWER)))
    parameters = there.info.model_request_parameters
    assert parameters.output_mode == "native"
    assert parameters.output_object is not None
    assert parameters.output_object.json_schema == ANSWER
    assert there.info.instructions == "Be kind."
    assert reply.data == {"a": 1}


@pytest.mark.parametrize(
    ("schema", "tools", "can"),
    [
        (ANSWER, [], False),
        (ANSWER, [LOOK], True),
        ({"type": "array", "items": {"type": "string"}}, [], True),
    ],
    ids=["model cannot", "with tools", "no object"],
)
def test_otherwise_the_schema_is_told_in_the_system_prompt(
    schema: dict[str, Any], tools: list[ToolSpec], can: bool
) -> None:
    there = Recorder(text('```json\n{"a": 1}\n```'))
    request = HELLO._replace(output_schema=freeze(schema), tools=tools)
    reply = there.asked(request, ModelProfile(supports_json_schema_output=can))
    assert there.info.model_request_parameters.output_mode == "text"
    told = there.info.instructions or ""
    assert told.startswith("Be kind.\n\nAnswer with JSON only")
    assert json.dumps(schema) in told
    assert reply.data == {"a": 1}


@pytest.mark.parametrize("answer", ["no JSON", '{"a": 1} and more', '{"a": NaN}', "```\n{\n```"])
def test_an_answer_that_is_no_json_has_no_value(answer: str) -> None:
    reply = Recorder(text(answer)).asked(HELLO._replace(output_schema=ANSWER))
    assert reply.data is None
    assert reply.text == answer


def test_without_a_schema_no_value_is_read() -> None:
    assert Recorder(text('{"a": 1}')).asked(HELLO).data is None


async def _stream(_: list[theirs.ModelMessage], __: AgentInfo) -> AsyncIterator[Any]:
    yield "I "
    yield "look."
    yield {1: DeltaToolCall(name="look", json_args='{"at"', tool_call_id="7")}
    yield {1: DeltaToolCall(json_args=": 1}")}


def test_a_streamed_answer_is_told_in_pieces_and_given_whole() -> None:
    pieces: list[str] = []
    request = HELLO._replace(on_text=pieces.append, tools=[LOOK])
    reply = respond(FunctionModel(stream_function=_stream), request)
    assert pieces == ["I ", "look."]
    assert reply.text == "I look."
    assert reply.tool_calls == [ToolCall("7", "look", {"at": 1})]
    assert reply.usage.requests == 1
    assert reply.usage.output_tokens > 0


def test_what_a_listener_raises_is_not_taken_for_an_error_of_the_model() -> None:
    def listen(_: str) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        respond(FunctionModel(stream_function=_stream), HELLO._replace(on_text=listen))


async def _breaking(_: list[theirs.ModelMessage], __: AgentInfo) -> AsyncIterator[Any]:
    yield "Half of "
    raise ConnectionResetError("gone")


def test_a_stream_that_breaks_off_is_an_error_after_the_pieces_that_came() -> None:
    pieces: list[str] = []
    with pytest.raises(ModelError) as caught:
        respond(FunctionModel(stream_function=_breaking), HELLO._replace(on_text=pieces.append))
    assert pieces == ["Half of "]
    assert caught.value.kind == "networkError"


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_talk_with_a_tool_comes_to_its_end(is_streamed: bool) -> None:
    there = ToolCallingModel(custom_output_text="All done.")
    on_text = (lambda _: None) if is_streamed else None
    request = HELLO._replace(tools=[LOOK], on_text=on_text)
    first = respond(there, request)
    (call,) = first.tool_calls
    assert call.name == "look"
    talk = [
        *request.messages,
        Message("assistant", first.text, first.tool_calls),
        Message("tool", "seen", call_id=call.id, tool_name=call.name),
    ]
    assert respond(there, request._replace(messages=talk)).text == "All done."
