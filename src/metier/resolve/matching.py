"""How well candidates match one required capability: exact, alias, fuzzy, provisional."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metier.core.names import is_capability_name
from metier.core.stems import stems
from metier.resolve.aliases import AliasTables
from metier.resolve.pool import Claims, Pool
from metier.resolve.scoring import MATCH_SCORES
from metier.resolve.words import Floats, Places
from metier.values.contracts import Mode

KINDS = ("none", "provisional", "fuzzy", "alias", "exact")
"""From the weakest to the strongest; a kind is stored as its place here."""
RESOLVING: dict[Mode, tuple[str, ...]] = {
    "strict": ("alias", "exact"),
    "best-effort": ("provisional", "fuzzy", "alias", "exact"),
}
_EXPLICIT = KINDS.index("fuzzy")
_SCORES = np.array([MATCH_SCORES[kind] for kind in KINDS])


class Matches(NamedTuple):
    """The best match of every candidate for one required capability."""

    kinds: NDArray[np.int8]
    tokens: NDArray[np.int32]
    """The place in `names` of the capability that matched; -1 without an explicit match."""
    names: list[str]

    def at(self, places: NDArray[np.intp]) -> "Matches":
        """The matches of these candidates alone."""
        return Matches(self.kinds[places], self.tokens[places], self.names)

    @property
    def scores(self) -> Floats:
        found: Floats = _SCORES[self.kinds]
        return found

    @property
    def explicit(self) -> NDArray[np.bool_]:
        return self.kinds >= _EXPLICIT

    def resolved(self, mode: Mode) -> NDArray[np.bool_]:
        return self.kinds >= KINDS.index(RESOLVING[mode][0])


def match(pool: Pool, required: str, aliases: AliasTables, mode: Mode) -> Matches:
    """The best match of every candidate for `required`; a token that is no name matches nothing."""
    found = _Found(len(pool))
    if not is_capability_name(required):
        return found.matches()
    claims = pool.claims(mode)
    if claims.has_prose:
        provisional = pool.prose.with_all(stems(required))
        found.add("provisional", provisional[claims.prose[provisional]])
    similar = sorted(claims.fuzzy.like(required), key=lambda one: (one[1], -one[0]))
    found.add_names("fuzzy", [claims.names[place] for place, _ in similar], claims)
    others = [name for name in reversed(aliases.names_of(required)) if name != required]
    found.add_names("alias", others, claims)
    found.add_names("exact", [required], claims)
    return found.matches()


class _Found:
    """Matches as they are found; a later one takes the place of an earlier one."""

    def __init__(self, size: int) -> None:
        self._kinds = np.zeros(size, dtype=np.int8)
        self._tokens = np.full(size, -1, dtype=np.int32)
        self._names: list[str] = []

    def add(self, kind: str, places: Places) -> None:
        self._kinds[places] = KINDS.index(kind)

    def add_names(self, kind: str, names: Sequence[str], claims: Claims) -> None:
        """Add the candidates that name one of `names`; of several that one names, the last."""
        by_name = [claims.places(name) for name in names]
        if not any(map(len, by_name)):
            return
        places = np.concatenate(by_name)
        numbers = np.arange(len(self._names), len(self._names) + len(names), dtype=np.int32)
        self._kinds[places] = KINDS.index(kind)
        self._tokens[places] = np.repeat(numbers, [len(one) for one in by_name])
        self._names += names

    def matches(self) -> Matches:
        return Matches(self._kinds, self._tokens, self._names)
