"""The picture of a candidate's score: its parts, what penalties and history take, the limit."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from metier.safety.escapes import visible

WIDTH, HEIGHT = 240, 12


def score_bar(
    parts: Sequence[Mapping[str, Any]], final: float, limit: float, *, label: str
) -> Markup:
    """Parts beside each other against 1; what is lost is pale, the limit is a line.

    A part has a `label`, a `value` and a `weight`.
    """
    shown, at = [], 0.0
    weighted = [(one["label"], one["value"] * one["weight"]) for one in parts]
    for number, (name, value) in enumerate(weighted, start=1):
        shown.append(_box(f"t{number}", at, value, f"{name} {value:.3f}"))
        at += value
    lost = at - final
    if lost > 1e-9:
        shown.append(_box("lost", final, lost, f"lost to penalties and history {lost:.3f}"))
    x = min(limit * WIDTH, WIDTH - 1)
    line = f'<line class="mark" x1="{x:.2f}" x2="{x:.2f}" y1="-2" y2="{HEIGHT + 2}"/>'
    told = ", ".join(f"{name} {value:.3f}" for name, value in weighted)
    loss = f"; lost {lost:.3f}" if lost > 1e-9 else ""
    text = _escaped(f"{label}: {final:.3f} of {told}{loss}; limit {limit:.2f}")
    size = f'viewBox="0 -2 {WIDTH} {HEIGHT + 4}" width="{WIDTH}" height="{HEIGHT + 4}"'
    ground = f'<rect class="ground" x="0" y="0" width="{WIDTH}" height="{HEIGHT}"/>'
    return Markup(
        f'<svg class="bar" role="img" aria-label="{text}" {size} preserveAspectRatio="none">'
        f"<title>{text}</title>{ground}{''.join(shown)}{line}</svg>"
    )


def _box(kind: str, at: float, value: float, title: str) -> str:
    if value <= 0:
        return ""
    box = f'x="{at * WIDTH:.2f}" y="0" width="{value * WIDTH:.2f}" height="{HEIGHT}"'
    return f'<rect class="{kind}" {box}><title>{_escaped(title)}</title></rect>'


def _escaped(text: str) -> str:
    return str(escape(visible(text)))
