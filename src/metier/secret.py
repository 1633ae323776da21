"""What the marks around handed-over text are made with: one secret a workspace. Light."""

import os

try:
    from _blake2 import blake2b  # hashlib would load OpenSSL as well
except ImportError:
    from hashlib import blake2b

FILE = "secret"
_BYTES = 32
_PASSING = os.urandom(_BYTES)
"""For as long as this process lives, where none can be kept."""


def workspace_secret(folder: str) -> bytes:
    """The secret in a state folder, made when first asked for; a passing one where none is kept."""
    if not folder:
        return _PASSING
    path = os.path.join(folder, FILE)
    secret = _read(path)
    try:
        if len(secret) != _BYTES:
            _make(path)
            secret = _read(path)
        mark = str(os.stat(folder).st_ino)
    except OSError:
        return _PASSING
    return _of_here(secret, mark) if len(secret) == _BYTES else _PASSING


def passing_secret() -> bytes:
    """A secret for as long as this process lives."""
    return _PASSING


def _of_here(secret: bytes, mark: str) -> bytes:
    """A secret that came with a clone is known to others: the folder's own mark goes into it."""
    return blake2b(mark.encode(), key=secret, digest_size=_BYTES).digest()


def _read(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _BYTES)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _make(path: str) -> None:
    """Put a new secret where there is none, or one that makes no sense; who is last decides."""
    temporary = f"{path}.{os.getpid()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        os.write(descriptor, os.urandom(_BYTES))
    finally:
        os.close(descriptor)
    try:
        os.link(temporary, path)
        os.unlink(temporary)
    except OSError:  # something is there already: a secret that was faster, or none at all
        if len(_read(path)) == _BYTES:
            os.unlink(temporary)
        else:
            os.replace(temporary, path)
