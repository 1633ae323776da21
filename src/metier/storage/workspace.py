"""Find the workspace. Light: hooks load it for every prompt."""

import os

SETTINGS_FILE = "metier.toml"
MARKS = (".git", SETTINGS_FILE)
"""Names that make a folder a workspace."""
CATALOG_FILE = "metier.db"
RESTRICTED_FILE = "restricted.db"
"""The catalogs of a trusted and of an untrusted workspace."""
RUNS_FILE = "runs.db"
CATALOG_VERSION = 17
"""Migrations of a catalog that this version reads."""
TAUGHT_BY = "taught-by"
"""The setting of a catalog with the state of the examples that were learnt from last."""
ENCODED_BY = "encoded-by"
"""The setting of a catalog with the encoder of its vectors and the state of their examples."""
ENCODED_SCALE = "encoded-scale"
OLD_STATE_FOLDER = ".metier"
"""State of version 0.1, read only by `metier state adopt`."""


def find_workspace(start: str | None = None) -> str:
    """The nearest workspace at or above `start`, or `start` itself."""
    first = folder = os.path.realpath(start or os.getcwd())
    while not is_root(folder):
        parent = os.path.dirname(folder)
        if parent == folder:
            return first
        folder = parent
    return folder


def is_workspace(start: str | None = None) -> bool:
    """Whether `find_workspace` returns a workspace: a given folder always is a workspace."""
    return start is not None or is_root(find_workspace())


def is_root(folder: str) -> bool:
    return any(os.path.lexists(os.path.join(folder, mark)) for mark in MARKS)
