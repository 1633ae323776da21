"""The files of one skill: their names and bytes, and nothing outside its folder.

Hidden files and folders that no walk enters are not part of a skill. A symlink counts if it leads
to a file of the same skill, a hard link if all names of the file are in the same tree. A skill in
the root of the workspace has only the folders that the skill format names.
"""

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO, NamedTuple

from pydantic_core import to_json

from metier.core.paths import is_inside
from metier.errors import InvalidDocumentError, NotFoundError
from metier.mcp.hard_links import Owners
from metier.mcp.uris import MAIN_FILE, skill_root, skill_uri, unknown, uri_of
from metier.values.files import NOT_ENTERED, SKILL_NAMES
from metier.values.rows import Row

MOST_FILES = 512
MOST_BYTES = 16 * 1024 * 1024
"""All files of one skill together: what every host accepts (SEP-2640)."""
MOST_SENT = 8 * 1024 * 1024
"""One file in a message: some clients disconnect at 10 MiB."""
_LONGEST_ESCAPE = 6
_OF_THE_FORMAT = frozenset({"scripts", "references", "assets"})
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


class SkillFolder(NamedTuple):
    row: Row
    folder: str
    main: str
    """The spelling of its `SKILL.md`."""
    owners: Owners
    """Shared by a request, so that each tree is walked once."""

    @classmethod
    def of(cls, row: Row, owners: Owners | None = None) -> "SkillFolder":
        """Without `owners` the skill's folder is its own tree."""
        folder, main = os.path.split(row.file)
        return cls(row, folder, main, owners or Owners())

    def leads_out(self) -> bool:
        """Whether its `SKILL.md` is a hard link to a file elsewhere."""
        try:
            info = os.lstat(os.path.join(self.folder, self.main))
        except OSError:
            return False
        return not self.owners.hold(info, self.folder)

    def files(self) -> list[str]:
        """Every file, `SKILL.md` first. Raises `InvalidDocumentError` or `NotFoundError`."""
        if self.leads_out():
            raise unknown(skill_uri(self.row))
        found = [MAIN_FILE]
        if self._has_more():
            for one in self._walk(self.folder, ""):
                found.append(one)
                if len(found) > MOST_FILES:
                    raise InvalidDocumentError(
                        f"skill '{self.row.name}' is not served: it has more than"
                        f" {MOST_FILES} files",
                        where=self.row.path,
                        hint="move other files out of its folder",
                    )
        return [found[0], *sorted(found[1:])]

    def _walk(self, folder: str, above: str) -> Iterator[str]:
        with os.scandir(folder) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
        for entry in inside:
            parts = above + entry.name
            if not self._is_own(parts.split("/")):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from self._walk(entry.path, f"{parts}/")
            elif self._target(parts) is not None:
                yield parts

    def _is_own(self, parts: Sequence[str]) -> bool:
        """Whether a relative path may name a file of the skill."""
        if not all(map(_is_entered, parts)) or (parts[-1] in SKILL_NAMES and len(parts) == 1):
            return False
        return "/" in self.row.path or parts[0] in _OF_THE_FORMAT

    def path(self, parts: Sequence[str]) -> str | None:
        """The path of a file; None if it is not the skill's."""
        target = self._resolve(parts)
        return None if target is None else os.path.join(self.folder, *target)

    def _resolve(self, parts: Sequence[str]) -> list[str] | None:
        if list(parts) == [MAIN_FILE]:
            return [self.main]
        is_own = self._has_more() and parts and self._is_own(parts)
        return self._target("/".join(parts)) if is_own else None

    def _has_more(self) -> bool:
        """Whether it has other files; a skill that is a link to a file has none."""
        return self.main in SKILL_NAMES

    def _target(self, parts: str) -> list[str] | None:
        """The resolved relative path of a regular file; None if it is not the skill's."""
        path = os.path.join(self.folder, parts)
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
        if target == parts.split("/"):
            return target
        is_linked_file = os.path.islink(path) and os.path.dirname(path) == os.path.realpath(
            os.path.dirname(path)
        )
        return target if is_linked_file and self._is_own(target) else None

    def read_reviewed(self, parts: Sequence[str], digests: Mapping[str, str]) -> bytes:
        """Read a file as `read`; with `digests` only if it is the file that they are of."""
        raw = self.read(parts)
        if not digests:
            return raw
        target = self._resolve(parts)
        names = ["/".join(target or ()), self.main if list(parts) == [MAIN_FILE] else ""]
        digest = hashlib.sha256(raw).hexdigest()
        if digest in [digests.get(name) for name in names]:
            return raw
        raise NotFoundError(
            "the file has changed since the last refresh", where=self.row.path, hint="metier diff"
        )

    def read(self, parts: Sequence[str]) -> bytes:
        """Read a file. Raises `NotFoundError`, or `InvalidDocumentError` if it is too large."""
        target = self._resolve(parts)
        nowhere = unknown(uri_of([*skill_root(self.row), *parts]))
        if target is None:
            raise nowhere
        where = f"{self.row.path.rpartition('/')[0] or '.'}/{'/'.join(parts)}"
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
                f"the file has {max(info.st_size, len(raw))} bytes; encoded, that is more than the"
                f" {MOST_SENT} bytes of one answer",
                where=where,
                hint="open it in the workspace, or split it",
            )
        return raw


def _is_entered(name: str) -> bool:
    is_name = name != "" and "/" not in name and name.isprintable()
    return is_name and not name.startswith(".") and name not in NOT_ENTERED


def _fits(raw: bytes) -> bool:
    """Whether a file fits into one message, as text or as base64."""
    if len(raw) * _LONGEST_ESCAPE <= MOST_SENT:
        return True
    try:
        return len(to_json(raw.decode())) <= MOST_SENT
    except UnicodeDecodeError:
        return (len(raw) + 2) // 3 * 4 <= MOST_SENT


def _opened(folder: str, parts: Sequence[str]) -> BinaryIO:
    """Open a regular file by a path without links."""
    at = os.open(folder, _FOLDER)
    try:
        for name in parts[:-1]:
            inner = os.open(name, _FOLDER, dir_fd=at)
            os.close(at)
            at = inner
        descriptor = os.open(parts[-1], _FILE, dir_fd=at)
    finally:
        os.close(at)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(None, "not a regular file")
    return os.fdopen(descriptor, "rb")
