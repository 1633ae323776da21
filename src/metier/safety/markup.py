"""Markup that a reader does not see: patterns for text, and for the bytes of a shape."""

import re

_AMPERSAND = r"&(?:(?:amp|#0*38|#[xX]0*26);)*"
"""May itself be written as an entity, repeatedly."""
_COMMON_ENTITY = (
    rf"(?:{_AMPERSAND}(?:#0*(?P<decimal>[0-9]{{1,7}})(?![0-9])"
    r"|#[xX]0*(?P<hexadecimal>[0-9A-Fa-f]{1,6})(?![0-9A-Fa-f])"
    r"|(?P<named>[A-Za-z][A-Za-z0-9]{1,31})(?=;));?"
    r"|\\[ux](?P<escaped>(?<=u)[0-9A-Fa-f]{4}|(?<=x)[0-9A-Fa-f]{2}))"
)
"""An entity of HTML, or an escape as in JSON."""
_ENTITY = (
    rf"(?:{_COMMON_ENTITY}"
    r"|(?:\\u\{|\\U00|%(?=[3-7]))(?P<other>(?<=\{)[0-9A-Fa-f]{1,6}(?=\})|(?<=00)[0-9A-Fa-f]{6}"
    r"|(?<=%)[0-9A-Fa-f]{2})\}?)"
)
"""The same, or an escape as in source code or in an address."""
_TAG = r"</?[A-Za-z|?][^<>]*>"
_QUOTED = r"\"[^\"<]*+\"|'[^'<]*+'"
_TAG_WITH_QUOTES = rf"</?[A-Za-z|?](?:(?:[^<>\"']++|{_QUOTED}|[\"'])*+>|[^<>]*+>)"
"""A `>` in quotes does not end it."""
_TAG_AS_PARSED = r"</?[A-Za-z|?](?:[^>\"']++|\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z))*+(?:>|\Z)"
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
)
"""A link without its text: the opening bracket, and the target or label; the reference to a
footnote; a command of LaTeX."""
_REMOVED = (
    _TAG,
    f"{_COMMENT}|{_TAG}|{_LINK}",
    f"{_COMMENT}|{_TAG_WITH_QUOTES}|{_LINK}",
    f"{_COMMENT}|{_TAG_AS_PARSED}|{_LINK}",
)
MARKUP = tuple(re.compile(f"{removed}|{_ENTITY}") for removed in _REMOVED)
ENTITIES = re.compile(_ENTITY)
"""Removed or decoded in each reading: entities only, tags too, all markup."""


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

    if match["decimal"]:
        return unescape(f"&#{match['decimal']};")
    if code := match["hexadecimal"] or match["escaped"] or match["other"]:
        return unescape(f"&#x{code};")
    return unescape(f"&{match['named']};") if match["named"] else ""
