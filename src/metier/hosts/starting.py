"""How a host is started once, in front of a recorder: program, arguments, settings."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Surroundings(NamedTuple):
    """What a host is started with."""

    url: str
    """Of the recorder."""
    workspace: str
    context: int
    settings: Mapping[str, Any]
    """The user's settings that matter for the listing."""
    users_home: str = ""
    """Where the user's own files are, to read."""


class Started(NamedTuple):
    """Files below the home, and variables."""

    files: Mapping[str, str]
    environ: Mapping[str, str]


class Start(NamedTuple):
    """How a host is started."""

    program: str
    """Looked for on the user's PATH."""
    arguments: tuple[str, ...]
    """The host answers the prompt after them, and ends."""
    configure: Callable[[Surroundings], Started]
    after: tuple[str, ...] = ()
    """Arguments after the prompt."""
    keeps: tuple[str, ...] = ()
    """The user's settings that change a listing; no other is copied."""
