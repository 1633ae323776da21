"""The option `--since`."""

import re
from datetime import datetime

from metier.errors import UsageError
from metier.flow.hook_log import LATEST

_SPAN = re.compile(r"([0-9]{1,6})([mhdw])")
_SECONDS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def moment(text: str, now: float) -> float:
    """`7d` ago, or the start of a local date, in seconds since 1970. Raises `UsageError`."""
    span = _SPAN.fullmatch(text)
    try:
        if span:
            found = now - int(span[1]) * _SECONDS[span[2]]
        else:
            found = datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        found = LATEST
    if found >= LATEST:
        raise UsageError(f"'{text}' is not a time", hint="--since 7d, or --since 2026-11-01")
    return max(found, 0.0)
