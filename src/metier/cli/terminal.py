"""Tables for a terminal."""

import shutil
from collections.abc import Sequence

import click
from rich.cells import cell_len, set_cell_size

_WIDEST = 36
"""No column but the last takes more room than this."""
_NARROWEST_LAST = 20
_GAP = "  "


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """One line a row, as wide as the terminal: what does not fit ends with `…`."""
    widths = [
        min(_WIDEST, max([cell_len(column), *(cell_len(row[number]) for row in rows)]))
        for number, column in enumerate(columns[:-1])
    ]
    room = shutil.get_terminal_size().columns - sum(widths) - len(_GAP) * len(widths)
    widths.append(max(_NARROWEST_LAST, room))
    click.echo(click.style(_line(columns, widths), bold=True))
    for row in rows:
        click.echo(_line(row, widths))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return _GAP.join(map(_cut, cells, widths)).rstrip()


def _cut(text: str, width: int) -> str:
    """`text` in exactly `width` cells; wide characters take two."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + "…"
