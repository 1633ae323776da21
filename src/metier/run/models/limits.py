"""What the settings allow a model: time, retries, and tokens."""

import asyncio
import json
from collections.abc import Awaitable, Callable

from metier.core.budget import count_tokens
from metier.core.json_values import thaw
from metier.errors import ModelError
from metier.run.models.endpoints import Endpoint
from metier.values.models import ModelReply, ModelRequest
from metier.values.run_settings import ModelOptions

Ask = Callable[[ModelRequest], Awaitable[ModelReply]]
Connect = Callable[[], tuple[Ask, Endpoint]]
"""Blocks. What it gives asks once."""
FIRST_DELAY = 0.5
"""Seconds before the first retry; each later one waits twice as long."""
LONGEST_DELAY = 8.0
LONGEST_WISH = 60.0
"""The most seconds that a provider may ask to wait; an error that asks for more is not retried."""


def limited(request: ModelRequest, options: ModelOptions, endpoint: Endpoint) -> ModelRequest:
    """The request with the most tokens of an answer. Raises `ModelError` if it is too long."""
    tokens = tokens_of(request)
    if options.context is not None and tokens > options.context:
        setting = endpoint.setting_of_model("context")
        message = (
            f"the prompt for {endpoint} has about {tokens:,} tokens;"
            f" {setting} allows {options.context:,}"
        )
        raise ModelError(message, code="MODEL_CONTEXT_EXCEEDED")
    if request.max_tokens is None and options.max_tokens is not None:
        return request._replace(max_tokens=options.max_tokens)
    return request


def tokens_of(request: ModelRequest) -> int:
    """About how many tokens the prompt has, with its tools."""
    tools = [(tool.name, tool.description, thaw(dict(tool.parameters))) for tool in request.tools]
    calls = [[thaw(call.args) for call in one.tool_calls] for one in request.messages]
    texts = [request.system, *(one.text for one in request.messages)]
    return count_tokens("\n".join(texts) + json.dumps([tools, calls], default=str))


async def ask_within(connect: Connect, request: ModelRequest, options: ModelOptions) -> ModelReply:
    """The answer, in time; asked again after a transient error unless text has arrived."""
    retries, has_begun = options.retries or 0, False
    on_text = request.on_text

    def heard(text: str) -> None:
        nonlocal has_begun
        has_begun = True
        if on_text is not None:
            on_text(text)

    if on_text is not None:
        request = request._replace(on_text=heard)
    for number in range(retries + 1):
        try:
            return await _in_time(connect, request, options.timeout)
        except ModelError as error:
            delay = delay_before_retry(error, number)
            if delay is None or has_begun or number == retries:
                raise
        await asyncio.sleep(delay)
    raise AssertionError("the last attempt returns or raises")


def delay_before_retry(error: ModelError, number: int) -> float | None:
    """Seconds to wait before retry `number`, counted from 0; None if a retry does not help."""
    wished = error.retry_after or 0.0
    if not error.kind or wished > LONGEST_WISH:
        return None
    return max(wished, min(FIRST_DELAY * 2.0**number, LONGEST_DELAY))


async def _in_time(connect: Connect, request: ModelRequest, seconds: float | None) -> ModelReply:
    ask, endpoint = await asyncio.to_thread(connect)  # it loads much, and reads certificates
    try:
        async with asyncio.timeout(seconds) as limit:
            return await ask(request)
    except TimeoutError:
        if not limit.expired():
            raise
        setting = endpoint.setting_of_model("timeout")
        message = f"{endpoint} did not answer within {seconds:g} s ({setting})"
        raise ModelError(message, kind="timeout") from None
