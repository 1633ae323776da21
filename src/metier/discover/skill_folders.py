"""What makes a folder a skill's."""

import os

from metier.values.files import SKILL_NAMES


def holds_skill(folder: str) -> bool:
    return any(os.path.lexists(os.path.join(folder, name)) for name in SKILL_NAMES)


def is_own_skill_folder(folder: str) -> bool:
    """Whether it belongs to the current user and holds a skill, or folders that hold one."""
    try:
        if not hasattr(os, "getuid") or os.stat(folder).st_uid != os.getuid():
            return False
        with os.scandir(folder) as entries:
            return holds_skill(folder) or any(
                holds_skill(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        return False
