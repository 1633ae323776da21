"""Moments as text: ISO 8601 in UTC."""

from datetime import UTC, datetime


def iso_moment(seconds: float) -> str:
    """Seconds since 1970 as text, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def seconds_of(moment: str) -> float:
    """Seconds since 1970; UTC where the text names no zone. Raises `ValueError`."""
    read = datetime.fromisoformat(moment)
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
