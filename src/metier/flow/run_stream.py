"""The events of a run, as they happen."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Self

from metier.errors import UsageError
from metier.values.runs import Event, OnEvent, RunResult

Start = Callable[[OnEvent], Coroutine[Any, Any, RunResult]]


class RunStream:
    """The events of a run: `async with catalog.stream(…) as stream: async for event in stream`.

    The run starts with the first event that is asked for; `stream.result` is set once it has ended,
    at the latest after the last event. Leaving `async with` cancels a run that has not ended.
    Outside of it, reading events raises `UsageError`: a loop that is left would leave the run
    without an end.
    """

    def __init__(self, start: Start) -> None:
        self._start = start
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._task: asyncio.Task[RunResult] | None = None
        self._is_open = False

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        if not self._is_open:
            hint = "async with catalog.stream(…) as stream: async for event in stream: …"
            raise UsageError("a stream is read inside 'async with'", hint=hint)
        if self._task is None:
            self._task = asyncio.ensure_future(self._start(self._events.put_nowait))
            self._task.add_done_callback(lambda _: self._events.put_nowait(None))
        event = await self._events.get()
        if event is not None:
            return event
        self._events.put_nowait(None)  # asking again ends again
        await self._task  # raises what ended the run before its time
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        self._is_open = True
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Cancel the run if it has not ended; no more events can be read."""
        self._is_open = False
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait((self._task,))

    @property
    def result(self) -> RunResult:
        """The result. Raises `UsageError` until the run has ended, and if it was cancelled."""
        if self._task is None or not self._task.done():
            raise UsageError("the run has not ended", hint="read all events of the stream first")
        if self._task.cancelled():
            hint = "catalog.run_result(event.run_id) has what was stored"
            raise UsageError("the run was cancelled", hint=hint)
        return self._task.result()
