"""The catalogs of workspaces that no longer exist."""

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from metier.storage.hook_files import SPEAK
from metier.storage.places import room_name, state_home
from metier.storage.room import Room
from metier.storage.workspace import CATALOG_FILE, RESTRICTED_FILE

_FOLDER = "workspaces"
_PATH = "workspace.state"
_LONGEST_PATH = 1 << 16
_FILES = (
    *(f"{name}{end}" for name in (CATALOG_FILE, RESTRICTED_FILE) for end in ("-wal", "-shm", "")),
    SPEAK,
)


def remember_workspace(room: Room, workspace: str) -> None:
    """Write down whose state a folder is; its name does not say it."""
    with suppress(OSError):
        if not room.has(_PATH):
            room.write(_PATH, os.fsencode(workspace))


class OldCatalog(NamedTuple):
    """The catalogs of a workspace that is gone; its runs and reports stay, it may have moved."""

    workspace: str
    room: Room
    files: list[str]
    bytes: int

    def remove(self) -> None:
        for name in self.files:
            with suppress(FileNotFoundError):
                self.room.remove(name)


def old_catalogs() -> Iterator[OldCatalog]:
    """Raises `OSError`."""
    home = state_home()
    for name in sorted(Room(home, _FOLDER).names()):
        room = Room(home, _FOLDER, name)
        try:
            workspace = os.fsdecode(room.read(_PATH, _LONGEST_PATH))
        except (OSError, ValueError):
            continue
        if room_name(workspace) == name and not os.path.lexists(workspace):
            found = {one: info.st_size for one in _FILES if (info := room.info(one)) is not None}
            if found:
                yield OldCatalog(workspace, room, list(found), sum(found.values()))
