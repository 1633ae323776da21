"""How near two vectors are."""

from typing import TYPE_CHECKING

from metier.core.word_table import dot

if TYPE_CHECKING:
    from metier.core.word_table import Vector


def cosine(left: "Vector", right: "Vector") -> float:
    """Between -1 and 1, rounded to 9 decimals; 0 if one has no length."""
    product: float = dot(left, left) * dot(right, right)
    return round(dot(left, right) / product**0.5, 9) if product else 0.0
