"""What was selected, injected and skipped for a prompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from metier.values.documents import Ability, Card
from metier.values.outcomes import Issue, has_errors

T = TypeVar("T")
_NOBODY: Mapping[str, str] = MappingProxyType({})
AGENTS_SELECTED = 3
LEAST_CONFIDENCE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored(Generic[T]):
    """One candidate with its score."""

    item: T
    score: float
    parts: Mapping[str, float]


class Skipped(NamedTuple):
    """A document that was selected but not injected."""

    id: str
    kind: str
    reason: str
    """over-budget · not-found · dependency-missing · conflict"""
    tokens: int | None = None
    """None if it was not measured."""
    detail: str = ""

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


class AbilitySelection(NamedTuple):
    """The abilities for a task, in the order of injection."""

    ranked: Sequence[Scored[Ability]]
    issues: Sequence[Issue]
    skipped: Sequence[Skipped] = ()
    required_by: Mapping[str, str] = _NOBODY
    """Dependency → the ability that requires it."""
    rejected: Sequence[Scored[Ability]] = ()
    passed_over: int = 0
    """Beyond the limit, or too weak."""


class Injection(NamedTuple):
    """The text for one prompt, and how it was chosen."""

    text: str
    tokens: int
    truncated: bool
    skipped: Sequence[Skipped]
    issues: Sequence[Issue]
    max_tokens: int
    injected_abilities: Sequence[str]
    selection: AbilitySelection
    injected_cards: Sequence[Scored[Card]] = ()
    cards_passed_over: Sequence[tuple[Scored[Card], str]] = ()
    """The best of the cards that were not injected, with the reason."""

    @property
    def failed(self) -> bool:
        """Whether a core ability could not be injected: the prompt must not be sent."""
        return has_errors(self.issues)

    def to_json(self) -> dict[str, Any]:
        """The injection as a dictionary for JSON."""
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


def _card(scored: Scored[Card]) -> dict[str, Any]:
    card = scored.item
    return {
        "id": card.id,
        "version": card.version,
        "relevanceScore": scored.score,
        "confidenceThreshold": card.confidence_threshold,
    }


class AbilityInjection(NamedTuple):
    """The text of abilities for one prompt."""

    injected_abilities: Sequence[str]
    combined_content: str
    token_count: int
    truncated: bool
    skipped: Sequence[Skipped]
    issues: Sequence[Issue]
