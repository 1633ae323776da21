"""Which documents fit a task, and why."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from metier.values.agents import AgentMatch
from metier.values.documents import Ability, Card
from metier.values.selection import Injection, Scored

BUILT_IN = "built-in words"


class ShownText(NamedTuple):
    """What a host shows the model of a skill."""

    name: str
    text: str
    state: Literal["whole", "cut", "no-text", "invisible"]
    length: int
    """Characters of its whole text."""
    why: str = ""
    """Why the model does not see the whole text."""
    called: str = ""
    """The host's name for the skill, without what its listing adds."""

    @property
    def extent(self) -> str:
        """How much the model sees, after "shows"."""
        if not self.text:
            return "its name without a text"
        return f"{len(self.text):,} of its {self.length:,} characters"

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.called or self.name,
            "state": self.state,
            "characters": len(self.text),
            "length": self.length,
            "why": self.why,
        }


class Explanation:
    """Which words speak for a document; empty here, and worked out on demand elsewhere."""

    matched: Mapping[str, Sequence[str]] = {}
    """Field → the words of the task that it has."""
    against: Sequence[str] = ()
    """Words of the task that it says it is not for."""
    related: Sequence[str] = ()
    """Its words that are related to words of the task."""
    spelled: Mapping[str, str] = {}
    """Word of the task → the other word that its body has instead, if they start alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedDocument:
    """A document with what speaks for it."""

    kind: str
    id: str
    name: str
    path: str
    description: str
    score: float
    """What the ranking sorts by: higher is better, whatever the evidence."""
    evidence: float
    """How much speaks for it: 1 is a word that only one document has."""
    fires: bool
    """Whether its evidence reaches the threshold."""
    parts: Mapping[str, float]
    """What its words, related words, meaning and examples add to the evidence."""
    explanation: Explanation = field(default=Explanation(), repr=False, compare=False)
    origin: str = "workspace"
    """Whose it is: the user's, a trusted or an untrusted workspace's."""
    shown: ShownText | None = None
    """What the host in question shows the model of it."""

    @property
    def matched(self) -> Mapping[str, Sequence[str]]:
        """Field → the words of the task that it has."""
        return self.explanation.matched

    def label(self, others: "Iterable[RankedDocument]") -> str:
        """The host's name for it, or its own; its id if one of the `others` has that name too."""
        same = (one for one in others if one.path != self.path)
        return self.id if any(one.called == self.called for one in same) else self.called

    @property
    def called(self) -> str:
        return self.shown.called or self.shown.name if self.shown else self.name

    @property
    def against(self) -> Sequence[str]:
        """Words of the task that it says it is not for."""
        return self.explanation.against

    @property
    def related(self) -> Sequence[str]:
        """Its words that are related to words of the task."""
        return self.explanation.related

    @property
    def spelled(self) -> Mapping[str, str]:
        """Word of the task → the other word that its body has instead, if they start alike."""
        return self.explanation.spelled

    def beside(self, words: Iterable[str]) -> list[str]:
        """Words of the task, each with what its body has instead."""
        return [f"{one} ({self.spelled[one]})" if one in self.spelled else one for one in words]

    def to_json(self) -> dict[str, Any]:
        shown = {} if self.shown is None else {"shown": self.shown.to_json()}
        return {
            "kind": self.kind,
            "id": self.id,
            "name": self.name,
            "path": self.path,
            "description": self.description,
            "score": self.score,
            "evidence": self.evidence,
            "fires": self.fires,
            "parts": dict(self.parts),
            "matched": {field: list(words) for field, words in self.matched.items()},
            "against": list(self.against),
            "related": list(self.related),
            "spelled": dict(self.spelled),
            "origin": self.origin,
            **shown,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A card or an ability that would be injected, or the best of those that would not."""

    kind: str
    id: str
    name: str
    score: float
    is_injected: bool
    """Whether it would be injected."""
    reason: str = ""
    """Why it would not be injected."""
    threshold: float | None = None
    parts: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "id": self.id,
            "name": self.name,
            "score": self.score,
            "injected": self.is_injected,
            "reason": self.reason,
            "threshold": self.threshold,
            "parts": dict(self.parts),
        }


def _card(scored: Scored[Card], why: str) -> Chosen:
    card = scored.item
    return Chosen(
        kind="card", id=card.id, name=card.name, score=scored.score,
        is_injected=not why, reason=why, threshold=card.confidence_threshold,
    )  # fmt: skip


def _ability(scored: Scored[Ability], is_injected: bool) -> Chosen:
    ability = scored.item
    why = "" if is_injected else "over-budget"
    return Chosen(
        kind="ability", id=ability.id, name=ability.name, score=scored.score,
        is_injected=is_injected, reason=why, parts=scored.parts,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """Why an expected skill is not first, and what would help."""

    name: str
    place: int
    """Its position in the ranking, from 1; 0 if it is not a candidate."""
    fires: bool
    reasons: Sequence[str]
    missing: Sequence[str] = ()
    """Words of the task that it lacks, the rarest first."""
    only_in_body: Sequence[str] = ()
    """Words of the task that its body has, but not its name, description or examples."""
    misspelt: Mapping[str, str] = field(default_factory=dict)
    """Words of the task that no description has → the known words that they probably mean."""
    would_win: Sequence[str] = ()
    """Words that make it first when its description has them; empty if none do."""
    is_in_reach: bool = True
    """Whether words in its description can help: not if something else keeps it out."""
    lost_to: RankedDocument | None = None
    own: RankedDocument | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "place": self.place,
            "fires": self.fires,
            "reasons": list(self.reasons),
            "missing": list(self.missing),
            "onlyInBody": list(self.only_in_body),
            "misspelt": dict(self.misspelt),
            "wouldWin": list(self.would_win),
            "lostTo": self.lost_to.name if self.lost_to else None,
            "own": self.own.to_json() if self.own else None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Everything that fits a task."""

    task: str
    threshold: float
    host: str | None
    skills: Sequence[RankedDocument]
    """The best candidates, whether or not they fire."""
    named: Sequence[RankedDocument]
    """The skills that a hook would name."""
    most: int
    """The most skills that a hook names."""
    cards: Sequence[Chosen] = ()
    abilities: Sequence[Chosen] = ()
    agents: Sequence[AgentMatch] = ()
    notes: Sequence[str] = ()
    expectation: Expectation | None = None
    meaning: str = BUILT_IN
    """What gave the vectors: the word table, or the user's encoder."""

    def with_others(
        self, injection: Injection | None, agents: Sequence[AgentMatch], notes: Sequence[str]
    ) -> "Which":
        """With the cards, abilities and agents that fit."""
        if injection is None:
            return replace(self, agents=agents, notes=[*self.notes, *notes])
        cards = [_card(one, "") for one in injection.injected_cards]
        cards += [_card(one, why) for one, why in injection.cards_passed_over]
        ranked = injection.selection.ranked
        injected = set(injection.injected_abilities)
        abilities = [_ability(one, one.item.id in injected) for one in ranked]
        return replace(
            self, cards=cards, abilities=abilities, agents=agents, notes=[*self.notes, *notes]
        )

    @property
    def fires(self) -> bool:
        """Whether a hook would name any skill."""
        return bool(self.named)

    def is_named(self, skill: RankedDocument) -> bool:
        return any(skill.path == named.path for named in self.named)

    def label(self, skill: RankedDocument) -> str:
        """What tells a skill from the others here."""
        return skill.label([*self.skills, *self.named])

    def to_json(self) -> dict[str, Any]:
        """The answer as a dictionary for JSON."""
        out: dict[str, Any] = {
            "schemaVersion": "1",
            "task": self.task,
            "host": self.host,
            "threshold": self.threshold,
            "named": [one.name for one in self.named],
            "skills": [one.to_json() for one in self.skills],
            "cards": [one.to_json() for one in self.cards],
            "abilities": [one.to_json() for one in self.abilities],
            "agents": [one.to_json() for one in self.agents],
            "notes": list(self.notes),
            "meaning": self.meaning,
        }
        if self.expectation is not None:
            out["expectation"] = self.expectation.to_json()
        return out
