"""Figures of hook decisions: how often, how large, how fast, how right."""

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

from metier.core.names import camel_case
from metier.flow.hook_log import HELD_BACK, INJECTED, Considered, Decision, Decisions
from metier.index.documents import names_of
from metier.index.store import Store
from metier.storage.room import Room
from metier.storage.workspace import CATALOG_FILE

MOST_USED = 10
_STARTS = ("session", "subagent")
"""How the events without a prompt begin, in lower case."""
_Value = TypeVar("_Value", int, float)


class Group(NamedTuple):
    """Figures of some requests; a share, mean or percentile of nothing is None."""

    requests: int
    injecting: int
    injection_rate: float | None
    tokens_mean: float | None
    """Over all requests."""
    tokens_p50: int | None
    """Over the requests that inject."""
    tokens_p95: int | None
    milliseconds_p50: float | None
    milliseconds_p95: float | None
    errors: int
    error_rate: float | None
    labelled: int
    right: int
    right_share: float | None
    """Of the labelled requests."""


class Used(NamedTuple):
    name: str
    uses: int
    mean_score: float


class Usage(NamedTuple):
    """Which cards, or which skills, were injected."""

    most_used: tuple[Used, ...]
    """At most ten."""
    existing: int | None
    """None when not known."""
    unused: tuple[str, ...] | None
    """Never injected; None when not known."""

    def to_json(self) -> dict[str, Any]:
        used = [camel_case(item._asdict()) for item in self.most_used]
        return {**camel_case(self._asdict()), "mostUsed": used}


class HeldBack(NamedTuple):
    """What would have been injected, but for the mode `monitor`, or `soft` elsewhere."""

    requests: int
    share: float | None
    tokens_mean: float | None
    """Over the requests that would have injected."""
    cards: tuple[Used, ...]
    skills: tuple[Used, ...]


class Spoken(NamedTuple):
    """How often hooks had something to say."""

    prompts: int
    spoke: int
    """Prompts that got a card or the name of a skill."""
    held_back: int
    """Prompts that would have got one, but for the mode."""


class Statistics(NamedTuple):
    """The figures of the selected requests."""

    since: float | None
    until: float | None
    host: str
    first: float | None
    """Seconds since 1970."""
    last: float | None
    skipped: int
    """Invalid lines of the whole log."""
    overall: Group
    hosts: Mapping[str, Group]
    modes: Mapping[str, Group]
    arms: Mapping[str, Group]
    """Only of requests that compare two scorers."""
    scorers: Mapping[str, tuple[str, ...]]
    cards: Usage
    skills: Usage
    held_back: HeldBack
    """Not part of the JSON."""

    def to_json(self) -> dict[str, Any]:
        return {
            "schemaVersion": "1",
            "since": _iso(self.since),
            "until": _iso(self.until),
            "host": self.host,
            "first": _iso(self.first),
            "last": _iso(self.last),
            "skippedLines": self.skipped,
            "overall": camel_case(self.overall._asdict()),
            "hosts": _groups_json(self.hosts),
            "modes": _groups_json(self.modes),
            "arms": _groups_json(self.arms),
            "scorers": {name: list(scorers) for name, scorers in self.scorers.items()},
            "cards": self.cards.to_json(),
            "skills": self.skills.to_json(),
        }


def statistics(
    decisions: Decisions,
    *,
    since: float | None = None,
    until: float | None = None,
    host: str = "",
    cards: Collection[str] | None = None,
    skills: Collection[str] | None = None,
) -> Statistics:
    """Figures of the requests from `since` to `until`; `cards` and `skills` are what exists."""
    counts = _Counts()
    for one in decisions:
        if is_selected(one, since=since, until=until, host=host):
            counts.add(one, decisions.labels.get(one.id))
    return Statistics(
        since=since,
        until=until,
        host=host,
        first=counts.first,
        last=counts.last,
        skipped=decisions.skipped,
        overall=counts.overall.group(),
        hosts=_groups(counts.hosts),
        modes=_groups(counts.modes),
        arms=_groups(counts.arms),
        scorers={arm: tuple(sorted(names)) for arm, names in sorted(counts.scorers.items())},
        cards=counts.cards.usage(cards),
        skills=counts.skills.usage(skills),
        held_back=counts.held_back(),
    )


def spoken(decisions: Iterable[Decision], since: float) -> Spoken:
    """How many prompts got an answer; starts of sessions and sub-agents do not count."""
    prompts = spoke = held_back = 0
    for one in decisions:
        if one.at >= since and not one.event.lower().startswith(_STARTS):
            prompts += 1
            spoke += one.injected
            held_back += _is_held_back(one)
    return Spoken(prompts, spoke, held_back)


def documents_known(room: Room) -> tuple[list[str] | None, list[str] | None]:
    """The cards and skills in the catalog, if there is any. Raises `StoreError`."""
    if room.info(CATALOG_FILE) is None:
        return None, None
    with closing(Store.open(room.file(CATALOG_FILE))) as store:
        if not store.setting("counts"):
            return None, None
        return names_of(store, "card"), names_of(store, "skill")


