"""Markdown as HTML that cannot do anything: all text is escaped first, and raw HTML is shown.

Headings, lists, quotes, tables, code, emphasis and links to http(s) are kept; everything else is
text. A link shows where it leads. Linear in the length of the text.
"""

import html
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from markupsafe import Markup

from metier.web.words import shown

LONGEST = 300_000
"""A longer text is shown as it is."""
_LONGEST_KEPT = 40_000
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[^`\n]*")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#*)?[ \t]*")
_ITEM = re.compile(r"([ \t]*)(?:[-+*]|(\d{1,9})[.)])[ \t]+(.*)")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})")
_QUOTE = re.compile(r" {0,3}> ?(.*)")
_DIVIDER = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_CODE = re.compile(r"`+")
_INLINE = re.compile(
    r"!?\[(?P<text>[^\[\]\n]{0,500})\]\((?P<to>[^()\s<>]{1,2000})(?:[ \t]+\"[^\"\n]{0,200}\")?\)"
    r"|\*\*(?P<strong>[^*\n]{1,2000})\*\*"
    r"|(?<![\w*])\*(?P<star>[^*\s][^*\n]{0,2000})\*(?![\w*])"
    r"|(?<!\w)_(?P<line>[^_\s][^_\n]{0,2000})_(?!\w)"
)
_WEB = ("http://", "https://")
_MOST_DEPTH = 8
_MARKS = frozenset("#>-+*_`~0123456789")
"""How a line starts that may not be paragraph text."""


class _Item(NamedTuple):
    number: str
    indent: int
    lines: list[str]


def rendered(text: str) -> Markup:
    """A text as HTML; every character of it is escaped."""
    if len(text) > LONGEST:
        return Markup(f"<pre>{_text(text)}</pre>")
    return _rendered(text) if len(text) > _LONGEST_KEPT else _kept(text)


@lru_cache(maxsize=256)
def _kept(text: str) -> Markup:
    """The same document is often shown again."""
    return _rendered(text)


def _rendered(text: str) -> Markup:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return Markup("\n".join(_blocks(lines, 0)))


# Below, texts are HTML; `_text` makes one of what a document says.


def _blocks(lines: Sequence[str], depth: int) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif found := _FENCE.fullmatch(line):
            at, code = _fenced(lines, at, found[1])
            yield f"<pre><code>{_text(code)}</code></pre>"
        elif found := _HEADING.fullmatch(line):
            level = min(len(found[1]) + 2, 6)
            yield f"<h{level}>{_inline(found[2] or '')}</h{level}>"
            at += 1
        elif _RULE.fullmatch(line):
            yield "<hr>"
            at += 1
        elif _QUOTE.fullmatch(line) and depth < _MOST_DEPTH:
            at, inner = _quoted(lines, at)
            quoted = "\n".join(_blocks(inner, depth + 1))
            yield f"<blockquote>{quoted}</blockquote>"
        elif _ITEM.fullmatch(line):
            at, shown = _list(lines, at)
            yield shown
        elif "|" in line and at + 1 < len(lines) and _is_divider(lines[at + 1]):
            at, shown = _table(lines, at)
            yield shown
        else:
            at, shown = _paragraph(lines, at)
            yield shown


def _fenced(lines: Sequence[str], at: int, mark: str) -> tuple[int, str]:
    end = at + 1
    while end < len(lines):
        closing = lines[end].strip()
        if closing and not closing.strip(mark[0]) and len(closing) >= len(mark):
            break
        end += 1
    return end + 1, "\n".join(lines[at + 1 : end])


def _quoted(lines: Sequence[str], at: int) -> tuple[int, list[str]]:
    inner = []
    while at < len(lines) and (found := _QUOTE.fullmatch(lines[at])):
        inner.append(found[1])
        at += 1
    return at, inner


def _list(lines: Sequence[str], at: int) -> tuple[int, str]:
    """Items one below the other; deeper ones are indented by a class, not nested."""
    first, items = _ITEM.fullmatch(lines[at]), list[_Item]()
    is_ordered = first is not None and bool(first[2])
    while at < len(lines):
        if found := _ITEM.fullmatch(lines[at]):
            indent = min(len(found[1].expandtabs(4)) // 2, 4)
            items.append(_Item(found[2] or "", indent, [found[3]]))
        elif lines[at].strip() and lines[at][:1] in " \t":
            items[-1].lines.append(lines[at].strip())
        else:
            break
        at += 1
    name = "ol" if is_ordered else "ul"
    return at, f"<{name}>{''.join(map(_item, items))}</{name}>"


def _item(one: _Item) -> str:
    number = int(one.number) if one.number else 1 << 31
    value = f' value="{number}"' if number < 1 << 31 else ""
    return f'<li class="in{one.indent}"{value}>{_inline(" ".join(one.lines))}</li>'


def _is_divider(line: str) -> bool:
    return "-" in line and len(line) < 2_000 and _DIVIDER.fullmatch(line) is not None


def _table(lines: Sequence[str], at: int) -> tuple[int, str]:
    head = "".join(f"<th>{_inline(one)}</th>" for one in _cells(lines[at]))
    at += 2
    rows = []
    while at < len(lines) and "|" in lines[at] and lines[at].strip():
        cells = "".join(f"<td>{_inline(one)}</td>" for one in _cells(lines[at]))
        rows.append(f"<tr>{cells}</tr>")
        at += 1
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return at, f'<div class="scroll" tabindex="0">{table}</div>'


def _cells(line: str) -> list[str]:
    return [one.strip() for one in line.strip().removeprefix("|").removesuffix("|").split("|")]


def _paragraph(lines: Sequence[str], at: int) -> tuple[int, str]:
    start = at
    at += 1
    while at < len(lines) and lines[at].strip() and not _starts_block(lines[at]):
        at += 1
    return at, f"<p>{_inline(chr(10).join(lines[start:at]))}</p>"


def _starts_block(line: str) -> bool:
    if line.lstrip(" \t")[:1] not in _MARKS:
        return False
    return any(one.fullmatch(line) for one in (_FENCE, _HEADING, _RULE, _QUOTE, _ITEM))


def _inline(text: str) -> str:
    """Code spans first, then emphasis and links in what is between them."""
    if "`" not in text:
        return _emphasised(text)
    marks = [(found.start(), found[0]) for found in _CODE.finditer(text)]
    next_same: dict[int, int] = {}
    last: dict[str, int] = {}
    for number in range(len(marks) - 1, -1, -1):
        mark = marks[number][1]
        next_same[number] = last.get(mark, -1)
        last[mark] = number
    shown, at, number = [], 0, 0
    while number < len(marks):
        closing = next_same[number]
        if closing < 0:
            number += 1
            continue
        start, mark = marks[number]
        end = marks[closing][0]
        shown.append(_emphasised(text[at:start]))
        shown.append(f"<code>{_text(text[start + len(mark) : end])}</code>")
        at, number = end + len(mark), closing + 1
    shown.append(_emphasised(text[at:]))
    return "".join(shown)


def _emphasised(text: str) -> str:
    if not ("*" in text or "_" in text or "](" in text):
        return _text(text)
    shown, at = [], 0
    for found in _INLINE.finditer(text):
        shown.append(_text(text[at : found.start()]))
        shown.append(_marked(found))
        at = found.end()
    shown.append(_text(text[at:]))
    return "".join(shown)


def _marked(found: re.Match[str]) -> str:
    if found["strong"] is not None:
        return f"<strong>{_text(found['strong'])}</strong>"
    plain = found["star"] if found["star"] is not None else found["line"]
    if plain is not None:
        return f"<em>{_text(plain)}</em>"
    return _text(found[0]) if found[0].startswith("!") else _link(found["text"], found["to"])


def _link(text: str, to: str) -> str:
    """A link to the web with its host beside it; any other is text."""
    host = _host(to)
    if not host:
        return f'{_text(text)} <span class="to">({_text(to)})</span>'
    start = f'<a href="{_text(to)}" rel="noopener noreferrer" target="_blank">'
    return f'{start}{_text(text)}</a> <span class="to">({_text(host)})</span>'


def _host(to: str) -> str:
    if not to.lower().startswith(_WEB) or not to.isascii() or not to.isprintable():
        return ""
    try:
        return urlsplit(to).hostname or ""
    except ValueError:
        return ""


def _text(text: str) -> str:
    """What a document says, as HTML."""
    return html.escape(shown(text))
