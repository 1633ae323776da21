"""What a walk looked at; while it is unchanged, another walk finds the same."""

import os
from array import array
from collections.abc import Iterable
from operator import attrgetter

from metier.values.files import Trail

_FRESH_NS = 2_000_000_000
"""What changed this shortly before a walk may change again within one clock tick."""
_PART = 500
"""Paths per part: a change is found without a look at the parts behind it."""
_END = "\0"
_changed = attrgetter("st_ctime_ns")
"""A file that takes the place of another changes its folder, which is in the trail too."""


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
        for path in sorted(set(self.paths)):  # a folder before its files: both are read at once
            (there if os.path.exists(path) else absent).append(path)
        try:
            times = _times(map(os.fsencode, there))
            "".join((*there, *absent, *self.links, *self.links.values())).encode()
        except (OSError, OverflowError, UnicodeEncodeError):
            return None
        if max(times, default=0) >= started - _FRESH_NS:
            return None
        parts = [
            (_END.join(there[start : start + _PART]), times[start : start + _PART].tobytes())
            for start in range(0, len(there), _PART)
        ]
        return Trail(key, found, parts, absent, self.links)


def is_unchanged(trail: Trail) -> bool:
    """Whether everything that the walks looked at is unchanged."""
    try:
        if any(_times(_split(paths)).tobytes() != times for paths, times in trail.parts):
            return False
    except (OSError, OverflowError):
        return False
    return not any(map(os.path.exists, trail.absent)) and all(
        os.path.realpath(link) == target for link, target in trail.links.items()
    )


def _split(paths: str) -> list[bytes]:
    """The paths of a part, encoded at once: that is cheaper than a path at a time."""
    return os.fsencode(paths).split(_END.encode())


def _times(paths: Iterable[bytes]) -> "array[int]":
    return array("q", map(_changed, map(os.stat, paths)))
