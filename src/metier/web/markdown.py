"""Markdown as HTML that cannot do anything: all text is escaped first, and raw HTML is shown.

Headings, lists, quotes, tables, code, emphasis and links to http(s) are kept; everything else is
text. A link shows where it leads. Linear in the length of the text.
"""

import html
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
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
_TAB = 4
"""Spaces that a tab is worth, and that make a line of code."""
_MARKS = frozenset("#>-+*_`~0123456789")
"""How a line starts that may not be paragraph text."""


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
        elif _indent(line) >= _TAB:
            at, code = _indented(lines, at)
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
        elif found := _ITEM.fullmatch(line):
            at, shown = _list(lines, at, found, depth)
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


def _indent(line: str) -> int:
    """How many spaces a line starts with."""
    text = line[: len(line) - len(line.lstrip(" \t"))]
    return len(text.expandtabs(_TAB))


def _without_indent(line: str, most: int) -> str:
    """A line without its first spaces, at most so many."""
    indent = _indent(line)
    return " " * max(0, indent - most) + line.lstrip(" \t")


def _indented(lines: Sequence[str], at: int) -> tuple[int, str]:
    """Code that is indented."""
    end = at
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) >= _TAB):
        end += 1
    code = [_without_indent(line, _TAB) for line in lines[at:end]]
    return end, "\n".join(code).rstrip()


def _list(lines: Sequence[str], at: int, first: "re.Match[str]", depth: int) -> tuple[int, str]:
    """The items of one list; what is indented below an item belongs to it."""
    items, found = [], first
    while True:
        end = _end_of_item(lines, at, _indent(lines[at]))
        below = [_without_indent(line, _width(found)) for line in lines[at + 1 : end]]
        items.append(_item(found, below, depth))
        at = end
        while at < len(lines) and not lines[at].strip():
            at += 1
        following = _ITEM.fullmatch(lines[at]) if at < len(lines) else None
        if following is None or bool(following[2]) != bool(first[2]) or _RULE.fullmatch(lines[at]):
            break
        found = following
    name = "ol" if first[2] else "ul"
    return at, f"<{name}>{''.join(items)}</{name}>"


def _width(item: "re.Match[str]") -> int:
    """How far the text of an item is from the start of the line."""
    return len(item[0][: item.start(3)].expandtabs(_TAB))


def _end_of_item(lines: Sequence[str], at: int, indent: int) -> int:
    """The line after the last of an item: what follows is not indented, or starts something."""
    end, is_after_blank = at + 1, False
    for number in range(at + 1, len(lines)):
        line = lines[number]
        if not line.strip():
            is_after_blank = True
            continue
        is_inside = _indent(line) > indent + (1 if _ITEM.fullmatch(line) else 0)
        if not is_inside and (is_after_blank or _starts_block(line)):
            break
        end, is_after_blank = number + 1, False
    return end


def _item(found: "re.Match[str]", below: Sequence[str], depth: int) -> str:
    value = f' value="{int(found[2])}"' if found[2] and int(found[2]) < 1 << 31 else ""
    at = 0
    while at < len(below) and below[at].strip() and not _starts_block(below[at]):
        at += 1
    text = _inline("\n".join([found[3], *below[:at]]))
    if depth >= _MOST_DEPTH:
        return f"<li{value}>{text} {_inline(chr(10).join(below[at:]))}</li>"
    inner = "\n".join(_blocks(below[at:], depth + 1))
    return f"<li{value}>{text}{inner}</li>"


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
