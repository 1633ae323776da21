"""Lay out text and tables for a terminal. Loads rich only on need."""

import os
import sys
from collections.abc import Sequence

import click

from metier.cli.redacted_output import redacted
from metier.core.text import one_line as one_line

_BAR = 3  # cells of a full one
_EIGHTHS = " ▏▎▍▌▋▊▉"
_INDENT = "   "
_WIDEST_FIRST, _WIDEST = 64, 36
"""The maximum width of a column; the last column has none."""
_NARROWEST_FIRST, _NARROWEST = 20, 8
"""The minimum width of a column."""
_GAP = "  "


def shortened(names: Sequence[str], most: int = 3) -> str:
    """`a, b, c and 4 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(one_line, names[:most])) + more


def colour_wanted() -> bool | None:
    """From NO_COLOR, FORCE_COLOR (0 is off) and TERM; None lets the stream decide."""
    if os.environ.get("NO_COLOR"):
        return False
    if forced := os.environ.get("FORCE_COLOR"):
        return forced != "0"
    return False if os.environ.get("TERM") == "dumb" else None


def bar(value: float) -> str:
    """`0.50 █▌`"""
    full, eighths = divmod(round(min(max(value, 0), 1) * _BAR * 8), 8)
    return f"{value:.2f} {'█' * full}{_EIGHTHS[eighths].strip()}".rstrip()


def packed(
    parts: Sequence[str], width: int, indent: str = _INDENT, start: str | None = None
) -> list[str]:
    """Lines of styled parts, none of which is broken; `start` comes before the first."""
    from rich.cells import cell_len  # only a terminal needs it

    lines = [f"{indent if start is None else start}{parts[0]}"]
    for part in parts[1:]:
        longer = f"{lines[-1]}{_GAP}{part}"
        if cell_len(click.unstyle(longer)) <= width:
            lines[-1] = longer
        else:
            lines.append(f"{indent}{part}")
    return lines


def branches(texts: Sequence[Sequence[str]]) -> list[str]:
    """Texts of several lines as the branches of a tree."""
    lines = []
    for number, (first, *others) in enumerate(texts, start=1):
        is_last = number == len(texts)
        lines.append(f"{'└' if is_last else '├'} {first}")
        lines += [f"{' ' if is_last else '│'} {other}" for other in others]
    return lines


def wrapped(text: str, width: int, indent: str = _INDENT, start: str | None = None) -> list[str]:
    """The lines of `text`; a long word is not broken, so that it can be copied.

    `start` is the indent of the first line.
    """
    from textwrap import wrap  # only terminals need it

    return wrap(
        one_line(text),
        max(width, 20),
        initial_indent=indent if start is None else start,
        subsequent_indent=f"{indent}  " if start is None else indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def words(text: str) -> list[str]:
    """The words of a message; a quoted `': '` is not split."""
    return [word.replace("\0", " ") for word in one_line(text).replace("': '", "':\0'").split(" ")]


def flowed(parts: Sequence[str], width: int, indent: int = 0, start: str = "") -> str:
    """Wrap styled words; long words are not broken, so that they can be copied."""
    from rich.cells import cell_len  # only a terminal needs it

    text, room = start, max(width, indent + 20) - cell_len(click.unstyle(start))
    for number, word in enumerate(parts):
        size = cell_len(click.unstyle(word))
        if number and size + 1 > room:
            text += "\n" + " " * indent
            room = max(width, indent + 20) - indent
        elif number:
            text += " "
            room -= 1
        text += word
        room -= size
    return text


def flowed_here(parts: Sequence[str], indent: int = 0, start: str = "") -> str:
    """For standard output: wrapped on a terminal, else one line."""
    if not sys.stdout.isatty():
        return start + " ".join(parts)
    return flowed(parts, terminal_width(), indent, start)


def fitted(line: str, width: int) -> str:
    """A line that is too long, wrapped between its words; as it is if it fits."""
    if line.isascii() and len(line) <= width:
        return line
    from rich.cells import cell_len  # most lines are short and ASCII

    if cell_len(click.unstyle(line)) <= width:
        return line
    text = line.lstrip(" ")
    indent = len(line) - len(text)
    mark, _, rest = text.partition(" ")
    is_mark = len(click.unstyle(mark)) == 1  # it stays with what follows
    start = " " * indent + (f"{mark} " if is_mark else "")
    return flowed((rest if is_mark else text).split(" "), width, indent + 2, start)


def terminal_width() -> int:
    import shutil  # only terminals need it

    return shutil.get_terminal_size().columns


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], answer: int | None = None
) -> None:
    """Cut rows with `…` to the width of the terminal; page long tables.

    The column `answer` is cut after all others.
    """
    import shutil  # only terminals need it

    size = shutil.get_terminal_size()
    widths = _widths(columns, rows, size.columns, answer)
    lines = [click.style(_line(columns, widths, size.columns), bold=True)]
    lines += [_line(row, widths, size.columns) for row in rows]
    _print("\n".join(lines), is_long=len(lines) >= size.lines)


def _widths(
    columns: Sequence[str], rows: Sequence[Sequence[str]], room: int, answer: int | None
) -> list[int]:
    """The last column takes the rest: at least a third, or all of the answer."""
    from rich.cells import cell_len  # only a terminal needs it

    widest = [
        max(cell_len(cell) for cell in (column, *(row[number] for row in rows)))
        for number, column in enumerate(columns)
    ]
    widths = [
        min(width, _WIDEST if number else _WIDEST_FIRST) for number, width in enumerate(widest[:-1])
    ]
    room -= len(_GAP) * len(widths)
    last = widest[-1] if answer == len(widths) else 0
    too_wide = sum(widths) - min(room * 2 // 3, room - last)
    for number in reversed(range(len(widths))):
        if number == answer:
            continue
        narrowest = _NARROWEST if number else _NARROWEST_FIRST
        cut = min(max(0, too_wide), max(0, widths[number] - narrowest))
        widths[number] -= cut
        too_wide -= cut
    return [*widths, max(1, room - sum(widths))]


def _line(cells: Sequence[str], widths: Sequence[int], room: int) -> str:
    return _cut(_GAP.join(map(_cut, cells, widths)).rstrip(), room).rstrip()


def _cut(text: str, width: int) -> str:
    """`text` in exactly `width` cells; wide characters take two."""
    from rich.cells import cell_len, set_cell_size  # only a terminal needs it

    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + "…"


def paged(lines: Sequence[str]) -> None:
    """Print lines; on a terminal they are wrapped, and more than it holds go through the pager."""
    text = "\n".join(lines)
    if not sys.stdout.isatty():
        click.echo(text)
        return
    shown = [fitted(line, terminal_width()) for line in text.split("\n")]
    text = "\n".join(shown)
    _print(text, is_long=text.count("\n") + 1 >= _terminal_height())


def _print(text: str, *, is_long: bool) -> None:
    if is_long:
        click.echo_via_pager(redacted(text))
    else:
        click.echo(text)


def _terminal_height() -> int:
    import shutil  # only terminals need it

    return shutil.get_terminal_size().lines
