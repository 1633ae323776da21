"""Front matter as lines that a repair may change; all other bytes stay as they are."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from metier.core.names import loose_key
from metier.values.files import Kind

_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
TOP_LEVEL_KEY = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:(?=[ \t\r]|$)")
_BLOCK_HEADER = re.compile(r"[|>][-+0-9]{0,2}[ \t]*$")
_NOT_TEXT = re.compile(
    r"(?:true|false|null|yes|no|on|off|y|n|[0-9]+|[0-9]+e[0-9]+|0x[0-9a-f]+|0o[0-7]+"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2})\Z"
)
"""What some version of YAML reads as a number, a date or a truth value."""


class Context(NamedTuple):
    """What a repair needs to know about a file besides its bytes."""

    folder: str
    """The name of the file's folder."""
    kind: Kind = "skill"
    name: str = ""
    """The name to write instead of a wrong one; empty to leave it."""
    data: Mapping[str, Any] = MappingProxyType({})
    """The front matter as it was read."""
    unread: frozenset[str] = frozenset()
    """Keys whose value is not YAML."""


def decoded(raw: bytes) -> str:
    return raw.decode(errors="surrogateescape")


def encoded(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def front_matter(text: str) -> tuple[int, int] | None:
    """Where the YAML between the fences starts and ends."""
    fences = _FRONT_MATTER.match(text)
    return fences.span(1) if fences is not None else None


def newline_of(text: str) -> str:
    """The line end of the first line."""
    return "\r\n" if text[: text.find("\n") + 1].endswith("\r\n") else "\n"


def is_block_header(value: str) -> bool:
    """Whether a value on the line of its key only says that a block follows."""
    return _BLOCK_HEADER.match(value) is not None


def dedented(lines: list[str]) -> list[str]:
    """Lines without the spaces that all of them start with."""
    indents = (len(line) - len(line.lstrip(" ")) for line in lines if line.strip())
    shared = min(indents, default=0)
    return [line[shared:] for line in lines]


def quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def plain_name(name: str) -> str:
    """A name as a YAML value."""
    return quoted(name) if _NOT_TEXT.match(name) else name


def written(key: str, value: str) -> list[str]:
    """The lines that give a key a text: in quotes, or as a block if it has several lines."""
    if "\n" not in value:
        return [f"{key}: {quoted(value)}"]
    return [f"{key}: |-", *(f"  {line}" if line.strip() else "" for line in value.split("\n"))]


class Lines:
    """The lines of a text with front matter, without their line ends."""

    def __init__(self, text: str) -> None:
        self.newline = newline_of(text)
        self._lines = text.split("\n")
        span = front_matter(text)
        self.first = 1
        self.end = text.count("\n", 0, span[1]) if span is not None else 0
        """The number of the first line of YAML, and of the closing fence; from 0."""

    def __getitem__(self, number: int) -> str:
        return self._lines[number].removesuffix("\r")

    def key_at(self, number: int) -> str:
        """The key of the top-level value on or around a line; empty if there is none."""
        for above in range(number if number < self.end else 0, self.first - 1, -1):
            match = TOP_LEVEL_KEY.match(self[above])
            if match:
                return match[1]
        return ""

    def find(self, key: str) -> tuple[int, int] | None:
        """The lines of a key, from its own to the last that is not blank, and the next."""
        start = None
        for number in range(self.first, self.end):
            match = TOP_LEVEL_KEY.match(self[number])
            if match and start is not None:
                return start, self._inked_end(start, number)
            if match and start is None and loose_key(match[1]) == loose_key(key):
                start = number
        return (start, self._inked_end(start, self.end)) if start is not None else None

    def _inked_end(self, start: int, end: int) -> int:
        while end - 1 > start and not self[end - 1].strip():
            end -= 1
        return end

    def replace(self, start: int, end: int, lines: list[str]) -> None:
        tail = self.newline.removesuffix("\n")
        self._lines[start:end] = [line + tail for line in lines]
        self.end += len(lines) - (end - start)

    def text(self) -> str:
        return "\n".join(self._lines)
