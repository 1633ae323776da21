"""The files of one skill: which there are, and their bytes. Nothing outside its folder.

A name that begins with a dot, or that no walk enters, is no part of a skill. A link counts when
it leads to a file of the same skill, a hard link when all names of the file are in the tree of
the skill's owner. A skill in the root of the workspace has only the folders that the format knows:
the rest of the workspace is not its own.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

from pydantic_core import to_json

from metier.core.paths import is_inside
from metier.errors import InvalidDocumentError, NotFoundError
from metier.mcp.links import Owners
from metier.mcp.uris import MAIN_FILE, address, skill_root, skill_uri, unknown
from metier.values.files import NOT_ENTERED, SKILL_NAMES
from metier.values.rows import Row

MOST_FILES = 512
MOST_BYTES = 16 * 1024 * 1024
"""Of all files of one skill: what every host takes (SEP-2640)."""
MOST_SENT = 8 * 1024 * 1024
"""Of one file in a message: some clients end the connection at 10 MiB."""
_LONGEST_ESCAPE = 6
_OF_THE_FORMAT = frozenset({"scripts", "references", "assets"})
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


class SkillFolder(NamedTuple):
    """Where the files of a skill lie."""

    row: Row
    folder: str
    main: str
    """The name of the file that the catalogue knows."""
    owners: Owners
    """Of those who ask, one for a request: a tree is then walked once."""

    @classmethod
    def of(cls, row: Row, owners: Owners | None = None) -> "SkillFolder":
        """Without `owners` the skill's folder is all that its owner has."""
        folder, main = os.path.split(row.file)
        return cls(row, folder, main, owners or Owners())

    def leads_out(self) -> bool:
        """Whether its `SKILL.md` is a hard link out of its owner's tree."""
        try:
            info = os.lstat(os.path.join(self.folder, self.main))
        except OSError:
            return False
        return not self.owners.hold(info, self.folder)

    def files(self) -> list[str]:
        """Every file, `SKILL.md` first.

        Raises `InvalidDocumentError` when they are too many, `NotFoundError` when `SKILL.md`
        leads out.
        """
        if self.leads_out():
            raise unknown(skill_uri(self.row))
        found = [MAIN_FILE]
        if self._has_more():
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
        if not all(map(_is_entered, way)) or (way[-1] in SKILL_NAMES and len(way) == 1):
            return False
        return "/" in self.row.path or way[0] in _OF_THE_FORMAT

    def place(self, way: Sequence[str]) -> str | None:
        """Where the file lies that a way leads to; None when it is not the skill's."""
        target = self._way_to(way)
        return None if target is None else os.path.join(self.folder, *target)

    def _way_to(self, way: Sequence[str]) -> list[str] | None:
        if list(way) == [MAIN_FILE]:
            return [self.main]
        is_own = self._has_more() and way and self._is_own(way)
        return self._target("/".join(way)) if is_own else None

    def _has_more(self) -> bool:
        """Whether it has files besides; where a link leads to, what lies there is not its own."""
        return self.main in SKILL_NAMES

    def _target(self, way: str) -> list[str] | None:
        """The way to the regular file that a name stands for; None when it is not the skill's."""
        path = os.path.join(self.folder, way)
        try:
            real = os.path.realpath(path, strict=True)
            info = os.stat(real)
        except OSError:
            return None
        if not stat.S_ISREG(info.st_mode) or not is_inside(real, self.folder):
            return None
        if not self.owners.hold(info, self.folder):
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
        target = self._way_to(way)
        nowhere = unknown(address([*skill_root(self.row), *way]))
        if target is None:
            raise nowhere
        where = f"{self.row.path.rpartition('/')[0] or '.'}/{'/'.join(way)}"
        try:
            with _opened(self.folder, target) as file:
                info = os.fstat(file.fileno())
                if not self.owners.hold(info, self.folder):
                    raise nowhere
                raw = file.read(MOST_SENT + 1)
        except OSError as error:
            raise NotFoundError(
                f"the file cannot be read: {error.strerror}", where=where, hint="metier refresh"
            ) from None
        if not _fits(raw):
            raise InvalidDocumentError(
                f"the file has {max(info.st_size, len(raw))} bytes, and encoded more than the"
                f" {MOST_SENT} of one answer",
                where=where,
                hint="open it in the workspace, or split it",
            )
        return raw


def _is_entered(name: str) -> bool:
    """Whether files and folders of that name are a part of skills."""
    is_name = name != "" and "/" not in name and name.isprintable()
    return is_name and not name.startswith(".") and name not in NOT_ENTERED


def _fits(raw: bytes) -> bool:
    """Whether a file can be sent in one message: as text where it is such, else as base64."""
    if len(raw) * _LONGEST_ESCAPE <= MOST_SENT:
        return True
    try:
        return len(to_json(raw.decode())) <= MOST_SENT
    except UnicodeDecodeError:
        return (len(raw) + 2) // 3 * 4 <= MOST_SENT


def _opened(folder: str, way: Sequence[str]) -> BinaryIO:
    """The regular file at the end of a way on which nothing is a link."""
    at = os.open(folder, _FOLDER)
    try:
        for name in way[:-1]:
            inner = os.open(name, _FOLDER, dir_fd=at)
            os.close(at)
            at = inner
        descriptor = os.open(way[-1], _FILE, dir_fd=at)
    finally:
        os.close(at)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(None, "it is no regular file")
    return os.fdopen(descriptor, "rb")


def _too_large(row: Row, why: str) -> InvalidDocumentError:
    return InvalidDocumentError(
        f"skill '{row.name}' is not served: {why}",
        where=row.path,
        hint="move what is not part of the skill out of its folder",
    )
