"""The stems of texts, and the formulas of spec 4."""

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from metier.core import bm25
from metier.core.arrays import Array, Arrays, Floats, Mask, Places, arrays_of
from metier.core.stems import stems
from metier.hosts.table import NAMES
from metier.values.score_numbers import (
    BM25,
    DECIMALS,
    DIVERGENCE,
    HISTORY,
    OVERCLAIM,
    SKILL_WEIGHTS,
    WEIGHTS,
)

_NO_SPREAD = 1e-12
_COUNT_BITS = 32


# Stems

Lookup = Callable[[str], Sequence[int] | None]
"""The texts that have a stem: the key of one, its count there, its length, the next key, …"""


class Words:
    """The stems of many texts, by index, looked up on demand."""

    def __init__(
        self,
        lookup: Lookup,
        places_by_key: Places,
        lengths: Sequence[float],
        distinct: Sequence[float],
    ) -> None:
        self.arrays = arrays = arrays_of(places_by_key)
        self.nowhere: tuple[Places, Floats] = arrays.empty(0, dtype=int), arrays.empty(0)
        self._lengths = lengths
        self._distinct = distinct
        self._lookup = lookup
        self._place_of_key = places_by_key
        self._known: dict[str, tuple[Places, Floats]] = {}

    @classmethod
    def of_texts(cls, arrays: Arrays, texts: Iterable[Sequence[str]]) -> "Words":
        postings = _Postings()
        distinct: list[int] = []
        for found in texts:
            counts = Counter(found)
            distinct.append(len(counts))
            postings.add(counts, len(found))
        lengths = postings.lengths
        return cls(postings.of, arrays.arange(len(lengths)), lengths, distinct)

    @cached_property
    def lengths(self) -> Floats:
        values: Floats = self.arrays.array(self._lengths, dtype=float)
        return values

    @cached_property
    def distinct(self) -> Floats:
        values: Floats = self.arrays.array(self._distinct, dtype=float)
        return values

    def posting(self, stem: str) -> tuple[Places, Floats]:
        """The texts that have `stem`, in ascending order, and how often each has it."""
        known = self._known.get(stem)
        if known is None:
            known = self._known[stem] = self._looked_up(stem)
        return known

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

    def has(self, wanted: Sequence[str], which: Places, places: Places) -> Floats:
        """1.0 for each pair of a stem, by its number in `wanted`, and a text that has it.

        The pairs are in the order of `which`.
        """
        found: Floats = self.arrays.zeros(len(which))
        ends = which.searchsorted(self.arrays.arange(len(wanted)) + 1).tolist()
        for stem, start, end in zip(wanted, (0, *ends), ends, strict=False):
            found[start:end] = contained(places[start:end], self.posting(stem)[0])
        return found

    def look_up(self, wanted: Iterable[str]) -> None:
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
        return Hits([one for one in map(self.posting, wanted) if len(one[0])] or [self.nowhere])


class _Postings:
    """The stems of texts that are given one by one.

    Most stems of many texts are in one of them only: until a second text has it, a stem takes one
    integer instead of an array.
    """

    def __init__(self) -> None:
        self.lengths: list[int] = []
        self._of_many: dict[str, array[int]] = {}
        self._of_one: dict[str, int] = {}
        """Stem → place and count in one number."""

    def add(self, counts: Mapping[str, int], length: int) -> None:
        place = len(self.lengths)
        self.lengths.append(length)
        for stem, count in counts.items():
            known = self._of_many.get(stem)
            if known is not None:
                known.extend((place, count, length))
            elif stem in self._of_one:
                first = self._first(self._of_one.pop(stem))
                self._of_many[stem] = array("i", (*first, place, count, length))
            else:
                self._of_one[stem] = place << _COUNT_BITS | count

    def of(self, stem: str) -> Sequence[int] | None:
        """Place, count and length of each text with `stem`; None if there is none."""
        known = self._of_one.get(stem)
        return self._of_many.get(stem) if known is None else self._first(known)

    def _first(self, packed: int) -> tuple[int, int, int]:
        place = packed >> _COUNT_BITS
        return place, packed & (1 << _COUNT_BITS) - 1, self.lengths[place]


