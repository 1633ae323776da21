"""Offsets in a text ↔ positions of the protocol.

A line of the protocol ends with LF, CR LF or CR; its columns count UTF-16 units, unless client and
server agreed on another encoding. metier counts lines by LF, and columns by characters.
"""

import re
from bisect import bisect_right
from functools import cached_property

from lsprotocol.types import Position, PositionEncodingKind, Range

_LINE_END = re.compile(r"\r\n|\n|\r")
_WIDTHS: dict[str, str] = {
    PositionEncodingKind.Utf8: "utf-8",
    PositionEncodingKind.Utf16: "utf-16-le",
}


class Lines:
    """The lines of one text."""

    def __init__(
        self, text: str, encoding: PositionEncodingKind | str = PositionEncodingKind.Utf16
    ) -> None:
        self._text = text
        self._codec = _WIDTHS.get(encoding, "")

    @cached_property
    def _starts(self) -> list[int]:
        """Where each line starts; most texts have no finding, and need none of it."""
        return [0, *(match.end() for match in _LINE_END.finditer(self._text))]

    def position(self, offset: int) -> Position:
        """The position of an offset; one beyond the end is the end."""
        offset = max(0, min(offset, len(self._text)))
        line = bisect_right(self._starts, offset) - 1
        return Position(line, self._units(self._text[self._starts[line] : offset]))

    def range(self, start: int, end: int) -> Range:
        return Range(self.position(start), self.position(end))

    def offset(self, position: Position) -> int:
        """The offset of a position; one beyond the end of its line is the end of the line."""
        if position.line >= len(self._starts):
            return len(self._text)
        start = self._starts[position.line]
        line = _LINE_END.split(self._text[start : self._end(position.line)], maxsplit=1)[0]
        return start + self._characters(line, position.character)

    def offset_of(self, line: int, column: int) -> int:
        """The offset of a line and a column as metier counts them, from 1."""
        start = 0
        for _ in range(line - 1):
            following = self._text.find("\n", start) + 1
            if not following:
                return len(self._text)
            start = following
        end = self._text.find("\n", start)
        return min(start + max(column - 1, 0), end if end >= 0 else len(self._text))

    def rest_of_line(self, offset: int) -> int:
        """The end of the line of an offset, without blanks."""
        end = _LINE_END.search(self._text, offset)
        stop = end.start() if end else len(self._text)
        return max(offset, offset + len(self._text[offset:stop].rstrip()))

    def _end(self, line: int) -> int:
        return self._starts[line + 1] if line + 1 < len(self._starts) else len(self._text)

    def _units(self, text: str) -> int:
        if not self._codec or text.isascii():
            return len(text)
        size = len(text.encode(self._codec, errors="surrogatepass"))
        return size // 2 if self._codec == "utf-16-le" else size

    def _characters(self, line: str, units: int) -> int:
        """How many characters take this many units; a unit inside of a character is before it."""
        if not self._codec or line.isascii():
            return min(units, len(line))
        seen = 0
        for number, char in enumerate(line):
            seen += self._units(char)
            if seen > units:
                return number
        return len(line)
