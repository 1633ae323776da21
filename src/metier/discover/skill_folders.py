"""Skill folders: which folders hold skills, and which links lead out of a workspace."""

import os
from contextlib import suppress

from metier.core.paths import is_inside
from metier.hosts.folders import PROJECT_FOLDERS
from metier.values.files import SKILL_NAMES

SKILL_FOLDERS = ("skills", *dict.fromkeys(folder for _, folder in PROJECT_FOLDERS))


def holds_skill(folder: str) -> bool:
    return any(os.path.lexists(os.path.join(folder, name)) for name in SKILL_NAMES)


def is_own_skill_folder(folder: str) -> bool:
    """Whether it belongs to the current user and holds a skill, or folders that hold skills."""
    try:
        if not hasattr(os, "getuid") or os.stat(folder).st_uid != os.getuid():
            return False
        with os.scandir(folder) as entries:
            return holds_skill(folder) or any(
                holds_skill(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        return False


def links_out(workspace: str) -> dict[str, str]:
    """Each link directly in a skill folder that leaves the workspace → its target."""
    found = {}
    for name in SKILL_FOLDERS:
        folder = os.path.join(workspace, name)
        if os.path.islink(folder):
            continue
        with suppress(OSError), os.scandir(folder) as entries:
            for link in entries:
                if not link.is_symlink():
                    continue
                target = os.path.realpath(link.path)
                if os.path.isdir(target) and not is_inside(target, workspace):
                    found[os.path.relpath(link.path, workspace)] = target
    return dict(sorted(found.items()))
