"""Where a settings file names a setting."""

import re

from metier.errors import ConfigError
from metier.storage.room import read_regular

_LARGEST = 1 << 20
_STEP = re.compile(r'"((?:[^"\\]|\\.)*)"|([^".\[\]]+)')
"""A part of a dotted name; places in lists are left out."""


def where_with_line(error: ConfigError) -> str:
    """Where an error is, as `FILE:LINE` if the file names the setting."""
    if not error.setting:
        return error.where
    try:
        text = read_regular(error.where, _LARGEST).decode()
    except (OSError, ValueError):
        return error.where
    position = setting_position(error.setting, text)
    return f"{error.where}:{position[0]}" if position else error.where


def setting_position(setting: str, text: str) -> tuple[int, int] | None:
    """The line and column of a setting such as `teams."a/b".name`, or of the table around it.

    Each part is searched behind the one before; comments are skipped.
    """
    found, start = None, 0
    lines = text.split("\n")
    for quoted, bare in _STEP.findall(setting):
        word = re.compile(rf"(?<![\w-]){re.escape(quoted or bare)}(?![\w-])")
        place = _next(word, lines, found or (1, 1), start)
        if place is not None:
            found, start = place, len(quoted or bare)
    return found


def _next(
    word: re.Pattern[str], lines: list[str], at: tuple[int, int], skipped: int
) -> tuple[int, int] | None:
    """The next place of a word from a line and column on, and that many characters further."""
    line, column = at
    first = column - 1 + skipped
    for number, text in enumerate(lines[line - 1 :], start=line):
        match = word.search(text.partition("#")[0], first if number == line else 0)
        if match:
            return number, match.start() + 1
    return None
