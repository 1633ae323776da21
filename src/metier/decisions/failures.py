"""What went wrong in hooks: `.metier/hook.log`, read."""

import os
from datetime import datetime
from typing import NamedTuple

from metier.config import STATE_FOLDER

LOG, STATE = "hook.log", "hook.state"
"""Lines of `time who: what`; a file that each refresh that ends well writes anew."""
_REFRESH = "refresh: "
_MOST_BYTES = 1 << 20


class Failure(NamedTuple):
    """A refresh that came to nothing."""

    at: float
    """Seconds since 1970."""
    what: str


def failed_refresh(workspace: str) -> Failure | None:
    """The last refresh for hooks that failed; None when one has ended well since."""
    folder = os.path.join(workspace, STATE_FOLDER)
    for line in reversed(_last_lines(os.path.join(folder, LOG))):
        failure = _failure(line)
        if failure:
            return failure if failure.at >= _refreshed(os.path.join(folder, STATE)) else None
    return None


def _last_lines(path: str) -> list[str]:
    """The lines at the end of a file; none when it cannot be read."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.path.getsize(path) - _MOST_BYTES))
            return file.read(_MOST_BYTES).decode(errors="replace").splitlines()
    except OSError:
        return []


def _failure(line: str) -> Failure | None:
    """What a line says about a refresh; None when it is about something else."""
    when, _, what = line.partition(" ")
    if not what.startswith(_REFRESH):
        return None
    try:
        return Failure(datetime.fromisoformat(when).timestamp(), what.removeprefix(_REFRESH))
    except (ValueError, OverflowError, OSError):
        return None


def _refreshed(path: str) -> int:
    """The second of the last refresh that ended well: a line of the log knows no less."""
    try:
        return int(os.stat(path).st_mtime)
    except OSError:
        return 0
