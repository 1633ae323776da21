"""The word table: what words mean, as numbers, and which stems are related. Light.

A file of one table, little-endian, read through a memory map:

    magic            15 bytes
    counts           u32: words, dimensions, stems, related stems of a word
    starts of words  u32, one more than words
    words            UTF-8, sorted by their bytes
    scales           u16
    rows             i8, `dimensions` for each word; times its scale they are a word's vector
    starts of stems  u32, one more than stems
    stems            UTF-8
    related          u16, numbers of stems, best first; 65535 is none
    nearness         u8, of each related stem: 0 is a cosine of 0.25, 255 of 1

All sums are of whole numbers, so every machine computes the same vectors.
"""

from __future__ import annotations

import os
import sys
from operator import add, mul

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Vector = Sequence[int]
    """A direction as whole numbers; its length is about `UNIT`."""

MAGIC = b"metier words 1\n"
UNIT = 1 << 14
NONE = 0xFFFF
MOST_WORDS = 400
"""The words of a text that count."""
_LONGEST_WORD = 24
_LANE = 4
"""Bytes of a number in a packed row."""
_AT_ONCE = 255
"""Packed rows that may be added: each number in them is below 2**24, their sums below 2**32."""
_ABOVE_ZERO = 1 << 23
"""More than any scale times any number of a row."""
_SHIFTED = bytes(byte ^ 0x80 for byte in range(256))
"""The byte of each number of a row plus 128."""
_MOST_PACKED = 16_000
_MOST_NEAR = 8_000
_ENDINGS = (
    ("ies", "y"),
    ("es", ""),
    ("s", ""),
    ("ing", ""),
    ("ing", "e"),
    ("ed", ""),
    ("ed", "e"),
    ("d", ""),
    ("er", ""),
    ("ly", ""),
)
_SHORTEST_REST = 3
SHIPPED = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "schemas", "words.v1.bin"
)


