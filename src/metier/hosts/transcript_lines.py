"""The lines of a transcript, of any size and in any state."""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import closing
from typing import Any, BinaryIO

from metier.core.coerce import mapping_of
from metier.core.timestamps import from_iso
from metier.hosts.compressed import ENDING, decompressed

LONGEST_LINE = 8 << 20
"""In bytes; a longer line is counted and skipped."""
LARGEST = 1 << 33
"""The most bytes that are read of a compressed transcript."""
LATEST = 1e11
"""The year 5138, in seconds since 1970."""
_BUFFER = 1 << 18
_ENDS = (b"}\n", b"}", b"}\r\n")
_MARK = b"\xef\xbb\xbf"


class Lines:
    """The lines of a transcript, up to its size when it is opened.

    Lines that are not JSON objects are counted in `unparsed`. Iterating raises `OSError` if the
    file cannot be read or is not a regular file.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.unparsed = 0

    def __iter__(self) -> Iterator[bytes]:
        with closing(open_regular(self.path)) as raw:
            if self.path.endswith(ENDING):
                yield from self._objects(decompressed(raw), LARGEST)
            else:
                yield from self._objects(raw, os.fstat(raw.fileno()).st_size)

    def _objects(self, file: BinaryIO, left: int) -> Iterator[bytes]:
        is_first = True
        while left > 0 and (line := file.readline(min(left, LONGEST_LINE))):
            left -= len(line)
            if is_first:
                line, is_first = line.removeprefix(_MARK), False
            if left > 0 and len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                left -= _skipped(file, left)
                self.unparsed += 1
            elif line.startswith(b"{") and line.endswith(_ENDS):
                yield line
            elif line.strip():
                self.unparsed += 1

    def parsed(self, line: bytes) -> dict[str, Any]:
        """The object in a line; empty, and counted, if it is not one."""
        try:
            return mapping_of(json.loads(line))
        except (ValueError, RecursionError):
            self.unparsed += 1
            return {}


def _skipped(file: BinaryIO, left: int) -> int:
    """Skip the rest of a line; its size."""
    skipped = 0
    while skipped < left and (part := file.readline(min(left - skipped, _BUFFER))):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped


def open_regular(path: str) -> BinaryIO:
    """A regular file, read-only; a link is not followed. Raises `OSError`."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    file = os.fdopen(os.open(path, flags), "rb", _BUFFER)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(None, "it is not a regular file", path)
    return file


def object_in(text: str) -> dict[str, Any]:
    """The object of a JSON text; empty if it is not one."""
    try:
        return mapping_of(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def moment_of(value: Any) -> float:
    """Seconds since 1970 of an ISO text, 0 if it is not one."""
    try:
        return possible(from_iso(value)) if isinstance(value, str) else 0.0
    except (ValueError, OverflowError):
        return 0.0


def possible(moment: float) -> float:
    """A moment that can be printed in any time zone, else 0."""
    return moment if 0 <= moment <= LATEST else 0.0


def text_in(content: Any) -> str:
    """The text of a message: a text itself, or parts of which some have a text."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    texts = (mapping_of(part).get("text") for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))
