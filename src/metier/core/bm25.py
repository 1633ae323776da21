"""The constants of BM25, and stored postings. Light: hooks load it."""

from __future__ import annotations

import math
import sys

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
