"""The files of a zip or tar archive, read in memory. Nothing is unpacked."""

import gzip
import io
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO

from metier.errors import UsageError
from metier.inspection.packing import Allowance, noted, too_many
from metier.values.inspection import MOST_FILES, FileSet, InspectedFile, Noted

LARGEST_ARCHIVE = 256 * 1024 * 1024
MOST_UNPACKED = 256 * 1024 * 1024
"""Bytes that are decompressed of a tar archive, read or not."""
LARGEST_DIRECTORY = 8 * 1024 * 1024
"""Bytes of the list of files in a zip archive, which is read as a whole."""
HIGHEST_RATIO = 100
"""Unpacked bytes for each packed one; texts have about 10."""
_LEAST_FOR_RATIO = 1024 * 1024
_ZIP, _GZIP = (b"PK\x03\x04", b"PK\x05\x06"), b"\x1f\x8b"
_TAR_MARK, _TAR_MARK_AT = b"ustar", 257
_ENDINGS = (
    *(".zip", ".tar", ".gz", ".tgz", ".bz2", ".tbz", ".tbz2", ".xz", ".txz", ".zst", ".tzst"),
    *(".7z", ".rar"),
)
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_BROKEN = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, ValueError),
    *(NotImplementedError, RuntimeError, OverflowError, IndexError, MemoryError),
)
"""What the libraries raise for archives that are damaged, encrypted or of an unknown kind."""
_EXECUTABLE = 0o111
_ENCRYPTED = 1
"""The flag of a file in a zip archive."""
_READ = "zip, tar and tar.gz archives are read"


def is_archive(file: str) -> bool:
    """Whether a file begins as a zip, tar or tar.gz archive.

    Raises `UsageError` for another file with the name of an archive.
    """
    with _opened(file) as content:
        start = content.read(_TAR_MARK_AT + len(_TAR_MARK))
    if start.startswith((*_ZIP, _GZIP)) or start[_TAR_MARK_AT:] == _TAR_MARK:
        return True
    if file.lower().endswith(_ENDINGS):
        raise UsageError("it is not a zip, tar or tar.gz archive", where=file, hint=_READ)
    return False


def _opened(file: str) -> IO[bytes]:
    descriptor = os.open(file, _OPEN)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(None, "it is not a regular file", file)
    return _InParts(io.FileIO(descriptor, "rb"))


def read_archive(file: str) -> FileSet:
    """The files of an archive. Raises `UsageError` if it is too large or not readable at all."""
    with _opened(file) as content:
        size = os.fstat(content.fileno()).st_size
        if size > LARGEST_ARCHIVE:
            limit = f"{LARGEST_ARCHIVE:,} bytes"
            raise UsageError(f"the archive has more than {limit}", where=file)
        start = content.read(4)
        content.seek(0)
        reading = _Reading(size)
        try:
            members = reading.zipped(content) if start in _ZIP else reading.tarred(content)
            for member in members:
                reading.add(member)
        except _FullError:
            pass
        except _BROKEN as error:
            if not reading.files:
                raise UsageError(
                    f"the archive cannot be read: {_why(error)}",
                    where=file,
                    hint=_READ,
                ) from None
            why = f"the archive ends or breaks here: {_why(error)}"
            reading.findings.append(noted("IN405", why))
    return FileSet(reading.files, reading.findings)


def _why(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


class _FullError(Exception):
    """A limit is reached, and there is a finding that says so."""


class _Reading:
    def __init__(self, size: int) -> None:
        self.files: list[InspectedFile] = []
        self.findings: list[Noted] = []
        self._packed = max(1, size)
        self._unpacked = 0
        self._allowance = Allowance()

    def add(self, member: InspectedFile) -> None:
        self.files.append(member)
        self._unpacked += member.size
        if len(self.files) >= MOST_FILES:
            self.findings.append(too_many(len(self.files)))
            raise _FullError
        is_large = self._unpacked > _LEAST_FOR_RATIO
        if is_large and self._unpacked > HIGHEST_RATIO * self._packed:
            ratio = self._unpacked // self._packed
            message = f"unpacks to {ratio:,} times its size or more; the rest was not read"
            self.findings.append(noted("IN403", message, member.path))
            raise _FullError

    def zipped(self, content: IO[bytes]) -> Iterator[InspectedFile]:
        with zipfile.ZipFile(content) as archive:
            for info in archive.infolist():
                if not info.filename.endswith("/"):
                    yield self._zip_member(archive, info)

    def _zip_member(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> InspectedFile:
        mode = info.external_attr >> 16
        name = info.orig_filename if "\0" in info.orig_filename else info.filename
        if info.flag_bits & _ENCRYPTED:
            hint = "decrypt it yourself, and inspect that"
            self.findings.append(noted("IN405", "it is encrypted: not read", name, hint=hint))
            return InspectedFile(name, 0)
        try:
            with archive.open(info) as member:
                content = member.read(self._allowance.take())
        except _BROKEN as error:
            self.findings.append(noted("IN405", f"it cannot be read: {_why(error)}", name))
            return InspectedFile(name, 0)
        self._allowance.spend(len(content))
        if stat.S_ISLNK(mode):
            return InspectedFile(name, 0, link=content.decode(errors="replace"))
        size = max(info.file_size, len(content))
        return InspectedFile(name, size, content, is_executable=bool(mode & _EXECUTABLE))

    def tarred(self, content: IO[bytes]) -> Iterator[InspectedFile]:
        is_packed = content.read(2) == _GZIP
        content.seek(0)
        inner: IO[bytes] = gzip.GzipFile(fileobj=content) if is_packed else content  # type: ignore[assignment]  # it reads as one
        limited = _Limited(inner)
        with tarfile.open(fileobj=limited, mode="r|") as archive:
            for info in archive:
                archive.members = []  # type: ignore[attr-defined]  # else every header is kept
                member = self._tar_member(archive, info)
                if member is not None:
                    yield member

    def _tar_member(self, archive: tarfile.TarFile, info: tarfile.TarInfo) -> InspectedFile | None:
        if info.isdir():
            return None
        if info.issym():
            return InspectedFile(info.name, 0, link=info.linkname)
        if info.islnk():  # named from the top of the archive
            top = "" if info.linkname.startswith("/") else "../" * info.name.count("/")
            return InspectedFile(info.name, 0, link=f"{top}{info.linkname}")
        if not info.isreg():
            message = "a device or pipe, which no package needs"
            self.findings.append(noted("IN402", message, info.name))
            return None
        file = archive.extractfile(info)
        content = file.read(self._allowance.take()) if file is not None else b""
        self._allowance.spend(len(content))
        is_executable = bool(info.mode & _EXECUTABLE)
        return InspectedFile(info.name, info.size, content, is_executable=is_executable)


class _InParts(io.BufferedReader):
    """A file of which nothing large is read at once."""

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > LARGEST_DIRECTORY:
            raise OSError(None, f"its list of files has more than {LARGEST_DIRECTORY:,} bytes")
        return super().read(size)


class _Limited(io.RawIOBase):
    """A stream that ends with an error after `MOST_UNPACKED` bytes."""

    def __init__(self, inner: IO[bytes]) -> None:
        self._inner = inner
        self._left = MOST_UNPACKED

    def read(self, size: int = -1) -> bytes:
        if size < 0 or size > self._left:
            size = self._left + 1
        content = self._inner.read(size)
        self._left -= len(content)
        if self._left < 0:
            raise OSError(None, f"it unpacks to more than {MOST_UNPACKED:,} bytes")
        return content
