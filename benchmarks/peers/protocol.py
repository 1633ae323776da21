"""What a peer can do, as functions that run inside the peer's own environment.

This module and those of the peers import the standard library only at their top: every peer has
its own Python, and metier is not installed in it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

Search = Callable[[str], list[str]]
"""The folder names of the skills that fit a task, best first."""
Act = Callable[[int], None]
"""What the step of that number does."""
DEPTH = 10
"""So many answers to a task."""


class Linted(NamedTuple):
    """What a linter looked at, and what it said."""

    skills: int
    findings: int


class Batch(NamedTuple):
    """Runs of steps that do nothing."""

    runs: int
    steps: int
    together: bool
    """All runs at a time; else each waits for the one before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Linter:
    """A command line that checks a folder of skills, and how to read its output."""

    command: Callable[[Path, Path], Sequence[str]]
    """From the folder with the peer's programs and the folder of skills."""
    read: Callable[[str, str], Linted]
    """From standard output and standard error."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Runs:
    """How a peer runs durable steps."""

    store: str
    """Where steps are recorded, and when they are safe."""
    execute: Callable[[Path, Batch], None]
    """Run a batch; state goes below the folder."""
    start: Callable[[Path, int, Act], None]
    """Run that many steps after each other."""
    resume: Callable[[Path, int, Act], None]
    """Complete, in a new process, the run of a process that was killed."""
    resumed_by: str
    """What has to be called for that."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Peer:
    """A tool; what it has no function for is not measured."""

    name: str
    packages: Sequence[str] = ()
    """What is installed, the version of the first is shown; nothing: it runs in metier's Python."""
    about: str
    strengths: Sequence[str] = ()
    """What it does better than metier, or metier does not do."""
    index: Callable[[Path, Path], int] | None = None
    """Index the folder of skills, keep state below the second folder; how many it holds."""
    keeps_index: bool = False
    """Whether a second process can use the index of the first."""
    search: Callable[[Path, Path], Search] | None = None
    """Open what `index` made of the same folders."""
    lint: Linter | None = None
    runs: Runs | None = None
