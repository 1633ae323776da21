"""Stage 3: value → issues. Every rule has a code, a page and an example."""

from collections.abc import Callable, Sequence

from metier.lint.abilities import lint_ability, validate_ability
from metier.lint.agents import lint_agent, validate_agent
from metier.lint.cards import lint_card
from metier.lint.skills import lint_skill
from metier.values.agents import AgentProfile
from metier.values.documents import Ability, Card, Skill
from metier.values.files import Parsed
from metier.values.outcomes import Issue

__all__ = ["lint_document", "validate_ability", "validate_agent"]

_RULES: dict[type, Callable[..., Sequence[Issue]]] = {
    Skill: lint_skill,
    Ability: lint_ability,
    Card: lint_card,
    AgentProfile: lint_agent,
}


def lint_document(parsed: Parsed) -> Sequence[Issue]:
    """Every finding in one document, beyond those of parsing."""
    if parsed.document is None or parsed.matter is None:
        return []
    return _RULES[type(parsed.document)](parsed.document, parsed.matter)
