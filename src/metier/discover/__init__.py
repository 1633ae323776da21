"""Stage 1: folders → the document files in them, in order, with the excluded ones."""

from metier.discover.roots import (
    missing_folders,
    roots_for,
    roots_of_paths,
    roots_of_user,
    skill_root,
    source_root,
)
from metier.discover.trail import Steps, is_unchanged
from metier.discover.walk import discover
from metier.values.files import LARGEST

__all__ = [
    "LARGEST",
    "Steps",
    "discover",
    "is_unchanged",
    "missing_folders",
    "roots_for",
    "roots_of_paths",
    "roots_of_user",
    "skill_root",
    "source_root",
]
