"""Tables for a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """One line a row; what does not fit is cut in the last column first."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(columns):
        is_last = number == len(columns) - 1
        table.add_column(column, no_wrap=True, overflow="ellipsis", ratio=1 if is_last else None)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)
