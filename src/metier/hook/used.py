"""The skills that a session used before, from the end of its transcript. Light.

Only what a host writes when a skill is used counts; a text that mentions a skill does not.
"""

from __future__ import annotations

import os
import stat

from metier.hosts.table import MARKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_TAIL = 1_048_576
"""Bytes that are read from the end of a transcript."""
_NEAR = 400
"""Bytes after a mark in which the name is looked for."""
_LONGEST = 200
_CALLS = (b'"type":"function_call"', b'"type":"local_shell_call"')
"""Calls of Codex, which reads a SKILL.md in a shell."""
_READERS = (b"cat ", b"sed -n ", b"head ", b"tail ", b"nl ", b"less ", b"bat ")


def used_skills(transcript: str) -> list[str]:
    """The names of the skills that a session used, the latest first; none without a transcript."""
    try:
        tail = _tail_of(transcript) if transcript else b""
    except (OSError, ValueError):
        return []
    found = sorted((*_found(tail), *_read_in_shell(tail)), reverse=True)
    return list(dict.fromkeys(name for _, name in found))


def _tail_of(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            return b""
        return os.pread(descriptor, _TAIL, max(0, info.st_size - _TAIL))
    finally:
        os.close(descriptor)


def _found(tail: bytes) -> Iterator[tuple[int, str]]:
    """Positions and names."""
    for mark, before, end in [[one.encode() for one in mark] for mark in MARKS]:
        at = tail.find(mark)
        while at >= 0:
            name = _name(tail[at + len(mark) : at + len(mark) + _NEAR], before, end)
            if name:
                yield at, name.rpartition("/")[2]
            at = tail.find(mark, at + 1)


def _read_in_shell(tail: bytes) -> Iterator[tuple[int, str]]:
    """Positions of commands that read a SKILL.md, and the folder around it."""
    for mark in _CALLS:
        at = tail.find(mark)
        while at >= 0:
            line = tail[at : at + _NEAR].partition(b"\n")[0]
            command, found, _ = line.partition(b"/SKILL.md")
            folder = command.rpartition(b"/")[2].rpartition(b" ")[2]
            if found and folder and b">" not in command and any(map(command.count, _READERS)):
                yield at, folder.decode(errors="replace")
            at = tail.find(mark, at + 1)


def _name(text: bytes, before: bytes, end: bytes) -> str:
    start = text.find(before)
    stop = text.find(end, start + len(before))
    if start < 0 or stop < 0:
        return ""
    name = text[start + len(before) : stop].decode(errors="replace")
    return name if len(name) <= _LONGEST and '"' not in name else ""
