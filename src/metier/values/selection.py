"""What was chosen for a task, what was handed over, and what was left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from metier.values.documents import Ability, Card
from metier.values.outcomes import Issue, has_errors

T = TypeVar("T")
_NOBODY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored(Generic[T]):
    """One candidate with its score."""

    item: T
    score: float
    """The sum of the parts; what the ranking sorts by."""
    parts: Mapping[str, float]
    """Every component by name, so that nobody has to compute it again."""


class Skipped(NamedTuple):
    """One thing that was left out of what is handed over."""

    id: str
    kind: str
    reason: str
    """over-budget · not-found · dependency-missing · conflict"""
    tokens: int | None = None
    """Its own size as it would be handed over; None when it was never measured."""
    detail: str = ""

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


class AbilitySelection(NamedTuple):
    """The abilities for one task, in the order in which they are handed over."""

    ranked: Sequence[Scored[Ability]]
    issues: Sequence[Issue]
    skipped: Sequence[Skipped] = ()
    """Abilities that a missing dependency or a conflict kept out."""
    required_by: Mapping[str, str] = _NOBODY
    """Dependency → the ability that brought it in."""
    rejected: Sequence[Scored[Ability]] = ()
    """The scores of those in `skipped`, where they have one."""
    passed_over: int = 0
    """How many could have been chosen, but for the limit or too small a signal."""


class Injection(NamedTuple):
    """What one prompt is given, and how that came about."""

    text: str
    tokens: int
    truncated: bool
    skipped: Sequence[Skipped]
    issues: Sequence[Issue]
    max_tokens: int
    """The limit that was kept."""
    injected_abilities: Sequence[str]
    selection: AbilitySelection
    """What was chosen, with the scores."""
    injected_cards: Sequence[Scored[Card]] = ()
    cards_passed_over: Sequence[tuple[Scored[Card], str]] = ()
    """The best of the cards that were not handed over, with the reason."""

    @property
    def failed(self) -> bool:
        """Whether a core ability could not be handed over: the prompt must not be sent."""
        return has_errors(self.issues)

    def to_json(self) -> dict[str, Any]:
        """In the spec's spelling."""
        return {
            "maxTokens": self.max_tokens,
            "tokenCount": self.tokens,
            "truncated": self.truncated,
            "injectedAbilities": list(self.injected_abilities),
            "injectedCapabilities": [_card(one) for one in self.injected_cards],
            "combinedContent": self.text,
            "ranking": [self._scored(scored) for scored in self.selection.ranked],
            "rejected": [self._scored(scored) for scored in self.selection.rejected],
            "capabilitiesPassedOver": [
                {**_card(one), "reason": reason} for one, reason in self.cards_passed_over
            ],
            "skipped": [one.to_json() for one in self.skipped],
            "issues": [issue.to_json() for issue in self.issues],
        }

    def _scored(self, scored: Scored[Ability]) -> dict[str, Any]:
        return {
            "abilityId": scored.item.id,
            "score": scored.score,
            "parts": dict(scored.parts),
            "requiredBy": self.selection.required_by.get(scored.item.id),
        }


def _card(one: Scored[Card]) -> dict[str, Any]:
    card = one.item
    return {
        "id": card.id,
        "version": card.version,
        "relevanceScore": one.score,
        "confidenceThreshold": card.confidence_threshold,
    }


class AbilityInjection(NamedTuple):
    """The text of abilities for one prompt."""

    injected_abilities: Sequence[str]
    """Ids, in the order of the text."""
    combined_content: str
    token_count: int
    """Never above the limit."""
    truncated: bool
    """Whether any was left out for its size."""
    skipped: Sequence[Skipped]
    issues: Sequence[Issue]
