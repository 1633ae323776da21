"""What a walk looked at; while it is unchanged, another walk finds the same."""

import os
from array import array
from collections.abc import Iterable
from itertools import chain
from operator import attrgetter

from metier.values.files import Trail

_FRESH_NS = 2_000_000_000
"""What changed this shortly before a walk may change again within one clock tick."""
_AT_ONCE = 500
"""Paths per check."""
_stamp = attrgetter("st_ctime_ns", "st_ino")
"""The last change of any sort, and the file's identity."""
_STAMP_SIZE = 16


class Steps:
    """Collects what walks look at."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        """Folders listed, files found, and paths where something may appear."""
        self.links: dict[str, str] = {}
        self.is_certain = os.name == "posix"
        """Whether change times are reliable."""

    def follow(self, link: str) -> str:
        """The target of a link."""
        target = self.links[link] = os.path.realpath(link)
        self.paths.append(target)
        return target

    def look_below(self, folder: str) -> None:
        """Note the folders directly in a folder."""
        try:
            with os.scandir(folder) as entries:
                self.paths += [
                    entry.path for entry in entries if entry.is_dir(follow_symlinks=False)
                ]
        except OSError:
            self.is_certain = False

    def trail(self, key: str, found: int, started: int) -> Trail | None:
        """The trail of walks that began at `started`; None if it is not reliable."""
        if not self.is_certain:
            return None
        there: list[str] = []
        absent: list[str] = []
        for path in dict.fromkeys(self.paths):
            (there if os.path.exists(path) else absent).append(path)
        try:
            stamps = _stamps(there)
            trail = Trail(key, found, there, stamps.tobytes(), absent, self.links)
            "".join((*there, *absent, *self.links, *self.links.values())).encode()
        except (OSError, OverflowError, UnicodeEncodeError):
            return None
        return trail if max(stamps[::2], default=0) < started - _FRESH_NS else None


def is_unchanged(trail: Trail) -> bool:
    """Whether everything that the walks looked at is unchanged."""
    try:
        for start in range(0, len(trail.paths), _AT_ONCE):
            end = start + _AT_ONCE
            stamps = _stamps(trail.paths[start:end]).tobytes()
            if stamps != trail.stamps[start * _STAMP_SIZE : end * _STAMP_SIZE]:
                return False
    except (OSError, OverflowError):
        return False
    return not any(map(os.path.exists, trail.absent)) and all(
        os.path.realpath(link) == target for link, target in trail.links.items()
    )


def _stamps(paths: Iterable[str]) -> "array[int]":
    return array("q", chain.from_iterable(map(_stamp, map(os.stat, paths))))
