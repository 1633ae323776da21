"""Stage 3: value → issues. Every rule has a code, a page and an example."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from metier.values.files import Parsed
from metier.values.outcomes import Issue

__all__ = ["lint_document"]

Rules = Callable[[Any, Any], Sequence[Issue]]


@cache
def _rules(kind: str) -> Rules:
    """The rules for a class of documents, loaded with the first of them."""
    if kind == "Skill":
        from metier.lint.skills import lint_skill

        return lint_skill
    if kind == "Ability":
        from metier.lint.abilities import lint_ability

        return lint_ability
    if kind == "Card":
        from metier.lint.cards import lint_card

        return lint_card
    from metier.lint.agents import lint_agent

    return lint_agent


def lint_document(parsed: Parsed) -> Sequence[Issue]:
    """Every finding in one document, beyond those of parsing."""
    if parsed.document is None or parsed.matter is None:
        return []
    return _rules(type(parsed.document).__name__)(parsed.document, parsed.matter)
