"""Cards with the scorer `hybrid`: keywords, or what the ranker finds."""

import pytest

from conftest import Workspace
from metier import Catalog
from metier.core.relevance import HALF_EVIDENCE, hybrid_score

CARD = """---
id: invoices
name: Invoices and payment reminders
description: Creates invoices, sends payment reminders and tracks overdue customers.
triggers:
  keywords: [billing]
  confidenceThreshold: 0.4
---
Invoices are made with the tool `bill`; reminders go out on Mondays.
"""
TASK = "send a payment reminder to customers whose invoices are overdue"


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    workspace.write("docs/capabilities/invoices.md", CARD)
    for name in ("travel", "hiring", "lunch"):
        other = CARD.replace("invoices", name).replace("Invoices", name)
        other = other.replace("payment reminders", f"{name} plans").replace("overdue", name)
        workspace.write(f"docs/capabilities/{name}.md", other)
    return workspace


def injected(workspace: Workspace, scorer: str, task: str) -> list[str]:
    workspace.write("metier.toml", f'[capabilities]\nscorer = "{scorer}"\n')
    with Catalog.open(workspace.root, trust="none") as catalog:
        config = catalog.config
        catalog.config = config._replace(capabilities=config.capabilities._replace(scorer=scorer))
        catalog.refresh()
        return [one.item.id for one in catalog.inject(task).injected_cards]


def test_a_card_whose_text_fits_comes_without_a_keyword(filled: Workspace) -> None:
    assert injected(filled, "spec", TASK) == []
    assert injected(filled, "hybrid", TASK) == ["invoices"]


def test_small_talk_brings_no_card(filled: Workspace) -> None:
    assert injected(filled, "hybrid", "thanks, go on") == []


def test_a_keyword_still_counts(filled: Workspace) -> None:
    assert "invoices" in injected(filled, "hybrid", "billing")


@pytest.mark.parametrize("keywords", [0.0, 0.2, 0.9])
def test_the_higher_score_counts(keywords: float) -> None:
    assert hybrid_score(keywords, 0.0) == keywords
    assert hybrid_score(keywords, HALF_EVIDENCE) == max(keywords, 0.5)
