"""One prompt step: ask a model, call the tools that it wants, until it answers."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import isawaitable
from typing import Any

from metier.core.arguments import described
from metier.errors import ModelError
from metier.run.plan import DEFAULT_TOOL_ROUNDS
from metier.run.services import StepFailedError
from metier.values.agents import AgentProfile, ToolResult
from metier.values.models import Message, Model, ModelReply, ModelRequest, ToolSpec, own_price
from metier.values.runs import Failure, Usage

CallTool = Callable[[str, Any], Awaitable[ToolResult]]


async def ask_model(
    model: Model,
    profile: AgentProfile,
    config: Mapping[str, Any],
    system: str,
    prompt: str,
    tools: Sequence[ToolSpec],
    *,
    call: CallTool,
    used: Callable[[Usage], None],
    emit: Callable[..., None],
    shown: Callable[[str, str], str] = lambda _tool, text: text,
) -> Any:
    """The answer: text, or a value of the step's schema.

    `shown` says what the model is shown of the result of a tool, by the tool's name.
    """
    messages = [Message("user", prompt)]
    rounds = config.get("maxToolRounds", DEFAULT_TOOL_ROUNDS)
    schema = config.get("outputSchema")
    for number in range(rounds + 1):
        request = ModelRequest(
            system=system,
            messages=tuple(messages),
            tools=tools if rounds else (),
            output_schema=schema,
            temperature=profile.data.get("temperature"),
            max_tokens=profile.data.get("maxTokens"),
            on_text=lambda text: emit("model.text", text=text),
        )
        reply = await _reply(model, request, emit)
        used(reply.usage)
        if not reply.tool_calls:
            return reply.text if schema is None else _value(reply, schema)
        if number == rounds:
            break
        messages.append(Message("assistant", reply.text, tool_calls=reply.tool_calls))
        for one in reply.tool_calls:
            result = await call(one.name, one.args)
            said = shown(one.name, _seen_by_model(result))
            messages.append(Message("tool", said, call_id=one.id, tool_name=one.name))
    message = f"the model called tools in more than {rounds} rounds"
    raise StepFailedError(Failure("MODEL_TOOL_ROUNDS_EXCEEDED", message))


async def _reply(model: Model, request: ModelRequest, emit: Callable[..., None]) -> ModelReply:
    emit("model.asked", model=model.name, messages=len(request.messages))
    try:
        reply = await _checked(model.respond(request), model.name)
    except ModelError as error:
        emit("model.failed", model=model.name, error=error.message, errorKind=error.kind)
        failure = Failure(error.code, error.message, error.kind, retryable=bool(error.kind))
        raise StepFailedError(failure) from error
    price = own_price(model)
    if price is not None and not reply.usage.cost:
        reply = reply._replace(usage=reply.usage._replace(cost=price.cost(reply.usage)))
    emit("model.answered", model=model.name, usage=reply.usage.to_json())
    return reply


async def _checked(answer: Any, name: str) -> ModelReply:
    """The answer of a model that the user wrote. Raises `ModelError` if it is not a reply."""
    if not isawaitable(answer):
        raise ModelError(f"the model {name} cannot be awaited: write 'async def respond'")
    reply = await answer
    if not isinstance(reply, ModelReply):
        given = described(reply)
        raise ModelError(f"the model {name} must answer with a ModelReply, not {given}")
    return reply


def _seen_by_model(result: ToolResult) -> str:
    """The output, a string as it is and anything else as JSON; or the error."""
    if result.success and isinstance(result.output, str):
        return result.output
    error = {"error": {"code": result.error_code, "message": result.error}}
    return json.dumps(result.output if result.success else error, ensure_ascii=False)


def _value(reply: ModelReply, schema: Mapping[str, Any]) -> Any:
    """The answer as a value of the schema."""
    from jsonschema import exceptions, validators  # rarely needed

    value, is_retryable = reply.data, True
    try:
        if value is None:
            value = json.loads(reply.text)
        json.dumps(value, allow_nan=False)
        validators.validator_for(schema)(schema).validate(value)
        return value
    except (ValueError, exceptions.ValidationError) as error:
        reason = f"the answer does not match the schema: {_first_line(error)}"
    except Exception as error:  # the schema itself is wrong
        reason, is_retryable = f"the outputSchema cannot be used: {_first_line(error)}", False
    raise StepFailedError(Failure("MODEL_OUTPUT_INVALID", reason, retryable=is_retryable))


def _first_line(error: Exception) -> str:
    said = str(getattr(error, "message", "") or error) or type(error).__name__
    return said.splitlines()[0][:200]