def is_selected(
    decision: Decision, *, since: float | None = None, until: float | None = None, host: str = ""
) -> bool:
    """Whether a decision was made from `since` on, before `until`, for that host."""
    if since is not None and decision.at < since:
        return False
    if until is not None and decision.at >= until:
        return False
    return host in ("", decision.host)


def percentile(values: Iterable[_Value], percent: int) -> _Value | None:
    """The nearest-rank percentile; None of nothing."""
    ranked = sorted(values)
    rank = -(-len(ranked) * percent // 100)
    return ranked[max(rank, 1) - 1] if ranked else None


class _Tally:
    """The figures of a group while they are collected, in arrays to save memory."""

    def __init__(self) -> None:
        self.tokens = array("q")
        self.milliseconds = array("d")
        self.errors = self.labelled = self.right = 0

    def add(self, decision: Decision, right: bool | None) -> None:
        self.milliseconds.append(decision.milliseconds)
        if decision.injected:
            self.tokens.append(decision.tokens)
        self.errors += bool(decision.error)
        self.labelled += right is not None
        self.right += right is True

    def group(self) -> Group:
        requests, injecting = len(self.milliseconds), len(self.tokens)
        return Group(
            requests=requests,
            injecting=injecting,
            injection_rate=_ratio(injecting, requests),
            tokens_mean=_ratio(sum(self.tokens), requests),
            tokens_p50=percentile(self.tokens, 50),
            tokens_p95=percentile(self.tokens, 95),
            milliseconds_p50=percentile(self.milliseconds, 50),
            milliseconds_p95=percentile(self.milliseconds, 95),
            errors=self.errors,
            error_rate=_ratio(self.errors, requests),
            labelled=self.labelled,
            right=self.right,
            right_share=_ratio(self.right, self.labelled),
        )


class _Uses:
    """How often each card, or each skill, had an outcome, and the sum of its scores then."""

    def __init__(self, *outcomes: str) -> None:
        self.outcomes = outcomes
        self.counts: dict[str, int] = defaultdict(int)
        self.scores: dict[str, float] = defaultdict(float)

    def add(self, considered: Sequence[Considered]) -> None:
        for one in considered:
            if one.outcome in self.outcomes:
                self.counts[one.name] += 1
                self.scores[one.name] += one.score

    def ranked(self) -> tuple[Used, ...]:
        names = sorted(self.counts, key=lambda name: (-self.counts[name], name))
        return tuple(
            Used(one, self.counts[one], self.scores[one] / self.counts[one]) for one in names
        )

    def usage(self, existing: Collection[str] | None) -> Usage:
        most_used = self.ranked()[:MOST_USED]
        if existing is None:
            return Usage(most_used, None, None)
        unused = sorted(set(existing) - self.counts.keys())
        return Usage(most_used, len(set(existing)), tuple(unused))


class _Counts:
    """Everything that is counted in one pass."""

    def __init__(self) -> None:
        self.first: float | None = None
        self.last: float | None = None
        self.overall = _Tally()
        self.hosts: dict[str, _Tally] = defaultdict(_Tally)
        self.modes: dict[str, _Tally] = defaultdict(_Tally)
        self.arms: dict[str, _Tally] = defaultdict(_Tally)
        self.scorers: dict[str, set[str]] = defaultdict(set)
        self.cards, self.skills = _Uses(INJECTED), _Uses(INJECTED)
        self.held_cards, self.held_skills = _Uses(*HELD_BACK), _Uses(*HELD_BACK)
        self.held_requests = self.held_tokens = 0

    def add(self, decision: Decision, right: bool | None) -> None:
        at, arm = decision.at, decision.arm
        self.first = at if self.first is None else min(self.first, at)
        self.last = at if self.last is None else max(self.last, at)
        tallies = [self.overall, self.hosts[decision.host], self.modes[decision.mode]]
        if arm:
            tallies.append(self.arms[arm])
            self.scorers[arm].add(decision.scorer)
        for tally in tallies:
            tally.add(decision, right)
        for uses in (self.cards, self.held_cards):
            uses.add(decision.cards)
        for uses in (self.skills, self.held_skills):
            uses.add(decision.skills)
        if _is_held_back(decision):
            self.held_requests += 1
            self.held_tokens += decision.tokens

    def held_back(self) -> HeldBack:
        return HeldBack(
            requests=self.held_requests,
            share=_ratio(self.held_requests, len(self.overall.milliseconds)),
            tokens_mean=_ratio(self.held_tokens, self.held_requests),
            cards=self.held_cards.ranked(),
            skills=self.held_skills.ranked(),
        )


def _is_held_back(decision: Decision) -> bool:
    return any(item.outcome in HELD_BACK for item in (*decision.cards, *decision.skills))


def _groups(tallies: Mapping[str, _Tally]) -> dict[str, Group]:
    return {name: tallies[name].group() for name in sorted(tallies)}


def _groups_json(groups: Mapping[str, Group]) -> dict[str, Any]:
    return {name: camel_case(group._asdict()) for name, group in groups.items()}


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _iso(moment: float | None) -> str | None:
    if moment is None:
        return None
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")
