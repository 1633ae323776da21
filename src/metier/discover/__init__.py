"""Stage 1: folders → the document files in them, in order, with the refused ones."""

from metier.discover.roots import (
    roots_for,
    roots_of_paths,
    roots_of_user,
    skill_root,
    source_root,
    unmatched_patterns,
)
from metier.discover.trail import Steps, is_unchanged
from metier.discover.walk import LARGEST, discover

__all__ = [
    "LARGEST",
    "Steps",
    "discover",
    "is_unchanged",
    "roots_for",
    "roots_of_paths",
    "roots_of_user",
    "skill_root",
    "source_root",
    "unmatched_patterns",
]
