"""Clauses that say what a skill is not for."""

import re
from typing import NamedTuple

_STARTS = re.compile(
    r"""
    \b(?:do|should|must|shall)\s+not\s+(?:be\s+)?(?:use|invoke|trigger|apply|applied|activate|call|load)\w*\b
    | \bdon['’]?t\s+(?:use|invoke|trigger|apply|activate|call|load)\b
    | \b(?:never|avoid)\s+(?:use|using|invoke|trigger)\b
    | \bnot\s+(?:for|intended|meant|suitable|designed|applicable|recommended|to\s+be\s+used)\b
    | (?:^|[.;,:]|\bskill|\bit)\s+does\s+not\b
    | \bskip\s+(?:it\s+|this\s+)?(?:for|when|if)\b
    | \bnon\s+usar\w* | \bne\s+pas\s+utiliser\b | \bno\s+(?:usar|utilizar)\b | \bn[ãa]o\s+us[ae]r?\b
    | \bnicht\s+(?:für|verwenden|geeignet)\b
    | 不要用于|不要使用|不适用|不用于|使用しない|対象外
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ENDS = re.compile(
    r"""[.!?](?=["”')\s]|$)|[。！？]|\n\s*\n|\b(?:use|usa)\b.{0,12}\b(?:when|quando)\b""", re.I
)


_HINTS = (
    "not", "dont", "don't", "don’t", "never", "avoid", "skip", "non ", "ne pas", "no us", "no ut",
    "ão us", "ao us",
    "nicht", "不", "しない", "対象外",
)  # fmt: skip


def _may_start(text: str) -> bool:
    """A fast check: most descriptions have no such clause."""
    return any(hint in text for hint in _HINTS)


class Clauses(NamedTuple):
    about: str
    against: str
    """What follows "not for", "do not use for" and the like, up to the end of the sentence."""


def split_clauses(text: str) -> Clauses:
    """What a description says a skill is for, and what it says it is not for."""
    if not _may_start(text.lower()):
        return Clauses(text, "")
    about: list[str] = []
    against: list[str] = []
    at = 0
    while start := _STARTS.search(text, at):
        end = _ENDS.search(text, start.end())
        stop = end.start() + 1 if end else len(text)
        about.append(text[at : start.start()])
        against.append(text[start.end() : stop])
        at = stop
    about.append(text[at:])
    return Clauses(" ".join(about), " ".join(against)) if against else Clauses(text, "")
