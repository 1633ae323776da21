"""BM25: how much a word that a text has says for that text. Light: hooks load it."""

import math

K1, B = 1.2, 0.75


def idf(total: int, found: float) -> float:
    """How rare a word is that `found` of `total` texts have."""
    return math.log(1 + (total - found + 0.5) / (found + 0.5))


def length_norm(length: float, mean: float) -> float:
    """What the length of a text does to the weight of its words."""
    return K1 * (1 - B + B * (length / mean))


def weight(count: float, norm: float) -> float:
    """What a word counts that a text has `count` times; the norm is that of its length."""
    return count * (K1 + 1) / (count + norm)