class Hits(NamedTuple):
    """The texts that have stems, stem by stem."""

    postings: list[tuple[Places, Floats]]

    @property
    def places(self) -> Places:
        return _joined([places for places, _ in self.postings])

    @property
    def values(self) -> Floats:
        return _joined([values for _, values in self.postings])


def places_by_key(arrays: Arrays, keys: Sequence[int]) -> Places:
    """The index of each key in `keys`; -1 for unknown keys."""
    places: Places = arrays.full(max(keys, default=0) + 1, -1, dtype=int)
    places[list(keys)] = arrays.arange(len(keys))
    return places


@lru_cache(maxsize=20_000)
def stems_of(text: str) -> tuple[str, ...]:
    return tuple(stems(text))


def contained(wanted: Places, places: Places) -> Mask:
    """Which of `wanted` are among `places`, which are sorted."""
    if not len(places):
        none: Mask = arrays_of(wanted).zeros(len(wanted), dtype=bool)
        return none
    at = places.searchsorted(wanted)
    found: Mask = places.take(at, mode="clip") == wanted
    return found


def sums(at: Places, values: Floats | Mask, size: int) -> Floats:
    """The sum of the values at each of `size` places, added in order."""
    found: Floats = arrays_of(at).bincount(at, values, minlength=size).astype(float, copy=False)
    return found


