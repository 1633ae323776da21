"""Exact copies of repaired skills, which a run did not repair."""

import os
from collections.abc import Iterable, Mapping

from metier.hosts.folders import FOLDERS
from metier.storage.room import read_regular
from metier.values.files import LARGEST


def copies_left(before: Mapping[str, bytes], workspace: str, home: str) -> set[str]:
    """The files in skill folders of hosts that have the text that a repaired file had `before`.

    A copy in a folder of another name is not found.
    """
    repaired = {os.path.realpath(file) for file in before}
    return {
        copy
        for file, text in before.items()
        for above in _skill_folders(workspace, home)
        if _is_copy(copy := _beside(file, above), text, repaired)
    }


def _skill_folders(workspace: str, home: str) -> Iterable[str]:
    for one in FOLDERS:
        below_home = one.folder.startswith("~/")
        yield os.path.join(home if below_home else workspace, one.folder.removeprefix("~/"))


def _beside(file: str, above: str) -> str:
    folder, name = os.path.split(file)
    return os.path.join(above, os.path.basename(folder), name)


def _is_copy(file: str, text: bytes, repaired: set[str]) -> bool:
    if os.path.realpath(file) in repaired:
        return False
    try:
        return read_regular(file, LARGEST["skill"], links=False) == text
    except (OSError, ValueError):
        return False
