"""Candidates of a resolution as HTML: as a macro would write them, in a fraction of the time."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from metier.web.pictures_resolve import score_bar
from metier.web.query import Query, address
from metier.web.table_html import text_html
from metier.web.words import cut

Shown = Mapping[str, Any]
_LONGEST_NAME, _LONGEST_TEXT = 100, 600


def candidates_html(candidates: Sequence[Shown], query: Query) -> Markup:
    """A list item for each candidate: its score in parts, its gates, why it was selected or not."""
    return Markup("\n".join([_item(one, query) for one in candidates]))


def _item(one: Shown, query: Query) -> str:
    figures = text_html(address("recompute", query, candidate=one["id"]))
    mark = ' class="selected"' if one["isSelected"] else ""
    picture = score_bar(one["parts"], one["final"], one["limit"], label=one["handle"])
    return (
        f"<li{mark}>{_line(one, figures)}{picture}"
        f'<p class="small sums">{_sums(one, figures)}</p>'
        f'<p class="small gates">{"".join(map(_gate, one["gates"]))}</p>'
        f'<p class="small">{text_html(cut(one["verdict"], _LONGEST_TEXT))}</p>'
        f"{_tie_break(one)}{_changes(one)}</li>"
    )


def _line(one: Shown, figures: str) -> str:
    to = text_html(address("document", kind="skill", id=one["id"]))
    rank = f"#{one['rank']}" if one["rank"] else "–"
    source = one["source"]
    other = "" if source == "workspace" else f'<span class="badge">from {text_html(source)}</span>'
    return (
        f'<div class="line"><span class="rank">{rank}</span>'
        f'<a class="mono" href="{to}">{text_html(cut(one["handle"], _LONGEST_NAME))}</a>'
        f"{_badge(one)}{other}"
        f'<a class="evidence" href="{figures}#S_total_final" title="Recompute this number">'
        f"{one['final']:.3f}</a></div>"
    )


def _badge(one: Shown) -> str:
    if one["isSelected"]:
        return '<span class="badge good">selected</span>'
    if one["isChosen"]:
        return '<span class="badge warn">chosen</span>'
    return '<span class="badge bad">rejected</span>' if one["rejected"] else ""


def _sums(one: Shown, figures: str) -> str:
    parts = [
        f'<a href="{figures}#{part["name"]}" title="Recompute {part["name"]}">{part["label"]}'
        f" <b>{part['weight'] * part['value']:.2f}</b>"
        f' <span class="soft">= {part["weight"]} × {part["value"]:.2f}</span></a>'
        for part in one["parts"]
    ]
    lost = [
        f'<span class="minus">{text_html(name)} −{value:.2f}</span>'
        for name, value in one["penalties"].items()
    ]
    return "".join([*parts, *lost])


def _gate(gate: Shown) -> str:
    kind, sign, compared = ("passed", "✓", "≥") if gate["passed"] else ("failed", "✗", "&lt;")
    own = ' <span class="soft">(its own)</span>' if gate["own"] else ""
    return (
        f'<span class="gate {kind}"><span aria-hidden="true">{sign}</span> '
        f"{text_html(gate['name'])} {gate['value']:.2f} {compared} {gate['limit']:.2f}{own}</span>"
    )


def _tie_break(one: Shown) -> str:
    if not one["tieBreak"]:
        return ""
    badge = '<span class="badge warn">tie-break</span> ' if one["isTie"] else ""
    return f'<p class="small soft">{badge}Ranked {text_html(cut(one["tieBreak"], 300))}</p>'


def _changes(one: Shown) -> str:
    return "".join(f'<p class="small soft">{text_html(text)}</p>' for text in one["changes"])
