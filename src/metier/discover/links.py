"""Links in a workspace's skill folders that lead out of it: the user is shown them, and decides."""

import os
from collections.abc import Iterator

from metier.core.paths import is_inside
from metier.hosts.folders import PROJECT_FOLDERS

SKILL_FOLDERS = ("skills", *dict.fromkeys(folder for _, folder in PROJECT_FOLDERS))


def links_out(workspace: str) -> dict[str, str]:
    """Each link directly in a skill folder to a folder elsewhere → where it leads."""
    found = {}
    for folder in SKILL_FOLDERS:
        for link in _links_in(os.path.join(workspace, folder)):
            target = os.path.realpath(link)
            if os.path.isdir(target) and not is_inside(target, workspace):
                found[os.path.relpath(link, workspace)] = target
    return dict(sorted(found.items()))


def _links_in(folder: str) -> Iterator[str]:
    if os.path.islink(folder):
        return
    try:
        with os.scandir(folder) as entries:
            yield from (entry.path for entry in entries if entry.is_symlink())
    except OSError:
        return
