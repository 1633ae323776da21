"""Indentation with tabs, which YAML does not allow, turned into spaces."""

import re

_WIDTHS = (2, 4, 8)
"""How wide a tab may be meant; 2 is what is written."""
_BLANK = " \t\r"
_MARK = re.compile("- +")


def with_spaces(yaml: str) -> str | None:
    """`yaml` with spaces for the tabs that its lines begin with.

    None when no line begins with a tab, or when it depends on the width of a tab which line
    stands below which.
    """
    lines = yaml.split("\n")
    if not any(line.startswith("\t") for line in lines):
        return None
    if not all(map(_is_clear, _blocks(lines))):
        return None
    return "\n".join(map(_spaced, lines))


def _blocks(lines: list[str]) -> list[list[str]]:
    """Each line that is not indented, with the indented ones below it; no blank lines."""
    blocks: list[list[str]] = [[]]
    for line in lines:
        if line.strip(_BLANK):
            if line[0] not in " \t":
                blocks.append([])
            blocks[-1].append(line)
    return blocks


def _is_clear(block: list[str]) -> bool:
    """Whether the depths of the lines are in the same order however wide a tab is."""
    first, *others = (_order([_columns(line, width) for line in block]) for width in _WIDTHS)
    return all(other == first for other in others)


def _order(columns: list[list[int]]) -> list[int]:
    """The place of each column among all that occur."""
    flat = [column for line in columns for column in line]
    places = {column: place for place, column in enumerate(sorted(set(flat)))}
    return [places[column] for column in flat]


def _columns(line: str, width: int) -> list[int]:
    """Where a line's text starts, and where it does after each `- ` of a list."""
    text = line.lstrip(" \t")
    columns = [len(line[: len(line) - len(text)].replace("\t", " " * width))]
    at = 0
    while mark := _MARK.match(text, at):
        columns.append(columns[-1] + mark.end() - at)
        at = mark.end()
    return columns


def _spaced(line: str) -> str:
    if not line.startswith("\t"):
        return line
    text = line.lstrip(" \t")
    indent = line[: len(line) - len(text)].replace("\t", " " * _WIDTHS[0])
    return indent + text if text.strip(_BLANK) else text
