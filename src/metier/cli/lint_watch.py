"""`metier lint --watch`: check again whenever a file changes."""

import sys
import time
from collections.abc import Callable
from typing import NoReturn

import click

from metier.cli.lint_options import LintOptions
from metier.cli.session import Session
from metier.errors import MetierError
from metier.flow.linting import Linter

_LEAST_SECONDS = 1.0
_SHARE = 10
"""Looking for changes takes at most a tenth of the time."""


def watch(
    session: Session,
    options: LintOptions,
    check: Callable[[Session], int],
    linter_of: Callable[[Session, LintOptions], Linter | None],
) -> NoReturn:
    """Check, wait for a change, and check again, until Ctrl-C.

    Raises `MetierError` if the first check cannot be made; a later one may be possible again.
    """

    def stamp() -> object:
        quiet = session.reopened(quiet=True)
        linter = linter_of(quiet, options._replace(changed=None))
        return linter.stamp() if linter is not None else None

    is_first = True

    def check_again() -> None:
        nonlocal is_first
        if sys.stdout.isatty():
            click.clear()
        try:
            check(session.reopened())
        except MetierError as error:
            if is_first:
                raise
            session.note(f"error: {error.message}{f' ({error.hint})' if error.hint else ''}")
        is_first = False
        session.note(f"{time.strftime('%H:%M:%S')}: waiting for changes; Ctrl-C ends")

    follow(stamp, check_again, Pause().wait)


def follow(
    stamp: Callable[[], object], check: Callable[[], None], wait: Callable[[], None]
) -> NoReturn:
    """Call `check` now and whenever `stamp` gives another value; `wait` between two looks."""
    seen: object = None
    while True:
        try:
            now = stamp()
        except MetierError as error:  # settings that cannot be read, for now
            now = error.message
        if now != seen:
            seen = now
            check()
        wait()


class Pause:
    """Waits long enough that looking for changes costs little."""

    def __init__(
        self,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.process_time,
    ) -> None:
        self._sleep = sleep
        self._clock = clock
        self._since = clock()

    def wait(self) -> None:
        spent = self._clock() - self._since
        self._sleep(max(_LEAST_SECONDS, spent * _SHARE))
        self._since = self._clock()
