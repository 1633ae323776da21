"""Stage 3: value → issues. Every rule has a code, a page and an example."""

from collections.abc import Sequence

from metier.lint.abilities import lint_ability, validate_ability
from metier.lint.agents import lint_agent, validate_agent
from metier.lint.cards import lint_card
from metier.lint.skills import lint_skill
from metier.values.agents import AgentProfile
from metier.values.documents import Ability, Card, Skill
from metier.values.files import Parsed
from metier.values.outcomes import Issue

__all__ = ["lint_document", "validate_ability", "validate_agent"]


def lint_document(parsed: Parsed) -> Sequence[Issue]:
    """Every finding in one document beyond what parsing said."""
    document, matter = parsed.document, parsed.matter
    if document is None or matter is None:
        return []
    if isinstance(document, Skill):
        return lint_skill(document, matter)
    if isinstance(document, Ability):
        return lint_ability(document, matter)
    if isinstance(document, Card):
        return lint_card(document, matter)
    assert isinstance(document, AgentProfile)
    return lint_agent(document, matter)
