"""SHA-256 of short texts, without OpenSSL, which `hashlib` loads: that takes a command 2 ms.

For whole files `hashlib` is faster.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha2 import sha256  # since Python 3.12
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256

__all__ = ["sha256"]
