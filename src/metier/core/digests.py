"""SHA-256 without OpenSSL, which `hashlib` loads: that takes a command 2 ms.

For many files `hashlib` is faster.
"""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        if sys.version_info >= (3, 12):
            from _sha2 import sha256
        else:
            from _sha256 import sha256
    except ImportError:
        from hashlib import sha256

__all__ = ["file_digest", "sha256"]

_MUCH = 512 * 1024
"""Bytes that take OpenSSL less time, the time to load it included."""


class _Files:
    """Digests of files, by OpenSSL as soon as there is much to read."""

    def __init__(self) -> None:
        self._read = 0

    def digest(self, raw: bytes) -> str:
        self._read += len(raw)
        if self._read < _MUCH:
            return sha256(raw).hexdigest()
        import hashlib

        return hashlib.sha256(raw).hexdigest()


file_digest = _Files().digest
"""The SHA-256 of what is in a file, in hexadecimal."""
