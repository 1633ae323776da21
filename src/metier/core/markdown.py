"""Find code and HTML comments in Markdown, in linear time.

Fenced blocks and inline code follow CommonMark. Indented code counts only where all readers
agree: after an empty line, four columns into the innermost list item that may be open, outside
quotes and in a text without raw HTML blocks.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal, NamedTuple

_BLANK = re.compile(r"[ \t]*(?=\n|\Z)")
_BLANK_LINES = re.compile(r"[ \t\n]*(?=\n|\Z)")
_SPECIAL = " \t>#|`~+*0123456789\n-"
"""What a line that may not be paragraph text starts with."""
_BEFORE_SPECIAL = re.compile(r"\n(?=[ \t>#|`~+*0-9\n-])")
_INDENT = re.compile(r"[ \t]*")
_QUOTE = re.compile(r" {0,3}> ?")
_COMMENT_LINE = re.compile(r"\n {0,3}<!--")
_MARK = re.compile(
    r"(?P<item>(?:[-+*]|[0-9]{1,9}[.)])(?:[ \t]+|(?=\n|\Z)))"
    r"|(?P<fence>`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,})"
    r"|(?P<block>#{1,6}(?=[ \t\n]|\Z)|\|)"
)
"""A list marker, a fence, a heading or a table row."""
_MAY_HOLD_SPANS = re.compile(r"`|~~~|<!--|(?:^|[\r\n]) {0,3}[ \t]")
_RAW_HTML = re.compile(
    r"\n(?:[ \t>*+.)0-9-]*+<(?:pre|script|style|textarea|\?|![A-Z\[])"
    r"|[ \t]*+[>*+0-9-][ \t>*+.)0-9-]*+<!--)",
    re.IGNORECASE,
)
"""A block that empty lines do not end, except a comment at the start of a line."""
_FENCE_START = re.compile("```|~~~")
_TOKEN = re.compile(r"`+|(?P<line>^[ \t]*)?<!--", re.MULTILINE)
_TOKEN_START = re.compile(r"`|<!--")
_FENCE_LINE = re.compile(r"\n([ \t]*+)((`|~)\3\3++)[ \t]*+(?=\n|\Z)")
_TAB_WIDTH = 4
_DEEPEST_FENCE = 3
"""Columns that a fence may be indented in its container."""


class Span(NamedTuple):
    start: int
    end: int
    kind: Literal["code", "comment"]


class _Fence(NamedTuple):
    start: int
    mark: str
    quotes: int
    inside: int
    """Text column of the list item that ends the block, or 0; renderers differ for others."""
    deepest: int
    """The highest column of its closing line."""


class _Line(NamedTuple):
    at: int
    """Where its text starts, after quote and list markers."""
    quotes: int
    column: int
    starts_block: bool
    blank: bool
    """Whether it and, outside quotes, the lines up to `at` are empty."""
    is_code: bool = False
    """Whether it looks like indented code."""
    certainly: bool = False
    """Whether every reader takes it as indented code."""
    fence: str = ""
    """The marker of the fence that it opens."""

    @property
    def plain(self) -> bool:
        return not self.quotes and not self.is_code

    @property
    def ends_paragraphs(self) -> bool:
        """Whether the next line cannot continue a paragraph."""
        return self.certainly or (self.blank and not self.quotes)

    def parts_from(self, before: "_Line") -> bool:
        """Whether it does not continue the paragraph of the line before."""
        if self.blank or self.starts_block or self.quotes != before.quotes:
            return True
        return (self.is_code, self.certainly) != (before.is_code, before.certainly)


_PLAIN = _Line(0, 0, 0, False, False)
_EMPTY = _Line(0, 0, 0, False, True)


def code_and_comments(text: str, near: Sequence[int] | None = None) -> list[Span]:
    """The code and comments in `text`, in order and without overlap.

    With `near`, positions in ascending order with that of every comment among them, code in other
    paragraphs may be left out, which is several times as fast.
    """
    if _MAY_HOLD_SPANS.search(text) is None:
        return []
    return _Scanner(text.replace("\r\n", " \n").replace("\r", "\n"), near).scan()


def _column_after(blanks: str, column: int) -> int:
    if "\t" not in blanks:
        return column + len(blanks)
    offset = column % _TAB_WIDTH
    return column - offset + len((" " * offset + blanks).expandtabs(_TAB_WIDTH))


def _closed(text: str, start: int, mark: str, deepest: int) -> int:
    """The start of the line after the one that closes a fenced block outside quotes and items."""
    line_end = text.find("\n", start)
    while line_end >= 0:
        line = _FENCE_LINE.search(text, line_end)
        if line is None:
            break
        line_end = line.end()
        if line[2].startswith(mark) and _column_after(line[1], 0) <= deepest:
            return min(line_end + 1, len(text))
    return len(text)


class _Scanner:
    def __init__(self, text: str, near: Sequence[int] | None) -> None:
        self.text = text
        self.skips = _Skips(text, near) if near is not None else None
        self.spans: list[Span] = []
        self.items: list[int] = []
        """Text columns of the open list items, outermost first."""
        self.maybe_items: set[int] = set()
        """Text columns of all items that may be open, lazy continuation included."""
        self.has_comments = "<!--" in text
        self.next_token = 0
        """Where the next run of backticks or comment starts; no later than it does."""
        self.is_doubtful = _RAW_HTML.search(f"\n{text}") is not None
        """Whether readers may disagree on which of the next lines are paragraphs."""

    def scan(self) -> list[Span]:
        at = paragraph = 0
        before = _EMPTY
        while at < len(self.text):
            if self.skips is not None and (later := self.skips.past(paragraph, at)) > at:
                before, at, paragraph = _EMPTY, later, later
                continue
            if before.plain and (plain := self._past_plain_lines(at, before)) > at:
                before, at = _PLAIN, plain
                continue
            line = self._line(at, before)
            if not line.fence and not line.parts_from(before):
                before, at = line, self._next(at)
                continue
            end = self._block(paragraph, at, before)
            if end > at:  # a comment continues after the paragraph
                before, at, paragraph = _PLAIN, end, end
                continue
            before = line
            if line.fence:
                at = paragraph = self._fenced(self._fence(at, line))
            else:
                paragraph, at = at, self._next(line.at)
        self._block(paragraph, len(self.text), before)
        return self.spans

    def _block(self, start: int, end: int, last: _Line) -> int:
        """Collect the spans of a block; its end, or that of its last comment."""
        if not last.certainly:
            return self._inline(start, end)
        self.spans.append(Span(start, end - (self.text[end - 1] == "\n"), "code"))
        return end

    def _past_plain_lines(self, at: int, before: _Line) -> int:
        """The start of the next line that may not be paragraph text."""
        if self.text[at] in _SPECIAL and self.text[at - 1 : at] in ("", "\n"):
            return at
        special = _BEFORE_SPECIAL.search(self.text, at)
        self.items.clear()
        if before.blank:
            self.maybe_items.clear()
        return special.end() if special is not None else len(self.text)

    def _next(self, at: int) -> int:
        end = self.text.find("\n", at)
        return end + 1 if end >= 0 else len(self.text)

    def _line(self, at: int, before: _Line) -> _Line:
        """Parse the quote and list markers of a line, and update the open list items."""
        at, quotes = self._unquoted(at, None) if self.text[at] in " >" else (at, 0)
        if (blank := (_BLANK if quotes else _BLANK_LINES).match(self.text, at)) is not None:
            return _Line(blank.end(), quotes, 0, False, True)
        at, column = self._indented(at) if self.text[at] in " \t" else (at, 0)
        while self.items and column < self.items[-1]:
            self.items.pop()
        certain = not quotes and not self.is_doubtful and before.ends_paragraphs
        if before.ends_paragraphs:
            self.maybe_items = {item for item in self.maybe_items if item <= column}
        if column - self._inside > _DEEPEST_FENCE and (before.blank or before.is_code):
            certain &= column - max(self.maybe_items, default=0) > _DEEPEST_FENCE
            return _Line(at, quotes, column, False, False, is_code=True, certainly=certain)
        starts_block = False
        maybe = column
        while (mark := _MARK.match(self.text, at)) is not None and mark.lastgroup == "item":
            starts_block = True
            sign = len(mark[0].rstrip())
            self.maybe_items.add(maybe + sign + 1)
            maybe = _column_after(mark[0][sign:], maybe + sign)
            self.maybe_items.add(maybe)
            column += mark.end() - at
            at = mark.end()
            self.items.append(column)
        fence = mark["fence"] if mark is not None else None
        if fence and column - self._inside <= _DEEPEST_FENCE:
            return _Line(at, quotes, column, starts_block, False, fence=fence)
        starts_block = starts_block or (mark is not None and not fence)
        return _Line(at, quotes, column, starts_block, False)

    @property
    def _inside(self) -> int:
        """Text column of the innermost list item, or 0."""
        return self.items[-1] if self.items else 0

    def _unquoted(self, at: int, most: int | None) -> tuple[int, int]:
        """The position after the quote markers of a line, and their number."""
        quotes = 0
        while quotes != most and (mark := _QUOTE.match(self.text, at)) is not None:
            at = mark.end()
            quotes += 1
        return at, quotes

    def _indented(self, at: int) -> tuple[int, int]:
        """The position after the indentation of a line, and its columns."""
        indent = _INDENT.match(self.text, at)
        assert indent is not None  # it may be empty
        return indent.end(), _column_after(indent[0], 0)

    def _fence(self, start: int, line: _Line) -> _Fence:
        opens_line = line.at - start == line.column <= _DEEPEST_FENCE
        inside = 0 if opens_line and not line.starts_block else self._inside
        return _Fence(start, line.fence, line.quotes, inside, self._inside + _DEEPEST_FENCE)

    def _fenced(self, fence: _Fence) -> int:
        """Collect a fenced block; the start of the line after it."""
        if fence.quotes or fence.inside:
            at = self._left(fence)
        else:
            at = _closed(self.text, fence.start, fence.mark, fence.deepest)
        end = at - 1 if self.text[at - 1] == "\n" else at
        self.spans.append(Span(fence.start, end, "code"))
        return at

    def _left(self, fence: _Fence) -> int:
        """The start of the line after a block that the end of its quote or item may close."""
        at = self._next(fence.start)
        while at < len(self.text):
            inner, quotes = self._unquoted(at, fence.quotes)
            blank = _BLANK.match(self.text, inner) is not None
            inner, column = self._indented(inner)
            if quotes < fence.quotes or (not blank and column < fence.inside):
                break
            at = self._next(at)
            if column <= fence.deepest and self._closes(inner, fence):
                break
        return at

    def _closes(self, at: int, fence: _Fence) -> bool:
        if not self.text.startswith(fence.mark, at):
            return False
        while self.text.startswith(fence.mark[0], at):
            at += 1
        return _BLANK.match(self.text, at) is not None

    def _inline(self, start: int, end: int) -> int:
        """Like `_block`, for the code and comments in a paragraph."""
        if self._token_from(start) >= end or self._is_skipped(start, end):
            return end
        tokens = list(_TOKEN.finditer(self.text, start, end))
        runs = _Runs([token.span() for token in tokens if token[0][0] == "`"])
        at = start
        closed = True
        for token in tokens:
            if token.end() - 1 < at or token.start() < at:
                continue
            if token[0][0] == "`":
                at = self._inline_code(token, runs) or at
            elif token["line"] is not None or closed:
                stop = None if token["line"] is not None else end
                found = self.text.find("-->", token.end() - 2, stop)
                if found < 0 and stop is not None:
                    closed = False
                    continue
                at = found + 3 if found >= 0 else len(self.text)
                self.spans.append(Span(token.end() - 4, at, "comment"))
        return max(at, end)

    def _is_skipped(self, start: int, end: int) -> bool:
        return self.skips is not None and self.skips.near_from(start) > end

    def _token_from(self, start: int) -> int:
        """Where the first run of backticks or comment from `start` on starts."""
        if self.next_token < start:
            token = _TOKEN_START.search(self.text, start)
            self.next_token = token.start() if token is not None else len(self.text)
        return self.next_token

    def _inline_code(self, token: re.Match[str], runs: "_Runs") -> int:
        """Collect the code that a run of backticks opens; its end, or 0."""
        start = token.start()
        start += self.text[start - 1 : start] == "\\" and self._is_escaped(start)
        end = runs.closing(token.end(), token.end() - start)
        if end:
            self.spans.append(Span(start, end, "code"))
            if self.has_comments and _COMMENT_LINE.search(self.text, start, end) is not None:
                self.is_doubtful = True
        return end

    def _is_escaped(self, at: int) -> bool:
        start = at
        while self.text[start - 1 : start] == "\\":
            start -= 1
        return (at - start) % 2 == 1


class _Skips:
    """Which paragraphs need not be read: they contain no position that is asked about.

    A line of plain text after an empty line starts a paragraph whatever precedes it, unless it is
    inside a fenced block or a comment.
    """

    def __init__(self, text: str, near: Sequence[int]) -> None:
        self._text = text
        self._near = near
        self._next_near = 0
        self._fence = -1
        self._stop = -1
        self._paragraph = 0

    def past(self, paragraph: int, at: int) -> int:
        """Where to continue from `at`, in the block that starts at `paragraph`; `at` or less:
        here."""
        near = self.near_from(paragraph)
        stop = min(near, self._fence_from(paragraph))
        while stop != self._stop:
            self._stop = stop
            self._paragraph = max(self._paragraph, self._last_paragraph(at, stop))
            if stop < near and near >= (after := self._after_fence(stop)) > stop:
                at = after - 1
                stop = min(near, self._fence_from(after))
        return self._paragraph

    def near_from(self, start: int) -> int:
        """The first position from `start` on that is asked about; behind the text if none is."""
        while self._next_near < len(self._near) and self._near[self._next_near] < start:
            self._next_near += 1
        is_left = self._next_near < len(self._near)
        return self._near[self._next_near] if is_left else len(self._text) + 1

    def _fence_from(self, start: int) -> int:
        """The first run of three backticks or tildes, which may start a fenced block."""
        if self._fence < start:
            fence = _FENCE_START.search(self._text, start)
            self._fence = fence.start() if fence is not None else len(self._text)
        return self._fence

    def _after_fence(self, start: int) -> int:
        """The end of a fenced block that starts at the start of a line; 0 if none does."""
        fence = _MARK.match(self._text, start) if self._text[start - 1 : start] == "\n" else None
        mark = fence["fence"] if fence is not None else None
        return _closed(self._text, start, mark, _DEEPEST_FENCE) if mark else 0

    def _last_paragraph(self, at: int, stop: int) -> int:
        """The start of the last paragraph of plain text before `stop`; -1 if none from `at` on."""
        if stop == len(self._text):
            return stop
        end = self._text.rfind("\n\n", at, stop)
        while end >= 0 and self._text[end + 2] in _SPECIAL:
            end = self._text.rfind("\n\n", at, end + 1)
        return end + 2 if end >= 0 else -1


class _Runs:
    """The runs of backticks in a paragraph, by length."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self._ends: dict[int, list[int]] = {}
        for start, end in spans:
            self._ends.setdefault(end - start, []).append(end)

    def closing(self, after: int, length: int) -> int:
        """The end of the first run of this length after `after`; 0 if there is none."""
        ends = self._ends.get(length, [])
        index = bisect_right(ends, after)
        return ends[index] if index < len(ends) else 0
