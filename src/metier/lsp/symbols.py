"""The outline of a document: its headings, by level."""

import re

from lsprotocol import types

from metier.lsp.positions import Lines

_LINE = re.compile(r"^ {0,3}(?:(#{1,6})[ \t]+(\S.*?)|(`{3,}|~{3,}).*)[ \t]*\r?$", re.MULTILINE)
"""A heading with its level, or a code fence."""
_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\r?\n.*?^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)


def outline(text: str, lines: Lines) -> list[types.DocumentSymbol]:
    """The headings of a Markdown text outside of code, each below the one that it belongs to."""
    made: list[types.DocumentSymbol] = []
    above: list[tuple[int, types.DocumentSymbol]] = []
    for level, title, start, end in _headings(text):
        span = lines.range(start, end)
        symbol = types.DocumentSymbol(
            title, types.SymbolKind.String, range=span, selection_range=span, children=[]
        )
        while above and above[-1][0] >= level:
            above.pop()
        siblings = above[-1][1].children if above else made
        assert isinstance(siblings, list)
        siblings.append(symbol)
        above.append((level, symbol))
    return made


def _headings(text: str) -> list[tuple[int, str, int, int]]:
    """Level, title, start and end of each heading."""
    matter = _FRONT_MATTER.match(text)
    found, fence = [], ""
    for line in _LINE.finditer(text, matter.end() if matter else 0):
        marks = line[3] or ""
        if marks and not fence:
            fence = marks
        elif marks and marks.startswith(fence):
            fence = ""
        elif line[1] and not fence:
            title = line[2].rstrip("#").rstrip() or line[2]
            found.append((len(line[1]), title, line.start(), line.end()))
    return found
