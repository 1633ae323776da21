"""What candidates claim, and how well that matches: exact, alias, fuzzy, provisional."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

from metier.core.arrays import Arrays, Floats, Mask, Places, arrays_of, numpy_arrays
from metier.core.names import is_capability_name
from metier.resolve.aliases import AliasTables
from metier.resolve.scoring import (
    Words,
    median_of_others,
    overclaim_penalties,
    penalties,
    rounded,
    stems_of,
)
from metier.values.candidates import Candidate
from metier.values.contracts import Contract, Mode
from metier.values.policy import Policy
from metier.values.score_numbers import INVALID_TOKEN, MATCH_SCORES, UNKNOWN_CLAUSE

if TYPE_CHECKING:
    from fractions import Fraction

KINDS = ("none", "provisional", "fuzzy", "alias", "exact")
"""From weakest to strongest; a kind is stored as its index."""
RESOLVING: dict[Mode, tuple[str, ...]] = {
    "strict": ("alias", "exact"),
    "best-effort": ("provisional", "fuzzy", "alias", "exact"),
}
_, _PROVISIONAL, _FUZZY, _ALIAS, _EXACT = range(len(KINDS))
_NO_TOKEN = -1
UNLIMITED = 10**9
_LIMITS = ("min_total_score", "min_contract_score", "min_required_coverage")
_LOOSEST = Policy(
    min_total_score=0.0,
    min_contract_score=0.0,
    min_required_coverage=0.0,
    max_candidates=UNLIMITED,
    on_missing_required="auto-emulate",
)


# Claims


class Claims:
    """The capabilities that candidates claim, as far as they count in one mode."""

    def __init__(
        self,
        arrays: Arrays,
        size: int,
        speaking: Mapping[int, Candidate],
        mode: Mode,
    ) -> None:
        """`speaking` are those of `size` candidates that may claim anything, by index."""
        by_name: defaultdict[str, list[int]] = defaultdict(list)
        self.arrays = arrays
        self.size = size
        self.counts: Floats = arrays.zeros(size)
        """How many capabilities each claims."""
        self.prose: Mask = arrays.ones(size, dtype=bool)
        """Which of them claim none, only describe."""
        for place, candidate in speaking.items():
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
        self._speaking = speaking
        self._mode = mode

    @cached_property
    def hints(self) -> "Hints":
        """The limits that providers set themselves with `Pol(...)`."""
        policies = {place: one.policy for place, one in self.contracts.items()}
        return Hints(self.arrays, self.size, policies)

    @cached_property
    def contracts(self) -> dict[int, Contract]:
        """The contracts that count, by index."""
        return {
            place: contract
            for place, one in self._speaking.items()
            if (contract := one.contract_in(self._mode)) is not None
        }

    @cached_property
    def invalid_tokens(self) -> Floats:
        return penalties(self._of_contracts(Candidate.invalid_tokens), INVALID_TOKEN)

    @cached_property
    def unknown_clauses(self) -> Floats:
        return penalties(self._of_contracts(Candidate.unknown_clauses), UNKNOWN_CLAUSE)

    def _of_contracts(self, count: Callable[[Candidate], int]) -> Floats:
        counts: Floats = self.arrays.zeros(self.size)
        if self._mode == "best-effort":
            for place, candidate in self._speaking.items():
                if candidate.contract is not None:
                    counts[place] = count(candidate)
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
        return self._places.get(name, self.arrays.arange(0))

    def like(self, name: str) -> list[str]:
        """Similar names, the most similar last."""
        similar = self._fuzzy.like(name)
        if len(similar) > 1:
            similar = sorted(similar, key=lambda one: (one[1], -one[0]))
        return [self.names[place] for place, _ in similar]

    @cached_property
    def _fuzzy(self) -> "FuzzyNames":
        return FuzzyNames(self.names, self.arrays)


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


# Matches


@cache
def _scores(arrays: Arrays) -> Floats:
    scores: Floats = arrays.array([MATCH_SCORES[kind] for kind in KINDS])
    return scores


class Match(NamedTuple):
    kind: str = "none"
    token: str | None = None
    """The capability of the candidate that matched; None without an explicit match."""


class Matches(NamedTuple):
    """One entry for each required capability and each candidate that matches it."""

    required: Places
    """The number of the required capability, ascending."""
    rows: Places
    kinds: Places
    tokens: Places
    """The index in `names` of the capability that matched; -1 without an explicit match."""
    names: list[str]

    def where(self, mask: Mask) -> "Matches":
        return Matches(
            self.required[mask], self.rows[mask], self.kinds[mask], self.tokens[mask], self.names
        )

    @property
    def scores(self) -> Floats:
        found: Floats = _scores(arrays_of(self.kinds))[self.kinds]
        return found

    @property
    def explicit(self) -> Mask:
        return self.kinds >= _FUZZY

    def resolved(self, mode: Mode) -> Mask:
        return self.kinds >= KINDS.index(RESOLVING[mode][0])

    def resolved_by(self, row: int, mode: Mode) -> set[int]:
        return {int(one) for one in self.required[(self.rows == row) & self.resolved(mode)]}

    def of(self, row: int) -> dict[int, Match]:
        """The matches of one candidate, by the number of the requirement."""
        return {
            int(self.required[at]): Match(KINDS[int(self.kinds[at])], self._token(at))
            for at in arrays_of(self.rows).flatnonzero(self.rows == row).tolist()
        }

    def _token(self, at: int) -> str | None:
        token = int(self.tokens[at])
        return self.names[token] if token != _NO_TOKEN else None


def match(
    claims: Claims, prose: Words | None, requires: Sequence[str], aliases: AliasTables
) -> Matches:
    """The best match of every candidate for each of `requires`, by index.

    `prose` has the words of the candidates, if any of them only describes.
    """
    found = _Found(claims, prose, aliases)
    for number, required in enumerate(requires):
        if is_capability_name(required):
            found.add_prose(number, required)
            found.add_named(number, required)
    return found.matches()


class _Run(NamedTuple):
    """Entries that differ only in the candidate."""

    required: int
    kind: int
    token: int
    size: int


class _Found:
    """Collects matches, a run of entries at a time."""

    def __init__(self, claims: Claims, prose: Words | None, aliases: AliasTables) -> None:
        self._claims = claims
        self._prose = prose
        self._aliases = aliases
        self._arrays = claims.arrays
        self._last: Places = self._arrays.empty(claims.size, dtype=int)
        self._names: list[str] = []
        self._runs: list[_Run] = []
        self._places: list[Places] = [self._arrays.arange(0)]

    def add_prose(self, number: int, required: str) -> None:
        """Candidates with only words, if those include all words of the capability."""
        if self._prose is None:
            return
        places = self._prose.with_all(stems_of(required))
        if len(places):
            places = places[self._claims.prose[places]]
            self._places.append(places)
            self._runs.append(_Run(number, _PROVISIONAL, _NO_TOKEN, len(places)))

    def add_named(self, number: int, required: str) -> None:
        """Candidates that claim it; the strongest claim of each counts."""
        named = [
            (places, kind, name)
            for kind, name in self._names_for(required)
            if len(places := self._claims.places(name))
        ]
        if not named:
            return
        by_name, kinds, names = zip(*named, strict=True)
        places = self._arrays.concatenate(by_name)
        numbers = self._arrays.arange(len(names)).repeat([len(one) for one in by_name])
        self._last[places] = numbers
        is_last = self._last[places] == numbers
        self._places.append(places[is_last])
        sizes = self._arrays.bincount(numbers[is_last], minlength=len(names)).tolist()
        tokens = range(len(self._names), len(self._names) + len(names))
        self._runs += map(_Run, repeat(number), kinds, tokens, sizes)
        self._names += names

    def _names_for(self, required: str) -> list[tuple[int, str]]:
        """The matching kinds and names, weakest first."""
        names = [(_FUZZY, name) for name in self._claims.like(required)]
        others = reversed(self._aliases.names_of(required))
        names += [(_ALIAS, name) for name in others if name != required]
        names.append((_EXACT, required))
        return names

    def matches(self) -> Matches:
        columns = zip(*self._runs, strict=True) if self._runs else [()] * len(_Run._fields)
        required, kinds, tokens, sizes = (self._arrays.array(one, dtype=int) for one in columns)
        return Matches(
            required=required.repeat(sizes),
            rows=self._arrays.concatenate(self._places),
            kinds=kinds.repeat(sizes),
            tokens=tokens.repeat(sizes),
            names=self._names,
        )


# Similar names: Jaro-Winkler, decided exactly at the border

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
