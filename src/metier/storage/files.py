"""Files of the user's that are replaced in one step: documents and settings of hosts."""

import os
import re
import secrets
import stat
from contextlib import suppress


def write_atomically(path: str, content: bytes) -> None:
    """Write the file at `path` in one step; a crash leaves the old or the new content.

    What a process that was killed has left beside it is removed.
    """
    _remove_left_over(path)
    temporary = f"{path}.metier-{os.getpid()}-{secrets.token_hex(8)}"
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


def _remove_left_over(path: str) -> None:
    """Remove temporary files for `path` whose process has ended."""
    folder, name = os.path.split(os.path.abspath(path))
    ours = re.compile(re.escape(name) + r"\.metier-([0-9]{1,10})-[0-9a-f]{16}")
    with suppress(OSError):
        for one in os.listdir(folder):
            match = ours.fullmatch(one)
            if match and not _is_running(int(match[1])):
                os.unlink(os.path.join(folder, one))


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
