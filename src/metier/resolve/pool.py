"""The candidates of a catalog, prepared once for any number of questions."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property, lru_cache
from itertools import islice
from operator import lt
from types import MappingProxyType
from typing import NamedTuple, overload

from metier.core.arrays import Arrays, Floats, Mask, Places, numpy_arrays
from metier.core.fuzzy import FuzzyNames
from metier.core.names import is_capability_name, stable_hash
from metier.core.stems import label_stems, prose_stems
from metier.resolve.scoring import (
    Hits,
    Lookup,
    Words,
    mean_length,
    median_of_others,
    overclaim_penalties,
    penalties,
    places_by_key,
    rounded,
    runtime_scores,
    weights_of_stem,
)
from metier.values.candidates import Candidate
from metier.values.contracts import Mode
from metier.values.policy import Policy
from metier.values.scoring import INVALID_TOKEN, UNKNOWN_CLAUSE

UNLIMITED = 10**9
_digest = lru_cache(maxsize=200_000)(stable_hash)
_LIMITS = ("min_total_score", "min_contract_score", "min_required_coverage")
_LOOSEST = Policy(
    min_total_score=0.0,
    min_contract_score=0.0,
    min_required_coverage=0.0,
    max_candidates=UNLIMITED,
    on_missing_required="auto-emulate",
)


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
        self.candidates: Sequence[Candidate] = _Built(given.build, self.given)
        self.speaking = [
            place for place, number in enumerate(self.given) if number in given.speaking
        ]
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

    def claims(self, mode: Mode) -> "Claims":
        if mode not in self._claims:
            self._claims[mode] = Claims(self.arrays, self.candidates, self.speaking, mode)
        return self._claims[mode]

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
    def __getitem__(self, place: int) -> Candidate: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Candidate]: ...

    def __getitem__(self, place: int | slice) -> Candidate | Sequence[Candidate]:
        if isinstance(place, slice):
            return [self[one] for one in range(len(self))[place]]
        if place not in self._made:
            self._made[place] = self._build(self._numbers[place])
        return self._made[place]


class PoolWords(NamedTuple):
    prose: Words
    """The stems of names and descriptions."""
    labels: Words
    """The stems of names and folders."""


class Claims:
    """The capabilities that candidates claim, as far as they count in one mode."""

    def __init__(
        self,
        arrays: Arrays,
        candidates: Sequence[Candidate],
        speaking: Sequence[int],
        mode: Mode,
    ) -> None:
        by_name: defaultdict[str, list[int]] = defaultdict(list)
        self._arrays = arrays
        self.counts: Floats = arrays.zeros(len(candidates))
        """How many capabilities each claims."""
        self.prose: Mask = arrays.ones(len(candidates), dtype=bool)
        """Which of them claim none, only describe."""
        for place in speaking:
            candidate = candidates[place]
            provides = candidate.provides_in(mode)
            self.counts[place] = len(provides)
            self.prose[place] = candidate.is_prose_in(mode)
            for name in dict.fromkeys(provides):
                if is_capability_name(name):
                    by_name[name].append(place)
        self.names = sorted(by_name)
        self._places: dict[str, Places] = {
            name: arrays.array(by_name[name], dtype=int) for name in self.names
        }
        self.has_prose = bool(self.prose.any())
        self._candidates = candidates
        self._speaking = speaking
        self._mode = mode

    @cached_property
    def hints(self) -> "Hints":
        """The limits that providers set themselves with `Pol(...)`."""
        contracts = {
            place: self._candidates[place].contract_in(self._mode) for place in self._speaking
        }
        policies = {place: one.policy for place, one in contracts.items() if one is not None}
        return Hints(self._arrays, len(self._candidates), policies)

    @cached_property
    def invalid_tokens(self) -> Floats:
        return penalties(self._of_contracts(Candidate.invalid_tokens), INVALID_TOKEN)

    @cached_property
    def unknown_clauses(self) -> Floats:
        return penalties(self._of_contracts(Candidate.unknown_clauses), UNKNOWN_CLAUSE)

    def _of_contracts(self, count: Callable[[Candidate], int]) -> Floats:
        counts: Floats = self._arrays.zeros(len(self._candidates))
        if self._mode == "best-effort":
            for place in self._speaking:
                if self._candidates[place].contract is not None:
                    counts[place] = count(self._candidates[place])
        return counts

    def penalties(self, without: int | None) -> Floats:
        """All penalties except that for inflation; `without` does not count."""
        if without is None:
            return self._penalties
        return rounded(self.invalid_tokens + self.overclaim(without) + self.unknown_clauses)

    @cached_property
    def _penalties(self) -> Floats:
        return rounded(self.invalid_tokens + self.overclaim(None) + self.unknown_clauses)

    def overclaim(self, without: int | None) -> Floats:
        """The penalties for claiming far more than the median; `without` does not count."""
        return overclaim_penalties(self.counts, median_of_others(self.counts, without))

    def places(self, name: str) -> Places:
        return self._places.get(name, self._arrays.arange(0))

    def like(self, name: str) -> list[str]:
        """Similar names, the most similar last."""
        similar = self._fuzzy.like(name)
        if len(similar) > 1:
            similar = sorted(similar, key=lambda one: (one[1], -one[0]))
        return [self.names[place] for place, _ in similar]

    @cached_property
    def _fuzzy(self) -> FuzzyNames:
        return FuzzyNames(self.names, self._arrays)


class Hints:
    """Limits that providers set for themselves."""

    def __init__(
        self, arrays: Arrays, size: int, policies: Mapping[int, Mapping[str, str]]
    ) -> None:
        self.bind = any(policies.values())
        self.max_candidates: Floats = arrays.full(size, float(UNLIMITED))
        self._arrays = arrays
        self._least: dict[str, Floats] = {name: arrays.zeros(size) for name in _LIMITS}
        for place, policy in policies.items():
            if policy:
                asked, _ = _LOOSEST.with_contract(policy)
                self.max_candidates[place] = asked.max_candidates
                for name, values in self._least.items():
                    values[place] = getattr(asked, name)

    def least(self, name: str, policy: Policy, places: Places) -> Floats | float:
        """What each of these candidates has to reach by the policy or its own hint."""
        limit: float = getattr(policy, name)
        return self._arrays.maximum(limit, self._least[name][places]) if self.bind else limit
