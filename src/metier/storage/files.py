"""Files of the user's that are replaced in one step: documents and settings of hosts."""

import os
import secrets
import stat
from contextlib import suppress


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
