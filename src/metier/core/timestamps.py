"""Timestamps in ISO 8601 and UTC, and ids that sort by time."""

import os
from datetime import UTC, datetime


def now_iso() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def to_iso(seconds: float) -> str:
    """Seconds since 1970 as text, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def from_iso(text: str) -> float:
    """Seconds since 1970; UTC unless `text` has a zone. Raises `ValueError`."""
    parsed = datetime.fromisoformat(text)
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


def new_id(timestamp: str | None = None) -> str:
    """A unique id such as `20260131T120000.123456-9f3a`."""
    stamp = (timestamp or now_iso()).replace("-", "").replace(":", "")
    return f"{stamp[:22]}-{os.urandom(2).hex()}"
