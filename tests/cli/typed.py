"""`metier` on a terminal where somebody answers."""

import fcntl
import os
import subprocess
import sys
import termios
import threading
from pathlib import Path
from typing import NamedTuple

from cli.terminals import STYLE, environment, received, terminal

QUESTION = b"[y/N]: "
ENOUGH = 300.0


class Answered(NamedTuple):
    """How a command ended, and what was seen."""

    code: int
    screen: str
    """What the terminal received, without style and with plain line ends."""
    out: str
    """What went to standard output, which is no terminal."""

    @property
    def questions(self) -> int:
        return self.screen.count(QUESTION.decode())

    @property
    def lines(self) -> list[str]:
        return self.screen.splitlines()


def answered(root: Path, typed: str, *arguments: str, **changes: str) -> Answered:
    """Run `metier` where `typed` is the answer to each question; its output is a pipe."""
    with terminal(200) as (keyboard, screen):
        process = subprocess.Popen(
            [sys.executable, "-m", "metier", *arguments],
            cwd=root,
            env=environment(COLUMNS="400", **changes),
            stdin=screen,
            stdout=subprocess.PIPE,
            stderr=screen,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(screen)
        limit = threading.Timer(ENOUGH, process.kill)
        limit.start()
        seen, asked = b"", 0
        for chunk in received(keyboard):
            seen += chunk
            if seen.count(QUESTION) > asked:
                asked += 1
                os.write(keyboard, typed.encode())
        out = process.communicate(timeout=ENOUGH)[0]
        limit.cancel()
        text = STYLE.sub("", seen.decode().replace("\r\n", "\n"))
        return Answered(process.returncode, text, out.decode())
