"""Code fences of Markdown, in linear time."""

from bisect import bisect_right
from collections.abc import Iterator
from sys import maxsize
from typing import NamedTuple

_MARKS = ("```", "~~~")
_BEFORE = " \t>-*+.)0123456789"
"""What may come before a fence on its line: indentation, quotes and marks of lists."""


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
        number = bisect_right(self.code, (at, maxsize))
        return number > 0 and at < self.code[number - 1][1]


NO_FENCES = Fences((), -1)


class _Line(NamedTuple):
    at: int
    end: int
    mark: str
    info: str


def fences_in(text: str) -> Fences:
    """The fenced code in `text`.

    A block in a block whose fences are as long ends the outer one: the last fence then opens a
    block, but nobody forgot a fence. So a fence is unclosed only if their number is odd.
    """
    code = []
    opened: _Line | None = None
    count = 0
    for line in _fence_lines(text):
        count += 1
        if opened is None:
            opened = line
        elif not line.info and line.mark.startswith(opened.mark):
            code.append((opened.at, line.end))
            opened = None
    if opened is None:
        return Fences(tuple(code), -1)
    code.append((opened.at, len(text)))
    return Fences(tuple(code), opened.at if count % 2 else -1)


def is_inline_code(text: str, at: int) -> bool:
    """Whether an odd number of backticks comes before a position on its line."""
    start = text.rfind("\n", max(at - _LONGEST_LINE, 0), at) + 1
    return text.count("`", start or max(at - _LONGEST_LINE, 0), at) % 2 == 1


def _fence_lines(text: str) -> Iterator[_Line]:
    end = 0
    nearest = {mark: text.find(mark) for mark in _MARKS}
    while True:
        for mark, at in nearest.items():
            if 0 <= at < end:
                nearest[mark] = text.find(mark, end)
        at = min((at for at in nearest.values() if at >= 0), default=-1)
        if at < 0:
            return
        start = text.rfind("\n", end and end - 1, at) + 1
        end = text.find("\n", at)
        end = len(text) if end < 0 else end + 1
        line = text[at:end].rstrip()
        mark = line[: len(line) - len(line.lstrip(line[0]))]
        info = line[len(mark) :].strip()
        if not text[start:at].strip(_BEFORE) and (mark[0] == "~" or "`" not in info):
            yield _Line(at, end, mark, info)
