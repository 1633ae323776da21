"""What code touches: network, credentials, shells, deletion, startup files, hidden code.

Patterns over single lines, so a program that hides what it does passes.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from metier.inspection.patterns import Section, sections

MINIFIED = 1_000
"""A line of code this long was not written by hand."""
_PART = 4_000
"""Characters of a line that are looked at together."""
_FILE = "code"


class Rule(NamedTuple):
    code: str
    touches: str
    message: str
    hint: str
    in_prose: bool
    pattern: re.Pattern[str]

    @classmethod
    def of(cls, section: Section) -> "Rule":
        head, _, message = section.heading.partition(": ")
        code, _, touched = head.partition(" ")
        return cls(code, touched, message, section.hint, section.in_prose, section.compiled())


class Touch(NamedTuple):
    rule: Rule
    line: int
    quote: str


@cache
def _rules() -> tuple[Rule, ...]:
    return tuple(Rule.of(one) for one in sections(_FILE) if ": " in one.heading)


@cache
def _combined(name: str) -> re.Pattern[str]:
    [section] = [one for one in sections(_FILE) if one.heading == name]
    return section.compiled()


def touches(text: str, *, is_program: bool) -> Iterator[Touch]:
    """What a text touches, each rule at the first line that has it."""
    for rule in _rules():
        if not (is_program or rule.in_prose):
            continue
        found = rule.pattern.search(text)
        at = found.start() if found is not None else None
        if at is None and rule.touches == "obfuscation":
            at = _decoded_and_run(text)
        if at is not None:
            yield Touch(rule, text.count("\n", 0, at) + 1, line_around(text, at))


def _decoded_and_run(text: str) -> int | None:
    """Where a line both decodes something and runs something."""
    decode, execute = _combined("decode"), _combined("execute")
    end = 0
    while (found := decode.search(text, end)) is not None:
        start = max(text.rfind("\n", 0, found.start()) + 1, found.start() - _PART, end)
        end = text.find("\n", found.end())
        end = min(end if end >= 0 else len(text), found.end() + _PART)
        if execute.search(text, start, end) is not None:
            return found.start()
    return None


def line_around(text: str, at: int) -> str:
    """The line at a position; of a long one what is near."""
    start = max(text.rfind("\n", 0, at) + 1, at - 60)
    end = text.find("\n", at)
    return text[start : end if 0 <= end < start + 400 else start + 400].strip()


def sends(text: str) -> bool:
    """Whether something is sent over the network."""
    return _combined("send").search(text) is not None


def longest_line(text: str) -> int:
    return max(map(len, text.split("\n")), default=0)
