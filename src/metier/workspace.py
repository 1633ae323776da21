"""Where a workspace begins, and where its state lies. Light: hooks load it for every prompt."""

import os

SETTINGS_FILE = "metier.toml"
STATE_FOLDER = ".metier"
CATALOG_FILE = "metier.db"
CATALOG_VERSION = 4
"""How many migrations a catalogue has seen that this program reads."""


def mark_of(folder: str) -> str:
    """Which folder of this machine it is: a copy or a clone of it has another mark."""
    return str(os.stat(folder).st_ino)


def find_workspace(start: str | None = None) -> str:
    """The workspace root: the first folder upwards that holds `.git` or `metier.toml`.

    Without one it is the explicit `start`, else the current folder.
    """
    first = os.path.realpath(start or os.getcwd())
    folder = first
    while True:
        if any(os.path.lexists(os.path.join(folder, mark)) for mark in (".git", SETTINGS_FILE)):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return first
        folder = parent
