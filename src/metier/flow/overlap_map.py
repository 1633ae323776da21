"""Skills as points on a map: near if they mean the same, those that compete drawn together.

The first two principal directions of the word vectors place the skills, and ranks spread them over
the map. Skills that compete are then pulled together, and such groups that cover each other are
pushed apart. All of it is deterministic: the same catalog gives the same map.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from metier.core.overlap import Pair
from metier.errors import NotFoundError, UsageError
from metier.flow.overlap import Compared, compared_skills, components
from metier.hosts import HOOKED, nameable_to
from metier.index.store import Store
from metier.values.overlap import Cluster

if TYPE_CHECKING:
    from numpy.typing import NDArray

WIDTH, HEIGHT = 1_000.0, 640.0
_MARGIN = 24.0
_RANKED = 0.7
"""How far ranks place a skill, instead of its coordinates: they fill the map."""
_RADIUS_OF_ONE = 7.0
"""A group of n skills has a radius of at most this times the root of n."""
_GAP = 10.0
_PUSHES = 80
_MOST_PUSHED = 250
"""Only the largest groups are pushed apart."""


class Point(NamedTuple):
    """A skill on the map."""

    name: str
    path: str
    x: float
    y: float
    cluster: int
    """Its index among the clusters; -1 for none."""


class Edge(NamedTuple):
    """Two skills that compete, by their indexes among the points."""

    first: int
    second: int
    overlap: float
    words: float
    meaning: float


@dataclass(frozen=True, kw_only=True)
class OverlapMap:
    """Where skills are, and which of them compete."""

    least: float
    points: Sequence[Point]
    """Of skills with the same text the first represents all."""
    edges: Sequence[Edge]
    """The most overlapping first."""
    clusters: Sequence[Cluster]
    unplaced: int
    """Skills without a word that the table knows; they are in the middle."""
    compared: Compared

    def index_of(self, name: str) -> int:
        """The index of a skill among the points. Raises `NotFoundError`."""
        for place, group in enumerate(self.compared.groups):
            if any(name in (one.row.handle, one.row.id) for one in group):
                return place
        hint = "a skill that a hook can name; the catalog says which: /catalog?kind=skill"
        raise NotFoundError(f"no skill on the map is called '{name}'", hint=hint)

    def members(self, cluster: int) -> list[Point]:
        return [point for point in self.points if point.cluster == cluster]


def overlap_map(store: Store, least: float, host: str | None = None) -> OverlapMap:
    """The map of all skills that can be named. Raises `UsageError` for a host."""
    if host is not None and host not in HOOKED:
        raise UsageError(f"'{host}' is not a host", hint=f"hosts: {', '.join(HOOKED)}")
    condition = nameable_to(host).replace("origin != 'untrusted' AND ", "")
    key = ("overlap map", condition, least)
    return store.cached(key, lambda: _made(compared_skills(store, condition, least), least))


def _made(compared: Compared, least: float) -> OverlapMap:
    clusters = compared.clusters()
    cluster_of = {name: at for at, one in enumerate(clusters) for name in one.names}
    belongs = [cluster_of.get(group[0].row.handle, -1) for group in compared.groups]
    vectors = [group[0].text.vector for group in compared.groups]
    together = [places for places, _ in components(compared.pairs)]
    together.sort(key=lambda places: (-len(places), places))
    places = _placed(vectors, together)
    points = [
        Point(group[0].row.handle, group[0].row.path, x, y, cluster)
        for group, (x, y), cluster in zip(compared.groups, places, belongs, strict=True)
    ]
    return OverlapMap(
        least=least,
        points=points,
        edges=[_edge(one) for one in compared.pairs],
        clusters=clusters,
        unplaced=sum(1 for one in vectors if one is None),
        compared=compared,
    )


def _edge(pair: Pair) -> Edge:
    return Edge(pair.first, pair.second, pair.overlap, pair.words, pair.meaning)


def _placed(vectors: Sequence[Any], together: Sequence[Sequence[int]]) -> list[tuple[float, float]]:
    """Where each skill is, within the margins of the map."""
    import numpy as np  # the comparison has loaded it

    if not vectors:
        return []
    flat = _spread(_projected(vectors))
    size = np.array([WIDTH - 2 * _MARGIN, HEIGHT - 2 * _MARGIN])
    places = _MARGIN + (flat + 1) / 2 * size
    _gather(places, together)
    limits = np.array([WIDTH - _MARGIN, HEIGHT - _MARGIN])
    places = np.round(np.clip(places, _MARGIN, limits), 1)
    return [(x, y) for x, y in places.tolist()]


def _projected(vectors: Sequence[Any]) -> "NDArray[Any]":
    """Coordinates along the two directions in which the vectors differ most."""
    import numpy as np

    width = max((len(one) for one in vectors if one is not None), default=2)
    rows = np.zeros((len(vectors), width))
    known = [place for place, one in enumerate(vectors) if one is not None]
    for place in known:
        rows[place] = vectors[place]
    if known:
        rows[known] -= rows[known].mean(axis=0)
    _, directions = np.linalg.eigh(rows.T @ rows)
    first = directions[:, -2:][:, ::-1]
    signs = np.sign(first[np.abs(first).argmax(axis=0), np.arange(first.shape[1])])
    flat: NDArray[Any] = np.round(rows @ (first * signs), 3)
    return flat


def _spread(flat: "NDArray[Any]") -> "NDArray[Any]":
    """From -1 to 1 on both axes: by rank for the most part, so that no place is crowded."""
    import numpy as np

    count = len(flat)
    ranks = np.empty_like(flat)
    for axis in range(2):
        order = np.lexsort((np.arange(count), flat[:, axis]))
        ranks[order, axis] = np.linspace(-1, 1, count) if count > 1 else 0.0
    most = np.maximum(np.abs(flat).max(axis=0), 1e-9)
    spread: NDArray[Any] = _RANKED * ranks + (1 - _RANKED) * flat / most
    return spread


def _gather(places: "NDArray[Any]", together: Sequence[Sequence[int]]) -> None:
    """Pull the members of each group together, and push groups apart; changes `places`."""
    import numpy as np

    centers, radii, around = np.zeros((len(together), 2)), np.zeros(len(together)), []
    for number, own in enumerate(together):
        centers[number] = places[own].mean(axis=0)
        offsets = places[own] - centers[number]
        farthest = max(float(np.sqrt((offsets**2).sum(axis=1)).max()), 1e-9)
        radii[number] = min(farthest, _RADIUS_OF_ONE * len(own) ** 0.5)
        around.append(offsets * (radii[number] / farthest))
    _push(centers[:_MOST_PUSHED], radii[:_MOST_PUSHED])
    for center, own, offsets in zip(centers, together, around, strict=True):
        places[own] = center + offsets


def _push(centers: "NDArray[Any]", radii: "NDArray[Any]") -> None:
    """Move circles that cover each other; changes `centers`."""
    import numpy as np

    count = len(centers)
    angles = np.arange(count) * 2.4
    centers += 0.01 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    low = radii[:, None] + _MARGIN
    high = np.maximum(np.array([WIDTH, HEIGHT]) - low, low)
    wanted = radii[:, None] + radii[None, :] + _GAP
    for _ in range(_PUSHES):
        apart = centers[:, None, :] - centers[None, :, :]
        distance = np.sqrt((apart**2).sum(axis=2)) + 1e-9
        missing = np.maximum(wanted - distance, 0.0)
        np.fill_diagonal(missing, 0.0)
        if missing.max(initial=0.0) < 1:
            break
        centers += (apart * (missing / distance / 4)[:, :, None]).sum(axis=1)
        np.clip(centers, low, high, out=centers)
