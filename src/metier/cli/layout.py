"""Text that fits: one line, lines broken between words, small bars."""

from collections.abc import Sequence

from click import unstyle

from metier.core.text import printable

_BAR = 3  # cells of a full one
_EIGHTHS = " ▏▎▍▌▋▊▉"
_INDENT = "   "


def one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def bar(value: float) -> str:
    """`0.50 █▌`"""
    full, eighths = divmod(round(min(max(value, 0), 1) * _BAR * 8), 8)
    return f"{value:.2f} {'█' * full}{_EIGHTHS[eighths].strip()}".rstrip()


def packed(parts: Sequence[str], width: int) -> list[str]:
    """The parts on as few lines as they fit on."""
    lines = [f"{_INDENT}{parts[0]}"]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) + 2 <= width:
            lines[-1] += f"  {part}"
        else:
            lines.append(f"{_INDENT}{part}")
    return lines


def wrapped(text: str, width: int, indent: str = _INDENT) -> list[str]:
    """The lines of `text`; a long word is left to the terminal, so that it can be copied."""
    from textwrap import wrap  # for terminals alone

    return wrap(
        one_line(text),
        max(width, 20),
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def words(text: str) -> list[str]:
    """The words of a text for people; what is quoted as `': '` is none."""
    return [word.replace("\0", " ") for word in one_line(text).replace("': '", "':\0'").split(" ")]


def flowed(parts: Sequence[str], width: int, indent: int = 0, start: str = "") -> str:
    """Words, which may be styled, on lines of that width; all but the first are indented.

    `start` stands before the words. A long word is left to the terminal, so that it can be copied.
    """
    from rich.cells import cell_len  # only a terminal needs it

    text, room = start, max(width, indent + 20) - cell_len(unstyle(start))
    for number, word in enumerate(parts):
        size = cell_len(unstyle(word))
        if number and size + 1 > room:
            text += "\n" + " " * indent
            room = max(width, indent + 20) - indent
        elif number:
            text += " "
            room -= 1
        text += word
        room -= size
    return text
