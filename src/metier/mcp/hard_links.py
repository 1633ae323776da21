"""Hard links: whether all names of a file are in one tree.

Unlike a symlink, a hard link does not say where else the file is. The tree is walked only for
files with several names, and only as far as needed.
"""

import os
from collections import Counter, deque
from collections.abc import Callable, Iterable
from itertools import islice

from metier.core.paths import is_inside
from metier.values.files import NOT_ENTERED

MOST_ENTRIES = 100_000
"""Directory entries to read for one request."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class Owners:
    """The trees that files belong to; a folder outside `roots` is its own tree."""

    def __init__(self, roots: Callable[[], Iterable[str]] = tuple) -> None:
        self._roots = roots
        self._trees: dict[str, _Tree] = {}

    def hold(self, info: os.stat_result, folder: str) -> bool:
        """Whether all names of a file in `folder` are in the same tree."""
        if info.st_nlink <= 1:
            return True
        root = next((one for one in self._roots() if is_inside(folder, one)), folder)
        if root not in self._trees:
            self._trees[root] = _Tree(root)
        return self._trees[root].has_all_names(info, folder)


class _Tree:
    """Counts the names of each file in a tree, as far as it has been walked."""

    def __init__(self, root: str) -> None:
        self._ahead = deque([root])
        self._seen: set[tuple[int, int]] = set()
        self._names: Counter[tuple[int, int]] = Counter()
        self._left = MOST_ENTRIES

    def has_all_names(self, info: os.stat_result, near: str) -> bool:
        """Whether all names of a file are in the tree; searches the folder `near` first."""
        file = (info.st_dev, info.st_ino)
        self._ahead.append(near)
        while self._names[file] < info.st_nlink and self._ahead and self._left > 0:
            self._visit(self._ahead.pop())
        return self._names[file] >= info.st_nlink

    def _visit(self, folder: str) -> None:
        """Count the names in one folder, once; an unreadable folder has none."""
        try:
            descriptor = os.open(folder, _FOLDER)
        except OSError:
            return
        try:
            info = os.fstat(descriptor)
            if (info.st_dev, info.st_ino) not in self._seen:
                self._seen.add((info.st_dev, info.st_ino))
                self._count(descriptor, folder, info.st_dev)
        except OSError:
            return
        finally:
            os.close(descriptor)

    def _count(self, descriptor: int, folder: str, device: int) -> None:
        with os.scandir(descriptor) as entries:
            for entry in islice(entries, max(self._left, 0)):
                self._left -= 1
                if not entry.is_dir(follow_symlinks=False):
                    self._names[device, entry.inode()] += 1
                elif entry.name in NOT_ENTERED:
                    self._ahead.appendleft(os.path.join(folder, entry.name))  # searched last
                else:
                    self._ahead.append(os.path.join(folder, entry.name))
