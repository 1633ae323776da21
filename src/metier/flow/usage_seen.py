"""How skills were used, for pages: stored counts and, on request, transcripts; writes nothing."""

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from metier.flow.usage import Question, Rank, SkillNames, read_usage
from metier.flow.usage import Reading as UsageReading
from metier.flow.usage_kept import merged_sessions, stored_sessions
from metier.flow.usage_sessions import SessionUse, SkillUse, joined
from metier.storage.room import Room
from metier.values.rows import Row

if TYPE_CHECKING:
    from metier.config import Config
    from metier.flow.shared import SharedState

DAY = 86_400


class UsageSeen(NamedTuple):
    """What is known of the use of skills."""

    sessions: Sequence[SessionUse]
    skills: Sequence[SkillUse]
    """Most used first."""
    reading: UsageReading | None
    """What the transcripts say; None if they were not read."""


def usage_seen(
    rows: Sequence[Row],
    room: Room | None,
    question: Question | None = None,
    rank: Rank | None = None,
) -> UsageSeen:
    """Stored counts, with those of the transcripts that a question names. Raises `OSError`."""
    names = SkillNames(rows)
    sessions = stored_sessions(room) if room is not None else []
    if question is None:
        return UsageSeen(sessions, joined(names.handles, sessions, {}), None)
    reading = read_usage(names, question, environ=os.environ, rank=rank)
    sessions = merged_sessions(sessions, reading.sessions)
    return UsageSeen(sessions, joined(names.handles, sessions, reading.missed), reading)


def firings_by_day(
    sessions: Sequence[SessionUse], days: int, now: float | None = None
) -> dict[str, int]:
    """How often skills fired on each of the last days; a session counts on its last day."""
    now = time.time() if now is None else now
    found: Counter[int] = Counter()
    for session in sessions:
        for count in session.skills.values():
            if count.last and count.last <= now:
                found[int((now - count.last) // DAY)] += count.model + count.user
    return {_date(now - ago * DAY): found[ago] for ago in range(days - 1, -1, -1)}


def _date(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")


def outcomes_of(
    workspace: str, config: "Config", shared: "SharedState | None"
) -> Mapping[str, Sequence[int]]:
    """The last outcomes of each provider, oldest first; none in an untrusted workspace."""
    from metier.resolve.reliability import Reliability  # only pages need it

    if not config.is_workspace or not config.is_trusted:
        return {}
    return shared.outcomes.read() if shared is not None else Reliability(workspace).outcomes()
