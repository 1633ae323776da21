"""Which texts have which stems: kept in memory, or looked up in the catalogue."""

from abc import ABC, abstractmethod
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from metier.core.arrays import Array, Arrays, Floats, Mask, Places, arrays_of
from metier.core.stems import stems

Lookup = Callable[[str], Sequence[int] | None]
"""The texts that have a stem: the key of one, how often it has it, its length, the next key, …"""


class Words(ABC):
    """Answers about the stems of many texts; a text is known by its place."""

    def __init__(self, arrays: Arrays, lengths: Sequence[float], distinct: Sequence[float]) -> None:
        self.arrays = arrays
        self.lengths: Floats = arrays.array(lengths, dtype=float)
        self.distinct: Floats = arrays.array(distinct, dtype=float)
        """How many different stems each text has."""
        self.nowhere: tuple[Places, Floats] = arrays.empty(0, dtype=int), arrays.empty(0)
        """What is said of a stem that no text has."""

    @abstractmethod
    def posting(self, stem: str) -> tuple[Places, Floats]:
        """The texts that have `stem`, in ascending order, and how often each has it."""

    @abstractmethod
    def has(self, wanted: Sequence[str], which: Places, places: Places) -> Floats:
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
        return self.nowhere[0] if found is None else found

    def hits(self, wanted: Iterable[str]) -> "Hits":
        """Where the stems of `wanted` are, as far as they are anywhere."""
        return Hits([one for one in map(self.posting, wanted) if len(one[0])] or [self.nowhere])


class Hits(NamedTuple):
    """The texts that have stems: those of one stem after those of the other."""

    postings: list[tuple[Places, Floats]]

    @property
    def places(self) -> Places:
        return _joined([places for places, _ in self.postings])

    @property
    def values(self) -> Floats:
        """How often each text has the stem, or what it counts there."""
        return _joined([values for _, values in self.postings])


class WordsInMemory(Words):
    """Kept stem by stem in long arrays."""

    def __init__(self, arrays: Arrays, texts: Iterable[Sequence[str]]) -> None:
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
        super().__init__(arrays, lengths, distinct)
        self._numbers = numbers
        by_number: Places = arrays.array(stem_of)
        order = by_number.argsort(kind="stable")
        by_number = by_number[order]
        self._places: Places = arrays.array(place_of)[order].astype(int)
        self._counts: Floats = arrays.array(counts)[order].astype(float)
        self._starts: list[int] = by_number.searchsorted(arrays.arange(len(numbers) + 1)).tolist()
        self._keys = by_number.astype(int) * len(lengths) + self._places

    def posting(self, stem: str) -> tuple[Places, Floats]:
        number = self._numbers.get(stem)
        if number is None:
            return self.nowhere
        start, end = self._starts[number], self._starts[number + 1]
        return self._places[start:end], self._counts[start:end]

    def has(self, wanted: Sequence[str], which: Places, places: Places) -> Floats:
        numbers: Places = self.arrays.array(
            [self._numbers.get(stem, -1) for stem in wanted], dtype=int
        )
        keys = numbers[which] * len(self.lengths) + places
        found = contained(keys, self._keys) & (numbers[which] >= 0)
        return found.astype(self.arrays.float64)


class WordsOnDemand(Words):
    """Looked up stem by stem; what was looked up once is kept."""

    def __init__(
        self,
        lookup: Lookup,
        places_by_key: Places,
        lengths: Sequence[float],
        distinct: Sequence[float],
    ) -> None:
        super().__init__(arrays_of(places_by_key), lengths, distinct)
        self._lookup = lookup
        self._place_of_key = places_by_key
        self._known: dict[str, tuple[Places, Floats]] = {}

    def posting(self, stem: str) -> tuple[Places, Floats]:
        known = self._known.get(stem)
        if known is None:
            known = self._known[stem] = self._looked_up(stem)
        return known

    def has(self, wanted: Sequence[str], which: Places, places: Places) -> Floats:
        found: Floats = self.arrays.zeros(len(which))
        for number in distinct(which):
            here = self.arrays.flatnonzero(which == number)
            found[here] = contained(places[here], self.posting(wanted[number])[0]).astype(float)
        return found

    def _looked_up(self, stem: str) -> tuple[Places, Floats]:
        postings = self._lookup(stem)
        if postings is None:
            return self.nowhere
        numbers = self.arrays.array(postings, dtype=int)
        keys, counts = numbers[0::3], numbers[1::3].astype(float)
        inside = keys < len(self._place_of_key)
        places, counts = self._place_of_key[keys[inside]], counts[inside]
        kept = places >= 0
        places, counts = places[kept], counts[kept]
        order = places.argsort()
        return places[order], counts[order]


def places_by_key(arrays: Arrays, keys: Sequence[int]) -> Places:
    """For each key up to the highest the place of its text; -1 for one that is not among `keys`."""
    places: Places = arrays.full(max(keys, default=0) + 1, -1, dtype=int)
    places[keys] = arrays.arange(len(keys))
    return places


@lru_cache(maxsize=20_000)
def stems_of_capability(name: str) -> tuple[str, ...]:
    return tuple(stems(name))


def contained(wanted: Places, places: Places) -> Mask:
    """Which of `wanted` are among `places`, which ascend."""
    if not len(places):
        none: Mask = arrays_of(wanted).zeros(len(wanted), dtype=bool)
        return none
    at = places.searchsorted(wanted)
    found: Mask = places.take(at, mode="clip") == wanted
    return found


def sums(at: Places, values: Floats | Mask, size: int) -> Floats:
    """For each of `size` places the sum of the values that stand at it, added in their order."""
    found: Floats = arrays_of(at).bincount(at, values, minlength=size).astype(float, copy=False)
    return found


def distinct(values: Places) -> Places:
    """The different ones in ascending order: `np.unique` would load numpy.ma."""
    arrays = arrays_of(values)
    ordered = arrays.sort(values)
    is_first = arrays.ones(len(ordered), dtype=bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    found: Places = ordered[is_first]
    return found


def _joined(parts: Sequence[Array]) -> Array:
    """One after the other; there is at least one."""
    return arrays_of(parts[0]).concatenate(parts)
