"""What `metier worker` shows: log lines, and on a terminal a line of what it is doing."""

import asyncio
import json
import os
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

import click

from metier.cli.session import Session
from metier.core.text import printable
from metier.core.timestamps import now_iso
from metier.errors import MetierError
from metier.safety.escapes import escaped_json

if TYPE_CHECKING:
    from metier.flow.worker import RunWorker

_CLEAR = "\r\x1b[K"
_EVERY = 2.0


class StatusLine:
    """Log lines on standard error; on a terminal the last line is replaced.

    With --json they are objects on standard output.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._is_live = (
            sys.stderr.isatty()
            and os.environ.get("TERM") != "dumb"
            and not (session.quiet or session.as_json)
        )
        self._shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        self._draw("")

    def log(self, text: str) -> None:
        """Print a line that stays."""
        if self._session.as_json:
            line = json.dumps({"at": now_iso(), "message": text}, ensure_ascii=False)
            click.echo(escaped_json(line))
            return
        shown = self._shown
        self._draw("")
        self._session.note(f"{now_iso()[11:19]} {text}")
        self._draw(shown)

    async def show(self, worker: "RunWorker") -> None:
        """Keep the line up to date."""
        while self._is_live:
            self._draw(await asyncio.to_thread(status, worker))
            await asyncio.sleep(_EVERY)

    def _draw(self, text: str) -> None:
        if self._is_live:
            click.echo(_CLEAR + printable(text), err=True, nl=False)
            self._shown = text


def status(worker: "RunWorker") -> str:
    """`2 running · 5 waiting · 7 succeeded`"""
    counts = worker.counts
    ended = ", ".join(f"{count} {state}" for state, count in sorted(counts.ended.items()))
    try:
        waiting = f"{sum(worker.queue_lengths().values())} waiting"
    except MetierError:
        waiting = "PostgreSQL is unreachable"
    parts = [f"{len(worker.running)} running", waiting, ended]
    parts += [f"{counts.taken_over} taken over"] if counts.taken_over else []
    parts += ["stopping"] if worker.is_stopping else []
    return " · ".join(part for part in parts if part)
