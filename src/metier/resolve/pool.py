"""The candidates of a catalogue, prepared once for any number of questions."""

import hashlib
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
    def invalid_tokens(self) -> Floats:
        return _floats(one.invalid_tokens() for one in self.candidates)

    @cached_property
    def unknown_clauses(self) -> Floats:
        return _floats(
            len(one.contract.unknown_clauses) if one.contract else 0 for one in self.candidates
        )


class Words:
    """Which texts have which stems, and how often."""

    def __init__(self, texts: Iterable[str]) -> None:
        places: defaultdict[str, list[int]] = defaultdict(list)
        counts: defaultdict[str, list[int]] = defaultdict(list)
        lengths: list[int] = []
        distinct: list[int] = []
        for place, text in enumerate(texts):
            found = stems(text)
            lengths.append(len(found))
            by_stem = Counter(found)
            distinct.append(len(by_stem))
            for stem, count in by_stem.items():
                places[stem].append(place)
                counts[stem].append(count)
        self._places, self._counts = dict(places), dict(counts)
        self.lengths = _floats(lengths)
        self.distinct = _floats(distinct)
        """How many different stems each text has."""

    def places(self, stem: str) -> Places:
        """The texts that have `stem`, in ascending order."""
        found = self._places.get(stem)
        return NOWHERE if found is None else np.array(found, dtype=np.int32)

    def counts(self, stem: str) -> Floats:
        """How often each of `places(stem)` has it."""
        return _floats(self._counts.get(stem, ()))

    def with_all(self, wanted: Iterable[str]) -> Places:
        """The texts that have every stem of `wanted`; none when there is no stem."""
        found: Places | None = None
        for stem in sorted(set(wanted), key=lambda one: len(self._places.get(one, ()))):
            places = self.places(stem)
            found = places if found is None else np.intersect1d(found, places, assume_unique=True)
            if not len(found):
                break
        return NOWHERE if found is None else found

    def shared(self, wanted: Iterable[str]) -> Floats:
        """How many of the stems in `wanted` each text has."""
        found = np.zeros(len(self.lengths))
        for stem in wanted:
            found[self.places(stem)] += 1.0
        return found


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
        self._places = {name: by_name[name] for name in self.names}
        self.counts = _floats(counts)
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
        found = self._places.get(name)
        return NOWHERE if found is None else np.array(found, dtype=np.int32)

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


def _floats(values: Iterable[float]) -> Floats:
    return np.array(list(values), dtype=np.float64)
