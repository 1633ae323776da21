"""Files that are replaced in one step, and by one process at a time."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

try:
    import fcntl
except ImportError:  # no such locks on this system
    fcntl = None  # type: ignore[assignment]  # as told above


def write_atomically(path: str, content: bytes) -> None:
    """Write the file at `path` in one step; a crash leaves the old or the new content."""
    temporary = f"{path}.metier-{secrets.token_hex(8)}"
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def make_state_folder(folder: str) -> None:
    """Make a folder for state: no part of a repository, and the secret in it least of all."""
    if not os.path.isdir(folder):
        os.makedirs(folder, exist_ok=True)
        write_atomically(os.path.join(folder, ".gitignore"), b"*\n")


LARGEST = 16 * 1024 * 1024


def read_state(path: str) -> str:
    """The text of a state file. Raises `OSError` for anything but a regular file of sensible size,
    and `UnicodeDecodeError`.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise OSError(None, "it is no regular file")
        if info.st_size > LARGEST:
            raise OSError(None, f"it has {info.st_size} bytes, at most {LARGEST} are read")
        return file.read().decode()


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Hold the lock file at `path`; other processes wait for it. It stays there, empty."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
