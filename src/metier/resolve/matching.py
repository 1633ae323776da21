"""How well candidates match what is required: exact, alias, fuzzy, provisional."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metier.core.names import is_capability_name
from metier.core.stems import stems
from metier.resolve.aliases import AliasTables
from metier.resolve.pool import Pool
from metier.resolve.scoring import MATCH_SCORES
from metier.resolve.words import NOWHERE, Floats, Places
from metier.values.contracts import Mode

KINDS = ("none", "provisional", "fuzzy", "alias", "exact")
"""From the weakest to the strongest; a kind is stored as its place here."""
RESOLVING: dict[Mode, tuple[str, ...]] = {
    "strict": ("alias", "exact"),
    "best-effort": ("provisional", "fuzzy", "alias", "exact"),
}
_EXPLICIT = KINDS.index("fuzzy")
_SCORES = np.array([MATCH_SCORES[kind] for kind in KINDS])
_NO_TOKEN = -1


class Match(NamedTuple):
    """How one candidate matches one required capability."""

    kind: str = "none"
    token: str | None = None
    """The capability of the candidate that matched; None without an explicit match."""


class Matches(NamedTuple):
    """One entry for each required capability and each candidate that matches it."""

    required: NDArray[np.intp]
    """Which of the required capabilities, in ascending order."""
    rows: NDArray[np.intp]
    """Which candidate."""
    kinds: NDArray[np.int8]
    tokens: NDArray[np.int32]
    """The place in `names` of the capability that matched; -1 without an explicit match."""
    names: list[str]

    def where(self, mask: NDArray[np.bool_]) -> "Matches":
        """These entries alone."""
        return Matches(
            self.required[mask], self.rows[mask], self.kinds[mask], self.tokens[mask], self.names
        )

    @property
    def scores(self) -> Floats:
        found: Floats = _SCORES[self.kinds]
        return found

    @property
    def explicit(self) -> NDArray[np.bool_]:
        return self.kinds >= _EXPLICIT

    def resolved(self, mode: Mode) -> NDArray[np.bool_]:
        return self.kinds >= KINDS.index(RESOLVING[mode][0])

    def resolved_by(self, row: int, mode: Mode) -> set[int]:
        """The numbers of the required capabilities that a candidate resolves."""
        return {int(one) for one in self.required[(self.rows == row) & self.resolved(mode)]}

    def of(self, row: int) -> dict[int, Match]:
        """The matches of one candidate, by the number of what is required."""
        return {
            int(self.required[at]): Match(KINDS[int(self.kinds[at])], self._token(at))
            for at in np.flatnonzero(self.rows == row)
        }

    def _token(self, at: np.intp) -> str | None:
        token = int(self.tokens[at])
        return self.names[token] if token != _NO_TOKEN else None


def match(pool: Pool, requires: Sequence[str], aliases: AliasTables, mode: Mode) -> Matches:
    """The best match of every candidate for each of `requires`, by places in the pool.

    A token that is no name matches nothing.
    """
    found = _Found(pool, aliases, mode)
    for number, required in enumerate(requires):
        if is_capability_name(required):
            found.add_prose(number, required)
            found.add_named(number, required)
    return found.matches()


class _Found:
    """Matches as they are found, a run of entries at a time."""

    def __init__(self, pool: Pool, aliases: AliasTables, mode: Mode) -> None:
        self._pool = pool
        self._aliases = aliases
        self._claims = pool.claims(mode)
        self._last = np.empty(len(pool), dtype=np.intp)
        """For each candidate the number of the name that matched last."""
        self._names: list[str] = []
        self._required: list[int] = []
        self._places: list[Places] = [NOWHERE]
        self._kinds: list[NDArray[np.int8]] = [np.empty(0, dtype=np.int8)]
        self._tokens: list[NDArray[np.int32]] = [np.empty(0, dtype=np.int32)]

    def add_prose(self, number: int, required: str) -> None:
        """Candidates with nothing but words, if all words of the capability are among them."""
        if not self._claims.has_prose:
            return
        places = self._pool.prose.with_all(stems(required))
        places = places[self._claims.prose[places]]
        if len(places):
            kinds = np.full(len(places), KINDS.index("provisional"), dtype=np.int8)
            self._add(number, places, kinds, np.full(len(places), _NO_TOKEN, dtype=np.int32))

    def add_named(self, number: int, required: str) -> None:
        """Candidates that name it; of several names of one candidate the strongest counts."""
        named = [
            (places, KINDS.index(kind), name)
            for kind, name in self._names_for(required)
            if len(places := self._claims.places(name))
        ]
        if not named:
            return
        by_name, kinds, names = zip(*named, strict=True)
        places = np.concatenate(by_name)
        numbers = np.arange(len(names)).repeat([len(one) for one in by_name])
        self._last[places] = numbers
        is_last = self._last[places] == numbers
        places, numbers = places[is_last], numbers[is_last]
        tokens = (numbers + len(self._names)).astype(np.int32)
        self._add(number, places, np.array(kinds, dtype=np.int8)[numbers], tokens)
        self._names += names

    def _names_for(self, required: str) -> list[tuple[str, str]]:
        """The kinds and names that match, from the weakest to the strongest."""
        aliases = [one for one in reversed(self._aliases.names_of(required)) if one != required]
        return [
            *(("fuzzy", name) for name in self._claims.like(required)),
            *(("alias", name) for name in aliases),
            ("exact", required),
        ]

    def _add(
        self, number: int, places: Places, kinds: NDArray[np.int8], tokens: NDArray[np.int32]
    ) -> None:
        self._required.append(number)
        self._places.append(places)
        self._kinds.append(kinds)
        self._tokens.append(tokens)

    def matches(self) -> Matches:
        sizes = [len(places) for places in self._places[1:]]
        return Matches(
            required=np.array(self._required, dtype=np.intp).repeat(sizes),
            rows=np.concatenate(self._places).astype(np.intp),
            kinds=np.concatenate(self._kinds),
            tokens=np.concatenate(self._tokens),
            names=self._names,
        )
