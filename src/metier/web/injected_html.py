"""An injected text, its size and ranking as HTML: as macros would write them, but much faster."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from markupsafe import Markup

from metier.core.text import counted
from metier.web.pictures import Part, stacked
from metier.web.query import address
from metier.web.table_html import text_html
from metier.web.words import count, cut

Shown = Mapping[str, Any]
_PARTS = ("core", "tags", "category", "keywords", "priority")
_LONGEST_MESSAGE, _LONGEST_HINT = 500, 300


def issues_html(issues: Sequence[Shown]) -> Markup:
    """What was wrong, or did not fit, each with a hint."""
    return Markup("".join([_issue(one) for one in issues]))


def _issue(one: Shown) -> str:
    hint = text_html(cut(one["hint"], _LONGEST_HINT))
    after = f' <span class="hint small">{hint}</span>' if hint else ""
    return (
        f'<p class="banner {"bad" if one["isError"] else "warn"}"><code>{one["code"]}</code> '
        f"{text_html(cut(one['message'], _LONGEST_MESSAGE))}{after}</p>"
    )


def gauge_html(found: Shown) -> Markup:
    """The tokens of the text, in parts, and of its budget."""
    tones = ("t1", "t3", "t2")
    parts = [
        Part(one["label"], one["tokens"], tone)
        for one, tone in zip(found["parts"], tones, strict=True)
    ]
    key = "".join(
        [f'<span class="{tone}">{label} {count(size)}</span>' for label, size, tone in parts]
    )
    full = ' <span class="badge warn">something did not fit</span>' if found["isTruncated"] else ""
    of = f'<span class="soft">of {counted(found["budget"], "token")}</span>'
    picture = stacked(parts, found["budget"], label=f"tokens of {found['budget']}")
    return Markup(
        f'<h2 id="tokens">{count(found["tokens"])} {of}{full}</h2>{picture}<p class="key">{key}</p>'
    )


def pieces_of_text_html(pieces: Sequence[Shown]) -> Markup:
    """The pieces of a text, each with the document that it comes from."""
    return Markup("".join([_piece(one) for one in pieces]))


def _piece(piece: Shown) -> str:
    more = "\n… (the JSON has the rest)" if piece["isCut"] else ""
    return (
        f'<div class="piece {piece["kind"]}"><p class="source">{_source(piece)}</p>'
        f"<pre>{_text(piece['kind'], piece['id'], piece['text'])}{more}</pre></div>"
    )


def _text(kind: str, name: str, text: str) -> str:
    """The HTML of a text, kept for each document: to compare texts is faster than to hash them."""
    if not name:
        return text_html(text)
    last = _last_text(kind, name)
    if last.get("text") != text:
        last.update(text=text, html=text_html(text))
    return last["html"]


@lru_cache(maxsize=128)
def _last_text(_kind: str, _name: str) -> dict[str, str]:
    """The text of a document that was shown last, and its HTML."""
    return {}


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
