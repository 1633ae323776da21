"""What the marks around handed-over text are made with: one secret a workspace. Light."""

import os

FILE = "secret"
_BYTES = 32
_PASSING = os.urandom(_BYTES)
"""For as long as this process lives."""


def workspace_secret(folder: str) -> bytes:
    """The secret in a state folder, made when first asked for; a passing one where none is kept."""
    if not folder:
        return _PASSING
    path = os.path.join(folder, FILE)
    try:
        with open(path, "rb") as file:
            secret = file.read(_BYTES)
        if len(secret) == _BYTES:
            return secret
    except OSError:
        pass
    return _made(path)


def _made(path: str) -> bytes:
    """A new secret, kept if it can be and if nobody was faster."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        return _PASSING
    try:
        os.write(descriptor, _PASSING)
    finally:
        os.close(descriptor)
    return _PASSING
