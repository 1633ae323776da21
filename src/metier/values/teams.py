"""Teams: folders of a workspace with a name, an owner and settings of their own."""

from collections.abc import Mapping
from typing import NamedTuple


class Team(NamedTuple):
    """The team of a folder; its skills are also called `team/name`."""

    name: str = ""
    folder: str = ""
    """POSIX, relative to the workspace."""
    owner: str = ""
    disabled: tuple[str, ...] = ()
    """Names or ids of its documents that are excluded."""


NO_TEAM = Team()


def team_of(path: str, by_folder: Mapping[str, Team]) -> Team:
    """The team of the innermost folder around a file."""
    while (slash := path.rfind("/")) > 0:
        path = path[:slash]
        if path in by_folder:
            return by_folder[path]
    return NO_TEAM
