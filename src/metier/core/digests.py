"""SHA-256 of short texts, without OpenSSL, which `hashlib` loads: that takes a command 2 ms.

For whole files `hashlib` is faster.
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

__all__ = ["sha256"]