def distinct(values: Places) -> Places:
    """Sorted and unique; `np.unique` would load numpy.ma."""
    arrays = arrays_of(values)
    ordered = arrays.sort(values)
    is_first = arrays.ones(len(ordered), dtype=bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    found: Places = ordered[is_first]
    return found


def _joined(parts: Sequence[Array]) -> Array:
    return arrays_of(parts[0]).concatenate(parts)


# Formulas


def rounded(values: Floats) -> Floats:
    return values.round(DECIMALS)


def composite(contract: Floats, desc: Floats, namepath: Floats, runtime: Floats) -> Floats:
    """S_total."""
    weighted = WEIGHTS["S_contract"] * contract + WEIGHTS["S_desc"] * desc
    weighted = weighted + WEIGHTS["S_namepath"] * namepath
    return rounded(weighted + WEIGHTS["S_runtime"] * runtime)


def skill_score(desc: Floats, namepath: Floats) -> Floats:
    """S_skill."""
    return rounded(SKILL_WEIGHTS["S_desc"] * desc + SKILL_WEIGHTS["S_namepath"] * namepath)


def mean_length(lengths: Floats, without: int | None) -> float:
    others = lengths if without is None else arrays_of(lengths).delete(lengths, without)
    return float(others.sum()) / len(others) if len(others) else 0.0


def weights_of_stem(
    places: Places, counts: Floats, lengths: Floats, mean: float, without: int | None = None
) -> Floats:
    """What a stem counts in BM25 for each text that has it.

    `lengths` are those of all texts; the text `without` counts for nothing.
    """
    total, found = len(lengths), len(places)
    if without is not None:
        total, found = total - 1, found - int((places == without).any())
    rarity = bm25.idf(total, found)
    norms = BM25["k1"] * (1 - BM25["b"] + BM25["b"] * (lengths[places] / (mean or 1.0)))
    return rarity * (counts * (BM25["k1"] + 1)) / (counts + norms)


def bm25_scores(hits: Hits, total: int, without: int | None) -> Floats:
    scores = sums(hits.places, hits.values, total)
    if without is not None:
        scores[without] = 0.0
    return scores


def description_scores(scores: Floats, highest: float) -> Floats:
    """S_desc: BM25 over the highest of any text."""
    return rounded(scores / highest) if highest > 0 else scores


def label_scores(shared: Places, distinct: Floats, query: Sequence[str]) -> Floats:
    """S_namepath: stems shared with name and folder, over all stems of both.

    `distinct` says how many different stems each name and folder have.
    """
    arrays = arrays_of(distinct)
    scores: Floats = arrays.zeros(len(distinct))
    rows = arrays.flatnonzero(shared)
    scores[rows] = rounded(shared[rows] / (distinct[rows] + len(query) - shared[rows]))
    return scores


def penalties(counts: Floats, rule: Mapping[str, float]) -> Floats:
    return rounded(arrays_of(counts).minimum(rule["most"], rule["each"] * counts))


def overclaim_penalties(counts: Floats, median: float) -> Floats:
    free = max(OVERCLAIM["free"], OVERCLAIM["medians"] * median)
    arrays = arrays_of(counts)
    steps = arrays.ceil((counts - free) / OVERCLAIM["step"])
    penalties = arrays.minimum(OVERCLAIM["most"], OVERCLAIM["each"] * steps)
    return rounded(arrays.where(counts > free, penalties, 0.0))


def history_multiplier(success_rate: float) -> float:
    value = HISTORY["least"] + HISTORY["slope"] * success_rate
    return round(min(HISTORY["most"], max(HISTORY["least"], value)), DECIMALS)


class Divergence(NamedTuple):
    """Which claims go far beyond the words of the skills."""

    flagged: Mask
    limit: float | None
    """Higher deltas are flagged."""
    rule: str
    mean: float
    sigma: float


def diverging(deltas: Floats) -> Divergence:
    """The outliers among `deltas`."""
    count = len(deltas)
    mean = round(math.fsum(deltas) / count, DECIMALS) if count else 0.0
    variance = math.fsum((delta - mean) ** 2 for delta in deltas) / count if count else 0.0
    sigma = math.sqrt(variance)
    sigma = round(sigma, DECIMALS) if sigma >= _NO_SPREAD else 0.0
    limit: float | None = None
    if count <= 1:
        rule = "one-candidate"
    elif count < DIVERGENCE["few"]:
        rule, limit = "absolute", DIVERGENCE["absolute"]
    elif sigma == 0.0:
        rule, limit = "no-spread", mean + DIVERGENCE["without_spread"]
    else:
        rule, limit = "two-sigma", mean + DIVERGENCE["sigmas"] * sigma
    if limit is None:
        none = arrays_of(deltas).zeros(count, dtype=bool)
        return Divergence(none, None, rule, mean, sigma)
    limit = round(limit, DECIMALS)
    return Divergence(rounded(deltas) > limit, limit, rule, mean, sigma)


def median_of_others(counts: Floats, without: int | None) -> float:
    arrays = arrays_of(counts)
    others = arrays.sort(counts if without is None else arrays.delete(counts, without))
    if not len(others):
        return 0.0
    middle = len(others) // 2  # `np.median` loads numpy.ma
    return float(others[middle] + others[middle - 1 + len(others) % 2]) / 2


# Runtimes

KNOWN = frozenset({"cli", *NAMES})
_ANY = "all"


class Compatibility(NamedTuple):
    """The runtimes of one skill; with none it works anywhere."""

    runtimes: frozenset[str] = frozenset()
    unknown: tuple[str, ...] = ()


def compatibility(field: str | Sequence[str], host: str | None = None) -> Compatibility:
    """The runtimes of a `compatibility` field; prose names none."""
    parts = field.split(",") if isinstance(field, str) else field
    tokens = [token for token in (part.strip().lower() for part in parts) if token]
    if any(" " in token or "." in token for token in tokens):
        return Compatibility()
    known = KNOWN | {_ANY, host or _ANY}
    unknown = tuple(token for token in dict.fromkeys(tokens) if token not in known)
    if _ANY in tokens:
        return Compatibility(unknown=unknown)
    return Compatibility(frozenset(tokens).intersection(known), unknown)


def runtime_scores(
    arrays: Arrays,
    count: int,
    fields: Iterable[tuple[int, str | Sequence[str]]],
    host: str | None,
) -> Floats:
    """S_runtime: 1.0 where the host is listed or nothing is, or no host is given; else 0.0.

    `fields` are the `compatibility` fields of those of `count` candidates that have one.
    """
    scores: Floats = arrays.ones(count)
    if host is None:
        return scores
    for place, field in fields:
        runtimes = compatibility(field, host).runtimes
        if runtimes and host not in runtimes:
            scores[place] = 0.0
    return scores
