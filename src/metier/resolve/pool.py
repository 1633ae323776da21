"""The candidates of a catalogue, prepared once for any number of questions."""

import hashlib
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from metier.core.fuzzy import FuzzyNames
from metier.core.names import is_capability_name
from metier.core.stems import stems
from metier.resolve.policy import Policy
from metier.values.candidates import Candidate
from metier.values.contracts import Mode

Floats = NDArray[np.float64]
Places = NDArray[np.int32]
UNLIMITED = 10**9
NOWHERE: Places = np.empty(0, dtype=np.int32)


class Pool:
    """Candidates by id, each once (the first counts), with what every question needs."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        first: dict[str, Candidate] = {}
        for candidate in candidates:
            first.setdefault(candidate.id, candidate)
        self.candidates = [first[key] for key in sorted(first)]
        self.ids = [candidate.id for candidate in self.candidates]
        self.places = {key: place for place, key in enumerate(self.ids)}
        self._claims: dict[Mode, Claims] = {}

    def __len__(self) -> int:
        return len(self.candidates)

    def claims(self, mode: Mode) -> "Claims":
        """What the candidates say to provide, as far as it counts in `mode`."""
        if mode not in self._claims:
            self._claims[mode] = Claims(self.candidates, mode)
        return self._claims[mode]

    @cached_property
    def prose(self) -> "Words":
        """The stems of name and description."""
        return Words(f"{one.name} {one.description}" for one in self.candidates)

    @cached_property
    def labels(self) -> "Words":
        """The stems of name and folder."""
        return Words(f"{one.name} {one.folder}" for one in self.candidates)

    @cached_property
    def hash_rank(self) -> NDArray[np.int32]:
        """The rank of each candidate by the SHA-256 of its lower-cased id."""
        digests = [hashlib.sha256(key.lower().encode()).hexdigest() for key in self.ids]
        ranks = np.empty(len(digests), dtype=np.int32)
        ranks[np.argsort(np.array(digests))] = np.arange(len(digests), dtype=np.int32)
        return ranks

    @cached_property
    def restricted(self) -> list[int]:
        """Places of the candidates that say which runtimes they work in."""
        return [place for place, one in enumerate(self.candidates) if one.compatibility]

    @cached_property
    def invalid_tokens(self) -> Floats:
        return floats(one.invalid_tokens() for one in self.candidates)

    @cached_property
    def unknown_clauses(self) -> Floats:
        return floats(
            len(one.contract.unknown_clauses) if one.contract else 0 for one in self.candidates
        )


class Words:
    """Which texts have which stems, and how often; kept stem by stem in three long arrays."""

    def __init__(self, texts: Iterable[str]) -> None:
        numbers: dict[str, int] = {}
        stem_of, place_of, counts = array("i"), array("i"), array("i")
        lengths: list[int] = []
        distinct: list[int] = []
        for place, text in enumerate(texts):
            found = stems(text)
            by_stem = Counter(found)
            lengths.append(len(found))
            distinct.append(len(by_stem))
            stem_of.extend([numbers.setdefault(stem, len(numbers)) for stem in by_stem])
            place_of.extend([place] * len(by_stem))
            counts.extend(by_stem.values())
        self._numbers = numbers
        self._size = len(lengths)
        self.lengths = floats(lengths)
        self.total_length = float(sum(lengths))
        self.distinct = floats(distinct)
        """How many different stems each text has."""
        by_number = np.frombuffer(stem_of, dtype=np.int32)
        order = np.argsort(by_number, kind="stable")
        self._places = np.frombuffer(place_of, dtype=np.int32)[order]
        self._counts = np.frombuffer(counts, dtype=np.int32)[order].astype(np.float64)
        self._starts = np.searchsorted(by_number[order], np.arange(len(numbers) + 1))
        self._keys = by_number[order].astype(np.int64) * self._size + self._places

    def _slice(self, stem: str) -> slice:
        number = self._numbers.get(stem)
        if number is None:
            return slice(0, 0)
        return slice(self._starts[number], self._starts[number + 1])

    def places(self, stem: str) -> Places:
        """The texts that have `stem`, in ascending order."""
        return self._places[self._slice(stem)]

    def counts(self, stem: str) -> Floats:
        """How often each of `places(stem)` has it."""
        return self._counts[self._slice(stem)]

    def with_all(self, wanted: Iterable[str]) -> Places:
        """The texts that have every stem of `wanted`; none when there is no stem."""
        found: Places | None = None
        for places in sorted((self.places(stem) for stem in set(wanted)), key=len):
            found = places if found is None else np.intersect1d(found, places, assume_unique=True)
            if not len(found):
                break
        return NOWHERE if found is None else found

    def shared(self, wanted: Iterable[str]) -> Floats:
        """How many of the stems in `wanted` each text has."""
        found = np.zeros(self._size)
        for stem in wanted:
            found[self.places(stem)] += 1.0
        return found

    def has(self, wanted: Sequence[str], which: NDArray[np.intp], places: Places) -> Floats:
        """For each pair of a stem, by its number in `wanted`, and a text: 1.0 if it has it."""
        if not len(self._keys):
            return np.zeros(len(which))
        numbers = np.array([self._numbers.get(stem, -1) for stem in wanted], dtype=np.int64)
        keys = numbers[which] * self._size + places
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        found: NDArray[np.bool_] = (self._keys[at] == keys) & (numbers[which] >= 0)
        return found.astype(np.float64)


class Claims:
    """The capabilities that candidates name, as far as they count in one mode."""

    def __init__(self, candidates: Sequence[Candidate], mode: Mode) -> None:
        by_name: defaultdict[str, list[int]] = defaultdict(list)
        counts: list[int] = []
        prose: list[bool] = []
        for place, candidate in enumerate(candidates):
            provides = candidate.provides_in(mode)
            counts.append(len(provides))
            prose.append(candidate.is_prose_in(mode))
            for name in dict.fromkeys(provides):
                if is_capability_name(name):
                    by_name[name].append(place)
        self.names = sorted(by_name)
        self._places = {name: np.array(by_name[name], dtype=np.int32) for name in self.names}
        self.counts = floats(counts)
        """How many capabilities each names, as written."""
        self.prose = np.array(prose, dtype=bool)
        """Which of them have only their name and description to go by."""
        self._contracts = [candidate.contract_in(mode) for candidate in candidates]

    @cached_property
    def hints(self) -> "Hints":
        """What each provider demands of itself through its own `Pol(...)`."""
        return Hints([one.policy if one is not None else {} for one in self._contracts])

    def places(self, name: str) -> Places:
        """The candidates that name exactly this capability."""
        return self._places.get(name, NOWHERE)

    @cached_property
    def fuzzy(self) -> FuzzyNames:
        return FuzzyNames(self.names)


class Hints:
    """Limits that providers set for themselves; without a hint they bind nobody."""

    def __init__(self, policies: Sequence[Mapping[str, str]]) -> None:
        loosest = Policy(
            min_total_score=0.0,
            min_contract_score=0.0,
            min_required_coverage=0.0,
            max_candidates=UNLIMITED,
            on_missing_required="auto-emulate",
        )
        self.min_total_score = np.zeros(len(policies))
        self.min_contract_score = np.zeros(len(policies))
        self.min_required_coverage = np.zeros(len(policies))
        self.max_candidates = np.full(len(policies), float(UNLIMITED))
        for place, policy in enumerate(policies):
            if policy:
                asked, _ = loosest.with_contract(policy)
                self.min_total_score[place] = asked.min_total_score
                self.min_contract_score[place] = asked.min_contract_score
                self.min_required_coverage[place] = asked.min_required_coverage
                self.max_candidates[place] = asked.max_candidates


def floats(values: Iterable[float]) -> Floats:
    return np.array(list(values), dtype=np.float64)
