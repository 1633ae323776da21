"""Which texts have which stems: kept in memory, or looked up in the catalogue."""

from abc import ABC, abstractmethod
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metier.core.stems import stems

Floats: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.intp]
NOWHERE: Places = np.empty(0, dtype=np.intp)
_NEVER: Floats = np.empty(0)

Lookup = Callable[[str], Sequence[int] | None]
"""The texts that have a stem: the key of one, how often it has it, its length, the next key, …"""


class Words(ABC):
    """Answers about the stems of many texts; a text is known by its place."""

    def __init__(self, lengths: Iterable[float], distinct: Iterable[float]) -> None:
        self.lengths = floats(lengths)
        self.distinct = floats(distinct)
        """How many different stems each text has."""

    @abstractmethod
    def posting(self, stem: str) -> tuple[Places, Floats]:
        """The texts that have `stem`, in ascending order, and how often each has it."""

    @abstractmethod
    def has(self, wanted: Sequence[str], which: NDArray[np.intp], places: Places) -> Floats:
        """For each pair of a stem, by its number in `wanted`, and a text: 1.0 if it has it."""

    def look_up(self, wanted: Iterable[str]) -> None:
        """See to it that these stems are known from now on."""
        for stem in wanted:
            self.posting(stem)

    def with_all(self, wanted: Iterable[str]) -> Places:
        """The texts that have every stem of `wanted`; none when there is no stem."""
        found: Places | None = None
        for places in sorted((self.posting(stem)[0] for stem in set(wanted)), key=len):
            found = places if found is None else found[contained(found, places)]
            if not len(found):
                break
        return NOWHERE if found is None else found

    def hits(self, wanted: Iterable[str]) -> "Hits":
        """Where the stems of `wanted` are, as far as they are anywhere."""
        return Hits([one for one in map(self.posting, wanted) if len(one[0])])


class Hits(NamedTuple):
    """The texts that have stems: those of one stem after those of the other."""

    postings: list[tuple[Places, Floats]]

    @property
    def places(self) -> Places:
        return np.concatenate([NOWHERE, *(places for places, _ in self.postings)])

    @property
    def values(self) -> Floats:
        """How often each text has the stem, or what it counts there."""
        return np.concatenate([_NEVER, *(values for _, values in self.postings)])


class WordsInMemory(Words):
    """Kept stem by stem in long arrays."""

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        """`texts` as their stems."""
        numbers: dict[str, int] = {}
        stem_of, place_of, counts = array("i"), array("i"), array("i")
        lengths: list[int] = []
        distinct: list[int] = []
        for place, found in enumerate(texts):
            by_stem = Counter(found)
            lengths.append(len(found))
            distinct.append(len(by_stem))
            stem_of.extend([numbers.setdefault(stem, len(numbers)) for stem in by_stem])
            place_of.extend([place] * len(by_stem))
            counts.extend(by_stem.values())
        super().__init__(lengths, distinct)
        self._numbers = numbers
        by_number = np.frombuffer(stem_of, dtype=np.int32)
        order = np.argsort(by_number, kind="stable")
        self._places = np.frombuffer(place_of, dtype=np.int32)[order].astype(np.intp)
        self._counts = np.frombuffer(counts, dtype=np.int32)[order].astype(np.float64)
        starts = np.searchsorted(by_number[order], np.arange(len(numbers) + 1))
        self._starts: list[int] = starts.tolist()
        self._keys = by_number[order].astype(np.int64) * len(lengths) + self._places

    def posting(self, stem: str) -> tuple[Places, Floats]:
        number = self._numbers.get(stem)
        if number is None:
            return NOWHERE, _NEVER
        start, end = self._starts[number], self._starts[number + 1]
        return self._places[start:end], self._counts[start:end]

    def has(self, wanted: Sequence[str], which: NDArray[np.intp], places: Places) -> Floats:
        if not len(self._keys):
            return np.zeros(len(which))
        numbers = np.array([self._numbers.get(stem, -1) for stem in wanted], dtype=np.int64)
        keys = numbers[which] * len(self.lengths) + places
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        found: NDArray[np.bool_] = (self._keys[at] == keys) & (numbers[which] >= 0)
        return found.astype(np.float64)


class WordsOnDemand(Words):
    """Looked up stem by stem; what was looked up once is kept."""

    def __init__(
        self,
        lookup: Lookup,
        keys: Sequence[int],
        lengths: Iterable[float],
        distinct: Iterable[float],
    ) -> None:
        """`keys` are the keys of the texts, in the order of their places."""
        super().__init__(lengths, distinct)
        self._lookup = lookup
        self._place_of_key = np.full(max(keys, default=0) + 1, -1, dtype=np.intp)
        self._place_of_key[list(keys)] = np.arange(len(keys))
        self._known: dict[str, tuple[Places, Floats]] = {}

    def posting(self, stem: str) -> tuple[Places, Floats]:
        known = self._known.get(stem)
        if known is None:
            known = self._known[stem] = self._looked_up(stem)
        return known

    def has(self, wanted: Sequence[str], which: NDArray[np.intp], places: Places) -> Floats:
        found = np.zeros(len(which))
        for number in distinct(which):
            here = np.flatnonzero(which == number)
            found[here] = contained(places[here], self.posting(wanted[number])[0])
        return found

    def _looked_up(self, stem: str) -> tuple[Places, Floats]:
        postings = self._lookup(stem)
        if postings is None:
            return NOWHERE, _NEVER
        numbers = np.array(postings, dtype=np.int64)
        keys, counts = numbers[0::3], numbers[1::3].astype(np.float64)
        inside = keys < len(self._place_of_key)
        places, counts = self._place_of_key[keys[inside]], counts[inside]
        kept = places >= 0
        places, counts = places[kept], counts[kept]
        order = np.argsort(places)
        return places[order], counts[order]


@lru_cache(maxsize=20_000)
def stems_of_capability(name: str) -> tuple[str, ...]:
    return tuple(stems(name))


def contained(wanted: Places, places: Places) -> NDArray[np.bool_]:
    """Which of `wanted` are among `places`, which ascend."""
    if not len(places):
        return np.zeros(len(wanted), dtype=bool)
    at = places.searchsorted(wanted)
    found: NDArray[np.bool_] = places.take(at, mode="clip") == wanted
    return found


def sums(at: NDArray[np.integer], values: Floats | NDArray[np.bool_], size: int) -> Floats:
    """For each of `size` places the sum of the values that stand at it, added in their order."""
    return np.bincount(at, values, minlength=size).astype(np.float64, copy=False)


def distinct(values: NDArray[np.integer]) -> NDArray[np.integer]:
    """The different ones in ascending order: `np.unique` would load numpy.ma."""
    ordered = np.sort(values)
    is_first = np.ones(len(ordered), dtype=bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]


def floats(values: Iterable[float]) -> Floats:
    return np.array(list(values), dtype=np.float64)
