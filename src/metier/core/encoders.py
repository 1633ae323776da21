"""What turns texts into vectors in place of the word table: the interface, and whole numbers."""

from __future__ import annotations

from math import isfinite, sqrt
from typing import Protocol

from metier.core.word_table import UNIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from metier.core.word_table import Vector

LONGEST_TEXT = 8_000
"""Characters of a text that are encoded."""
MOST_DIMENSIONS = 8_192


class EncoderError(Exception):
    """An encoder that cannot be opened or gives no vectors, in one line."""


class Encoder(Protocol):
    """Gives texts their vectors."""

    def encode(self, texts: Sequence[str]) -> list[Vector | None]:
        """A vector of whole numbers for each text, its length about `UNIT`; None for no meaning.

        Raises `EncoderError`.
        """
        ...


def whole_vector(numbers: Iterable[float]) -> Vector | None:
    """A vector as whole numbers, its length about `UNIT`; None if it has no length.

    Sums and products of whole numbers are exact, whatever their order. Raises `EncoderError`.
    """
    try:
        row = [float(number) for number in numbers]
        square = sum(number * number for number in row)
    except (TypeError, ValueError, OverflowError):
        raise EncoderError("a vector contains something other than numbers") from None
    if not 0 < len(row) <= MOST_DIMENSIONS:
        raise EncoderError(f"a vector has {len(row):,} numbers")
    if not isfinite(square):
        raise EncoderError("a vector has numbers that are not finite")
    length = sqrt(square)
    return [round(number / length * UNIT) for number in row] if length else None
