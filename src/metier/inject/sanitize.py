"""Sanitized card text (spec 5)."""

import re

from metier.safety.disguise import examine, find_overrides
from metier.values.capabilities import Sanitized
from metier.values.outcomes import Issue

_OPENING = re.compile(r"---[ \t]*(?:\r\n|\r|\n)")
_CLOSING = re.compile(r"^---[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_BLANK_LINES = re.compile(r"[ \t\r\n]*\n")
_BYTE_ORDER_MARK = "\ufeff"


def sanitize_capability_content(text: str, path: str = "") -> Sanitized:
    """The text of a card without front matter, comments, and what poses as a turn of a chat.

    Code keeps every character. A text that overrides instructions, or hides characters, in its
    front matter too, is rejected and comes back empty. Sanitizing the result changes nothing.
    """
    text = text.removeprefix(_BYTE_ORDER_MARK)
    examined = examine(text, _body_start(text))
    issues = [
        Issue(finding.code, finding.message, path, finding.line, finding.column, finding.hint)
        for finding in examined.findings
    ]
    in_name = [
        Issue(one.code, f"in its file name {one.message}", path, hint="rename the file")
        for one in find_overrides(path)
    ]
    rejected = examined.rejected or bool(in_name)
    return Sanitized("" if rejected else _opened(examined.text), [*in_name, *issues], rejected)


def _body_start(text: str) -> int:
    """Where the text starts behind its front matter and the blank lines after that."""
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening is not None else None
    if closing is None:
        return 0
    blank = _BLANK_LINES.match(text, closing.end())
    return blank.end() if blank is not None else closing.end()


def _opened(text: str) -> str:
    """`text`, with an empty line before what would be taken for front matter the next time."""
    return f"\n{text}" if _body_start(text) else text
