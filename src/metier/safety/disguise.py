"""What a text does to the agent that reads it: phrases, hidden characters, roles, comments."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from metier.safety.markers import Edit, defused
from metier.safety.phrases import find_phrases

MOST_NAMED = 20
"""So many findings of one kind are told one by one."""
_LONGEST_SHOWN = 40

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0d\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    "|(?<=[\ufe00-\ufe0f])[\ufe0e\ufe0f]"
)
"""Controls, and characters that show nothing; one of the two emoji styles is fine."""
_JOINER = "\u200d"
_HINTS = {
    "SZ801": "say it in other words: a card tells what exists, it gives no orders",
    "SZ802": "delete it, and write the word anew",
    "SZ803": "name the role without a colon or brackets, or put the text into code",
    "SZ804": "what the agent should know belongs into the text",
}
_DEFUSED = {
    "role": "'{}:' looks like the start of another speaker's turn and is handed over as '[{}]:'",
    "tag": "'{}' looks like the tag of a role and is not handed over",
    "mark": "'{}' looks like a mark around what is handed over and is left out",
    "token": "'{}' is a token of chat templates and is defused",
}


class Finding(NamedTuple):
    """One thing in a text, and where it stands."""

    code: str
    message: str
    line: int
    column: int
    hint: str


class Examined(NamedTuple):
    """A text as it may be handed over, and what was found in it."""

    text: str
    findings: Sequence[Finding]
    rejected: bool
    """Whether it must not be handed over at all; then the text is empty."""


def examine(text: str, start: int = 0) -> Examined:
    """The text from `start` on without what poses as a turn, a token or a comment.

    All of `text` is looked through for phrases and invisible characters: one of them rejects it.
    To examine the result again changes nothing.
    """
    clean, edits = defused(text[start:])
    edits = [edit._replace(start=edit.start + start, end=edit.end + start) for edit in edits]
    grave = find_overrides(text)
    if not grave and clean != text:
        line, column = _place(text, edits[0].start if edits else start)
        grave = [one._replace(line=line, column=column) for one in find_overrides(clean)]
    findings = sorted(
        [*grave, *_defusals(text, edits), *_comments(text, edits)],
        key=lambda one: (one.line, one.column, one.code),
    )
    return Examined("" if grave else clean, findings, bool(grave))


def find_overrides(text: str) -> list[Finding]:
    """What rejects `text`: phrases that override instructions, and invisible characters."""
    return [*_phrases(text), *_hidden(text)]


def _phrases(text: str) -> Iterator[Finding]:
    for phrase in find_phrases(text):
        message = f"the text holds '{phrase.name}', plainly or in disguise"
        yield _finding("SZ801", message, text, phrase.at)


def _hidden(text: str) -> Iterator[Finding]:
    for character, (count, at) in islice(_invisible(text).items(), MOST_NAMED):
        name = unicodedata.name(character, "control character").lower()
        more = f", {count} times" if count > 1 else ""
        message = f"the text holds the invisible U+{ord(character):04X} ({name}){more}"
        yield _finding("SZ802", message, text, at)


def _invisible(text: str) -> dict[str, tuple[int, int]]:
    """Each invisible character: how often it occurs, and where first."""
    found: dict[str, tuple[int, int]] = {}
    for match in _INVISIBLE.finditer(text):
        if match[0] == _JOINER and _joins_emoji(text, match.start()):
            continue
        count, at = found.get(match[0], (0, match.start()))
        found[match[0]] = count + 1, at
    return found


def _joins_emoji(text: str, at: int) -> bool:
    before, after = text[max(at - 1, 0) : at], text[at + 1 : at + 2]
    if not before or not after or unicodedata.category(after) != "So":
        return False
    return before == "\ufe0f" or unicodedata.category(before) in ("So", "Sk")


def _defusals(text: str, edits: Iterable[Edit]) -> Iterator[Finding]:
    told = [edit for edit in edits if edit.kind != "comment"]
    for edit in told[:MOST_NAMED]:
        shown = text[edit.start : edit.end][:_LONGEST_SHOWN]
        yield _finding("SZ803", _DEFUSED[edit.kind].format(shown, shown), text, edit.start)
    if len(told) > MOST_NAMED:
        message = f"{len(told) - MOST_NAMED} more role markers and chat tokens are defused"
        yield _finding("SZ803", message, text, told[MOST_NAMED].start)


def _comments(text: str, edits: Iterable[Edit]) -> Iterator[Finding]:
    comments = [edit for edit in edits if edit.kind == "comment"]
    for edit in comments[:MOST_NAMED]:
        yield _finding("SZ804", "an HTML comment is not handed over", text, edit.start)
    if len(comments) > MOST_NAMED:
        message = f"{len(comments) - MOST_NAMED} more HTML comments are not handed over"
        yield _finding("SZ804", message, text, comments[MOST_NAMED].start)


def _finding(code: str, message: str, text: str, at: int) -> Finding:
    return Finding(code, message, *_place(text, at), _HINTS[code])


def _place(text: str, at: int) -> tuple[int, int]:
    """Line and column, both counted from 1."""
    line_start = text.rfind("\n", 0, at) + 1
    return text.count("\n", 0, line_start) + 1, at - line_start + 1
