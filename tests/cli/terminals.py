"""Run `metier` on a terminal, or with pipes."""

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from cli.printed import looked_at
from conftest import Workspace

ESCAPE = "\x1b"
STYLE = re.compile(r"\x1b\[[0-9;]*m")


class Seen(NamedTuple):
    code: int
    screen: str
    """What the terminal received, with plain line ends."""
    piped: str
    """What went to standard output when that is no terminal."""

    @property
    def plain(self) -> list[str]:
        """The screen's lines without their style."""
        return STYLE.sub("", self.screen).splitlines()


def environment(**changes: str) -> dict[str, str]:
    """The environment of a person at a terminal, who has not asked for anything."""
    unset = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "LC_ALL"}
    unset |= {"PYTHONIOENCODING", "PYTHONUTF8", "PYTHONUNBUFFERED", "PYTHONCOERCECLOCALE"}
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    return {**kept, "TERM": "xterm-256color", "PAGER": "cat", **changes}


_CONTROL = re.compile(r"\x1b\[\??([0-9;]*)([A-Za-z])|[\r\n]")


def left_on_screen(received: str) -> list[str]:
    """The lines that are left when everything was drawn, and drawn again, without style."""
    lines, row, start = [""], 0, 0
    for found in [*_CONTROL.finditer(received), None]:
        lines[row] += received[start : found.start() if found else None]
        if found is None:
            break
        start = found.end()
        if found[0] == "\n":
            row += 1
            lines += [""] * (row - len(lines) + 1)
        elif found[0] == "\r" or found[2] == "K":
            lines[row] = ""  # what is drawn again begins with an empty line
        elif found[2] == "A":
            row -= int(found[1] or 1)
    return lines


@contextmanager
def terminal(columns: int) -> Iterator[tuple[int, int]]:
    """Both ends of a terminal that many columns wide."""
    keyboard, screen = os.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    try:
        yield keyboard, screen
    finally:
        os.close(keyboard)


def received(keyboard: int) -> Iterator[bytes]:
    """What the terminal gets, until the last program has closed it."""
    while True:
        try:
            chunk = os.read(keyboard, 65536)
        except OSError:
            return
        if not chunk:
            return
        yield chunk


def at_terminal(
    workspace: Workspace, *arguments: str, columns: int = 100, pipe: bool = False, **changes: str
) -> Seen:
    """Run `metier` on a terminal, in a workspace that its user has looked at.

    With `pipe` its standard output goes elsewhere.
    """
    looked_at(workspace.root)
    with terminal(columns) as (keyboard, screen):
        process = subprocess.Popen(
            [sys.executable, "-m", "metier", *arguments],
            cwd=workspace.root,
            env=environment(**changes),
            stdin=screen,
            stdout=subprocess.PIPE if pipe else screen,
            stderr=screen,
        )
        os.close(screen)
        text = b"".join(received(keyboard)).decode()
        piped = process.communicate(timeout=300)[0] or b""
        return Seen(process.returncode, text.replace("\r\n", "\n"), piped.decode())


def piped(
    workspace: Workspace, *arguments: str, **changes: str
) -> subprocess.CompletedProcess[bytes]:
    """Run `metier` with pipes, in a workspace that its user has looked at."""
    looked_at(workspace.root)
    return subprocess.run(
        [sys.executable, "-m", "metier", *arguments],
        cwd=workspace.root,
        env=environment(**changes),
        capture_output=True,
        check=False,
        timeout=300,
    )
