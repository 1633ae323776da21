"""BM25: how much a word that a text has says for that text. Light: hooks load it."""

import math

K1, B = 1.2, 0.75


def idf(total: int, found: float) -> float:
    """How rare a word is that `found` of `total` texts have."""
    return math.log(1 + (total - found + 0.5) / (found + 0.5))
