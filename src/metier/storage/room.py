"""A folder of state, and the only way to its files. Light: hooks load it for every prompt.

No link is followed, nothing but regular files of this user is opened, no more is read than was
asked for, and only names that metier gives are deleted.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LARGEST = 16 * 1024 * 1024
"""Bytes of a state file that is read whole."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OURS = (
    ".db", ".db-wal", ".db-shm", ".db-journal", ".json", ".jsonl", ".log", ".state", ".lock",
    ".flag", ".resumed", ".md", ".trust", ".told", ".new",
)  # fmt: skip
"""The endings of the names that metier gives to files of state."""


class Room:
    """One folder below the home of all state. It need not exist until something is written."""

    def __init__(self, home: str, *parts: str) -> None:
        self._home = home
        self._parts = parts
        self.path = os.path.join(home, *parts)

    def below(self, name: str) -> Room:
        """A folder inside this one."""
        return Room(self._home, *self._parts, name)

    def file(self, name: str) -> str:
        """The path of a file, for messages and for SQLite, which opens by path."""
        return os.path.join(self.path, name)

    def exists(self) -> bool:
        try:
            os.close(self._opened())
        except OSError:
            return False
        return True

    def make(self) -> None:
        """Make the folder, and those above it, for this user alone."""
        try:
            os.makedirs(self._home, mode=0o700, exist_ok=True)
            folder = _own_folder(os.open(self._home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            for part in self._parts:
                _make_folder(part, folder)
                folder = _stepped(folder, part)
            os.close(folder)
        except OSError as error:
            raise _named(error, self.path) from None

    # Reading

    def names(self) -> list[str]:
        """What is in the folder; nothing when it does not exist."""
        try:
            folder = self._opened()
        except FileNotFoundError:
            return []
        try:
            return os.listdir(folder)
        finally:
            os.close(folder)

    def has(self, name: str) -> bool:
        """Whether anything has that name, be it a link or a folder."""
        try:
            folder = self._opened()
        except OSError:
            return False
        try:
            os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            return False
        finally:
            os.close(folder)
        return True

    def info(self, name: str) -> os.stat_result | None:
        """What the system knows of a regular file of this user; None for anything else."""
        try:
            return self._checked(name)
        except OSError:
            return None

    def read(self, name: str, largest: int = LARGEST) -> bytes:
        """All of a file. Raises `OSError`, also when it is larger than `largest`."""
        return _content(self.open(name, os.O_RDONLY), largest, self.file(name))

    def tail(self, name: str, most: int) -> tuple[bytes, bool]:
        """The end of a file, and whether that is all of it. Raises `OSError`."""
        descriptor = self.open(name, os.O_RDONLY)
        try:
            start = max(0, os.fstat(descriptor).st_size - most)
            return os.pread(descriptor, most, start), start == 0
        finally:
            os.close(descriptor)

    def open(self, name: str, how: int) -> int:
        """A descriptor of a regular file of this user. Raises `OSError` for anything else."""
        folder = self._opened()
        try:
            descriptor = os.open(name, how | _FILE, 0o600, dir_fd=folder)
        except OSError as error:
            raise _named(error, self.file(name)) from None
        finally:
            os.close(folder)
        return _own_file(descriptor, self.file(name))

    # Writing

    def write(self, name: str, content: bytes) -> None:
        """Replace a file in one step; a crash leaves the old or the new content."""
        folder = self._made()
        temporary = f"{name}.{os.getpid()}.{os.urandom(4).hex()}.new"
        try:
            how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE
            descriptor = os.open(temporary, how, 0o600, dir_fd=folder)
            try:
                _write_all(descriptor, content)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)
        except BaseException:
            _unlink(temporary, folder)
            raise
        finally:
            os.close(folder)

    def append(
        self, name: str, line: bytes, largest: int, older: str = "", *, mend: bool = False
    ) -> None:
        """Add a line in one write. A file that is too large becomes `older`, or is emptied.

        With `mend` a last line without its end is ended first; not for several writers at once.
        """
        os.close(self._made())
        descriptor = self.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            if os.fstat(descriptor).st_size > largest:
                self._make_room(name, older, largest)
                os.close(descriptor)
                descriptor = self.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            size = os.fstat(descriptor).st_size
            if mend and size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line
            if os.write(descriptor, line) < len(line):
                raise OSError(28, os.strerror(28), self.file(name))  # ENOSPC
        finally:
            os.close(descriptor)

    def _make_room(self, name: str, older: str, largest: int) -> None:
        """Put a file aside, or empty it; of several processes at once only one does."""
        lock = self.lock(f"{name}.lock")
        folder = self._opened()
        try:
            try:
                descriptor = self.open(name, os.O_RDWR)
            except FileNotFoundError:
                return  # another process was faster
            try:
                if os.fstat(descriptor).st_size <= largest:
                    return
                if older:
                    os.replace(name, older, src_dir_fd=folder, dst_dir_fd=folder)
                else:
                    os.ftruncate(descriptor, 0)
            finally:
                os.close(descriptor)
        finally:
            os.close(folder)
            os.close(lock)

    def remove(self, name: str) -> None:
        """Delete a file that metier made. Raises `OSError` for a name that it does not give."""
        if not name.endswith(_OURS) or "/" in name:
            raise OSError(None, "metier gives no file such a name", self.file(name))
        folder = self._opened()
        try:
            os.unlink(name, dir_fd=folder)
        finally:
            os.close(folder)

    def lock(self, name: str, *, wait: bool = True) -> int:
        """A descriptor that holds a lock until it is closed. Raises `BlockingIOError`."""
        import fcntl

        os.close(self._made())
        descriptor = self.open(name, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def vet(self, names: Iterable[str]) -> None:
        """Raise `OSError` when one of these files is there and is not this user's regular file."""
        for name in names:
            try:
                self._checked(name)
            except FileNotFoundError:
                continue

    def _checked(self, name: str) -> os.stat_result:
        """What the system knows of a regular file of this user, which is not opened for that.

        Closing a database again would end the locks that SQLite holds on it in this process.
        """
        folder = self._opened()
        try:
            info = os.stat(name, dir_fd=folder, follow_symlinks=False)
        finally:
            os.close(folder)
        _check_own_file(info, self.file(name))
        return info

    def _made(self) -> int:
        """A descriptor of the folder, which is made if it does not exist."""
        try:
            return self._opened()
        except FileNotFoundError:
            self.make()
            return self._opened()

    def _opened(self) -> int:
        """A descriptor of the folder. Raises `OSError`."""
        try:
            folder = _own_folder(os.open(self._home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            for part in self._parts:
                folder = _stepped(folder, part)
        except OSError as error:
            raise _named(error, self.path) from None
        return folder


def read_regular(path: str, largest: int, *, links: bool = True) -> bytes:
    """All of a regular file of at most `largest` bytes. Raises `OSError` for anything else."""
    how = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if links else os.O_NOFOLLOW)
    return _content(os.open(path, how), largest, path)


def _content(descriptor: int, largest: int, path: str) -> bytes:
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise OSError(None, "it is not a regular file", path)
        content = b""
        while len(content) <= largest and (more := os.read(descriptor, largest + 1 - len(content))):
            content += more
    finally:
        os.close(descriptor)
    if len(content) > largest:
        raise OSError(None, f"it has more than {largest} bytes", path)
    return content


def _make_folder(name: str, folder: int) -> None:
    """Make a folder inside another, unless it exists; that one is closed when it fails."""
    try:
        os.mkdir(name, 0o700, dir_fd=folder)
    except FileExistsError:
        return
    except OSError:
        os.close(folder)
        raise


def _stepped(folder: int, part: str) -> int:
    """A descriptor of `part` in `folder`, which is closed."""
    try:
        return _own_folder(os.open(part, _FOLDER, dir_fd=folder))
    finally:
        os.close(folder)


def _own_folder(descriptor: int) -> int:
    if os.fstat(descriptor).st_uid != os.geteuid():
        os.close(descriptor)
        raise OSError(None, "it belongs to another user")
    return descriptor


def _own_file(descriptor: int, path: str) -> int:
    try:
        _check_own_file(os.fstat(descriptor), path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _check_own_file(info: os.stat_result, path: str) -> None:
    if stat.S_ISLNK(info.st_mode):
        raise OSError(None, "a link or another file is in its place", path)
    if not stat.S_ISREG(info.st_mode):
        raise OSError(None, "it is not a regular file", path)
    if info.st_uid != os.geteuid():
        raise OSError(None, "it belongs to another user", path)


def _named(error: OSError, path: str) -> OSError:
    """The same error, with the path and words that people understand."""
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
