"""Server-sent events, which end when the browser leaves and when the server stops."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

from starlette.responses import PlainTextResponse, Response, StreamingResponse

from metier.errors import MetierError
from metier.safety.escapes import escaped_json
from metier.web.page import Data

MOST_AT_ONCE = 50
BEAT_SECONDS = 10.0
"""How often something is sent, so that a browser that left is noticed."""
_BEAT = ": still here\n\n"
_END = "event: end\ndata: {}\n\n"
_RETRY = "retry: 2000\n\n"


class EventAnswers:
    """Answers with events until they end, the browser leaves or `stopping` is set."""

    def __init__(self, stopping: asyncio.Event) -> None:
        self._stopping = stopping
        self.open = 0

    def answer(self, events: AsyncGenerator[Data, None]) -> Response:
        if self.open >= MOST_AT_ONCE:
            return PlainTextResponse("too many pages are live", 503)
        return StreamingResponse(self._sent(events), media_type="text/event-stream")

    async def _sent(self, events: AsyncGenerator[Data, None]) -> AsyncGenerator[str, None]:
        self.open += 1
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            async with aclosing(self._until(events, stopping)) as found:
                yield _RETRY
                async for text in found:
                    yield text
        finally:
            self.open -= 1
            stopping.cancel()

    async def _until(
        self, events: AsyncGenerator[Data, None], stopping: "asyncio.Future[Any]"
    ) -> AsyncGenerator[str, None]:
        following = asyncio.ensure_future(_next(events))
        try:
            while not stopping.done():
                await asyncio.wait(
                    (following, stopping),
                    timeout=BEAT_SECONDS,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if not following.done():
                    yield _BEAT
                    continue
                found = following.result()
                if found is None:
                    yield _END
                    return
                yield f"data: {escaped_json(json.dumps(found))}\n\n"
                following = asyncio.ensure_future(_next(events))
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await following
            with suppress(Exception):
                await events.aclose()


async def _next(events: AsyncGenerator[Data, None]) -> Data | None:
    """The next event; None after the last, and where there is nothing to tell."""
    with suppress(MetierError):
        return await anext(events, None)
    return None
