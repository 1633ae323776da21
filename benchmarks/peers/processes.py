"""Starts the operations of peers, each in a fresh process, and reads what they cost."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, NamedTuple

from benchmarks.peers.environments import Environment
from benchmarks.peers.protocol import Peer

REPOSITORY = Path(__file__).resolve().parents[2]
_LAUNCHER = str(Path(__file__).with_name("launcher.py"))
_LONGEST = 900.0
_NAMES_ERROR = re.compile(r"Fatal Python error|[\w.]*(Error|Exception)\b")


class Cost(NamedTuple):
    """Seconds and megabytes of a whole process, and what it printed."""

    wall: float
    cpu: float
    memory: float
    status: int | None
    """None: it did not end in time, and was killed."""
    output: str
    errors: str


class Failed(NamedTuple):
    """An operation without a result."""

    reason: str


class Done(NamedTuple):
    """An operation with its result."""

    cost: Cost
    result: Any


Outcome = Done | Failed


class Tool(NamedTuple):
    """A peer that is installed."""

    peer: Peer
    environment: Environment
    home: Path
    """The home folder and working folder of its processes."""

    def work(self, operation: str, *arguments: object) -> Outcome:
        """One operation of the worker; the process fails if the operation does."""
        return self._run(self._worker(operation, *arguments), _read_json)

    def lint(self, skills: Path) -> Outcome:
        """The peer's own command, without what an earlier one kept; it may exit with any status."""
        linter = self.peer.lint
        assert linter is not None
        command = linter.command(self.environment.programs, skills)
        with TemporaryDirectory(dir=self.home) as fresh:
            kept = {"HOME": fresh, "METIER_STATE_DIR": fresh}
            return self._run(command, lambda cost: linter.read(cost.output, cost.errors), kept)

    def kill(self, operation: str, *arguments: object, when: Callable[[], bool]) -> bool:
        """Start an operation and kill it at that moment; whether it was still running."""
        process = subprocess.Popen(
            self._worker(operation, *arguments),
            env=self._surroundings(),
            cwd=self.home,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + _LONGEST
        while process.poll() is None and not when() and time.monotonic() < deadline:
            time.sleep(0.001)
        was_running = process.poll() is None
        if was_running:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return was_running

    def _worker(self, operation: str, *arguments: object) -> list[str]:
        python = str(self.environment.python)
        words = [python, "-m", "benchmarks.peers.worker", self.peer.name, operation]
        return [*words, *map(str, arguments)]

    def _surroundings(self) -> Mapping[str, str]:
        return {**os.environ, "HOME": str(self.home), "PYTHONPATH": str(REPOSITORY)}

    def _run(
        self,
        command: Sequence[str],
        read: Callable[[Cost], Any],
        kept: Mapping[str, str] = MappingProxyType({}),
    ) -> Outcome:
        launched = subprocess.run(
            [sys.executable, "-I", "-S", _LAUNCHER, str(_LONGEST), *command],
            env={**self._surroundings(), **kept},
            cwd=self.home,
            capture_output=True,
            text=True,
            check=False,
        )
        if launched.returncode:
            return Failed(failure_line(launched.stderr))
        cost = Cost(**json.loads(launched.stdout))
        if cost.status is None:
            return Failed(f"no result within {_LONGEST:.0f} s")
        try:
            return Done(cost, read(cost))
        except (ValueError, KeyError, TypeError):
            return Failed(failure_line(cost.errors or cost.output))


def _read_json(cost: Cost) -> Any:
    if cost.status:
        raise ValueError(cost.status)
    return json.loads(cost.output.splitlines()[-1])


def failure_line(text: str) -> str:
    """The last line that names an error, else the last one with words."""
    lines = [line.strip(" │╭╮╰╯─") for line in text.splitlines()]
    lines = [line for line in lines if any(map(str.isalnum, line))]
    errors = [line for line in lines if _NAMES_ERROR.match(line)]
    return (errors or lines or ["no message"])[-1][:100]
