"""Where a workspace begins. Light: hooks load it for every prompt."""

import os

SETTINGS_FILE = "metier.toml"
MARKS = (".git", SETTINGS_FILE)
"""What a folder has that is the root of a workspace."""
CATALOG_FILE = "metier.db"
RESTRICTED_FILE = "restricted.db"
"""The catalogue of a workspace that is trusted, and of one that is not."""
CATALOG_VERSION = 9
"""How many migrations a catalogue has seen that this program reads."""
OLD_STATE_FOLDER = ".metier"
"""Where version 0.1 kept its state. Nothing is read from there but by `metier state adopt`."""


def find_workspace(start: str | None = None) -> str:
    """The workspace root: the first folder upwards that holds `.git` or `metier.toml`.

    Without one it is the explicit `start`. Else there is no workspace, as `is_workspace` says,
    and it is the current folder.
    """
    first = os.path.realpath(start or os.getcwd())
    folder = first
    while True:
        if is_root(folder):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return first
        folder = parent


def is_workspace(start: str | None = None) -> bool:
    """Whether `find_workspace` gives a workspace: what was named is one, the current folder not."""
    return start is not None or is_root(find_workspace())


def is_root(folder: str) -> bool:
    """Whether a folder is marked as the root of a workspace."""
    return any(os.path.lexists(os.path.join(folder, mark)) for mark in MARKS)
