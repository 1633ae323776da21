"""Find and remove prompt injection: phrases, hidden characters, roles, comments."""

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from metier.safety.lookalikes import shape
from metier.safety.screen import may_contain_phrase

if TYPE_CHECKING:
    from metier.safety.markers import Edit

MOST_NAMED = 20
"""Findings of one kind that are listed one by one."""
_LONGEST_SHOWN = 40

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
    "token": "'{}' is a chat template token and is neutralised",
    "comment": "an HTML comment is removed",
    "ours": "'{}' looks like a marker around injected text and loses its bracket",
}
_MORE = {
    "SZ803": "role markers and chat tokens are neutralised",
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
    from metier.safety.hidden import may_be_invisible

    return may_be_invisible(text)


def find_hidden(text: str) -> list[Finding]:
    """Characters that people do not see."""
    return list(_hidden(text))


def _overrides(text: str, shown: bytes) -> list[Finding]:
    return [*_phrases(text, shown), *_hidden(text)]


def _phrases(text: str, shown: bytes) -> Iterator[Finding]:
    if not may_contain_phrase(text, shown):
        return
    from metier.safety.phrases import read_closely  # many patterns, and few texts need them

    for phrase in read_closely(text):
        message = f"the text contains '{phrase.name}', plainly or in disguise"
        yield _finding("SZ801", message, text, phrase.at)


def _hidden(text: str) -> Iterator[Finding]:
    if text.isascii() and len(text) == len(text.encode().translate(None, _CONTROLS)):
        return
    from metier.safety.hidden import first_of, invisible  # its patterns take long to compile

    for character, count in islice(invisible(text).items(), MOST_NAMED):
        name = unicodedata.name(character, "control character").lower()
        more = f", {count} times" if count > 1 else ""
        message = f"the text contains the invisible U+{ord(character):04X} ({name}){more}"
        yield _finding("SZ802", message, text, first_of(text, character))


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
