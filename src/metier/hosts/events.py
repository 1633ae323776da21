"""What the transcripts of hosts say about skills, and what reads them."""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, Protocol

from metier.hosts.transcript_files import Transcript, UserFolders

By = Literal["model", "user", "read"]
"""The model chose the skill, the user typed its name, or its file was only read."""


class Session(NamedTuple):
    """A conversation; those of its sub-agents belong to it."""

    id: str
    folder: str
    """Where it was started; empty if the transcript does not say."""
    started: float
    """Seconds since 1970; 0 if the transcript does not say."""


class Fired(NamedTuple):
    """A skill was used once."""

    skill: str
    """Its name, as the host writes it; empty if only the file is known."""
    file: str
    """The path of its SKILL.md; empty if the host does not say."""
    at: float
    by: By
    call: str
    """Unique for this use: a transcript may repeat another."""


class Prompt(NamedTuple):
    """What the user typed. Kept in memory only."""

    text: str
    at: float
    id: str


class Compacted(NamedTuple):
    """The host replaced the conversation so far by a summary."""

    at: float


class Unparsed(NamedTuple):
    """How many lines could not be read."""

    lines: int


Event = Session | Fired | Prompt | Compacted | Unparsed
Wanted = Callable[[Session], bool]


class FindTranscripts(Protocol):
    def __call__(self, folders: UserFolders) -> Iterator[Transcript]: ...


class ReadTranscript(Protocol):
    def __call__(self, path: str, wanted: Wanted) -> Iterator[Event]: ...


class Reader(NamedTuple):
    """Finds and reads the transcripts of a host."""

    transcripts: FindTranscripts
    """The files of the user, none of them opened."""
    read: ReadTranscript
    """Each session, followed by what happened in it if it is wanted. Raises `OSError`."""
    moved_by: str
    """The environment variable that moves the host's folder."""
