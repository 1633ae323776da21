"""Jaro-Winkler similarity of names, decided exactly at the border."""

from functools import partial
from typing import TYPE_CHECKING

from metier.core.arrays import Arrays, Floats, Places, numpy_arrays

if TYPE_CHECKING:
    from fractions import Fraction

PREFIX_SCALE = 0.10
MAX_PREFIX = 4
THRESHOLD = 0.90
_BAND = 1e-9
"""Within this distance of the threshold floating point does not decide."""
_LEAST_SHARES = 1.5 - 1e-4
"""At the threshold and with the longest prefix, m/|a| + m/|b| is at least 1.5."""
_MOST_KNOWN = 10_000
_PLACES = {char: place for place, char in enumerate("abcdefghijklmnopqrstuvwxyz0123456789-")}


def similarity(left: str, right: str) -> float:
    """Jaro-Winkler similarity, rounded to 10 decimals."""
    from rapidfuzz.distance import JaroWinkler  # most catalogs of prose never need it

    return round(float(JaroWinkler.similarity(left, right, prefix_weight=PREFIX_SCALE)), 10)


class FuzzyNames:
    """A fixed list of capability names to compare others with."""

    def __init__(self, names: list[str], arrays: Arrays | None = None) -> None:
        self._arrays = arrays = arrays or numpy_arrays()
        self._names = names
        self._lengths: Floats = arrays.array([len(name) for name in names], dtype=arrays.float32)
        columns = zip(*map(_counts, names), strict=True)
        self._counts = [arrays.array(column, dtype=arrays.uint8) for column in columns]
        self._known: dict[str, list[tuple[int, float]]] = {}

    def like(self, name: str) -> list[tuple[int, float]]:
        """Positions and similarities of the other names that reach the threshold."""
        if name not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[name] = self._like(name)
        return self._known[name]

    def _like(self, name: str) -> list[tuple[int, float]]:
        places = [place for place in self._possible(name).tolist() if self._names[place] != name]
        if not places:
            return []
        from rapidfuzz.distance import JaroWinkler

        compare = partial(JaroWinkler.similarity, name, prefix_weight=PREFIX_SCALE)
        found = [(place, compare(self._names[place])) for place in places]
        return [
            (place, round(score, 10))
            for place, score in found
            if _reaches(name, self._names[place], score)
        ]

    def _possible(self, name: str) -> Places:
        """Positions of names that share enough characters: a superset of the result."""
        if not self._names:
            return self._arrays.arange(0)
        matches = self._arrays.zeros(len(self._names), dtype=self._arrays.float32)
        for place, count in enumerate(_counts(name)):
            if count:
                matches += self._arrays.minimum(self._counts[place], count)
        shares = matches / len(name) + matches / self._lengths
        return self._arrays.flatnonzero(shares >= _LEAST_SHARES)


def _counts(name: str) -> list[int]:
    counts = [0] * len(_PLACES)
    for char in name:
        if char in _PLACES:
            counts[_PLACES[char]] += 1
    return counts


def _reaches(left: str, right: str, found: float) -> bool:
    if abs(found - THRESHOLD) > _BAND:
        return found > THRESHOLD
    from fractions import Fraction  # slow to load and rarely needed

    return exact_similarity(left, right) >= Fraction(9, 10)


def exact_similarity(left: str, right: str) -> "Fraction":
    """Jaro-Winkler similarity as a fraction."""
    from fractions import Fraction

    jaro = _exact_jaro(left, right)
    prefix = 0
    while prefix < min(MAX_PREFIX, len(left), len(right)) and left[prefix] == right[prefix]:
        prefix += 1
    return jaro + prefix * Fraction(1, 10) * (1 - jaro)


def _exact_jaro(left: str, right: str) -> "Fraction":
    from fractions import Fraction

    window = max(max(len(left), len(right)) // 2 - 1, 0)
    taken = [False] * len(right)
    from_left: list[str] = []
    for place, char in enumerate(left):
        for other in range(max(0, place - window), min(len(right), place + window + 1)):
            if not taken[other] and right[other] == char:
                taken[other] = True
                from_left.append(char)
                break
    if not from_left:
        return Fraction(int(left == right))
    from_right = [char for char, is_taken in zip(right, taken, strict=True) if is_taken]
    crossed = sum(one != other for one, other in zip(from_left, from_right, strict=True))
    matches = len(from_left)
    in_order = Fraction(matches - crossed // 2, matches)
    return (Fraction(matches, len(left)) + Fraction(matches, len(right)) + in_order) / 3
