"""Regular expressions of settings, matched under a time limit.

Python cannot interrupt `re`, so a separate process matches, and is killed when it takes too
long.
"""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

TIME_LIMIT = 2.0
"""Seconds for one pattern and one text, and for compiling all patterns."""
MOST_MATCHES = 20
"""Matches that are reported for one pattern and one text."""
_WORKER = os.path.join(os.path.dirname(__file__), "pattern_worker.py")


class PatternTimeoutError(Exception):
    """A pattern took too long; it is not tried again."""


class PatternInvalidError(Exception):
    """A pattern is not a regular expression."""


class Span(NamedTuple):
    start: int
    end: int


class Patterns:
    """Matches patterns in a process that starts with the first question."""

    def __init__(self, patterns: Sequence[str], *, time_limit: float = TIME_LIMIT) -> None:
        self._patterns = list(patterns)
        self._time_limit = time_limit
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._problems: list[str] = []
        self._slow: set[str] = set()

    def spans(self, pattern: str, text: str) -> list[Span]:
        """Where a pattern matches, the first `MOST_MATCHES`.

        Raises `PatternTimeoutError` and `PatternInvalidError`, as `occurs` does.
        """
        found = self._match(pattern, {"text": text, "most": MOST_MATCHES})
        return [Span(start, end) for start, end in found]

    def occurs(self, pattern: str, text: str) -> bool:
        """Whether a pattern matches anywhere."""
        return bool(self._match(pattern, {"text": text}))

    def problem(self, pattern: str) -> str:
        """Why a pattern is not a regular expression; empty if it is."""
        self._started()
        return self._problems[self._patterns.index(pattern)]

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _match(self, pattern: str, asked: dict[str, Any]) -> Any:
        if pattern in self._slow:
            raise PatternTimeoutError(pattern)
        number = self._patterns.index(pattern)
        self._started()
        if self._problems[number]:
            raise PatternInvalidError(self._problems[number])
        try:
            return self._ask({**asked, "pattern": number})
        except PatternTimeoutError:
            self._slow.add(pattern)
            raise

    def _started(self) -> None:
        if self._process is None:
            self._start()
            self._problems = self._ask({"compile": self._patterns})

    def _start(self) -> None:
        """`-I -S`: nothing of the folder, the environment or installed packages is loaded."""
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._answers = queue.SimpleQueue()
        arguments = (self._process.stdout, self._answers)
        threading.Thread(target=_read_lines, args=arguments, daemon=True).start()

    def _ask(self, asked: dict[str, Any]) -> Any:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(asked).encode() + b"\n")
            process.stdin.flush()
            answer = self._answers.get(timeout=self._time_limit)
        except (queue.Empty, OSError):
            answer = b""
        if not answer:  # too slow, or out of memory
            self.close()
            raise PatternTimeoutError
        return json.loads(answer)


def _read_lines(stream: Any, answers: "queue.SimpleQueue[bytes]") -> None:
    for line in stream:
        answers.put(line)
    answers.put(b"")
