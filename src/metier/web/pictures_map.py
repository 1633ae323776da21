"""The map of skills as a picture: SVG without style or script, drawn for one part of the map."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from markupsafe import escape

from metier.flow.overlap_map import HEIGHT, WIDTH, Edge, OverlapMap, Point
from metier.safety.escapes import visible
from metier.web.pictures import TONES
from metier.web.query import Query, address

_MOST_EDGES = 4_000
_MOST_POINTS = 3_000
"""With more, those that compete with none are drawn as one line of dots, without names."""
_MOST_CIRCLES = 60
_MOST_NAMES = 60
_MOST_PAIRS = 8
"""The strongest pairs have names on the whole map, as far as there is room."""
_LONGEST_NAME = 28
_LETTER = 0.58
"""The width of a letter, as a part of its height."""


class Box(NamedTuple):
    """The part of the map that is shown."""

    left: float = 0.0
    top: float = 0.0
    width: float = WIDTH
    height: float = HEIGHT

    @property
    def scale(self) -> float:
        """Units of the map for one unit of the whole picture."""
        return self.width / WIDTH

    def has(self, x: float, y: float) -> bool:
        return self.left <= x <= self.left + self.width and self.top <= y <= self.top + self.height

    @classmethod
    def around(cls, points: Sequence[Point]) -> "Box":
        """The smallest box around some points, with room, in the map's proportions."""
        left, right = min(one.x for one in points), max(one.x for one in points)
        top, bottom = min(one.y for one in points), max(one.y for one in points)
        width = max((right - left) * 1.35, (bottom - top) * 1.35 * WIDTH / HEIGHT, WIDTH / 10)
        width = min(width, WIDTH)
        height = width * HEIGHT / WIDTH
        x, y = (left + right - width) / 2, (top + bottom - height) / 2
        x = min(max(x, 0.0), WIDTH - width)
        y = min(max(y, 0.0), HEIGHT - height)
        return cls(round(x, 1), round(y, 1), round(width, 1), round(height, 1))


def tone_of(cluster: int) -> str:
    return TONES[cluster % len(TONES)]


