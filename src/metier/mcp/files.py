"""The files of one skill: which there are, and their bytes. Nothing outside its folder.

A name that begins with a dot, or that no walk enters, is no part of a skill. A link counts when
it leads to a file of the same skill. A skill in the root of the workspace has only the folders
that the format knows: the rest of the workspace is not its own.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from metier.core.paths import is_inside, is_utf8
from metier.discover.walk import NOT_ENTERED, SKILL_NAMES
from metier.errors import InvalidDocumentError, NotFoundError
from metier.mcp.uris import MAIN_FILE, skill_uri, unknown
from metier.values.rows import Row

MOST_FILES = 512
MOST_BYTES = 16 * 1024 * 1024
"""Of all files of one skill: what every host takes (SEP-2640)."""
_OF_THE_FORMAT = frozenset({"scripts", "references", "assets"})
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


class SkillFolder(NamedTuple):
    """Where the files of a skill lie."""

    row: Row
    folder: str
    main: str
    """The name of the file that the catalogue knows."""

    @classmethod
    def of(cls, row: Row) -> "SkillFolder":
        folder, main = os.path.split(row.file)
        return cls(row, folder, main)

    def files(self) -> list[str]:
        """Every file, `SKILL.md` first. Raises `InvalidDocumentError` when they are too many."""
        found = [MAIN_FILE]
        if self.main in SKILL_NAMES:  # else a link leads elsewhere: what lies there is not its own
            for one in self._walk(self.folder, ""):
                found.append(one)
                if len(found) > MOST_FILES:
                    raise _too_large(self.row, f"it has more than {MOST_FILES} files")
        return [found[0], *sorted(found[1:])]

    def _walk(self, folder: str, above: str) -> Iterator[str]:
        with os.scandir(folder) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
        for entry in inside:
            way = above + entry.name
            if not self._is_own(way.split("/")):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from self._walk(entry.path, f"{way}/")
            elif self._target(way) is not None:
                yield way

    def _is_own(self, way: Sequence[str]) -> bool:
        """Whether a way through folders may lead to a file of the skill."""
        if any(one.startswith(".") or one in NOT_ENTERED or not is_utf8(one) for one in way):
            return False
        if not all(one.isprintable() for one in way) or (way[-1] in SKILL_NAMES and len(way) == 1):
            return False
        return "/" in self.row.path or way[0] in _OF_THE_FORMAT

    def _target(self, way: str) -> list[str] | None:
        """The way to the regular file that a name stands for; None when it is not the skill's."""
        path = os.path.join(self.folder, way)
        try:
            real = os.path.realpath(path, strict=True)
            is_file = stat.S_ISREG(os.stat(real).st_mode)
        except OSError:
            return None
        if not is_file or not is_inside(real, self.folder):
            return None
        target = os.path.relpath(real, self.folder).split(os.sep)
        if target == way.split("/"):
            return target
        is_linked_file = os.path.islink(path) and os.path.dirname(path) == os.path.realpath(
            os.path.dirname(path)
        )
        return target if is_linked_file and self._is_own(target) else None

    def read(self, way: Sequence[str]) -> bytes:
        """The bytes of one file. Raises `NotFoundError`, or `InvalidDocumentError` by its size."""
        if list(way) == [MAIN_FILE]:
            target: list[str] | None = [self.main]
        else:
            target = self._target("/".join(way)) if way and self._is_own(way) else None
        if target is None:
            raise unknown(skill_uri(self.row, "/".join(way)))
        try:
            raw = _read(self.folder, target)
        except OSError as error:
            raise NotFoundError(
                f"the file cannot be read: {error.strerror}",
                where=f"{self.row.path.rpartition('/')[0] or '.'}/{'/'.join(way)}",
                hint="metier refresh",
            ) from None
        if len(raw) > MOST_BYTES:
            raise _too_large(self.row, f"a file has more than {MOST_BYTES} bytes")
        return raw


def _read(folder: str, way: Sequence[str]) -> bytes:
    """The bytes at the end of a way on which nothing is a link, up to one more than allowed."""
    at = os.open(folder, _FOLDER)
    try:
        for name in way[:-1]:
            inner = os.open(name, _FOLDER, dir_fd=at)
            os.close(at)
            at = inner
        descriptor = os.open(way[-1], _FILE, dir_fd=at)
    finally:
        os.close(at)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(None, "it is no regular file")
        return file.read(MOST_BYTES + 1)


def _too_large(row: Row, why: str) -> InvalidDocumentError:
    return InvalidDocumentError(
        f"skill '{row.name}' is not served: {why}",
        where=row.path,
        hint="move what is not part of the skill out of its folder",
    )
