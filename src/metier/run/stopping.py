"""Stopping steps that are at work."""

import asyncio

from metier.run.workflow import ReadyStep
from metier.values.runs import Failure

Running = dict["asyncio.Task[Failure | None]", ReadyStep]


async def stop(running: Running) -> list[tuple[ReadyStep, Failure]]:
    """Cancel these steps and wait for their end; those that failed all the same."""
    for task in running:
        task.cancel()
    ended = await asyncio.gather(*running, return_exceptions=True)
    pairs = zip(running.values(), ended, strict=True)
    return [(one, result) for one, result in pairs if isinstance(result, Failure)]
