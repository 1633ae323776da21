"""Candidates of a resolution as HTML: as a macro would write them, in a fraction of the time."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from metier.web.pictures_resolve import score_bar
from metier.web.query import Query, address
from metier.web.spec_words import GATES, in_words
from metier.web.table_html import text_html
from metier.web.words import cut

Shown = Mapping[str, Any]
_LONGEST_NAME, _LONGEST_TEXT = 100, 600


def candidates_html(candidates: Sequence[Shown], query: Query) -> Markup:
    """A list item for each candidate: its score in parts, its gates, why it was selected or not."""
    return Markup("\n".join([_item(one, query) for one in candidates]))


def _item(row: Shown, query: Query) -> str:
    figures = text_html(address("recompute", query, candidate=row["id"]))
    mark = ' class="selected"' if row["isSelected"] else ""
    picture = score_bar(row["parts"], row["final"], row["limit"], label=row["handle"])
    return (
        f"<li{mark}>{_line(row, figures)}{picture}"
        f'<p class="small sums">{_sums(row, figures)}</p>'
        f'<p class="small gates">{"".join(map(_gate, row["gates"]))}</p>'
        f'<p class="small">{said_html(row["verdict"])}</p>'
        f"{_tie_break(row)}{_changes(row)}</li>"
    )


def _line(row: Shown, figures: str) -> str:
    to = text_html(address("document", kind="skill", id=row["id"]))
    rank = f"#{row['rank']}" if row["rank"] else "–"
    source = row["source"]
    other = "" if source == "workspace" else f'<span class="badge">from {text_html(source)}</span>'
    return (
        f'<div class="line"><span class="rank">{rank}</span>'
        f'<a class="mono" href="{to}">{text_html(cut(row["handle"], _LONGEST_NAME))}</a>'
        f"{_badge(row)}{other}"
        f'<a class="evidence" href="{figures}#S_total_final" title="Recompute this number">'
        f"{row['final']:.3f}</a></div>"
    )


def _badge(row: Shown) -> str:
    if row["isSelected"]:
        return '<span class="badge good">selected</span>'
    if row["isChosen"]:
        return '<span class="badge warn">chosen</span>'
    return '<span class="badge bad">rejected</span>' if row["rejected"] else ""


def _sums(row: Shown, figures: str) -> str:
    parts = [
        f'<a href="{figures}#{part["name"]}" title="Recompute {part["name"]}">{part["label"]}'
        f" <b>{part['weight'] * part['value']:.2f}</b>"
        f' <span class="soft">= {part["weight"]} × {part["value"]:.2f}</span></a>'
        for part in row["parts"]
    ]
    lost = [
        f'<span class="minus">{text_html(name)} −{value:.2f}</span>'
        for name, value in row["penalties"].items()
    ]
    return "".join([*parts, *lost])


def _gate(gate: Shown) -> str:
    kind, sign, compared = ("passed", "✓", "≥") if gate["passed"] else ("failed", "✗", "&lt;")
    own = ' <span class="soft">(its own)</span>' if gate["own"] else ""
    return (
        f'<span class="gate {kind}"><span aria-hidden="true">{sign}</span> '
        f"{GATES[gate['name']]} {gate['value']:.2f} {compared} {gate['limit']:.2f}{own}"
        f' <span class="term">{gate["name"]}</span></span>'
    )


def _tie_break(row: Shown) -> str:
    if not row["tieBreak"]:
        return ""
    badge = '<span class="badge warn">tie-break</span> ' if row["isTie"] else ""
    return f'<p class="small soft">{badge}Ranked {said_html(row["tieBreak"])}</p>'


def _changes(row: Shown) -> str:
    return "".join(f'<p class="small soft">{said_html(one)}</p>' for one in row["changes"])


def said_html(text: str) -> Markup:
    """A text in words, and beside it the terms of the specification."""
    said = in_words(cut(text, _LONGEST_TEXT))
    terms = f' <span class="term">{text_html(said.terms)}</span>' if said.terms else ""
    return Markup(f"{text_html(said.text)}{terms}")
