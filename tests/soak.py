"""How much the tests do of what could go on for ever; `make soak` does ten times more."""

import os

from hypothesis import settings

SOAK = bool(os.environ.get("METIER_SOAK"))
EXAMPLES = 500 if SOAK else 50
"""Random examples of a property that does not say how many."""


def examples(number: int) -> settings:
    """So many random examples of a property."""
    return settings(max_examples=10 * number if SOAK else number)
