"""Jaro-Winkler similarity of names, decided exactly at the border."""

import numpy as np
from numpy.typing import NDArray

PREFIX_SCALE = 0.10
THRESHOLD = 0.90
_BAND = 1e-9
"""Within this distance of the threshold floating point does not decide."""
_LEAST_SHARES = 1.5 - 1e-4
"""At the threshold and with the longest prefix, m/|a| + m/|b| is at least 1.5."""
_MOST_KNOWN = 10_000
_PLACES = {char: place for place, char in enumerate("abcdefghijklmnopqrstuvwxyz0123456789-")}


def similarity(left: str, right: str) -> float:
    """Jaro-Winkler similarity, rounded to 10 decimals."""
    from rapidfuzz.distance import JaroWinkler  # most catalogues of prose never need it

    return round(float(JaroWinkler.similarity(left, right, prefix_weight=PREFIX_SCALE)), 10)


class FuzzyNames:
    """A fixed list of capability names to compare others with."""

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._lengths = np.array([len(name) for name in names], dtype=np.float32)
        self._counts = np.array([_counts(name) for name in names], dtype=np.uint8).T.copy()
        """How often each character of the alphabet is in each name."""
        self._known: dict[str, list[tuple[int, float]]] = {}

    def like(self, name: str) -> list[tuple[int, float]]:
        """Places and similarities of the names that reach the threshold; `name` itself not."""
        if name not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[name] = self._like(name)
        return self._known[name]

    def _like(self, name: str) -> list[tuple[int, float]]:
        places = [place for place in self._possible(name) if self._names[place] != name]
        if not places:
            return []
        from rapidfuzz.distance import JaroWinkler
        from rapidfuzz.process import cdist

        names = [self._names[place] for place in places]
        found: NDArray[np.float64] = cdist(
            [name],
            names,
            scorer=JaroWinkler.similarity,
            scorer_kwargs={"prefix_weight": PREFIX_SCALE},
            score_cutoff=THRESHOLD - _BAND,
            dtype=np.float64,
        )[0]
        return [
            (int(places[at]), round(float(found[at]), 10))
            for at in np.flatnonzero(found)
            if _reaches(name, names[at], float(found[at]))
        ]

    def _possible(self, name: str) -> NDArray[np.intp]:
        """Places of the names that share enough characters; an upper bound, so none is lost."""
        if not self._names:
            return np.empty(0, dtype=np.intp)
        matches = np.zeros(len(self._names), dtype=np.float32)
        for place, count in enumerate(_counts(name)):
            if count:
                matches += np.minimum(self._counts[place], count)
        shares = matches / len(name) + matches / self._lengths
        return np.flatnonzero(shares >= _LEAST_SHARES)


def _counts(name: str) -> list[int]:
    """How often each character of the alphabet is in `name`."""
    counts = [0] * len(_PLACES)
    for char in name:
        if char in _PLACES:
            counts[_PLACES[char]] += 1
    return counts


def _reaches(left: str, right: str, found: float) -> bool:
    if abs(found - THRESHOLD) > _BAND:
        return found > THRESHOLD
    from metier.core.jaro import reaches_nine_tenths  # fractions are slow to load and rare

    return reaches_nine_tenths(left, right)
