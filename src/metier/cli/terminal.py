"""Tables for a terminal."""

import shutil
from collections.abc import Sequence

import click
from rich.cells import cell_len, set_cell_size

_WIDEST_FIRST, _WIDEST = 64, 36
"""No column but the last takes more room than this."""
_NARROWEST_FIRST, _NARROWEST = 20, 8
"""No column is cut to less; the first says what a row is about."""
_GAP = "  "


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """One line a row, as wide as the terminal; a long table goes through the pager."""
    room = shutil.get_terminal_size().columns
    widths = _widths(columns, rows, room)
    lines = [click.style(_line(columns, widths, room), bold=True)]
    lines += [_line(row, widths, room) for row in rows]
    if len(lines) < shutil.get_terminal_size().lines:
        click.echo("\n".join(lines))
    else:
        click.echo_via_pager("\n".join(lines))


def _widths(columns: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """The last column takes what the others leave; it keeps a third of a narrow terminal."""
    widths = []
    for number, column in enumerate(columns[:-1]):
        widest = max(cell_len(cell) for cell in (column, *(row[number] for row in rows)))
        widths.append(min(widest, _WIDEST if number else _WIDEST_FIRST))
    room -= len(_GAP) * len(widths)
    too_wide = sum(widths) - room * 2 // 3
    for number in reversed(range(len(widths))):
        narrowest = _NARROWEST if number else _NARROWEST_FIRST
        cut = min(max(0, too_wide), max(0, widths[number] - narrowest))
        widths[number] -= cut
        too_wide -= cut
    return [*widths, max(1, room - sum(widths))]


def _line(cells: Sequence[str], widths: Sequence[int], room: int) -> str:
    return _cut(_GAP.join(map(_cut, cells, widths)).rstrip(), room).rstrip()


def _cut(text: str, width: int) -> str:
    """`text` in exactly `width` cells; wide characters take two."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + "…"
