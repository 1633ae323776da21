"""Which agent a task is for (spec 2): a pure function of the profiles and the task."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from metier.core.stems import STOP_WORDS
from metier.core.text import words
from metier.errors import UsageError
from metier.values.agents import STANDARD, AgentMatch, AgentProfile
from metier.values.selection import AGENTS_SELECTED, LEAST_CONFIDENCE

POINTS = {
    "exampleTask": 0.6,
    "exampleTaskPart": 0.4,
    "notForTask": -0.5,
    "primaryIntent": 0.3,
    "negativeIntent": -0.3,
    "keyword": 0.15,
    "antiKeyword": -0.2,
    "capability": 0.1,
    "expertise": 0.15,
    "role": 0.1,
    "descriptionWord": 0.05,
    "requiredCapabilities": 0.25,
    "requiredShare": 0.1,
    "redirect": -0.5,
}
DESCRIPTION_WORDS = {"from": 3, "most": 5}
FALLBACK_CONFIDENCE = 0.5
LEARNED = 2.5
"""Points for the chance that examples give: an agent is kept from one of 0.04 on."""
DECIMALS = 12


def select_agents(
    profiles: Iterable[AgentProfile],
    task: str,
    limit: int = AGENTS_SELECTED,
    *,
    team: str | None = None,
    required_capabilities: Sequence[str] = (),
    exclude: Collection[str] = (),
    chances: Mapping[str, float] | None = None,
) -> list[AgentMatch]:
    """The agents that fit `task`, the best first; when none does, `standard` alone.

    `standard` is always among the candidates, whatever `team`, `exclude` or its profile say.
    `chances` are what the example tasks of agents teach, by agent.
    """
    if limit < 1:
        raise UsageError("limit must be at least 1")
    candidates = {
        profile.agent_id: profile
        for profile in profiles
        if profile.agent_id == STANDARD
        or (
            profile.enabled
            and profile.agent_id not in exclude
            and (team is None or profile.team == team)
        )
    }
    asked = _Task(task, required_capabilities)
    known = chances or {}
    matches = [asked.match(one, known.get(one.agent_id)) for one in candidates.values()]
    matches = [match for match in matches if match.confidence >= LEAST_CONFIDENCE]
    matches.sort(key=lambda match: (-match.confidence, match.agent_id))
    fallback = AgentMatch(STANDARD, FALLBACK_CONFIDENCE, 0.0, {}, ("no agent fits the task",))
    return matches[:limit] or [fallback]


class _Task:
    """One task, prepared once for all profiles."""

    def __init__(self, task: str, required: Sequence[str]) -> None:
        self._sequence = words(task)
        self._words = frozenset(self._sequence)
        self._required = [tuple(words(one)) for one in required]

    def match(self, profile: AgentProfile, chance: float | None = None) -> AgentMatch:
        """`chance` takes the place of what speaks for the agent, not of what speaks against."""
        parts: dict[str, float] = {}
        reasons: list[str] = []
        signals = list(self._signals(profile))
        if chance is not None:
            kept = [one for one in signals if one[1] < 0 or one[0] == "requiredCapabilities"]
            points = round(min(1.0, LEARNED * chance), DECIMALS)
            signals = [("learned", points, f"chance of {chance:.0%} by its examples"), *kept]
        for name, points, reason in signals:
            parts[name] = round(parts.get(name, 0.0) + points, DECIMALS)
            reasons.append(f"{reason} ({points:+g})")
        raw = round(sum(parts.values()), DECIMALS)
        confidence = max(0.0, min(1.0, raw))
        return AgentMatch(profile.agent_id, confidence, raw, parts, tuple(reasons))

    def _signals(self, profile: AgentProfile) -> Iterable[tuple[str, float, str]]:
        """The name of each part, its points and why, in the order of the rules."""
        selection = profile.selection
        yield from self._examples(selection)
        for one in selection.get("notForTasks") or ():
            if self._is_alike(one):
                yield "notForTasks", POINTS["notForTask"], f"not for '{one}'"
                break
        for part, key, label in (
            ("primaryIntent", "primaryIntents", "intent"),
            ("negativeIntent", "negativeIntents", "negative intent"),
            ("keyword", "keywords", "keyword"),
            ("antiKeyword", "antiKeywords", "anti-keyword"),
        ):
            yield from self._labels(part, selection.get(key) or (), label)
        yield from self._labels("capability", profile.capabilities, "capability")
        yield from self._labels("expertise", profile.expertise, "expertise")
        if shared := _content(words(profile.role)) & self._words:
            yield "role", POINTS["role"], f"role shares {_named(shared)}"
        yield from self._description(profile)
        yield from self._requirements(profile)
        for one in selection.get("redirectWhen") or ():
            if _contains(self._sequence, words(one["phrase"])):
                to = f" to '{one['suggest']}'" if one.get("suggest") else ""
                yield "redirect", POINTS["redirect"], f"'{one['phrase']}' redirects{to}"

    def _examples(self, selection: Mapping[str, Any]) -> Iterable[tuple[str, float, str]]:
        examples = list(selection.get("exampleTasks") or ())
        for example in examples:
            if words(example) == self._sequence and self._sequence:
                yield "exampleTasks", POINTS["exampleTask"], f"is the example '{example}'"
                return
        for example in examples:
            if self._is_alike(example):
                yield "exampleTasks", POINTS["exampleTaskPart"], f"is like the example '{example}'"
                return

    def _is_alike(self, text: str) -> bool:
        """Whether the task is in `text`, or `text` in the task, with a word that says something."""
        other = words(text)
        return any(
            _contains(outer, inner) and bool(_content(inner))
            for outer, inner in ((self._sequence, other), (other, self._sequence))
        )

    def _labels(
        self, part: str, labels: Iterable[str], called: str
    ) -> Iterable[tuple[str, float, str]]:
        """One signal for each label all of whose words are in the task."""
        for label in labels:
            found = words(label)
            if found and self._words.issuperset(found):
                yield part, POINTS[part], f"{called} '{label}'"

    def _description(self, profile: AgentProfile) -> Iterable[tuple[str, float, str]]:
        shared = sorted(_content(words(profile.description)) & self._words)
        if len(shared) >= DESCRIPTION_WORDS["from"]:
            counted = shared[: DESCRIPTION_WORDS["most"]]
            points = round(POINTS["descriptionWord"] * len(counted), DECIMALS)
            yield "description", points, f"description shares {_named(counted)}"

    def _requirements(self, profile: AgentProfile) -> Iterable[tuple[str, float, str]]:
        if not self._required:
            return
        there = {tuple(words(capability)) for capability in profile.capabilities}
        met = sum(one in there for one in self._required)
        if met == len(self._required):
            points = POINTS["requiredCapabilities"]
            yield "requiredCapabilities", points, "has all required capabilities"
        elif met:
            points = round(POINTS["requiredShare"] * met / len(self._required), DECIMALS)
            reason = f"has {met} of {len(self._required)} required capabilities"
            yield "requiredCapabilities", points, reason


def _contains(outer: Sequence[str], inner: Sequence[str]) -> bool:
    """Whether `outer` contains the words of `inner` in a row."""
    size = len(inner)
    starts = range(len(outer) - size + 1) if size else ()
    return any(outer[at : at + size] == inner for at in starts)


def _content(found: Iterable[str]) -> frozenset[str]:
    return frozenset(found) - STOP_WORDS


def _named(shared: Iterable[str]) -> str:
    return ", ".join(f"'{one}'" for one in sorted(shared))
