"""Standard output and standard error without the values of secrets."""

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from metier.safety.redactor import Redactor


class RedactedStream:
    """A text stream that redacts what is written to it; one write is one text."""

    def __init__(self, stream: Any, redactor: Callable[[], Redactor]) -> None:
        self._stream = stream
        self._redactor = redactor

    def redacted(self, text: str) -> str:
        return self._redactor().text(text)

    def write(self, text: str) -> int:
        self._stream.write(self.redacted(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        self._stream.writelines(map(self.redacted, lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def redacted_output(redactor: Callable[[], Redactor]) -> Iterator[None]:
    """Redact both streams by what `redactor` gives at each write; bytes stay as they are."""
    before = sys.stdout, sys.stderr
    for stream in before:
        _make_unicode(stream)
    sys.stdout, sys.stderr = (RedactedStream(one, redactor) for one in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _make_unicode(stream: Any) -> None:
    """Let click use the stream as it is: it writes past one that is ASCII."""
    if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() in ("ascii", "us-ascii"):
        stream.reconfigure(encoding="utf-8")


def redacted(text: str) -> str:
    """What standard output would show of `text`, for a pager."""
    stream: Any = sys.stdout
    return stream.redacted(text) if isinstance(stream, RedactedStream) else text
