"""What one session says about skills, and the sum over many."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from metier.core.coerce import integer_of, mapping_of, number_of, text_of
from metier.hosts.events import By, Fired
from metier.hosts.transcript_lines import possible


@dataclass
class Turn:
    """A prompt, and the skills that fired until the next prompt."""

    prompt: str
    at: float
    skills: list[str] = field(default_factory=list)


@dataclass
class Count:
    """How often a skill was used in one session."""

    model: int = 0
    user: int = 0
    read: int = 0
    last: float = 0.0
    """When it last fired; reading it does not count."""

    def add(self, by: By, at: float) -> None:
        setattr(self, by, getattr(self, by) + 1)
        if by != "read":
            self.last = max(self.last, at)

    def merge(self, other: "Count") -> None:
        """The larger counts: either may have seen only a part."""
        self.model, self.user = max(self.model, other.model), max(self.user, other.user)
        self.read, self.last = max(self.read, other.read), max(self.last, other.last)

    def to_json(self) -> list[float]:
        return [self.model, self.user, self.read, self.last]


class SessionUse:
    """The skills of one session. Holds no prompts, so that it can be stored."""

    def __init__(self, host: str, session: str) -> None:
        self.host = host
        self.id = session
        self.is_here = True
        """Whether it is a session of this workspace."""
        self.started = 0.0
        self.last = 0.0
        """When anything last happened that counts here."""
        self.skills: dict[str, Count] = {}
        self.others: Counter[str] = Counter()
        """Skills that are not in the catalog."""
        self._compactions: set[float] = set()
        self._last_use = 0.0

    def begin(self, at: float, *, is_here: bool) -> None:
        self.is_here = is_here
        self.started = min(self.started or at, at or self.started)
        self.went_on(at)

    def went_on(self, at: float) -> None:
        self.last = max(self.last, at)

    def compacted(self, at: float) -> None:
        self._compactions.add(at)
        self.went_on(at)

    def fired(self, skill: str, fired: Fired, turn: Turn | None) -> None:
        """Count a use; `skill` is empty if it is not in the catalog."""
        if not skill and fired.by != "model":
            return  # a command of the host, or another file
        self.went_on(fired.at)
        self._last_use = max(self._last_use, fired.at)
        if skill:
            self.skills.setdefault(skill, Count()).add(fired.by, fired.at)
        elif fired.skill:
            self.others[fired.skill] += 1
        if skill and turn is not None and fired.by != "read":
            turn.skills.append(skill)

    def fired_since(self, at: float) -> bool:
        return self._last_use >= at > 0

    def has_loaded(self, skill: str, at: float) -> bool:
        """Whether a skill fired after the last compaction before `at`: the model sees its text."""
        count = self.skills.get(skill)
        before = (compaction for compaction in self._compactions if compaction <= at)
        return count is not None and count.last > max(before, default=0.0)

    def lost(self) -> list[str]:
        """Skills that fired before a compaction, and not after it though the session went on."""
        compaction = self._compaction()
        return [skill for skill, count in self.skills.items() if 0 < count.last < compaction]

    def _compaction(self) -> float:
        """The last compaction after which the session went on."""
        return max((at for at in self._compactions if at < self.last), default=0.0)

    def merge(self, other: "SessionUse") -> None:
        """Add what was stored about the same session."""
        for skill, count in other.skills.items():
            self.skills.setdefault(skill, Count()).merge(count)
        self.others |= other.others
        self._compactions |= other._compactions
        self.went_on(other.last)

    def to_json(self) -> dict[str, Any]:
        return {
            "host": self.host,
            "id": self.id,
            "started": self.started,
            "last": self.last,
            "compacted": self._compaction(),
            "skills": {skill: count.to_json() for skill, count in self.skills.items()},
            "others": dict(self.others),
        }


def stored_session(value: Any) -> SessionUse | None:
    """A session as `to_json` wrote it; None if it is damaged."""
    given = mapping_of(value)
    use = SessionUse(text_of(given.get("host")), text_of(given.get("id")))
    use.started, use.last = _time(given.get("started")), _time(given.get("last"))
    if compaction := _time(given.get("compacted")):
        use.compacted(compaction)
    for skill, counts in mapping_of(given.get("skills")).items():
        if not isinstance(counts, list) or len(counts) != 4:
            return None
        model, user, read = (max(integer_of(one, 0), 0) for one in counts[:3])
        use.skills[skill] = Count(model, user, read, _time(counts[3]))
    for name, times in mapping_of(given.get("others")).items():
        use.others[name] = max(integer_of(times, 0), 0)
    return use if use.host and use.id else None


def _time(value: Any) -> float:
    return possible(number_of(value, 0.0))


class SkillUse(NamedTuple):
    """How a skill was used, over all sessions."""

    name: str
    fired: int
    """By the model or the user; reading its file does not count."""
    sessions: int
    """In which it fired."""
    model: int
    user: int
    read: int
    last: float
    """When it last fired; 0 if it never did."""
    missed: int
    """Prompts that looked like its job while nothing fired."""
    lost: int
    """Sessions in which it fired before a compaction, and not after."""


def joined(
    skills: Iterable[str], sessions: Sequence[SessionUse], missed: Mapping[str, int]
) -> list[SkillUse]:
    """The use of each skill, those that fired most first."""
    counts: dict[str, list[Count]] = {skill: [] for skill in skills}
    for session in sessions:
        for skill, count in session.skills.items():
            counts.setdefault(skill, []).append(count)
    lost = Counter(skill for session in sessions for skill in session.lost())
    uses = [_use(skill, some, missed.get(skill, 0), lost[skill]) for skill, some in counts.items()]
    return sorted(uses, key=lambda use: (-use.fired, -use.read, -use.missed, use.name))


def _use(name: str, counts: Sequence[Count], missed: int, lost: int) -> SkillUse:
    model, user = sum(one.model for one in counts), sum(one.user for one in counts)
    return SkillUse(
        name,
        model + user,
        sum(1 for one in counts if one.model + one.user),
        model,
        user,
        sum(one.read for one in counts),
        max((one.last for one in counts), default=0.0),
        missed,
        lost,
    )
