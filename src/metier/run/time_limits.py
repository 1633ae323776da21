"""Limits of time for steps and runs, which hold for the templates in them too."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from metier.core.template_work import until

_GRACE_SECONDS = 1.0


@asynccontextmanager
async def time_limit(seconds: float | None) -> AsyncIterator[asyncio.Timeout | None]:
    """Stop what is done in the block after so many seconds, with `TimeoutError`."""
    if seconds is None:
        yield None
        return
    with until(time.monotonic() + seconds):
        async with asyncio.timeout(seconds) as limit:
            yield limit


async def stopped() -> Any:
    """Wait to be stopped by the limit that a template has passed.

    A template is rendered in one go, so that its limit can stop it only here. Which limit it was,
    of the step, of one around it or of the run, nobody else needs to know.
    """
    await asyncio.sleep(_GRACE_SECONDS)
    raise TimeoutError
