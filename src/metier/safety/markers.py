"""Remove role markers, tags, chat tokens and HTML comments from prose.

Code is not changed. A removal may uncover another marker, as in `<sys<system>tem>`, so `defused`
repeats until nothing is left.
"""

import html
import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from metier.core.markdown import Span, code_and_comments
from metier.safety.lookalikes import EITHER, MARK, as_ascii

ROLES = ("user", "assistant", "system", "human", "developer", "tool")
MOST_ROUNDS = 4
"""A text that needs more is hostile: code is changed as well."""
_ABOUT_ROLES = (
    "reminder|prompt|message|instructions?|turn|input|output|query|calls?|results?|response|use"
    "|note|context"
)
"""Follow a role in tags such as `<system-reminder>`."""
_LEAD = rf"(?:[ \t>#*_~+|.)0-9{MARK}-]|\[[ xX]?\])*+"
"""May precede a role at the start of a line: quote, heading and list markers, emphasis."""
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_HIDDEN = "\0"
"""Replaces each character of code and comments."""


def _any(*words: str) -> str:
    """A pattern for any of the words, with combining marks on any letter."""
    return "|".join("".join(f"{_letter(letter)}{MARK}*" for letter in word) for word in words)


def _letter(letter: str) -> str:
    either = "".join(sign for sign, letters in EITHER.items() if letter in letters)
    forms = {"i": "il", "l": "il"}.get(letter, letter) + either
    return f"(?:rn|[{forms}])" if letter == "m" else f"[{forms}]"


_name = f"(?:{_any(*ROLES)})(?:[-_]?(?:{_ABOUT_ROLES})\\b)?"
_MARKER = re.compile(
    rf"^{_LEAD}(?P<role>{_any(*ROLES)})(?=[*_~ \t]*:)"
    rf"|<(?P<close>/?)(?P<name>{_name})(?:[ \t][^<>\0\n]{{0,200}}|\s*/?)>"
    rf"|<(?:\s+/?|/\s+)(?:{_name})\s*>"
    rf"|<\s*+(?P<ends>/?)\s*+(?P<mark>{_any('reference')})(?:\s++[^<>\0\n]*+)?+\s*+>"
    r"|(?P<token><\|[^<>|\0\s](?:[^<>|\0\n]{0,98}[^<>|\0\s])?\|>"
    r"|\[/?INST\]|<<\s*/?SYS\s*>>|<(?:start|end)_of_(?:turn|text|image)>|<[be]os>)"
    r"|(?P<stroke></?s>)",
    re.IGNORECASE | re.MULTILINE,
)
_BLUNT = re.compile(
    rf"^{_LEAD}(?P<role>{_any(*ROLES)})(?=[*_~ \t]*:)|<|\[(?=/?INST\])",
    re.IGNORECASE | re.MULTILINE,
)


class Edit(NamedTuple):
    start: int
    end: int
    text: str
    kind: str
    """role · tag · mark · token · comment"""


def defused(text: str) -> tuple[str, list[Edit]]:
    """The text without markers and comments outside code, and the first edits. Idempotent."""
    first = edits(text)
    found = first
    for _ in range(MOST_ROUNDS):
        if not found:
            return text, first
        text = _edited(text, found)
        found = edits(text)
    return (_bluntly(text) if found else text), first


def edits(text: str) -> list[Edit]:
    spans = code_and_comments(text)
    comments = [Edit(at, end, "", "comment") for at, end, kind in spans if kind == "comment"]
    return sorted([*comments, *_marker_edits(text, _prose(text, spans))])


def _prose(text: str, spans: list[Span]) -> str:
    """`text` as it is read, of the same length, with code and comments hidden."""
    hidden = [Edit(at, end, _HIDDEN * (end - at), kind) for at, end, kind in spans]
    return _seen(_edited(text, hidden))


def _seen(text: str) -> str:
    """`text` with look-alikes and entities replaced by what they show; same length."""
    lines = text.replace("\r\n", " \n").replace("\r", "\n")
    return as_ascii(_ENTITY.sub(_decoded, lines) if "&" in lines else lines)


def _decoded(entity: re.Match[str]) -> str:
    """Decode an entity, padded with marks; `&lt;` and other punctuation stays."""
    shown = html.unescape(entity[0])
    if len(shown) == 1 and unicodedata.category(shown) in ("Cf", "Mn"):
        shown = MARK
    elif len(shown) != 1 or not (shown.isalnum() or shown.isspace() or shown == ":"):
        return entity[0]
    return shown.ljust(len(entity[0]), MARK)


def _marker_edits(text: str, prose: str) -> Iterator[Edit]:
    matches = list(_MARKER.finditer(prose))
    closed = {match["name"].lower() for match in matches if match["name"] and match["close"]}
    for match in matches:
        start, end = match.span()
        if match["role"]:
            start, end = match.span("role")
            yield Edit(start, end, f"[{text[start:end]}]", "role")
        elif match["token"]:
            yield Edit(start, end, "", "token")
        elif match["stroke"]:
            if match[0].islower():
                yield Edit(start, end, f"[{match[0][1:-1]}]", "token")
        elif not _is_type_argument(match, closed):
            yield Edit(start, end, "", "mark" if match["mark"] else "tag")


def _is_type_argument(match: re.Match[str], closed: set[str]) -> bool:
    """Whether a tag is the `<User>` of `Promise<User>`: attached, capitalised, never closed."""
    name, text = match["name"] or match["mark"], match.string
    if not name or match["close"] or match["ends"] or name.lower() in closed:
        return False
    before = text[match.start() - 1] if match.start() else " "
    after = text[match.end() : match.end() + 1]
    attached = before.isalnum() or before == "_"
    return attached and not after.isalnum() and name[0].isupper() and name[1:].islower()


def _edited(text: str, found: list[Edit]) -> str:
    parts = []
    at = 0
    for edit in found:
        parts.append(text[at : edit.start])
        parts.append(edit.text)
        at = edit.end
    return "".join([*parts, text[at:]])


def _bluntly(text: str) -> str:
    """`text` with every tag, token and role broken, in code too."""
    found = []
    for match in _BLUNT.finditer(_seen(text)):
        start, end = match.span("role") if match["role"] else match.span()
        broken = f"[{text[start:end]}]" if match["role"] else "("
        found.append(Edit(start, end, broken, "role"))
    return _edited(text, found)
