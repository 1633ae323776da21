"""Reads the transcripts that hosts keep: which skills were used, when, and on whose initiative.

One file for each form; `READERS` has the reader of each host that has one.
"""

from collections.abc import Iterator

from metier.hosts.events import Reader
from metier.hosts.known import HOSTS
from metier.usage import claude_code, codex, copilot, gemini, opencode

_BY_NAME: dict[str, Reader] = {
    "claude-code": Reader(claude_code.transcripts, claude_code.read, claude_code.MOVED_BY),
    "codex": Reader(codex.transcripts, codex.read, codex.MOVED_BY),
    "gemini": Reader(gemini.transcripts, gemini.read, gemini.MOVED_BY),
    "copilot": Reader(copilot.transcripts, copilot.read, copilot.MOVED_BY),
    "opencode": Reader(opencode.transcripts, opencode.read, opencode.MOVED_BY),
}
"""What a host may name in `Transcripts.read_by`."""


def _readers() -> Iterator[tuple[str, Reader]]:
    for name, host in HOSTS.items():
        reader = host.transcripts.read_by if host.transcripts is not None else ""
        if reader:
            yield name, _BY_NAME[reader] if isinstance(reader, str) else reader


READERS: dict[str, Reader] = dict(_readers())
