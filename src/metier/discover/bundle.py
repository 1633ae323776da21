"""The files of one skill: their stamps, their digests, and the texts among them.

Links are not followed: a link counts by its target, as in git. Folders of version control, caches
that running a script leaves behind, and folders with their own skill are not part of a skill.
"""

import os
import stat
from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

from metier.core.paths import is_utf8
from metier.storage.hook_files import link_stamp
from metier.values.files import SKILL_NAMES, Found
from metier.values.reviews import LINK

MOST_FILES = 5_000
MOST_FOLDERS = 2_000
MOST_BYTES = 256 * 1024 * 1024
"""All files of a skill together."""
LARGEST_TEXT = 256 * 1024
MOST_TEXT = 1024 * 1024
"""Bytes of text that are kept of one file, and of one skill."""
LOCK_FILE = "metier.lock"
NOT_PART = frozenset(
    {
        ".git", ".hg", ".svn", ".metier", ".dci", "__pycache__", ".pytest_cache", ".mypy_cache",
        ".ruff_cache", ".hypothesis", ".DS_Store", "Thumbs.db", LOCK_FILE,
    }
)  # fmt: skip
SCRIPTS = (
    ".sh", ".bash", ".zsh", ".fish", ".py", ".pyw", ".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx",
    ".jsx", ".rb", ".pl", ".pm", ".php", ".lua", ".ps1", ".psm1", ".bat", ".cmd", ".vbs", ".r",
    ".go", ".rs", ".java", ".jar", ".exe", ".dll", ".so", ".dylib", ".wasm", ".applescript",
    ".awk", ".tcl", ".swift", ".kts", ".groovy", ".nix", ".command",
)  # fmt: skip
"""Endings of programs; a file with another ending is one if it is executable or starts with #!."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PART = 1 << 20
_EXECUTABLE = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH


class Listed(NamedTuple):
    """What is in the folder of a skill, before any file is read."""

    folder: str
    files: tuple[str, ...]
    """Files and links, relative to the folder."""
    stamps: tuple[str, ...]
    """One for each file, link and folder: while they are the same, so are the contents."""
    problem: str = ""

    @property
    def paths(self) -> list[str]:
        """Absolute: every file, link and folder."""
        return [stamp.partition("\t")[2] for stamp in self.stamps]


class Bundle(NamedTuple):
    """The files of a skill as they were read."""

    files: dict[str, str]
    """Relative path → sha256, or `link:TARGET`."""
    scripts: tuple[str, ...]
    texts: dict[str, str]
    """The small texts among the files."""
    main: bytes
    """Its SKILL.md."""
    problem: str = ""
    """Why not everything was read; else empty."""


def list_skill(found: Found) -> Listed:
    """The files of a skill that was found; its SKILL.md may be a link to a file elsewhere."""
    listed = list_bundle(found.folder or os.path.dirname(found.file))
    if not found.folder:
        return listed
    return listed._replace(stamps=(*listed.stamps, link_stamp(found.file)))


def main_of(found: Found) -> str:
    """The name of its SKILL.md in its folder."""
    return found.path.rpartition("/")[2]


def list_bundle(folder: str) -> Listed:
    """The files in a skill's folder; what is wrong with them is its `problem`."""
    files: list[str] = []
    stamps: list[str] = [link_stamp(folder)]
    problem = ""
    folders = [""]
    while folders:
        above = folders.pop()
        try:
            with os.scandir(os.path.join(folder, above)) as entries:
                inside = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            problem = problem or f"{_shown(above)} cannot be listed: {error.strerror}"
            continue
        for entry in inside:
            name = f"{above}{entry.name}"
            if entry.name in NOT_PART:
                continue
            if entry.is_dir(follow_symlinks=False):
                if not _holds_skill(entry.path):
                    folders.append(f"{name}/")
                stamps.append(link_stamp(entry.path))
            else:
                problem = problem or _objection(entry, name)
                files.append(name)
                stamps.append(link_stamp(entry.path))
        if len(files) > MOST_FILES or len(stamps) > MOST_FILES + MOST_FOLDERS:
            return Listed(folder, (), (), f"it has more than {MOST_FILES:,} files")
    return Listed(folder, tuple(files), tuple(stamps), problem)


