"""The first paragraph of a Markdown text."""

import re
from collections.abc import Iterator

LONGEST_PARAGRAPH = 1024
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_NOT_PROSE = re.compile(
    r"[ \t]*(?:#{1,6}(?:\s|$)|[-*+][ \t]|[0-9]{1,9}[.)][ \t]|>|\||</?[A-Za-z!]|[*_][ \t*_]{2,}$)"
)
"""The start of a heading, list, quote, table or HTML, or a thematic break."""
_BELOW_HEADING = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_INDENTED = re.compile(r" {4}|\t")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


def first_paragraph(text: str) -> str:
    """The first paragraph of prose as one line of at most 1,024 characters."""
    found: list[str] = []
    for line in _outside_fences(_COMMENT.sub("", text)):
        if _BELOW_HEADING.match(line):
            found.clear()
        elif line.strip() and not _NOT_PROSE.match(line) and (found or not _INDENTED.match(line)):
            found.append(line)
        elif found:
            break
    return _cut(" ".join(" ".join(found).split()))


def _outside_fences(text: str) -> Iterator[str]:
    """The lines outside fenced code; an opening fence becomes an empty line."""
    closing = ""
    for line in text.splitlines():
        fence = _FENCE.match(line)
        if not closing:
            closing = fence[1] if fence else ""
            yield "" if fence else line
        elif fence and fence[1].startswith(closing):
            closing = ""


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_PARAGRAPH else f"{text[: LONGEST_PARAGRAPH - 1].rstrip()}…"
