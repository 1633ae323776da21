"""Skills that discovery leaves out and a host may load: they are locked and reviewed, never used.

Hosts differ in what they load: a file over our limits, a folder that is usually a cache, `Skill.md`
where upper and lower case are the same. So every folder with a `SKILL.md` counts here, in any case,
and every link that takes the place of a folder of skills.
"""

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from metier.core.paths import is_inside
from metier.discover.bundle import NOT_PART
from metier.discover.skill_folders import SKILL_FOLDERS, holds_skill
from metier.discover.walk import readable
from metier.values.files import NOT_ENTERED, SKILL_NAMES, Found, Root

LINK_ITSELF = "."
"""The name of the main file of a skill whose folder is a link."""
_MAIN = "skill.md"
_NEVER_ENTERED = ".git"
_VENV_MARK = "pyvenv.cfg"
_NAMES = frozenset(folder.rpartition("/")[2] for folder in SKILL_FOLDERS)
"""Of folders in which hosts look for skills."""


def left_out(roots: Iterable[Root], found: Sequence[Found]) -> list[Found]:
    """The skills below the workspace's roots that are not among `found`, or are excluded there."""
    walks = [
        _Walk(root, found)
        for root in sorted(roots, key=lambda root: root.rank)
        if root.kind == "skill" and root.origin != "user" and not root.only
    ]
    some = [one for walk in walks for one in walk.run()]
    visited = {folder for walk in walks for folder in walk.visited}
    some += [one for walk in walks for one in walk.linked(visited)]
    taken = {os.path.dirname(one.path) for one in found if not one.excluded}
    folders: set[str] = set()
    result = []
    for one in some:
        if one.folder in folders:
            continue
        folders.add(one.folder)
        result.append(_apart(one, taken))
    return result


def _apart(found: Found, taken: set[str]) -> Found:
    """A skill under a path of its own, even if two roots have equal paths."""
    folder, main = os.path.split(found.path)
    while folder in taken:
        folder = f"{folder} of {found.source}"
    taken.add(folder)
    return found._replace(path=os.path.join(folder, main))


class _Folder(NamedTuple):
    path: str
    is_below: bool = False
    """Whether it is, or is in, a skill or a folder in which hosts look for skills."""
    in_skill: bool = False
    """Whether its files are part of a skill, and its links too."""
    why: str = ""
    """Why discovery does not enter it."""


class _Walk:
    """The walk below one root. No link is followed."""

    def __init__(self, root: Root, found: Sequence[Found]) -> None:
        self._root = root
        self._known = {one.folder or os.path.dirname(one.file) for one in found if not one.excluded}
        self._paths = [path for one in found if not one.excluded for path in (one.path, *one.also)]
        self._details = {one.path: one.detail for one in found if one.excluded}
        self._links: list[str] = []
        self.visited: set[str] = set()

    def run(self) -> list[Found]:
        result: list[Found] = []
        stack = [_Folder(self._root.path, os.path.basename(self._root.path) in _NAMES)]
        while stack:
            folder = stack.pop()
            self.visited.add(folder.path)
            try:
                with os.scandir(folder.path) as listed:
                    entries = sorted(listed, key=lambda entry: entry.name)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                if folder.is_below:
                    why = f"its folder cannot be listed: {error.strerror}"
                    result.append(self._found(folder.path, LINK_ITSELF, why))
                continue
            if any(entry.name == _VENV_MARK for entry in entries):
                why = folder.why or f"metier does not search folders with a {_VENV_MARK}"
                folder = folder._replace(why=why)
            if mains := [entry.name for entry in entries if entry.name.casefold() == _MAIN]:
                folder = folder._replace(is_below=True, in_skill=True)
                if folder.path not in self._known:
                    result.append(self._found(folder.path, _first(mains), folder.why))
            stack += self._inside(folder, entries)
        return result

    def _inside(self, folder: _Folder, entries: Sequence["os.DirEntry[str]"]) -> list[_Folder]:
        """The folders to enter; links are noted."""
        inside = []
        for entry in entries:
            name, why = entry.name, folder.why
            is_below = folder.is_below or name.casefold() in _NAMES
            is_part = folder.in_skill and name not in NOT_PART
            if entry.is_symlink():
                if not is_part and _may_lead_to_skills(entry.path, is_below=is_below):
                    self._links.append(entry.path)
            elif entry.is_dir(follow_symlinks=False) and name != _NEVER_ENTERED:
                if name in NOT_ENTERED:
                    why = why or f"metier does not search folders called {name}"
                if name not in NOT_ENTERED or folder.is_below:
                    inside.append(_Folder(entry.path, is_below, is_part, why))
        return inside

    def linked(self, visited: set[str]) -> list[Found]:
        """The links whose targets were not walked; `visited` are the folders that were."""
        result = []
        for link in self._links:
            one = self._found(link, LINK_ITSELF)
            folder = one.path[: -len(LINK_ITSELF)]
            is_known = any(path.startswith(folder) for path in self._paths)
            if not is_known and os.path.realpath(link) not in visited:
                result.append(one)
        return result

    def _found(self, folder: str, main: str, why: str = "") -> Found:
        root = self._root
        inside = os.path.relpath(folder, root.path).replace(os.sep, "/")
        shown = "" if inside == "." else f"{inside}/"
        path = readable(f"{root.prefix}{shown}{main}")
        detail = self._details.get(path) or self._details.get(os.path.dirname(path)) or why
        if not detail and main not in SKILL_NAMES:
            detail = f"it is called {readable(main)}: where upper and lower case are the same, "
            detail += "hosts load it as SKILL.md"
        if main == LINK_ITSELF and os.path.islink(folder):
            detail = f"it is a link to {readable(os.readlink(folder))}"
        return Found(
            "skill", path, root.rank, 0, 0, "unreadable", os.path.join(folder, main), root.label, 0,
            "", detail or "metier does not find it", 0, root.origin, group=root.group,
            folder=folder,
        )  # fmt: skip


def _first(mains: Sequence[str]) -> str:
    return "SKILL.md" if "SKILL.md" in mains else mains[0]


def _may_lead_to_skills(link: str, *, is_below: bool) -> bool:
    """Whether a host may find skills behind a link."""
    if not os.path.isdir(link):
        return is_below and not os.path.exists(link)
    below = any(os.path.isdir(os.path.join(link, name)) for name in SKILL_FOLDERS)
    return is_below or below or holds_skill(link)


def why_hidden(path: str, roots: Iterable[Root]) -> str:
    """Why the skill in a folder was not found, though something is there; empty if nothing is.

    `path` is as the lock names it.
    """
    for root in roots:
        if root.kind != "skill" or root.origin == "user" or not f"{path}/".startswith(root.prefix):
            continue
        folder = os.path.normpath(os.path.join(root.path, path[len(root.prefix) :]))
        if not is_inside(folder, root.path):
            continue
        if os.path.islink(folder):
            return f"it is a link to {readable(os.readlink(folder))} now"
        try:
            names = os.listdir(folder)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError) as error:
            return f"its folder cannot be listed: {getattr(error, 'strerror', None) or error}"
        if any(name.casefold() == _MAIN for name in names):
            real = os.path.realpath(folder)
            where = "" if real == folder else f" by a link to {readable(real)}"
            return f"its SKILL.md is still there{where}, but metier does not find it there"
    return ""