def _holds_skill(folder: str) -> bool:
    return any(os.path.lexists(os.path.join(folder, name)) for name in SKILL_NAMES)


def _objection(entry: "os.DirEntry[str]", name: str) -> str:
    """Why a file cannot be hashed, as far as its name and type say."""
    if not is_utf8(name):
        return f"the name {name!a} is not UTF-8"
    if "\n" in name or "\t" in name:
        return f"the name {name!a} has a line break or a tab"
    if entry.is_symlink() or entry.is_file(follow_symlinks=False):
        return ""
    return f"{_shown(name)} is not a regular file"


def read_bundle(listed: Listed, main: str, file: str = "") -> Bundle:
    """Read every file of a skill; `main` is its SKILL.md, `file` what that is a link to."""
    if listed.problem:
        return Bundle({}, (), {}, b"", listed.problem)
    reading = _Reading(listed, main, file)
    try:
        for name in listed.files:
            reading.add(name)
    except _UnreadableError as error:
        return Bundle({}, (), {}, b"", str(error))
    return reading.bundle()


class _UnreadableError(Exception):
    """Not all of a skill can be read."""


class _Reading:
    def __init__(self, listed: Listed, main: str, file: str) -> None:
        self._folder = listed.folder
        self._main = main
        self._file = file
        self._files: dict[str, str] = {}
        self._scripts: list[str] = []
        self._texts: dict[str, str] = {}
        self._main_bytes = b""
        self._size = self._kept = 0

    def bundle(self) -> Bundle:
        return Bundle(self._files, tuple(self._scripts), self._texts, self._main_bytes)

    def add(self, name: str) -> None:
        *folders, last = name.split("/")
        folder = -1
        try:
            folder = _opened_folder(self._folder, folders)
            info = os.stat(last, dir_fd=folder, follow_symlinks=False)
            if name == self._main and self._file:
                self._read(name, os.open(self._file, _FILE))
            elif stat.S_ISLNK(info.st_mode):
                target = os.readlink(last, dir_fd=folder)
                self._files[name] = LINK + target.encode(errors="backslashreplace").decode()
            else:
                self._read(name, os.open(last, _FILE, dir_fd=folder))
        except OSError as error:
            raise _UnreadableError(f"{_shown(name)} cannot be read: {error.strerror}") from None
        finally:
            if folder >= 0:
                os.close(folder)

    def _read(self, name: str, file: int) -> None:
        try:
            info = os.fstat(file)
            if not stat.S_ISREG(info.st_mode):
                raise OSError(None, "it is not a regular file")
            digest, start = sha256(), b""
            for part in self._parts(file):
                digest.update(part)
                if len(start) <= LARGEST_TEXT or name == self._main:
                    start += part
        finally:
            os.close(file)
        self._files[name] = digest.hexdigest()
        is_program = info.st_mode & _EXECUTABLE or start.startswith(b"#!")
        if is_program or name.lower().endswith(SCRIPTS):
            self._scripts.append(name)
        if name == self._main:
            self._main_bytes = start
        self._keep(name, start)

    def _parts(self, file: int) -> Iterator[bytes]:
        while part := os.read(file, _PART):
            self._size += len(part)
            if self._size > MOST_BYTES:
                raise _UnreadableError(f"its files have more than {MOST_BYTES:,} bytes")
            yield part

    def _keep(self, name: str, content: bytes) -> None:
        if len(content) > LARGEST_TEXT or self._kept + len(content) > MOST_TEXT:
            return
        text = text_of(content)
        if text is not None:
            self._kept += len(content)
            self._texts[name] = text


def text_of(content: bytes) -> str | None:
    """The text of a file; None if it is none."""
    if b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _opened_folder(top: str, parts: list[str]) -> int:
    """A descriptor of a folder, opened part by part, so that no link is followed."""
    folder = os.open(top, _FOLDER)
    for part in parts:
        try:
            inner = os.open(part, _FOLDER, dir_fd=folder)
        finally:
            os.close(folder)
        folder = inner
    return folder


def _shown(name: str) -> str:
    return ascii(name)[1:-1] if not name.isprintable() else name or "its folder"
