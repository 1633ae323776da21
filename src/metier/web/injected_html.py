"""An injected text and its ranking as HTML: as macros would write them, but much faster."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from markupsafe import Markup

from metier.core.text import counted
from metier.web.pictures import Part, stacked
from metier.web.query import address
from metier.web.table_html import text_html
from metier.web.words import cut

Shown = Mapping[str, Any]
_PARTS = ("core", "tags", "category", "keywords", "priority")


def pieces_of_text_html(pieces: Sequence[Shown]) -> Markup:
    """The pieces of a text, each with the document that it comes from."""
    return Markup("".join([_piece(one) for one in pieces]))


def _piece(piece: Shown) -> str:
    more = "\n… (the JSON has the rest)" if piece["isCut"] else ""
    return (
        f'<div class="piece {piece["kind"]}"><p class="source">{_source(piece)}</p>'
        f"<pre>{text_html(piece['text'])}{more}</pre></div>"
    )


def _source(piece: Shown) -> str:
    if not piece["id"]:
        return ""
    return (
        f'<span class="badge">{piece["kind"]}</span> {_link(piece["kind"], piece["id"], 60)} '
        f'<span class="soft">{counted(piece["tokens"], "token")}</span>'
    )


@lru_cache(maxsize=1_024)
def _link(kind: str, name: str, most: int) -> str:
    to = text_html(address("document", kind=kind, id=name))
    return f'<a class="mono" href="{to}">{text_html(cut(name, most))}</a>'


def abilities_html(rows: Sequence[Shown], most: float) -> Markup:
    """A list item for each ability that was chosen, its score in parts."""
    return Markup("".join([_ability(one, most) for one in rows]))


def _ability(item: Shown, most: float) -> str:
    parts = [
        Part(name, item["parts"][name], f"t{number}")
        for number, name in enumerate(_PARTS, start=1)
        if item["parts"][name]
    ]
    badge = (
        '<span class="badge good">injected</span>'
        if item["isInjected"]
        else '<span class="badge warn">over budget</span>'
    )
    by = item["requiredBy"]
    why = f'<span class="soft small">required by {text_html(by)}</span>' if by else ""
    return (
        f'<li><div class="line">{_link("ability", item["id"], 100)}{badge}{why}'
        f'<span class="evidence">{item["score"]:.1f}</span></div>'
        f"{stacked(parts, most, label=item['id'])}</li>"
    )
