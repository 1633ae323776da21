"""Find and remove prompt injection: phrases, hidden characters, roles, comments."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from metier.safety.lookalikes import shape
from metier.safety.phrases import find_phrases

if TYPE_CHECKING:
    from metier.safety.markers import Edit

MOST_NAMED = 20
"""Findings of one kind that are listed one by one."""
_LONGEST_SHOWN = 40

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0d\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Control and invisible characters."""
_STYLES = "\ufe0e\ufe0f"
_SECOND_STYLE = re.compile("(?<=[\ufe00-\ufe0f])[\ufe0e\ufe0f]")
"""One emoji variation selector is allowed."""
_JOINER = "\u200d"
_JOINED = re.compile(f"(?=(.{_JOINER}.)).{_JOINER}", re.DOTALL)
_CONTROLS = bytes([*range(9), 11, 12, *range(14, 32), 127])
_HINTS = {
    "SZ801": "reword it: a card says what exists, and gives no orders",
    "SZ802": "delete it, and type the word again",
    "SZ803": "name the role without a colon or brackets, or put the text in code",
    "SZ804": "put what the agent should know in the text",
}
_DEFUSED = {
    "role": "'{}:' looks like the start of another turn and is injected as '[{}]:'",
    "tag": "'{}' looks like the tag of a role and is removed",
    "mark": "'{}' looks like a marker around injected text and is removed",
    "token": "'{}' is a chat template token and is defused",
    "comment": "an HTML comment is removed",
    "ours": "'{}' looks like a marker around injected text and loses its bracket",
}
_MORE = {
    "SZ803": "role markers and chat tokens are defused",
    "SZ804": "HTML comments are removed",
}


class Finding(NamedTuple):
    code: str
    message: str
    line: int
    column: int
    hint: str


class Examined(NamedTuple):
    text: str
    """What may be injected; empty if the text is rejected."""
    findings: Sequence[Finding]
    rejected: bool


def examine(text: str, start: int = 0) -> Examined:
    """Clean the text from `start`; a phrase or invisible character anywhere rejects it."""
    from metier.safety.markers import defused_shape  # names and descriptions are not defused

    shown = shape(text)
    clean, clean_shown, edits = defused_shape(text[start:], shown[start:])
    if start:
        edits = [edit._replace(start=edit.start + start, end=edit.end + start) for edit in edits]
    grave = _overrides(text, shown)
    if not grave and clean != text:
        line, column = _location(text, edits[0].start if edits else start)
        grave = [
            found._replace(line=line, column=column) for found in _overrides(clean, clean_shown)
        ]
    findings = sorted(
        [*grave, *_edit_findings(text, edits)],
        key=lambda found: (found.line, found.column, found.code),
    )
    return Examined("" if grave else clean, findings, bool(grave))


def find_overrides(text: str) -> list[Finding]:
    """Phrases that override instructions, and invisible characters."""
    return _overrides(text, shape(text))


def find_override_phrases(text: str) -> list[Finding]:
    """Phrases that override instructions."""
    return list(_phrases(text, shape(text)))


def may_hide(text: str) -> bool:
    """Whether `find_hidden` may find something; true for joined emoji, too."""
    return _INVISIBLE.search(text) is not None


def find_hidden(text: str) -> list[Finding]:
    """Characters that people do not see."""
    return list(_hidden(text))


def _overrides(text: str, shown: bytes) -> list[Finding]:
    return [*_phrases(text, shown), *_hidden(text)]


def _phrases(text: str, shown: bytes) -> Iterator[Finding]:
    for phrase in find_phrases(text, shown):
        message = f"the text contains '{phrase.name}', plainly or in disguise"
        yield _finding("SZ801", message, text, phrase.at)


def _hidden(text: str) -> Iterator[Finding]:
    for character, count in islice(_invisible(text).items(), MOST_NAMED):
        name = unicodedata.name(character, "control character").lower()
        more = f", {count} times" if count > 1 else ""
        message = f"the text contains the invisible U+{ord(character):04X} ({name}){more}"
        yield _finding("SZ802", message, text, _first(text, character))


def _invisible(text: str) -> Counter[str]:
    """How often each invisible character occurs, in the order of the text."""
    if text.isascii():
        raw = text.encode()
        if len(raw.translate(None, _CONTROLS)) == len(raw):
            return Counter()
    found = Counter(_INVISIBLE.findall(text))
    if any(style in text for style in _STYLES):
        found.update(_SECOND_STYLE.findall(text))
    if _JOINER in text:
        alone = sum(1 for _ in _joiners_alone(text))
        found.update({_JOINER: alone} if alone else {})
    return Counter({one: found[one] for one in sorted(found, key=lambda one: _first(text, one))})


def _first(text: str, character: str) -> int:
    """Where an invisible character is first."""
    if character == _JOINER:
        return next(_joiners_alone(text))
    style = _SECOND_STYLE.search(text) if character in _STYLES else None
    while style is not None and style[0] != character:
        style = _SECOND_STYLE.search(text, style.end())
    return style.start() if style is not None else text.index(character)


def _joiners_alone(text: str) -> Iterator[int]:
    """The positions of the joiners that join no emoji."""
    pairs = _JOINED.findall(text)
    if len(pairs) == text.count(_JOINER) and all(_joins_emoji(one, 1) for one in set(pairs)):
        return
    at = text.find(_JOINER)
    while at >= 0:
        if not _joins_emoji(text, at):
            yield at
        at = text.find(_JOINER, at + 1)


def _joins_emoji(text: str, at: int) -> bool:
    before, after = text[max(at - 1, 0) : at], text[at + 1 : at + 2]
    if not before or not after or unicodedata.category(after) != "So":
        return False
    return before == "\ufe0f" or unicodedata.category(before) in ("So", "Sk")


def _edit_findings(text: str, edits: Sequence["Edit"]) -> Iterator[Finding]:
    for code, more in _MORE.items():
        found = [edit for edit in edits if (edit.kind == "comment") == (code == "SZ804")]
        for edit in found[:MOST_NAMED]:
            shown = text[edit.start : edit.end][:_LONGEST_SHOWN]
            yield _finding(code, _DEFUSED[edit.kind].format(shown, shown), text, edit.start)
        if len(found) > MOST_NAMED:
            message = f"{len(found) - MOST_NAMED} more {more}"
            yield _finding(code, message, text, found[MOST_NAMED].start)


def _finding(code: str, message: str, text: str, at: int) -> Finding:
    return Finding(code, message, *_location(text, at), _HINTS[code])


def _location(text: str, at: int) -> tuple[int, int]:
    line_start = text.rfind("\n", 0, at) + 1
    return text.count("\n", 0, line_start) + 1, at - line_start + 1
