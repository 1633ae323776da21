"""Puts one request to a client. Loads pydantic_ai: import it inside functions only."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, aclosing
from functools import partial

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

from metier.run.models.connect import Connection
from metier.run.models.failures import failures_of
from metier.run.models.translate import Translated, reply_of, translated
from metier.values.models import ModelReply, ModelRequest

Guard = Callable[[], AbstractContextManager[None]]
"""Within it every error is a `ModelError`."""


async def ask(
    name: str, connection: Connection, request: ModelRequest, hidden: str = ""
) -> ModelReply:
    """The answer, piece by piece when the request wants it so.

    Raises `ModelError`; no message of it has `hidden`, the key, in it.
    """
    guard = partial(failures_of, name, hidden)
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
    """The whole answer; what `on_text` raises is not taken for an error of the model."""
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
    """Each piece of the text as it comes, and at the end the response."""
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
            yield stream.get()


def _text_of(event: ModelResponseStreamEvent) -> str:
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""