@dataclass(frozen=True, kw_only=True)
class MapPicture:
    """The map; as HTML it is a picture, as JSON its numbers."""

    found: OverlapMap
    box: Box
    query: Query
    page: str
    near: int = -1
    """The cluster that is zoomed to."""
    asked: str = ""
    """The skill that was asked for, which is marked."""

    def to_json(self) -> dict[str, Any]:
        return {
            "box": self.box._asdict(),
            "points": [point._asdict() for point in self.found.points],
            "edges": [[one.first, one.second, one.overlap] for one in self.found.edges],
        }

    def __html__(self) -> str:
        found, box = self.found, self.box
        told = (
            f"Map of {len(found.points):,} skills by meaning: {len(found.edges):,} pairs compete, "
            f"in {len(found.clusters):,} clusters. The tables on this page say the same."
        )
        size = f"{box.left} {box.top} {box.width} {box.height}"
        head = f'<svg class="map" role="group" aria-label="{escape(told)}" viewBox="{size}">'
        layers = [self._circles(), self._edges(), *self._points(), self._labels()]
        return f"{head}{''.join(layers)}</svg>"

    # Layers

    def _circles(self) -> str:
        """A ground for each large cluster, which leads to it."""
        drawn = []
        for cluster in range(min(len(self.found.clusters), _MOST_CIRCLES)):
            x, y, radius = self._circle(cluster)
            shape = f'<circle class="{tone_of(cluster)}" cx="{x}" cy="{y}" r="{radius}"/>'
            drawn.append(f'<g class="hull">{shape}</g>')
        return "".join(drawn)

    def _circle(self, cluster: int) -> tuple[float, float, float]:
        members = self._members[cluster]
        x = sum(one.x for one in members) / len(members)
        y = sum(one.y for one in members) / len(members)
        farthest = max(((one.x - x) ** 2 + (one.y - y) ** 2) ** 0.5 for one in members)
        return round(x, 1), round(y, 1), round(farthest + 7 * self.box.scale**0.75, 1)

    def _edges(self) -> str:
        lines: dict[str, list[str]] = {"strong": [], "weak": []}
        points = self.found.points
        for edge in self.found.edges[:_MOST_EDGES]:
            first, second = points[edge.first], points[edge.second]
            if self.box.has(first.x, first.y) or self.box.has(second.x, second.y):
                kind = "strong" if edge.overlap >= (1 + self.found.least) / 2 else "weak"
                lines[kind].append(f"M{first.x} {first.y}L{second.x} {second.y}")
        return "".join(
            f'<path class="edges {kind}" d="{"".join(parts)}"/>'
            for kind, parts in lines.items()
            if parts
        )

    def _points(self) -> list[str]:
        seen = [one for one in self.found.points if self.box.has(one.x, one.y)]
        alone = [one for one in seen if one.cluster < 0]
        drawn = []
        if len(seen) > _MOST_POINTS:
            dots = "".join(f"M{one.x} {one.y}h0" for one in alone)
            width = f"{4 * self.box.scale:.2f}"
            drawn.append(f'<path class="dots" d="{dots}" stroke-width="{width}"/>')
            seen = [one for one in seen if one.cluster >= 0]
        return [*drawn, *map(self._point, seen)]

    def _point(self, point: Point) -> str:
        is_alone, is_asked = point.cluster < 0, point.name == self.asked
        radius = (4.2 if is_asked else 2.4 if is_alone else 3.4) * self._point_scale
        tone = "asked" if is_asked else "alone" if is_alone else tone_of(point.cluster)
        name = _escaped(point.name)
        place = f'cx="{point.x}" cy="{point.y}" r="{radius:.2f}"'
        shape = f'<circle class="{tone}" {place}><title>{name}</title></circle>'
        if not self.names_skills:
            return shape
        to = address("document", kind="skill", id=point.name)
        return f'<a href="{escape(to)}" aria-label="{name}">{shape}</a>'

    def _labels(self) -> str:
        """Names that do not cover each other: of clusters, or of skills in a part of the map."""
        writer = _Writer(self.box)
        if not self.is_zoomed:
            self._name_clusters(writer)
        if self.names_skills:
            seen = [one for one in self.found.points if self.box.has(one.x, one.y)]
            seen.sort(key=self._name_order)
            for one in seen[:_MOST_NAMES]:
                kind = "asked" if one.name == self.asked else "name"
                writer.write(one.x, one.y - 7 * self.box.scale**0.75, one.name, kind)
        else:
            self._name_pairs(writer)
        return "".join(writer.drawn)

    def _name_pairs(self, writer: "_Writer") -> None:
        """The names of the strongest pairs that are in no cluster, one above and one below."""
        alone = [edge for edge in self.found.edges if self._points_of(edge)[0].cluster < 0]
        for edge in alone[:_MOST_PAIRS]:
            upper, lower = sorted(self._points_of(edge), key=lambda one: one.y)
            writer.write(upper.x, upper.y - 6, upper.name, "name")
            writer.write(lower.x, lower.y + 6 + writer.size, lower.name, "name")

    def _points_of(self, edge: Edge) -> tuple[Point, Point]:
        return self.found.points[edge.first], self.found.points[edge.second]

    def _name_order(self, point: Point) -> tuple[bool, bool, bool, str]:
        """Names that are written first stay; others give way."""
        return point.name != self.asked, point.cluster != self.near, point.cluster < 0, point.name

    def _name_clusters(self, writer: "_Writer") -> None:
        for cluster, about in enumerate(self.found.clusters[:_MOST_CIRCLES]):
            x, y, radius = self._circle(cluster)
            to = address(self.page, self.query.replaced({"near": about.names[0], "page": None}))
            title = f"{', '.join(about.words)}: {len(about.names)} skills"
            words = ", ".join(about.words[:2]) or about.names[0]
            writer.write(x, y - radius - 4, words, f"cluster {tone_of(cluster)}", to, title)

    @property
    def _point_scale(self) -> float:
        """Points that have names are few, so they are larger."""
        enlarged = 1.5 if self.names_skills else 1.0
        return enlarged * float(self.box.scale**0.75)

    @property
    def is_zoomed(self) -> bool:
        return self.box.width < WIDTH

    @property
    def names_skills(self) -> bool:
        """Whether points have names and links: in a part of the map, and where there are few."""
        return self.is_zoomed or len(self.found.points) <= _MOST_NAMES

    @cached_property
    def _members(self) -> dict[int, list[Point]]:
        members: dict[int, list[Point]] = {}
        for one in self.found.points:
            if one.cluster >= 0:
                members.setdefault(one.cluster, []).append(one)
        return members


class _Writer:
    """Writes labels, unless one is in the way."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.drawn: list[str] = []
        self._taken: list[tuple[float, float, float, float]] = []
        self.size = 13 * box.scale

    def write(
        self, x: float, y: float, text: str, kind: str, to: str = "", title: str = ""
    ) -> None:
        text = text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"
        half = len(text) * self.size * _LETTER / 2
        x = min(max(x, self.box.left + half), self.box.left + self.box.width - half)
        lowest = self.box.top + self.box.height - self.size * 0.3
        y = min(max(y, self.box.top + self.size), lowest)
        area = (x - half, y - self.size, x + half, y + self.size * 0.3)
        if any(_cover(area, other) for other in self._taken):
            return
        self._taken.append(area)
        where = f'x="{x:.1f}" y="{y:.1f}" font-size="{self.size:.2f}" text-anchor="middle"'
        hint = f"<title>{_escaped(title)}</title>" if title else ""
        label = f'<text class="{kind}" {where}>{_escaped(text)}{hint}</text>'
        self.drawn.append(f'<a href="{escape(to)}">{label}</a>' if to else label)


def _cover(
    first: tuple[float, float, float, float], second: tuple[float, float, float, float]
) -> bool:
    return (first[0] < second[2] and second[0] < first[2]
            and first[1] < second[3] and second[1] < first[3])  # fmt: skip


def _escaped(text: str) -> str:
    return str(escape(visible(text)))
