"""How well candidates match what is required: exact, alias, fuzzy, provisional."""

from collections.abc import Sequence
from functools import cache
from itertools import repeat
from typing import NamedTuple

from metier.core.arrays import Arrays, Floats, Mask, Places, arrays_of
from metier.core.names import is_capability_name
from metier.resolve.aliases import AliasTables
from metier.resolve.pool import Pool
from metier.resolve.scoring import stems_of_capability
from metier.values.contracts import Mode
from metier.values.scoring import MATCH_SCORES

KINDS = ("none", "provisional", "fuzzy", "alias", "exact")
"""From weakest to strongest; a kind is stored as its index."""
RESOLVING: dict[Mode, tuple[str, ...]] = {
    "strict": ("alias", "exact"),
    "best-effort": ("provisional", "fuzzy", "alias", "exact"),
}
_, _PROVISIONAL, _FUZZY, _ALIAS, _EXACT = range(len(KINDS))
_NO_TOKEN = -1


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


def match(pool: Pool, requires: Sequence[str], aliases: AliasTables, mode: Mode) -> Matches:
    """The best match of every candidate for each of `requires`, by index in the pool."""
    found = _Found(pool, aliases, mode)
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

    def __init__(self, pool: Pool, aliases: AliasTables, mode: Mode) -> None:
        self._pool = pool
        self._aliases = aliases
        self._claims = pool.claims(mode)
        self._arrays = pool.arrays
        self._last: Places = self._arrays.empty(len(pool), dtype=int)
        self._names: list[str] = []
        self._runs: list[_Run] = []
        self._places: list[Places] = [self._arrays.arange(0)]

    def add_prose(self, number: int, required: str) -> None:
        """Candidates with only words, if those include all words of the capability."""
        if not self._claims.has_prose:
            return
        places = self._pool.prose.with_all(stems_of_capability(required))
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
