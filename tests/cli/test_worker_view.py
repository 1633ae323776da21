"""What `metier worker` shows of itself on a terminal."""

import asyncio
from typing import Any

import pytest

from metier.cli.session import Session
from metier.cli.worker_view import StatusLine, status
from metier.errors import StoreError
from metier.flow.worker import Counts


class Busy:
    """A worker with two runs."""

    running = ("a", "b")
    is_stopping = False

    def __init__(self) -> None:
        self.counts = Counts()
        self.counts.ended = {"succeeded": 7, "failed": 1}

    def queue_lengths(self) -> dict[str, int]:
        return {"runs": 3, "slow": 2}


def test_the_status_says_what_runs_waits_and_ended() -> None:
    worker: Any = Busy()
    assert status(worker) == "2 running · 5 waiting · 1 failed, 7 succeeded"
    worker.counts.taken_over, worker.is_stopping = 4, True
    assert status(worker).endswith("4 taken over · stopping")


def test_the_status_says_that_postgresql_is_away() -> None:
    worker: Any = Busy()

    def away() -> dict[str, int]:
        raise StoreError("away")

    worker.queue_lengths = away
    assert "PostgreSQL is unreachable" in status(worker)


def test_log_lines_stay_above_the_status(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    worker: Any = Busy()

    async def main() -> None:
        with StatusLine(Session()) as line:
            showing = asyncio.ensure_future(line.show(worker))
            while not capsys.readouterr().err.endswith("succeeded"):
                await asyncio.sleep(0)
            line.log("run r starts")
            showing.cancel()

    asyncio.run(main())
    lines = capsys.readouterr().err.split("\r\x1b[K")
    assert lines[1].endswith("run r starts\n")
    assert lines[2].startswith("2 running")
    assert lines[-1] == ""


def test_in_a_pipe_there_are_only_log_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with StatusLine(Session()) as line:
        line.log("run r starts")
    said = capsys.readouterr().err
    assert said.endswith(" run r starts\n")
    assert "\r" not in said
