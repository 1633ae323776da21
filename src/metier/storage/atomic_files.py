"""Atomic writes of files outside the state folder: documents and host settings."""

import os
import re
import secrets
import stat
from contextlib import suppress


def write_atomically(path: str, content: bytes) -> None:
    """Replace a file atomically, and remove temporary files that a killed process left."""
    _remove_leftovers(path)
    temporary = f"{path}.metier-{os.getpid()}-{secrets.token_hex(8)}"
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileNotFoundError):
            os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename == temporary:
            error.filename, error.filename2 = path, None
        raise


def _remove_leftovers(path: str) -> None:
    folder, name = os.path.split(os.path.abspath(path))
    ours = re.compile(re.escape(name) + r"\.metier-([0-9]{1,10})-[0-9a-f]{16}")
    with suppress(OSError):
        for leftover in os.listdir(folder):
            match = ours.fullmatch(leftover)
            if match and not _is_running(int(match[1])):
                os.unlink(os.path.join(folder, leftover))


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