class WordTable:
    """One table in memory. Raises `ValueError` if `data` is not a word table."""

    def __init__(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        if sys.byteorder != "little" or bytes(view[: len(MAGIC)]) != MAGIC:
            raise ValueError("not a word table for this machine")
        at = len(MAGIC)

        def section(kind: str, size: int, count: int) -> memoryview:
            nonlocal at
            part = view[at : at + size * count]
            if len(part) != size * count:
                raise ValueError("the word table is cut off")
            at += size * count
            return part.cast(kind)  # type: ignore[call-overload,no-any-return]  # not a literal

        count, self.dimensions, stems, self._most_related = section("I", 4, 4)
        self._starts = section("I", 4, count + 1)
        self._words = section("B", 1, self._starts[count])
        self._scales = section("H", 2, count)
        self._rows = section("b", 1, count * self.dimensions)
        self._stem_starts = section("I", 4, stems + 1)
        self._stems = section("B", 1, self._stem_starts[stems])
        self._related = section("H", 2, count * self._most_related)
        self._nearness = section("B", 1, count * self._most_related)
        self._count = count
        self._packed: dict[str, int] = {}
        self._ones = int.from_bytes((b"\1" + bytes(_LANE - 1)) * self.dimensions, "little")
        """A row of ones, packed."""
        self._near: dict[str, list[tuple[str, float]]] = {}
        self._ranges: dict[bytes, tuple[int, int]] = {}
        self._is_ascii = False

    def __len__(self) -> int:
        return self._count

    def find(self, word: str) -> int | None:
        """The number of a word, or else of its plain form."""
        if len(word) > _LONGEST_WORD or (self._is_ascii and not word.isascii()):
            return None
        found = self._exactly(word)
        if found is not None:
            return found
        for ending, instead in _ENDINGS:
            rest = len(word) - len(ending)
            if rest >= _SHORTEST_REST and word.endswith(ending):
                found = self._exactly(word[:rest] + instead)
                if found is not None:
                    return found
        return None

    def has(self, word: str) -> bool:
        """Whether it has exactly this form of a word."""
        return len(word) <= _LONGEST_WORD and self._exactly(word) is not None

    def _exactly(self, word: str) -> int | None:
        wanted = word.encode()
        starts, words = self._starts, self._words
        low, high = self._ranges.get(wanted[:2], (0, 0)) if self._ranges else (0, self._count)
        while low < high:
            middle = (low + high) // 2
            here = bytes(words[starts[middle] : starts[middle + 1]])
            if here == wanted:
                return middle
            if here < wanted:
                low = middle + 1
            else:
                high = middle
        return None

    def expect_many(self) -> None:
        """Get ready for many lookups: note where words with the same two first bytes are."""
        words = bytes(self._words)
        self._is_ascii = words.isascii()
        for number, start in enumerate(self._starts[: self._count]):
            first = words[start : min(start + 2, self._starts[number + 1])]
            self._ranges[first] = (self._ranges.get(first, (number,))[0], number + 1)

    def forget_many(self) -> None:
        """Free the rows of words that are in memory."""
        self._packed.clear()

    def vector(self, words: Iterable[str]) -> Vector | None:
        """The direction of a text; None if the table has none of its words.

        The numbers of a row lie side by side in one large number, so one addition adds them all.
        """
        packed = self._packed
        read = list(words)[:MOST_WORDS]
        rows = [packed[word] if word in packed else self._pack(word) for word in read]
        known = [row for row in rows if row]
        if not known:
            return None
        sums = self._lanes(known[:_AT_ONCE])
        if len(known) > _AT_ONCE:
            sums = map(add, sums, self._lanes(known[_AT_ONCE:]))  # at most `MOST_WORDS`
        above = len(known) * _ABOVE_ZERO
        return unit([lane - above for lane in sums])

    def _lanes(self, rows: Sequence[int]) -> Iterable[int]:
        size = _LANE * self.dimensions
        return memoryview(sum(rows).to_bytes(size, "little")).cast("I")

    def _pack(self, word: str) -> int:
        """The row of a word as one number, each number in it above 0; 0 for an unknown word."""
        row, packed = self.find(word), 0
        if row is not None:
            start, scale = row * self.dimensions, self._scales[row]
            wide = bytearray(_LANE * self.dimensions)
            wide[::_LANE] = bytes(self._rows[start : start + self.dimensions]).translate(_SHIFTED)
            packed = (
                scale * int.from_bytes(wide, "little") + (_ABOVE_ZERO - 128 * scale) * self._ones
            )
        if len(self._packed) < _MOST_PACKED:
            self._packed[word] = packed
        return packed

    def related(self, word: str) -> list[tuple[str, float]]:
        """Stems of other words near to `word`, and how near: above 0, at most 1; cached."""
        found = self._near.get(word)
        if found is None:
            found = self._read_related(word)
            if len(self._near) < _MOST_NEAR:
                self._near[word] = found
        return found

    def _read_related(self, word: str) -> list[tuple[str, float]]:
        row = self.find(word)
        if row is None:
            return []
        first = row * self._most_related
        found = []
        for place in range(first, first + self._most_related):
            stem = self._related[place]
            if stem == NONE:
                break
            start, end = self._stem_starts[stem], self._stem_starts[stem + 1]
            found.append((bytes(self._stems[start:end]).decode(), self._nearness[place] / 255))
        return found


def unit(vector: Vector) -> Vector | None:
    """A vector with a length of about `UNIT`, in whole numbers; None for one without length."""
    length = dot(vector, vector) ** 0.5
    if not length:
        return None
    factor = UNIT / length
    return [int(number * factor) for number in vector]


def dot(left: Vector, right: Vector) -> int:
    return sum(map(mul, left, right))


_shipped: list[WordTable | None] = []


def shipped_table() -> WordTable | None:
    """The table of this package; None where it cannot be read."""
    if not _shipped:
        _shipped.append(_opened(SHIPPED))
    return _shipped[0]


def _opened(path: str) -> WordTable | None:
    from mmap import ACCESS_READ, mmap  # only where meaning counts

    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        return WordTable(memoryview(mmap(descriptor, 0, access=ACCESS_READ)))
    except (OSError, ValueError):
        return None
    finally:
        os.close(descriptor)
