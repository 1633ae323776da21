"""Code fences of Markdown, in linear time."""

import re
from sys import maxsize
from typing import NamedTuple

_FENCE = r"\n(?:[ \t>\-*+.)0-9]*+(`{3,}+)|[ \t]*+(~{3,}+))([^\n]*+)"
"""After indentation; backticks also after quotes and marks of lists."""
_LANGUAGE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ{!.")
"""What the name of a language starts with."""
_LONGEST_LINE = 1_000
"""The characters of a line that are looked at before a position."""


class Fences(NamedTuple):
    """The fenced code in a text."""

    code: tuple[tuple[int, int], ...]
    """Start and end of each block, with its fences."""
    unclosed: int
    """The position of a fence that nothing closes; -1 for none."""

    def holds(self, at: int) -> bool:
        """Whether a position is in fenced code."""
        from bisect import bisect_right  # many texts have no code

        number = bisect_right(self.code, (at, maxsize))
        return number > 0 and at < self.code[number - 1][1]


NO_FENCES = Fences((), -1)


def fences_in(text: str) -> Fences:
    """The fenced code in `text`.

    A block in a block whose fences are as long ends the outer one: the last fence then opens a
    block, but no fence was forgotten. So a fence is unclosed only if their number is odd, and if
    text follows it.
    """
    if "```" not in text and "~~~" not in text:
        return NO_FENCES
    code = []
    opened, fence, count = -1, "", 0
    for match in re.finditer(_FENCE, f"\n{text}"):
        mark, info = match[1] or match[2], match[3].strip()
        names_language = info[:1] in _LANGUAGE
        if mark[0] == "`" in info or (info and not names_language and opened < 0):
            continue  # code within a line, or a fence at the end of a sentence
        count += 1
        if opened < 0:
            opened, fence = match.end() - len(match[3]) - len(mark) - 1, mark
        elif not names_language and mark.startswith(fence):
            code.append((opened, match.end() - 1))
            opened = -1
    if opened < 0:
        return Fences(tuple(code), -1)
    code.append((opened, len(text)))
    is_unclosed = count % 2 == 1 and text.find("\n", opened) >= 0
    return Fences(tuple(code), opened if is_unclosed else -1)


def is_inline_code(text: str, at: int) -> bool:
    """Whether an odd number of backticks comes before a position on its line."""
    start = text.rfind("\n", max(at - _LONGEST_LINE, 0), at) + 1
    return text.count("`", start or max(at - _LONGEST_LINE, 0), at) % 2 == 1
