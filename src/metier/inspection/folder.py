"""The files of a folder, or one file. Links are not followed."""

import os
import stat
from collections.abc import Iterator

from metier.inspection.packing import Allowance, noted, too_many
from metier.values.files import NOT_ENTERED
from metier.values.inspection import MOST_FILES, FileSet, InspectedFile, Noted

_SKIPPED = NOT_ENTERED - {"node_modules", "venv", ".venv", "virtualenv", "site-packages"}
"""Version control and caches. What a package brings along besides is part of it."""
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_EXECUTABLE = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH


def read_folder(folder: str) -> FileSet:
    """All files below a folder. What cannot be read is a finding."""
    return _Reader().read(folder)


def read_single(file: str) -> FileSet:
    """One file by itself."""
    reader = _Reader()
    reader.add(os.path.basename(file), os.path.realpath(file))
    return FileSet(reader.files, reader.findings)


class _Reader:
    def __init__(self) -> None:
        self.files: list[InspectedFile] = []
        self.findings: list[Noted] = []
        self._allowance = Allowance()

    def read(self, folder: str) -> FileSet:
        for name, path in self._listed(folder):
            if len(self.files) >= MOST_FILES:
                self.findings.append(too_many(len(self.files)))
                break
            self.add(name, path)
        return FileSet(self.files, self.findings)

    def _listed(self, top: str) -> Iterator[tuple[str, str]]:
        folders = [""]
        while folders:
            above = folders.pop()
            try:
                with os.scandir(os.path.join(top, above)) as entries:
                    inside = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                self._unreadable(above or ".", error)
                continue
            for entry in inside:
                if not entry.is_dir(follow_symlinks=False):
                    yield f"{above}{entry.name}", entry.path
                elif entry.name not in _SKIPPED:
                    folders.append(f"{above}{entry.name}/")

    def add(self, name: str, path: str) -> None:
        try:
            self.files.append(self._file(name, path))
        except OSError as error:
            self._unreadable(name, error)

    def _file(self, name: str, path: str) -> InspectedFile:
        if os.path.islink(path):
            return InspectedFile(name, 0, link=os.readlink(path))
        descriptor = os.open(path, _OPEN)
        with os.fdopen(descriptor, "rb") as file:
            info = os.fstat(descriptor)
            if not stat.S_ISREG(info.st_mode):
                raise OSError(None, "it is not a regular file")
            content = file.read(self._allowance.take())
        self._allowance.spend(len(content))
        is_executable = bool(info.st_mode & _EXECUTABLE)
        return InspectedFile(name, info.st_size, content, is_executable=is_executable)

    def _unreadable(self, name: str, error: OSError) -> None:
        why = error.strerror or str(error)
        self.findings.append(noted("IN405", f"it cannot be read: {why}", name))
