"""A folder of state files. Light: hooks load it for every prompt.

Links are not followed, only regular files of this user are opened, reads are bounded, and only
files with a name of metier's are deleted.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LARGEST = 16 * 1024 * 1024
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PART = 1 << 20
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OURS = (
    ".db", ".db-wal", ".db-shm", ".db-journal", ".json", ".jsonl", ".log", ".state", ".lock",
    ".flag", ".resumed", ".md", ".trust", ".told", ".new", ".html",
)  # fmt: skip


class _Descriptor:
    """Closes a file descriptor after a block; `contextlib` is too much for a hook."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __enter__(self) -> int:
        return self._descriptor

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


class Room:
    """A folder below the state folder, created by the first write."""

    def __init__(self, home: str, *parts: str) -> None:
        self._home = home
        self._parts = parts
        self.path = os.path.join(home, *parts)

    def below(self, name: str) -> Room:
        return Room(self._home, *self._parts, name)

    def file(self, name: str) -> str:
        return os.path.join(self.path, name)

    def exists(self) -> bool:
        try:
            os.close(self._opened())
        except OSError:
            return False
        return True

    def make(self) -> None:
        """Create the folder and its parents, for this user only."""
        try:
            _make_private(self._home)
            os.close(self._walk(create=True))
        except OSError as error:
            raise _named(error, self.path) from None

    # Reading

    def names(self) -> list[str]:
        try:
            with _Descriptor(self._opened()) as folder:
                return os.listdir(folder)
        except FileNotFoundError:
            return []

    def has(self, name: str) -> bool:
        """Whether the name exists, be it a link or a folder."""
        try:
            self._stat(name)
        except OSError:
            return False
        return True

    def info(self, name: str) -> os.stat_result | None:
        """The status of a regular file of this user; None for anything else."""
        try:
            return self._checked(name)
        except OSError:
            return None

    def read(self, name: str, largest: int = LARGEST) -> bytes:
        """A whole file. Raises `OSError`, also if it is larger than `largest`."""
        return _content(self.open(name, os.O_RDONLY), largest, self.file(name))

    def tail(self, name: str, most: int) -> tuple[bytes, bool]:
        """The end of a file, and whether that is all of it. Raises `OSError`."""
        with _Descriptor(self.open(name, os.O_RDONLY)) as file:
            start = max(0, os.fstat(file).st_size - most)
            return os.pread(file, most, start), start == 0

    def open(self, name: str, flags: int) -> int:
        """A descriptor of a regular file of this user. Raises `OSError` for anything else."""
        with _Descriptor(self._opened()) as folder:
            try:
                file = os.open(name, flags | _FILE, 0o600, dir_fd=folder)
            except OSError as error:
                raise _named(error, self.file(name)) from None
        try:
            _check_own_file(os.fstat(file), self.file(name))
        except OSError:
            os.close(file)
            raise
        return file

    # Writing

    def write(self, name: str, content: bytes) -> None:
        temporary = f"{name}.{os.getpid()}.{os.urandom(4).hex()}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE
        with _Descriptor(self._made()) as folder:
            try:
                with _Descriptor(os.open(temporary, flags, 0o600, dir_fd=folder)) as file:
                    _write_all(file, content)
                    os.fsync(file)
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
                os.fsync(folder)
            except BaseException:
                _unlink(temporary, folder)
                raise

    def append(
        self, name: str, line: bytes, largest: int, older: str = "", *, mend: bool = False
    ) -> None:
        """Append a line; a large file becomes `older`, or is emptied. `mend` ends an open line."""
        os.close(self._made())
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        file = self.open(name, flags)
        if os.fstat(file).st_size > largest:
            os.close(file)
            self._rotate(name, older, largest)
            file = self.open(name, flags)
        with _Descriptor(file):
            size = os.fstat(file).st_size
            if mend and size and os.pread(file, 1, size - 1) != b"\n":
                line = b"\n" + line
            if os.write(file, line) < len(line):
                raise OSError(28, os.strerror(28), self.file(name))  # ENOSPC

    def _rotate(self, name: str, older: str, largest: int) -> None:
        """Rename or empty a file that is too large; concurrent processes do it once."""
        with _Descriptor(self.lock(f"{name}.lock")), _Descriptor(self._opened()) as folder:
            try:
                file = self.open(name, os.O_RDWR)
            except FileNotFoundError:
                return  # another process was faster
            with _Descriptor(file):
                if os.fstat(file).st_size <= largest:
                    return
                if older:
                    os.replace(name, older, src_dir_fd=folder, dst_dir_fd=folder)
                else:
                    os.ftruncate(file, 0)

    def remove(self, name: str) -> None:
        """Delete a state file. Raises `OSError`, also for a name that is not metier's."""
        if not name.endswith(_OURS) or "/" in name:
            raise OSError(None, "not a file name of metier", self.file(name))
        with _Descriptor(self._opened()) as folder:
            os.unlink(name, dir_fd=folder)

    def rename(self, name: str, new: str) -> None:
        """Rename a state file, in place of one that has the new name. Raises `OSError`."""
        with _Descriptor(self._opened()) as folder:
            os.replace(name, new, src_dir_fd=folder, dst_dir_fd=folder)

    def lock(self, name: str, *, wait: bool = True) -> int:
        """A descriptor that holds a lock until it is closed. Raises `BlockingIOError`."""
        import fcntl

        os.close(self._made())
        file = self.open(name, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BaseException:
            os.close(file)
            raise
        return file

    def vet(self, names: Iterable[str]) -> None:
        """Raise `OSError` if one of these files exists and is not a regular file of this user."""
        for name in names:
            try:
                self._checked(name)
            except FileNotFoundError:
                continue

    def _stat(self, name: str) -> os.stat_result:
        with _Descriptor(self._opened()) as folder:
            return os.stat(name, dir_fd=folder, follow_symlinks=False)

    def _checked(self, name: str) -> os.stat_result:
        """Not opened: closing a database would release SQLite's locks."""
        info = self._stat(name)
        _check_own_file(info, self.file(name))
        return info

    def _made(self) -> int:
        """A descriptor of the folder, which is created if missing."""
        try:
            return self._opened()
        except FileNotFoundError:
            self.make()
            return self._opened()

    def _opened(self) -> int:
        try:
            return self._walk(create=False)
        except OSError as error:
            raise _named(error, self.path) from None

    def _walk(self, *, create: bool) -> int:
        """A descriptor of the folder, opened part by part."""
        folder = _own_folder(os.open(self._home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        for part in self._parts:
            with _Descriptor(folder):
                if create:
                    _make_folder(part, folder)
                folder = _own_folder(os.open(part, _FOLDER, dir_fd=folder))
        return folder


def read_regular(path: str, largest: int, *, links: bool = True) -> bytes:
    """A regular file of at most `largest` bytes. Raises `OSError` for anything else."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if links else os.O_NOFOLLOW)
    return _content(os.open(path, flags), largest, path)


def regular_digest(path: str, largest: int) -> str:
    """The sha256 of a regular file, read in parts. Raises `OSError` as `read_regular`."""
    from hashlib import sha256  # hooks compare times, not contents

    found, size = sha256(), 0
    with _Descriptor(file := os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)):
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(None, "it is not a regular file", path)
        while more := os.read(file, _PART):
            size += len(more)
            if size > largest:
                raise OSError(None, f"it has more than {largest} bytes", path)
            found.update(more)
    return found.hexdigest()


def _make_private(folder: str) -> None:
    """Create a folder and its parents for this user only; `os.makedirs` opens the parents."""
    above = os.path.dirname(folder)
    if above != folder and not os.path.isdir(above):
        _make_private(above)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise NotADirectoryError(20, os.strerror(20), folder) from None


def _content(file: int, largest: int, path: str) -> bytes:
    with _Descriptor(file):
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(None, "it is not a regular file", path)
        content = b""
        while len(content) <= largest and (more := os.read(file, largest + 1 - len(content))):
            content += more
    if len(content) > largest:
        raise OSError(None, f"it has more than {largest} bytes", path)
    return content


def _make_folder(name: str, parent: int) -> None:
    try:  # noqa: SIM105  # a hook does not load contextlib
        os.mkdir(name, 0o700, dir_fd=parent)
    except FileExistsError:
        pass


def _own_folder(descriptor: int) -> int:
    if os.fstat(descriptor).st_uid != os.geteuid():
        os.close(descriptor)
        raise OSError(None, "it belongs to another user")
    return descriptor


def _check_own_file(info: os.stat_result, path: str) -> None:
    if stat.S_ISLNK(info.st_mode):
        raise OSError(None, "a link or another file is in its place", path)
    if not stat.S_ISREG(info.st_mode):
        raise OSError(None, "it is not a regular file", path)
    if info.st_uid != os.geteuid():
        raise OSError(None, "it belongs to another user", path)


def _named(error: OSError, path: str) -> OSError:
    """The same error with the path and a readable message."""
    import errno

    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return OSError(error.errno, "a link or another file is in its place", path)
    return type(error)(error.errno, error.strerror or str(error), path)


def _write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def _unlink(name: str, folder: int) -> None:
    try:  # noqa: SIM105  # a hook does not load contextlib
        os.unlink(name, dir_fd=folder)
    except OSError:
        pass
