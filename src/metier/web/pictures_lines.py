"""Lines over time as a picture: SVG without style or script, with a text that says the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import escape

from metier.safety.escapes import visible
from metier.web.pictures import TONES
from metier.web.words import percent

_WIDTH, _HEIGHT = 720, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 130, 10, 24
_LABEL_HEIGHT = 14
_MOST_TICKS = 8


@dataclass(frozen=True, kw_only=True)
class LinePicture:
    """Shares from 0 to 1 over some moments; as HTML it is a picture, as JSON its numbers."""

    label: str
    series: Mapping[str, Sequence[float | None]]
    """Name → a value for each moment; None where there is none."""
    moments: Sequence[str]
    breaks: Sequence[int] = ()
    """Moments at which values stop being comparable with those before."""

    def to_json(self) -> dict[str, Any]:
        return {"moments": list(self.moments), "breaks": list(self.breaks), **self._values()}

    def _values(self) -> dict[str, Any]:
        return {"series": {name: list(values) for name, values in self.series.items()}}

    def __html__(self) -> str:
        told = "; ".join(
            f"{name} from {percent(known[0])} to {percent(known[-1])}"
            for name, known in self._known().items()
        )
        name = _escaped(f"{self.label}, {len(self.moments)} evaluations: {told or 'none'}")
        size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}"'
        parts = [self._grid(), self._breaks(), *self._lines(), self._ticks()]
        head = f'<svg class="lines" role="img" aria-label="{name}" {size}><title>{name}</title>'
        return f"{head}{''.join(parts)}</svg>"

    def _known(self) -> dict[str, list[float]]:
        known = {
            name: [one for one in values if one is not None] for name, values in self.series.items()
        }
        return {name: values for name, values in known.items() if values}

    def _x(self, place: int) -> float:
        span = _WIDTH - _LEFT - _RIGHT
        return _LEFT + (span * place / (len(self.moments) - 1) if len(self.moments) > 1 else span)

    def _y(self, value: float) -> float:
        return _TOP + (1 - min(max(value, 0.0), 1.0)) * (_HEIGHT - _TOP - _BOTTOM)

    def _grid(self) -> str:
        drawn = []
        for share in (0.0, 0.5, 1.0):
            y = self._y(share)
            line = f'x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"'
            text = f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>'
            drawn.append(f'<line class="grid" {line}/>{text}')
        return "".join(drawn)

    def _breaks(self) -> str:
        top, bottom = _TOP, _HEIGHT - _BOTTOM
        return "".join(
            f'<line class="break" x1="{self._x(place):.1f}" x2="{self._x(place):.1f}" '
            f'y1="{top}" y2="{bottom}"><title>the cases changed here</title></line>'
            for place in self.breaks
        )

    def _lines(self) -> list[str]:
        drawn, taken = [], set[int]()
        for number, (name, values) in enumerate(self.series.items()):
            points = [(self._x(at), self._y(one), at, one) for at, one in enumerate(values)
                      if one is not None]  # fmt: skip
            if not points:
                continue
            tone, dash = TONES[number % len(TONES)], f"d{number % 4}"
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in points)
            dots = "".join(
                f'<circle class="{tone}" cx="{x:.1f}" cy="{y:.1f}" r="2.6"><title>'
                f"{_escaped(name)} {percent(one)}, {_escaped(self.moments[at])}</title></circle>"
                for x, y, at, one in points
            )
            x, y = _WIDTH - _RIGHT + 8, self._free(points[-1][1], taken)
            told = f"{_escaped(name)} {percent(points[-1][3])}"
            key = f'<rect class="{tone}" x="{x}" y="{y - 8}" width="8" height="8"/>'
            label = f'{key}<text class="end" x="{x + 12}" y="{y}">{told}</text>'
            line = f'<polyline class="over {tone} {dash}" points="{path}"/>'
            drawn.append(f"{line}{dots}{label}")
        return drawn

    def _free(self, y: float, taken: set[int]) -> int:
        """A row for a label near `y` that no other label has."""
        wanted = round(y / _LABEL_HEIGHT)
        rows = range(1, _HEIGHT // _LABEL_HEIGHT)
        row = min((one for one in rows if one not in taken), key=lambda one: abs(one - wanted))
        taken.add(row)
        return row * _LABEL_HEIGHT + 4

    def _ticks(self) -> str:
        count = len(self.moments)
        step = max(1, -(-count // _MOST_TICKS))
        return "".join(
            f'<text x="{self._x(at):.1f}" y="{_HEIGHT - 6}" '
            f'text-anchor="{"end" if at and at == count - 1 else "middle"}">'
            f"{_escaped(self.moments[at].partition(' ')[0])}</text>"
            for at in range(count - 1, -1, -step)
        )


def _escaped(text: str) -> str:
    return str(escape(visible(text)))
