"""BM25 over stored postings. Light: hooks load it."""

from __future__ import annotations

import math
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

K1, B = 1.2, 0.75
_NUMBER_BYTES = 4


def idf(total: int, found: float) -> float:
    return math.log(1 + (total - found + 0.5) / (found + 0.5))


def unpacked(packed: bytes) -> list[int]:
    """The numbers of a stored posting list: 32 bits each, little-endian."""
    if sys.byteorder == "little":
        return memoryview(packed).cast("I").tolist()
    return [
        int.from_bytes(packed[at : at + _NUMBER_BYTES], "little")
        for at in range(0, len(packed), _NUMBER_BYTES)
    ]


def bm25_scores(
    postings: Iterable[tuple[float, list[int]]], mean_length: float
) -> dict[int, float]:
    """Score each text; `postings` pair a term's idf with its keys, counts and lengths."""
    scores: dict[int, float] = {}
    per_word, fixed = K1 * B / (mean_length or 1.0), K1 * (1 - B)
    for weight, numbers in postings:
        most = weight * (K1 + 1)
        for key, count, length in zip(numbers[0::3], numbers[1::3], numbers[2::3], strict=True):
            part = most * count / (count + fixed + per_word * length)
            scores[key] = scores.get(key, 0.0) + part
    return scores
