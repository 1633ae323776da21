"""The candidates of a catalog, prepared once for any number of questions."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property, lru_cache
from itertools import compress, count, islice
from operator import lt
from types import MappingProxyType
from typing import NamedTuple, overload

from metier.core.arrays import Arrays, Floats, Places, numpy_arrays
from metier.core.names import stable_hash
from metier.core.stems import label_stems, prose_stems
from metier.resolve.aliases import AliasTables
from metier.resolve.matching import Claims, Matches, match
from metier.resolve.scoring import (
    Hits,
    Lookup,
    Words,
    mean_length,
    places_by_key,
    runtime_scores,
    weights_of_stem,
)
from metier.values.candidates import Candidate
from metier.values.contracts import Mode

_digest = lru_cache(maxsize=200_000)(stable_hash)


class Pool:
    """Candidates by id; the first of equal ids counts."""

    def __init__(
        self,
        candidates: "Iterable[Candidate] | Candidates",
        arrays: Arrays | None = None,
    ) -> None:
        self.arrays = arrays if arrays is not None else numpy_arrays()
        given = candidates if isinstance(candidates, Candidates) else Candidates.of(candidates)
        self.ids, self.given = _in_order(given.ids)
        """`given` has the number of each candidate among those given."""
        self.candidates: Sequence[Candidate] = (
            _Built(given.build, self.given)
            if isinstance(candidates, Candidates)
            else [given.build(number) for number in self.given]
        )
        self.speaking = list(compress(count(), map(given.speaking.__contains__, self.given)))
        """Indexes of the candidates that may claim anything."""
        self.teams = {
            place: given.teams[number]
            for place, number in enumerate(self.given if given.teams else ())
            if number in given.teams
        }
        """The teams of the candidates that have one, by index."""
        self._stems = given.stems
        self._forget()

    def _forget(self) -> None:
        self._claims: dict[Mode, Claims] = {}
        self._runtime: dict[str | None, Floats] = {}
        self._weights: dict[str, tuple[Places, Floats]] = {}

    def with_arrays(self, arrays: Arrays) -> "Pool":
        """The same candidates, with results in arrays of another kind."""
        pool = copy(self)
        for computed in ("words", "_mean_length"):
            pool.__dict__.pop(computed, None)
        pool.arrays = arrays
        pool._forget()
        return pool

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def places(self) -> Mapping[str, int]:
        return dict(zip(self.ids, range(len(self)), strict=True))

    def places_of(self, team: str) -> list[int]:
        """Indexes of the candidates of a team."""
        return [place for place, name in self.teams.items() if name == team]

    def places_called(self, name: str) -> list[int]:
        """Indexes of the candidates with a name."""
        start = f"{name}::"
        found = []
        for place in range(bisect_left(self.ids, start), len(self)):
            if not self.ids[place].startswith(start):
                break
            found += [place] if self.candidates[place].name == name else []
        return found

    def claims(self, mode: Mode) -> Claims:
        if mode not in self._claims:
            speaking = {place: self.candidates[place] for place in self.speaking}
            self._claims[mode] = Claims(self.arrays, len(self), speaking, mode)
        return self._claims[mode]

    def match(self, requires: Sequence[str], aliases: AliasTables, mode: Mode) -> Matches:
        """The best match of every candidate for each of `requires`, by index."""
        claims = self.claims(mode)
        return match(claims, self.prose if claims.has_prose else None, requires, aliases)

    @property
    def prose(self) -> Words:
        return self.words.prose

    @property
    def labels(self) -> Words:
        return self.words.labels

    @cached_property
    def words(self) -> "PoolWords":
        if self._stems is not None:
            return self._stored_words(self._stems)
        return PoolWords(
            Words.of_texts(
                self.arrays, (prose_stems(one.name, one.description) for one in self.candidates)
            ),
            Words.of_texts(
                self.arrays, (label_stems(one.name, one.folder) for one in self.candidates)
            ),
        )

    def _stored_words(self, stems: "StoredStems") -> "PoolWords":
        """The stems of the candidates, looked up in the catalog on demand."""

        def of_pool(column: Sequence[int]) -> Sequence[int]:
            in_order = isinstance(self.given, range)
            return column if in_order else [column[number] for number in self.given]

        places = places_by_key(self.arrays, of_pool(stems.keys))
        in_label = of_pool(stems.distinct_in_label)
        lengths, distinct = of_pool(stems.lengths), of_pool(stems.distinct)
        return PoolWords(
            Words(stems.prose, places, lengths, distinct),
            Words(stems.labels, places, in_label, in_label),
        )

    def weighted_hits(self, wanted: Iterable[str], without: int | None) -> Hits:
        """The texts that have these stems, and their BM25 weights; `without` does not count."""
        if without is None:
            return Hits([self._weighted(stem) for stem in wanted] or [self.prose.nowhere])
        lengths = self.prose.lengths
        mean = mean_length(lengths, without)
        return Hits(
            [
                (places, weights_of_stem(places, counts, lengths, mean, without))
                for places, counts in self.prose.hits(wanted).postings
            ]
        )

    def _weighted(self, stem: str) -> tuple[Places, Floats]:
        known = self._weights.get(stem)
        if known is None:
            places, counts = self.prose.posting(stem)
            known = places, weights_of_stem(places, counts, self.prose.lengths, self._mean_length)
            self._weights[stem] = known
        return known

    @cached_property
    def _mean_length(self) -> float:
        return mean_length(self.prose.lengths, None)

    def hash_ranks(self, places: Places) -> Places:
        """The order of these candidates by the SHA-256 of their lower-cased ids."""
        digests = self.arrays.array([_digest(self.ids[place]) for place in places])
        ranks: Places = self.arrays.empty(len(places), dtype=int)
        ranks[digests.argsort()] = self.arrays.arange(len(places))
        return ranks

    def runtime(self, host: str | None) -> Floats:
        """S_runtime of every candidate."""
        if host not in self._runtime:
            fields = [(place, self.candidates[place].compatibility) for place in self.restricted]
            self._runtime[host] = runtime_scores(self.arrays, len(self), fields, host)
        return self._runtime[host]

    @cached_property
    def restricted(self) -> list[int]:
        """Indexes of the candidates that name runtimes."""
        return [place for place in self.speaking if self.candidates[place].compatibility]


def _in_order(ids: Sequence[str]) -> tuple[Sequence[str], Sequence[int]]:
    """Different ids in order, and the number of each; a range if they are in order already."""
    if all(map(lt, ids, islice(ids, 1, None))):
        return ids, range(len(ids))
    first = dict(zip(reversed(ids), reversed(range(len(ids))), strict=True))
    ordered = sorted(first)
    return ordered, [first[key] for key in ordered]


class Candidates(NamedTuple):
    """Candidates that are built on demand."""

    ids: Sequence[str]
    build: Callable[[int], Candidate]
    speaking: Collection[int]
    """Numbers of those that may claim anything."""
    teams: Mapping[int, str] = MappingProxyType({})
    """The teams of those that have one, by number."""
    stems: "StoredStems | None" = None
    """None computes them from names, descriptions and folders."""

    @classmethod
    def of(cls, candidates: Iterable[Candidate]) -> "Candidates":
        made = list(candidates)
        speaking = [
            number for number, one in enumerate(made) if one.compatibility or not one.says_nothing
        ]
        teams = {number: one.team for number, one in enumerate(made) if one.team}
        return cls([one.id for one in made], made.__getitem__, frozenset(speaking), teams)


class StoredStems(NamedTuple):
    """The stems of candidates in a catalog; `Skills` describes the columns."""

    keys: Sequence[int]
    lengths: Sequence[int]
    distinct: Sequence[int]
    distinct_in_label: Sequence[int]
    prose: Lookup
    labels: Lookup


class _Built(Sequence[Candidate]):
    """The candidates of a pool, each built once."""

    def __init__(self, build: Callable[[int], Candidate], numbers: Sequence[int]) -> None:
        self._build = build
        self._numbers = numbers
        self._made: dict[int, Candidate] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> Candidate: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Candidate]: ...

    def __getitem__(self, index: int | slice) -> Candidate | Sequence[Candidate]:
        if isinstance(index, slice):
            return [self[one] for one in range(len(self))[index]]
        if index not in self._made:
            self._made[index] = self._build(self._numbers[index])
        return self._made[index]


class PoolWords(NamedTuple):
    prose: Words
    """The stems of names and descriptions."""
    labels: Words
    """The stems of names and folders."""
