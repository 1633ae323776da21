"""Markup that a reader does not see: patterns for text, and for the bytes of a shape."""

import re

_AMPERSAND = r"&(?:(?:amp|#0*38|#[xX]0*26);)*"
"""May itself be written as an entity, repeatedly."""
_COMMON_ENTITY = (
    rf"{_AMPERSAND}(?:#0*(?P<decimal>[0-9]{{1,7}})(?![0-9])"
    r"|#[xX]0*(?P<hexadecimal>[0-9A-Fa-f]{1,6})(?![0-9A-Fa-f])"
    r"|(?P<named>[A-Za-z][A-Za-z0-9]{1,31})(?=;));?"
    r"|\\[ux](?P<escaped>(?<=u)[0-9A-Fa-f]{4}|(?<=x)[0-9A-Fa-f]{2})"
)
"""An entity of HTML, or an escape as in JSON."""
_ENTITY = (
    rf"{_COMMON_ENTITY}"
    r"|\\[ux]\{(?P<braced>[0-9A-Fa-f]{1,6})\}"
    r"|\\U00(?P<long>[0-9A-Fa-f]{6})"
    r"|\\uu++00(?P<repeated>[3-7][0-9A-Fa-f])"
    r"|\\0?+(?P<octal>1[0-7]{2}|(?<=0)72)"
    r"|\\0{0,4}+(?P<style>[4-7][0-9A-Fa-f]|3[Aa])(?:(?<=0000..)|(?![0-9A-Fa-f]))[ ]?"
    r"|\\N\{LATIN (?:SMALL|CAPITAL) LETTER (?P<letter>[A-Z])\}"
    r"|%(?:25)*+(?P<address>[3-7][0-9A-Fa-f])"
    r"|%u00(?P<script>[3-7][0-9A-Fa-f])"
    r"|U\+00(?P<point>[3-7][0-9A-Fa-f])"
    r"|0x(?P<byte>[4-7][0-9A-Fa-f]|3[Aa])"
    r"|=(?P<mail>[4-7][0-9A-F]|3A)"
)
"""The same, or an escape as in source code, a style sheet, an address or a mail.

Each alternative starts with a character of its own: so most of a text is skipped fast.
"""
_START = r"(?:</?[A-Za-z|?%]|</ |<![A-Z\[])"
_TAG = rf"{_START}[^<>]*>"
_QUOTED = r"\"[^\"<]*+\"|'[^'<]*+'"
_TAG_WITH_QUOTES = rf"{_START}(?:(?:[^<>\"']++|{_QUOTED}|[\"'])*+>|[^<>]*+>)"
"""A `>` in quotes does not end it."""
_TAG_AS_PARSED = rf"{_START}(?:[^>\"']++|\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z))*+(?:>|\Z)"
"""As browsers parse it: a `<` in quotes does not start another, an open quote has no end."""
_COMMENT = r"<!--[^<]*?-->"
_LINE_ENDS = r"\n\x1d\x1e"
"""Ends of paragraphs and blocks, when they are marked, are ends of lines as well."""


def _nested(depth: int) -> str:
    """A pattern for text in parentheses, nested up to `depth`."""
    inner = rf"|\({_nested(depth - 1)}\)" if depth else ""
    return rf"(?:[^()\s\x1d\x1e]++{inner})*+"


_LINK = (
    rf"\[(?=[^\[\]{_LINE_ENDS}]*+\][(\[])"
    rf"|\]\((?:[^(){_LINE_ENDS}]*|{_nested(3)})\)"
    rf"|\]\[[^\[\]{_LINE_ENDS}]*\]"
    rf"|\[\^[^\[\]{_LINE_ENDS}]*\]"
    r"|\\[A-Za-z]{1,20}\{"
    rf"|\[\[[^\[\]|{_LINE_ENDS}]{{0,80}}+\||\[\[|\]\]"
    r"|\[(?:/[A-Za-z]{1,8}|[bius]|[A-Za-z]{1,8}=[^\[\]\s]{1,80}+)\](?![(\[])"
)
"""A link without its text: the opening bracket, and the target or label; the reference to a
footnote; a command of LaTeX; a link of a wiki; a tag of a forum."""
_HIDDEN = (
    r"<(?=[sStT])(?i:style|script|template)\b[^<>]*+>[^<]*+</(?i:style|script|template)>"
    r"|<[A-Za-z]++(?=\s[^<>]*+>)"
    r"(?>[^<>]*?\b(?i:hidden|display: ?none)\b[^<>]*+>)[^<]*+</[A-Za-z]++>"
)
"""An element that is not shown."""
_OTHER_COMMENT = (
    r"\{(?:empty|blank|zwsp|wj|nbsp|shy)\}"
    rf"|\{{\{{?+[#%/!*:.][^{{}}{_LINE_ENDS}]{{0,80}}+\}}\}}?+"
    rf"|/\*[^*{_LINE_ENDS}]{{0,80}}+\*/|%%[^%{_LINE_ENDS}]{{0,80}}+%%|:[a-z_]{{1,20}}+:"
)
"""A comment or attribute of templates and Markdown; the name of an invisible character, of a role
or of an emoji."""
_REMOVED = (
    _TAG,
    f"{_COMMENT}|{_TAG}|{_LINK}|{_OTHER_COMMENT}",
    f"{_COMMENT}|{_TAG_WITH_QUOTES}|{_LINK}|{_OTHER_COMMENT}",
    f"{_COMMENT}|{_TAG_AS_PARSED}|{_LINK}|{_OTHER_COMMENT}",
    f"{_COMMENT}|{_HIDDEN}|{_TAG}|{_LINK}|{_OTHER_COMMENT}",
)
MARKUP = tuple(re.compile(f"{removed}|{_ENTITY}") for removed in _REMOVED)
ENTITIES = re.compile(_ENTITY)
"""Removed or decoded in each reading: entities only, tags too, all markup, hidden elements too."""


def _uncaptured(pattern: str) -> bytes:
    return re.sub(r"\(\?P<\w+>", "(?:", pattern).encode()


MARKUP_BYTES = tuple(re.compile(_uncaptured(removed)) for removed in _REMOVED)
TAG_BYTES = tuple(re.compile(tag.encode()) for tag in (_TAG, _TAG_WITH_QUOTES, _TAG_AS_PARSED))
"""The tags in each reading without markup."""
COMMON_ENTITY_BYTES, ENTITY_BYTES = (
    re.compile(b"(" + _uncaptured(entity) + b")") for entity in (_COMMON_ENTITY, _ENTITY)
)


def decoded(match: re.Match[str]) -> str:
    """The character of an entity; empty for other markup."""
    from html import unescape  # a large table, and few names and descriptions have entities

    kind = match.lastgroup
    found = match[kind] if kind is not None else ""
    if kind == "decimal":
        return unescape(f"&#{found};")
    if kind == "named":
        return unescape(f"&{found};")
    if kind == "octal":
        return chr(int(found, 8))
    return found if kind is None or kind == "letter" else unescape(f"&#x{found};")
