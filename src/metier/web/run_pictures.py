"""Pictures of runs: the plan as boxes and arrows, and the bar of a step in the timeline."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from metier.safety.escapes import visible
from metier.web.words import cut, duration

MOST_STEPS = 300
"""A larger plan is listed only, not drawn."""
SIGNS = {
    "succeeded": "✓",
    "failed": "✕",
    "running": "●",
    "interrupted": "!",
    "skipped": "–",
    "cancelled": "■",
    "blocked": "■",
    "compensated": "↺",
    "pending": "…",
}
_WIDTH, _HEIGHT = 152, 44
_ACROSS, _DOWN = 34, 12
_INSET, _HEAD = 10, 24
_LONGEST_NAME, _LONGEST_ABOUT = 17, 22
_LONGEST_TOLD = 3_000

Node = Mapping[str, Any]
Group = Mapping[str, Any]
Tick = Mapping[str, float]
"""`at`, from 0 to 1, and the `seconds` there."""


class Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float


def plan(group: Group, *, label: str = "Plan") -> Markup:
    """Steps from left to right, each after what it depends on; steps in steps are inside them."""
    told = cut(f"{label}: {_group_text(group)}", _LONGEST_TOLD)
    if _count(group) > MOST_STEPS:
        return Markup('<p class="soft small">{}</p>').format(visible(told))
    width, height = _group_size(group)
    drawn = "".join(_group(group, 1, 1))
    name = _escaped(told)
    size = f'viewBox="0 0 {width + 2:g} {height + 2:g}" width="{width + 2:g}"'
    start = f'<svg class="plan" role="img" aria-label="{name}" {size} height="{height + 2:g}">'
    return Markup(f"{start}<title>{name}</title>{drawn}</svg>")


def axis(ticks: Sequence[Tick]) -> Markup:
    """The times above the bars of a timeline; every other one is left out where it is narrow."""
    drawn = "".join(
        f'<text class="{_anchor(one["at"])}{" odd" if number % 2 else ""}" x="{one["at"]:.2%}" '
        f'y="11">{_escaped(duration(one["seconds"]) if one["seconds"] else "0")}</text>'
        for number, one in enumerate(ticks)
    )
    return Markup(f'<svg class="axis" aria-hidden="true">{drawn}</svg>')


def _anchor(at: float) -> str:
    return "first" if at < 0.03 else "last" if at > 0.95 else "middle"


def run_bar(
    start: float, end: float, *, state: str, label: str, ticks: Sequence[Tick] = ()
) -> Markup:
    """The time of a step; both are parts of the whole from 0 to 1, and so are ticks."""
    x, width = start * 1_000, max(4.0, (end - start) * 1_000)
    name = _escaped(label)
    box = f'x="{min(x, 996):.1f}" y="0" width="{min(width, 1_000 - min(x, 996)):.1f}" height="12"'
    ground = '<rect class="ground" x="0" y="0" width="1000" height="12"/>'
    size = 'viewBox="0 0 1000 12" preserveAspectRatio="none"'
    lines = "".join(f"M{one['at'] * 1_000:.1f} 0V12" for one in ticks[1:])
    grid = f'<path class="tick" d="{lines}"/>' if lines else ""
    return Markup(
        f'<svg class="bar run-bar" role="img" aria-label="{name}" {size}><title>{name}</title>'
        f'{ground}{grid}<rect class="s-{_state(state)}" {box}/></svg>'
    )


def _state(state: str | None) -> str:
    return state if state in SIGNS else "none"


def _count(group: Group) -> int:
    return sum(1 + sum(map(_count, step["groups"])) for row in group["layers"] for step in row)


# In words


def _group_text(group: Group) -> str:
    return "; then ".join(", ".join(map(_step_text, layer)) for layer in group["layers"])


def _step_text(step: Node) -> str:
    inner = "".join(f" {one['key']}: [{_group_text(one)}]" for one in step["groups"])
    return f"{step['stepId']} ({step['type']}, {step['state'] or 'not started'}){inner}"


# Sizes


def _size(step: Node) -> tuple[float, float]:
    if not step["groups"]:
        return _WIDTH, _HEIGHT
    sizes = [_group_size(one) for one in step["groups"]]
    width = max(_WIDTH, *(one[0] for one in sizes)) + 2 * _INSET
    return width, _HEAD + sum(one[1] + _INSET for one in sizes) + _labels(step)


def _labels(step: Node) -> float:
    """Room for `then` and `else`."""
    return 14 * len(step["groups"]) if step["type"] == "conditional" else 0


def _group_size(group: Group) -> tuple[float, float]:
    columns = [_column_size(layer) for layer in group["layers"]] or [(0, 0)]
    width = sum(one[0] for one in columns) + _ACROSS * (len(columns) - 1)
    return width, max(one[1] for one in columns)


def _column_size(layer: Sequence[Node]) -> tuple[float, float]:
    sizes = [_size(step) for step in layer] or [(0, 0)]
    height = sum(one[1] for one in sizes) + _DOWN * (len(sizes) - 1)
    return max(one[0] for one in sizes), height


# Drawing


def _group(group: Group, left: float, top: float) -> list[str]:
    """The steps of a group at a place, and before them the arrows between them."""
    boxes: dict[str, Box] = {}
    drawn: list[str] = []
    _, whole = _group_size(group)
    x = left
    for layer in group["layers"]:
        width, height = _column_size(layer)
        y = top + (whole - height) / 2
        for step in layer:
            own_width, own_height = _size(step)
            boxes[step["stepId"]] = box = Box(x, y, own_width, own_height)
            drawn += _step(step, box)
            y += own_height + _DOWN
        x += width + _ACROSS
    return [*_arrows(group, boxes), *drawn]


def _arrows(group: Group, boxes: Mapping[str, Box]) -> list[str]:
    steps = [step for layer in group["layers"] for step in layer]
    if group["isParallel"]:
        pairs = [(one, step["stepId"]) for step in steps for one in step["dependencies"]]
    else:
        ids = [step["stepId"] for step in steps]
        pairs = list(pairwise(ids))
    return [_arrow(boxes[a], boxes[b]) for a, b in pairs if a in boxes and b in boxes]


def _arrow(a: Box, b: Box) -> str:
    x, y, to_x, to_y = a.x + a.width, a.y + a.height / 2, b.x, b.y + b.height / 2
    bend = (to_x - x) / 2
    line = f"M{x:g} {y:g}C{x + bend:g} {y:g} {to_x - bend:g} {to_y:g} {to_x - 5:g} {to_y:g}"
    head = f"M{to_x - 6:g} {to_y - 3.5:g}L{to_x:g} {to_y:g}L{to_x - 6:g} {to_y + 3.5:g}Z"
    return f'<path class="edge" d="{line}"/><path class="head" d="{head}"/>'


def _step(step: Node, box: Box) -> list[str]:
    state, more = _state(step["state"]), " of" if step["groups"] else ""
    x, y = box.x, box.y
    about = step["about"] or step["name"] or ""
    title = f"{step['stepId']}: {step['type']}, {step['state'] or 'not started'}. {about}"
    times = f" ×{step['times']}" if step["times"] > 1 else ""
    place = f'x="{x:g}" y="{y:g}" width="{box.width:g}" height="{box.height:g}" rx="6"'
    stripe = f'x="{x:g}" y="{y + 6:g}" width="3" height="{box.height - 12:g}" rx="1.5"'
    drawn = [
        f'<g class="step{more and " holds"} s-{state}"><title>{_escaped(cut(title, 300))}</title>',
        f'<rect class="box" {place}/><rect class="stripe" {stripe}/>',
        _text("name", x + 12, y + 18, cut(step["stepId"] + times, _LONGEST_NAME)),
        _text("sign", x + box.width - 17, y + 18, SIGNS.get(step["state"] or "", "")),
    ]
    if not step["groups"]:
        what = cut(f"{step['type']} {about}".strip(), _LONGEST_ABOUT)
        drawn.append(_text("what", x + 12, y + 34, what))
    drawn.append("</g>")
    return [*drawn, *_inside(step, box)]


def _inside(step: Node, box: Box) -> list[str]:
    drawn: list[str] = []
    y = box.y + _HEAD
    for group in step["groups"]:
        if step["type"] == "conditional":
            drawn.append(_text("what", box.x + 12, y + 10, group["key"]))
            y += 14
        drawn += _group(group, box.x + _INSET, y + 2)
        y += _group_size(group)[1] + _INSET
    return drawn


def _text(kind: str, x: float, y: float, text: str) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{_escaped(text)}</text>' if text else ""


def _escaped(text: str) -> str:
    return str(escape(visible(text)))
