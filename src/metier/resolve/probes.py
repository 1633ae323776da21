"""Probes: commands from the settings that test what a candidate claims."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

from metier.core.process import minimal_environment
from metier.errors import MetierError
from metier.values.candidates import Candidate
from metier.values.resolution import ProbeResult

MOST_OUTPUT = 4_096
"""Bytes of a probe's output that are kept."""
_CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class CommandProbe:
    """One command, run without a shell; exit code 0 passes."""

    argv: tuple[str, ...]
    timeout: float
    folder: str
    """Where it runs: the workspace."""
    before_start: Callable[[], None] | None = None
    """Called just before it starts; raises `MetierError` when it must not."""

    def __call__(self, candidate: Candidate, capability: str) -> ProbeResult:
        """Run it for one candidate. Never raises, never exceeds its timeout.

        Its environment is PATH, HOME, LANG and the three variables below.
        """
        environment = {
            **minimal_environment(),
            "METIER_CANDIDATE": candidate.id,
            "METIER_CANDIDATE_FOLDER": candidate.folder,
            "METIER_CAPABILITY": capability,
        }
        try:
            if self.before_start is not None:
                self.before_start()
            process = subprocess.Popen(
                self.argv,
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError, IndexError, MetierError) as error:
            return ProbeResult(candidate.id, capability, False, f"cannot be started: {error}")
        try:
            output, in_time = _read(process, time.monotonic() + self.timeout)
        finally:
            _end(process)
        timed_out = f"stopped after {self.timeout:g} s"
        detail = f"exit code {process.returncode}" if in_time else timed_out
        passed = in_time and process.returncode == 0
        text = output.decode("utf-8", errors="replace")
        return ProbeResult(candidate.id, capability, passed, detail, text)


def _read(process: "subprocess.Popen[bytes]", deadline: float) -> tuple[bytes, bool]:
    """The first bytes of its output, and whether it ended in time."""
    assert process.stdout is not None
    kept = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            if selector.select(min(left, 0.05)):
                chunk = os.read(process.stdout.fileno(), _CHUNK)
                kept += chunk[: MOST_OUTPUT - len(kept)]
                if not chunk:
                    break
            elif process.poll() is not None:
                break  # a child may hold the pipe open; do not wait for it
    try:
        process.wait(max(deadline - time.monotonic(), 0))
    except subprocess.TimeoutExpired:
        return kept, False
    return kept, True


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill it and its session."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
