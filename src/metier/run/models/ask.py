"""Asks a model through pydantic_ai, which it loads: import it inside functions only."""

import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from pydantic_ai import messages as theirs
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.exceptions import ContentFilterError
from pydantic_ai.messages import (
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from metier.core.json_values import thaw
from metier.run.models.connect import Connection, CutOffError, failures_of, is_whole
from metier.run.models.endpoints import Endpoint
from metier.run.models.offline import arguments_of, value_of
from metier.values.models import Message, ModelReply, ModelRequest, ToolCall
from metier.values.runs import Usage

_FORM = """Answer with JSON only, without any other text. It has to follow this JSON Schema:
"""


class Translated(NamedTuple):
    messages: list[theirs.ModelMessage]
    settings: ModelSettings
    parameters: ModelRequestParameters


def translated(request: ModelRequest, client: Model) -> Translated:
    """The request for this client."""
    enforced = _enforced(request, client)
    system = request.system if enforced else _with_form(request.system, request.output_schema)
    parameters = ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=_plain(tool.parameters),
            )
            for tool in request.tools
        ],
        output_mode="native" if enforced else "text",
        output_object=enforced,
        instruction_parts=[theirs.InstructionPart(content=system)] if system else [],
    )
    return Translated(list(_messages(request.messages)), _settings(request), parameters)


def _enforced(request: ModelRequest, client: Model) -> OutputObjectDefinition | None:
    """The schema, if the provider can enforce it: only for objects, and without tools."""
    schema = request.output_schema
    if schema is None or schema.get("type") != "object" or request.tools:
        return None
    can = client.profile.get("supports_json_schema_output", False)
    return OutputObjectDefinition(json_schema=_plain(schema)) if can else None


def _with_form(system: str, schema: Mapping[str, Any] | None) -> str:
    if schema is None:
        return system
    form = f"{_FORM}{json.dumps(_plain(schema), ensure_ascii=False)}"
    return f"{system}\n\n{form}" if system else form


def _settings(request: ModelRequest) -> ModelSettings:
    settings = ModelSettings(max_retries=0)
    if request.temperature is not None:
        settings["temperature"] = request.temperature
    if request.max_tokens is not None:
        settings["max_tokens"] = request.max_tokens
    return settings


def _messages(messages: Sequence[Message]) -> Iterator[theirs.ModelMessage]:
    """Their turns: a request is all messages up to the next answer."""
    for is_answer, turn in groupby(messages, lambda one: one.role == "assistant"):
        if is_answer:
            answered = [part for message in turn for part in _answered(message)]
            if answered:
                yield theirs.ModelResponse(parts=answered)
        else:
            yield theirs.ModelRequest(parts=[_request_part(message) for message in turn])


def _request_part(message: Message) -> theirs.ModelRequestPart:
    if message.role == "tool":
        return theirs.ToolReturnPart(
            tool_name=message.tool_name, content=message.text, tool_call_id=message.call_id
        )
    return theirs.UserPromptPart(content=message.text)


def _answered(message: Message) -> list[theirs.ModelResponsePart]:
    parts: list[theirs.ModelResponsePart] = []
    if message.text:
        parts.append(theirs.TextPart(content=message.text))
    parts += [
        theirs.ToolCallPart(tool_name=call.name, args=_args(call), tool_call_id=call.id)
        for call in message.tool_calls
    ]
    return parts


def _args(call: ToolCall) -> str | dict[str, Any]:
    return call.args if isinstance(call.args, str) else _plain(call.args)


def _plain(mapping: Mapping[str, Any]) -> dict[str, Any]:
    copied: dict[str, Any] = thaw(dict(mapping))
    return copied


def reply_of(response: theirs.ModelResponse, request: ModelRequest) -> ModelReply:
    text = response.text or ""
    return ModelReply(
        text,
        [
            ToolCall(part.tool_call_id, part.tool_name, arguments_of(part.args))
            for part in response.tool_calls
        ],
        Usage(response.usage.input_tokens, response.usage.output_tokens, _cost(response), 1),
        value_of(text) if request.output_schema is not None else None,
    )


def _cost(response: theirs.ModelResponse) -> float:
    """In US dollars; 0.0 when unknown."""
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return 0.0


Guard = Callable[[], AbstractContextManager[None]]


async def ask(
    endpoint: Endpoint, connection: Connection, request: ModelRequest, hidden: str = ""
) -> ModelReply:
    """The answer. Raises `ModelError`, without `hidden`, the key, in any message."""
    guard = partial(failures_of, endpoint, hidden, connection.received)
    asked = translated(request, connection.model)
    if request.on_text:
        response = await _streamed(guard, connection, asked, request.on_text)
    else:
        response = await _whole(guard, connection, asked)
    with guard():
        if response.finish_reason == "content_filter" and not response.parts:
            raise ContentFilterError("")
        return reply_of(response, request)


async def _whole(guard: Guard, connection: Connection, asked: Translated) -> ModelResponse:
    with guard():
        async with connection.http, connection.model as client:
            return await model_request(
                client,
                asked.messages,
                model_settings=asked.settings,
                model_request_parameters=asked.parameters,
            )


async def _streamed(
    guard: Guard, connection: Connection, asked: Translated, on_text: Callable[[str], None]
) -> ModelResponse:
    """The whole answer; what `on_text` raises is not an error of the model."""
    response = ModelResponse(parts=[])
    async with aclosing(_pieces(guard, connection, asked)) as pieces:
        async for piece in pieces:
            if isinstance(piece, str):
                on_text(piece)
            else:
                response = piece
    return response


async def _pieces(
    guard: Guard, connection: Connection, asked: Translated
) -> AsyncGenerator[str | ModelResponse, None]:
    """The text as it arrives, then the response."""
    with guard():
        async with (
            connection.http,
            connection.model as client,
            model_request_stream(
                client,
                asked.messages,
                model_settings=asked.settings,
                model_request_parameters=asked.parameters,
            ) as stream,
        ):
            async for event in stream:
                if text := _text_of(event):
                    yield text
            if not is_whole(client, response := stream.get()):
                raise CutOffError
            yield response


def _text_of(event: ModelResponseStreamEvent) -> str:
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""
