"""Names for what happens: sortable by time, and no two alike."""

import os
from datetime import UTC, datetime


def moment_now() -> str:
    """Now, in UTC, to the microsecond."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def new_id(moment: str | None = None) -> str:
    """An id for a run that begins now: 20260131T120000.123456-9f3a."""
    stamp = (moment or moment_now()).replace("-", "").replace(":", "")
    return f"{stamp[:22]}-{os.urandom(2).hex()}"
