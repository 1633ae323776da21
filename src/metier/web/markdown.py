"""Markdown as HTML that cannot do anything: all text is escaped first, and raw HTML is shown.

Headings, lists, quotes, tables, code, emphasis and links to http(s) are kept; everything else is
text. A link shows where it leads. Linear in the length of the text.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from markupsafe import Markup, escape

from metier.safety.escapes import visible

LONGEST = 300_000
"""A longer text is shown as it is."""
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


class _Item(NamedTuple):
    number: str
    indent: int
    lines: list[str]


def rendered(text: str) -> Markup:
    """A text as HTML; every character of it is escaped."""
    if len(text) > LONGEST:
        return Markup("<pre>{}</pre>").format(visible(text))
    return Markup("\n").join(_blocks(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 0))


def _blocks(lines: Sequence[str], depth: int) -> Iterator[Markup]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif found := _FENCE.fullmatch(line):
            at, code = _fenced(lines, at, found[1])
            yield Markup("<pre><code>{}</code></pre>").format(visible(code))
        elif found := _HEADING.fullmatch(line):
            level = min(len(found[1]) + 2, 6)
            yield Markup(f"<h{level}>{{}}</h{level}>").format(_inline(found[2] or ""))
            at += 1
        elif _RULE.fullmatch(line):
            yield Markup("<hr>")
            at += 1
        elif _QUOTE.fullmatch(line) and depth < _MOST_DEPTH:
            at, inner = _quoted(lines, at)
            yield Markup("<blockquote>{}</blockquote>").format(
                Markup("\n").join(_blocks(inner, depth + 1))
            )
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


def _list(lines: Sequence[str], at: int) -> tuple[int, Markup]:
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
    shown = Markup("").join(map(_item, items))
    name = "ol" if is_ordered else "ul"
    return at, Markup(f"<{name}>{{}}</{name}>").format(shown)


def _item(one: _Item) -> Markup:
    number, indent, text = one.number, one.indent, " ".join(one.lines)
    value = Markup(' value="{}"').format(int(number)) if number and int(number) < 1 << 31 else ""
    return Markup('<li class="in{}"{}>{}</li>').format(indent, value, _inline(text))


def _is_divider(line: str) -> bool:
    return "-" in line and len(line) < 2_000 and _DIVIDER.fullmatch(line) is not None


def _table(lines: Sequence[str], at: int) -> tuple[int, Markup]:
    head = Markup("").join(Markup("<th>{}</th>").format(_inline(one)) for one in _cells(lines[at]))
    at += 2
    rows = []
    while at < len(lines) and "|" in lines[at] and lines[at].strip():
        cells = Markup("").join(
            Markup("<td>{}</td>").format(_inline(one)) for one in _cells(lines[at])
        )
        rows.append(Markup("<tr>{}</tr>").format(cells))
        at += 1
    body = Markup("").join(rows)
    shown = Markup('<div class="scroll"><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>')
    return at, shown.format(head, body) + Markup("</div>")


def _cells(line: str) -> list[str]:
    return [one.strip() for one in line.strip().removeprefix("|").removesuffix("|").split("|")]


def _paragraph(lines: Sequence[str], at: int) -> tuple[int, Markup]:
    start = at
    at += 1
    while at < len(lines) and lines[at].strip() and not _starts_block(lines[at]):
        at += 1
    return at, Markup("<p>{}</p>").format(_inline("\n".join(lines[start:at])))


def _starts_block(line: str) -> bool:
    return any(one.fullmatch(line) for one in (_FENCE, _HEADING, _RULE, _QUOTE, _ITEM))


def _inline(text: str) -> Markup:
    """Code spans first, then emphasis and links in what is between them."""
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
        shown.append(Markup("<code>{}</code>").format(visible(text[start + len(mark) : end])))
        at, number = end + len(mark), closing + 1
    shown.append(_emphasised(text[at:]))
    return Markup("").join(shown)


def _emphasised(text: str) -> Markup:
    shown, at = [], 0
    for found in _INLINE.finditer(text):
        shown.append(_text(text[at : found.start()]))
        shown.append(_marked(found))
        at = found.end()
    shown.append(_text(text[at:]))
    return Markup("").join(shown)


def _marked(found: re.Match[str]) -> Markup:
    if found["strong"] is not None:
        return Markup("<strong>{}</strong>").format(_text(found["strong"]))
    plain = found["star"] if found["star"] is not None else found["line"]
    if plain is not None:
        return Markup("<em>{}</em>").format(_text(plain))
    return _text(found[0]) if found[0].startswith("!") else _link(found["text"], found["to"])


def _link(text: str, to: str) -> Markup:
    """A link to the web with its host beside it; any other is text."""
    host = _host(to)
    if not host:
        return Markup('{} <span class="to">({})</span>').format(_text(text), _text(to))
    shown = Markup('<a href="{}" rel="noopener noreferrer" target="_blank">{}</a>')
    return shown.format(to, _text(text)) + Markup(' <span class="to">({})</span>').format(host)


def _host(to: str) -> str:
    if not to.lower().startswith(_WEB) or not to.isascii() or not to.isprintable():
        return ""
    try:
        return urlsplit(to).hostname or ""
    except ValueError:
        return ""


def _text(text: str) -> Markup:
    return escape(visible(text))
