"""Replace tabs in the indentation of YAML, where they are not allowed."""

import re

_WIDTHS = (2, 4, 8)
"""Possible widths of a tab; the first is used for the result."""
_BLANK = " \t\r"
_MARK = re.compile("- +")


def with_spaces(yaml: str) -> str | None:
    """`yaml` indented with spaces; None if it has no tabs, or their width is ambiguous."""
    lines = yaml.split("\n")
    has_tabs = any(line.startswith("\t") for line in lines)
    if not has_tabs or not all(map(_is_unambiguous, _blocks(lines))):
        return None
    return "\n".join(map(_spaced, lines))


def _blocks(lines: list[str]) -> list[list[str]]:
    """Each unindented line with the indented lines below it; no blank lines."""
    blocks: list[list[str]] = [[]]
    for line in lines:
        if line.strip(_BLANK):
            if line[0] not in " \t":
                blocks.append([])
            blocks[-1].append(line)
    return blocks


def _is_unambiguous(block: list[str]) -> bool:
    """Whether every tab width gives the same nesting."""
    first, *others = (_order([_columns(line, width) for line in block]) for width in _WIDTHS)
    return all(other == first for other in others)


def _order(columns: list[list[int]]) -> list[int]:
    flat = [column for line in columns for column in line]
    ranks = {column: rank for rank, column in enumerate(sorted(set(flat)))}
    return [ranks[column] for column in flat]


def _columns(line: str, width: int) -> list[int]:
    """The column where the text of a line starts, and after each `- ` of a list."""
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
