"""The hosts whose transcripts metier reads."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from metier.usage import claude_code, codex, copilot, gemini, opencode
from metier.usage.folders import Transcript, UserFolders
from metier.values.usage import Event, Wanted


class FindTranscripts(Protocol):
    def __call__(self, folders: UserFolders) -> Iterator[Transcript]: ...


class ReadTranscript(Protocol):
    def __call__(self, path: str, wanted: Wanted) -> Iterator[Event]: ...


class Reader(NamedTuple):
    transcripts: FindTranscripts
    """The files of the user, none of them opened."""
    read: ReadTranscript
    """Each session, followed by what happened in it if it is wanted. Raises `OSError`."""
    moved_by: str
    """The environment variable that moves the host's folder."""


READERS: dict[str, Reader] = {
    "claude-code": Reader(claude_code.transcripts, claude_code.read, claude_code.MOVED_BY),
    "codex": Reader(codex.transcripts, codex.read, codex.MOVED_BY),
    "gemini": Reader(gemini.transcripts, gemini.read, gemini.MOVED_BY),
    "copilot": Reader(copilot.transcripts, copilot.read, copilot.MOVED_BY),
    "opencode": Reader(opencode.transcripts, opencode.read, opencode.MOVED_BY),
}
