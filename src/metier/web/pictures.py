"""Pictures drawn on the server: SVG without style or script, each with a text that says the same.

Colours are classes of `style.css`. Texts in them are escaped.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from markupsafe import Markup, escape

from metier.safety.escapes import visible

_WIDTH = 240


class Part(NamedTuple):
    """A part of a bar."""

    label: str
    value: float
    tone: str = ""
    """The class of its colour; by default by its position."""


TONES = ("t1", "t2", "t3", "t4", "t5", "t6")


def bar(
    value: float, most: float, *, label: str = "", tone: str = "t1", mark: float | None = None
) -> Markup:
    """A value against the most there can be; `mark` is a line, such as a threshold."""
    return stacked([Part(label or "value", value, tone)], most, mark=mark, label=label)


def stacked(
    parts: Sequence[Part],
    most: float,
    *,
    label: str = "",
    mark: float | None = None,
    mark_label: str = "threshold",
    width: int = _WIDTH,
    height: int = 12,
) -> Markup:
    """Parts beside each other, against the most there can be."""
    sizes = [max(0.0, one.value) for one in parts]
    scale = width / (max(most, sum(sizes), mark or 0.0) or 1.0)
    told, shown, at = [], [], 0.0
    for number, (part, value) in enumerate(zip(parts, sizes, strict=True)):
        told.append(text := f"{_escaped(part.label)} {_figure(part.value)}")
        if size := value * scale:
            tone = part.tone or TONES[number % len(TONES)]
            box = f'x="{at:.2f}" y="0" width="{size:.2f}" height="{height}"'
            shown.append(f'<rect class="{tone}" {box}><title>{text}</title></rect>')
            at += size
    said = ", ".join(told)
    if mark is not None:
        x, title = min(mark * scale, width - 1), f"{_escaped(mark_label)} {_figure(mark)}"
        box = f'x1="{x:.2f}" x2="{x:.2f}" y1="-2" y2="{height + 2}"'
        shown.append(f'<line class="mark" {box}><title>{title}</title></line>')
        said = f"{said}; {title}"
    ground = f'<rect class="ground" x="0" y="0" width="{width}" height="{height}"/>'
    inner = f"{ground}{''.join(shown)}"
    name = f"{_escaped(label)}: {said}" if label else said
    return _svg("bar", name, (0, -2, width, height + 4), inner)


def columns(values: Sequence[tuple[str, float]], *, label: str, height: int = 48) -> Markup:
    """One column for each value, such as a count a day."""
    step, most = 14, max([value for _, value in values] or [0]) or 1
    shown = []
    for number, (name, value) in enumerate(values):
        size = max(value / most * height, 1 if value else 0)
        box = f'x="{number * step}" y="{height - size:.2f}" width="{step - 3}" height="{size:.2f}"'
        title = f"<title>{_escaped(name)}: {_figure(value)}</title>"
        ground = f'x="{number * step}" y="{height - 1}" width="{step - 3}" height="1"'
        shown.append(f'<rect class="ground" {ground}/>')
        shown.append(f'<rect class="t1" {box}>{title}</rect>')
    told = ", ".join(f"{_escaped(name)}: {_figure(value)}" for name, value in values if value)
    width, name = max(step * len(values) - 3, 1), f"{_escaped(label)}: {told or 'none'}"
    svg = _svg("columns", name, (0, 0, width, height), "".join(shown))
    return Markup(f'<figure class="columns">{svg}{_ends(values)}</figure>')


def _ends(values: Sequence[tuple[str, float]]) -> str:
    """Under columns: the first name, the highest value and the last name."""
    if not values:
        return ""
    highest = f"highest {_figure(max(value for _, value in values))}"
    texts = (values[0][0], highest, values[-1][0])
    return f"<figcaption>{''.join([f'<span>{_escaped(one)}</span>' for one in texts])}</figcaption>"


def _svg(kind: str, name: str, box: tuple[int, int, int, int], inner: str) -> Markup:
    """A picture whose name is HTML: only labels are escaped, since escaping each figure is slow."""
    left, top, width, height = box
    size = f'viewBox="{left} {top} {width} {height}" width="{width}" height="{height}"'
    start = f'<svg class="{kind}" role="img" aria-label="{name}" {size} preserveAspectRatio="none">'
    return Markup(f"{start}<title>{name}</title>{inner}</svg>")


@lru_cache(maxsize=4_096)
def _escaped(text: str) -> str:
    """Most parts of the pictures on a page have their labels and figures in common."""
    return str(escape(text if text.isascii() and text.isprintable() else visible(text)))


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"
