"""What a walk looked at; while it is unchanged, another walk finds the same."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from array import array

    from metier.values.listings import Trail

_FRESH_NS = 2_000_000_000
"""What changed this shortly before a walk may change again within one clock tick."""
_PART = 500
"""Paths per part: a change is found without a look at the parts behind it."""
_END = b"\0"
_SEARCH = getattr(os, "O_PATH", os.O_RDONLY)
"""Opens a folder to look up names in it; with `O_PATH` it need not be readable."""


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

    def trail(self, key: str, found: int, started: int) -> "Trail | None":
        """The trail of walks that began at `started`; None if it is not reliable."""
        if not self.is_certain:
            return None
        there: list[str] = []
        absent: list[str] = []
        for path in sorted(set(self.paths)):  # a folder before its files: both are read at once
            (there if os.path.exists(path) else absent).append(path)
        try:
            grouped = [_below_one(there[at : at + _PART]) for at in range(0, len(there), _PART)]
            times = [_times(folder, paths) for folder, paths in grouped]
            "".join((*there, *absent, *self.links, *self.links.values())).encode()
        except (OSError, OverflowError, UnicodeEncodeError):
            return None
        if max(map(max, times), default=0) >= started - _FRESH_NS:
            return None
        parts = [(*one, part.tobytes()) for one, part in zip(grouped, times, strict=True)]
        from metier.values.listings import Trail  # only what is kept has one

        return Trail(key, found, parts, absent, self.links)


def is_unchanged(trail: "Trail") -> bool:
    """Whether everything that the walks looked at is unchanged."""
    try:
        for folder, paths, times in trail.parts:
            if _times(folder, paths).tobytes() != times:
                return False
    except (OSError, OverflowError):
        return False
    return not any(map(os.path.exists, trail.absent)) and all(
        os.path.realpath(link) == target for link, target in trail.links.items()
    )


def _below_one(paths: Sequence[str]) -> tuple[str, bytes]:
    """The deepest folder around sorted paths, with its slash, and the paths in it, joined.

    Paths that share only the root are kept whole, in no folder.
    """
    ends = paths[0], paths[-1]
    shared = os.path.commonprefix(ends)  # noqa: RUF071  # as texts: all between have it too
    end = shared.rfind("/")
    folder = shared[: end + 1] if end > 0 else ""
    return folder, _END.join(os.fsencode(path[len(folder) :] or ".") for path in paths)


def _times(folder: str, paths: bytes) -> "array[int]":
    """When each path in a folder last changed in any way.

    A file that takes the place of another changes its folder, which is in the trail too. The folder
    is opened once: the system looks up short paths a third faster than whole ones.
    """
    from array import array  # only what is kept has times

    names = paths.split(_END)
    if not folder:
        return array("q", [os.stat(path).st_ctime_ns for path in names])
    opened = os.open(folder, _SEARCH)
    try:
        return array("q", [os.stat(path, dir_fd=opened).st_ctime_ns for path in names])
    finally:
        os.close(opened)
