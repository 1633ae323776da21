"""The walk: roots → every document file below them, in order, and the excluded files.

Nothing is read. A file is excluded here if it is reached by a symlink that leaves its root, is not
a regular file, or is in a folder that cannot be listed. A link in a folder of the user's, or in a
trusted workspace, to another skill folder of the same user is followed: skills are often installed
that way.
"""

import os
import stat
from collections.abc import Iterable, Mapping
from itertools import chain
from operator import itemgetter

from metier.core.paths import is_inside, is_markdown, is_utf8, without_md
from metier.discover.plugins import PLUGIN_FOLDER, Plugins
from metier.discover.skill_folders import holds_skill, is_own_skill_folder
from metier.discover.trail import Steps
from metier.hosts.folders import PROJECT_HOSTS, USER_HOSTS
from metier.storage.workspace import MARKS, is_root
from metier.values.files import (
    LARGEST,
    NOT_ENTERED,
    SKILL_NAMES,
    UNTRUSTED_RANK,
    Found,
    Kind,
    Origin,
    Root,
    Team,
    team_of,
)
from metier.values.trust import NOTHING

_BY_CLAIM = sorted(SKILL_NAMES, key=lambda name: (name != "SKILL.md", name))
"""By precedence."""
SUFFIXES: dict[Kind, tuple[str, ...]] = {
    "ability": (),
    "card": (),
    "agent": (".yaml", ".yml", ".json"),
}
"""Besides `.md`."""
_VENV_MARK = "pyvenv.cfg"
_TELLING = frozenset({*SKILL_NAMES, *MARKS, _VENV_MARK, PLUGIN_FOLDER})
_OTHER_SEPARATOR = os.sep != "/"
NO_CARDS = frozenset({"README.md", "AGENTS.md", "SYSTEM_ARCHITECTURE.md"})
"""Files in card folders that are not cards."""


def discover(
    roots: Iterable[Root],
    *,
    ordered: bool = True,
    steps: Steps | None = None,
    teams: Mapping[str, Team] = NOTHING,
) -> list[Found]:
    """Every file below `roots`, by source order, then bytewise by path; each file once.

    Without `ordered` in any order. `steps` notes what was looked at. `teams` are by their folders,
    absolute.
    """
    steps = steps or Steps()
    walks = [_Walk(root, steps, teams) for root in sorted(roots, key=lambda root: root.rank)]
    lists = [found for walk in walks if (found := walk.run())]
    found = lists[0] if len(lists) == 1 else list(chain.from_iterable(lists))
    may_repeat = len(lists) > 1 or any(walk.met_links for walk in walks)
    if ordered or may_repeat:
        found.sort(key=_by_rank_and_path)
    return _once(found) if may_repeat else found


def _with_team(found: Found, root: Root, teams: Mapping[str, Team]) -> Found:
    """A file with the team whose folder it is in; the user's and other workspaces' have none."""
    if found.origin == "user" or found.origin != root.origin:
        return found
    inside = found.path[len(root.prefix) :]
    return found._replace(team=team_of(f"{root.path.rstrip('/')}/{inside}", teams))


_by_rank_and_path = itemgetter(2, 1)


def _once(found: list[Found]) -> list[Found]:
    """The first of several with the same path, or the same resolved file, of a kind."""
    seen: set[tuple[str, str]] = set()
    users = {(one.kind, one.path): one.file for one in found if one.source in USER_HOSTS}
    kept: dict[tuple[str, str], Found] = {}
    for one in found:
        path, file = (one.kind, one.path), (one.kind, one.file)
        if users.get(path, one.file) != one.file:
            continue  # a folder of the workspace is called like one of the user's
        if path in seen:
            continue
        seen.add(path)
        first = kept.get(file)
        kept[file] = first._replace(also=(*first.also, one.path)) if first else one
    return list(kept.values())


def is_document(kind: Kind, name: str) -> bool:
    """Whether a file in a folder of abilities, cards or agents is one, by its name."""
    if name.startswith("."):
        return False
    if is_markdown(name):
        return kind != "card" or f"{without_md(name)}.md" not in NO_CARDS
    return name.endswith(SUFFIXES[kind])


class _Walk:
    """The walk below one root."""

    def __init__(self, root: Root, steps: Steps, teams: Mapping[str, Team]) -> None:
        self._root = root
        self._teams = teams
        self._steps = steps
        self._kind = root.kind
        self._prefix = root.prefix
        self._origin: Origin = root.origin
        self._own_source = (root.label, root.rank)
        self._skip = len(root.path.rstrip("/")) + 1
        self._limit = LARGEST[root.kind]
        self._may_meet_hosts = root.label == "workspace" and root.kind == "skill"
        self._found: list[Found] = []
        self._linked_folders: list[str] = []
        self.met_links = False
        self._visited: list[str] = []
        self._bounds = [root.boundary]
        """Folders that links may lead to."""
        self._repeats: list[tuple[str, str]] = []
        """Links to folders that were walked already: target, and the link's path."""
        self._plugins = Plugins(root, steps)

    def run(self) -> list[Found]:
        found = self._found_files()
        if not self._teams:
            return found
        return [_with_team(one, self._root, self._teams) for one in found]

    def _found_files(self) -> list[Found]:
        if self._root.is_link:
            self._linked_folders.append(os.path.join(self._root.path, self._root.only))
        elif self._root.kind != "skill" or self._root.only:
            return self._folder()
        else:
            self._descend(self._root.path)
        while self._linked_folders:
            self._follow(sorted(self._linked_folders))
        self._steps.paths += self._visited
        found = self._plugins.named(self._without_other_spellings())
        return [self._with_links(one) for one in found] if self._repeats else found

    def _with_links(self, found: Found) -> Found:
        """A file with the paths that it has by way of links."""
        also = [
            link + found.file[len(target) :]
            for target, link in self._repeats
            if found.file.startswith(f"{target}/")
        ]
        return found._replace(also=tuple(also)) if also else found

    def _without_other_spellings(self) -> list[Found]:
        """Exclude `skill.md` and other spellings beside the file that counts."""
        others = [found for found in self._found if not found.path.endswith("SKILL.md")]
        paths = {found.path for found in self._found} if others else set()
        for found in others:
            folder, slash, name = found.path.rpartition("/")
            beside = [one for one in _BY_CLAIM if f"{folder}{slash}{one}" in paths]
            used = beside[0] if beside else ""
            if name in SKILL_NAMES and name != used:
                self._found.remove(found)
                shown = os.path.join(self._root.path, found.path[len(self._prefix) :])
                detail = f"{used} is in the same folder and is used"
                self._exclude(shown, "unreadable", "IO206", detail)
        return self._found

    def _folder(self) -> list[Found]:
        """The files directly in the root that have a suffix of its kind, or the wanted file."""
        self._steps.paths.append(self._root.path)
        if not os.path.isdir(self._root.path):
            return []
        if not is_inside(self._root.path, self._root.boundary):
            self._exclude_outside(self._root.path, self._root.path)
            return self._found
        if self._is_below_another_root(self._root.path):
            self._origin = "untrusted"
        try:
            with os.scandir(self._root.path) as entries:
                for entry in entries:
                    if self._is_wanted(entry.name):
                        self._meet(entry, entry.path)
        except OSError as error:
            self._steps.is_certain = False
            detail = f"cannot be listed: {error.strerror}"
            self._exclude(self._root.path, "unreadable", "IO201", detail)
        return self._found

    def _is_wanted(self, name: str) -> bool:
        if self._root.only:
            return name == self._root.only
        return is_document(self._root.kind, name)

    def _descend(self, top: str, shown_as: str | None = None) -> None:
        """Walk real folders below `top`; `shown_as` is the link through which it was reached."""
        stack: list[tuple[str, Origin]] = [(top, self._origin)]
        while stack:
            folder, self._origin = stack.pop()
            self._visited.append(folder)
            try:
                inside = self._look(os.scandir(folder), top, shown_as)
            except OSError as error:
                self._steps.is_certain &= isinstance(error, FileNotFoundError)
                is_mount = self._root.group == "mounts" and folder == self._root.path
                if is_mount and not os.path.isdir(folder):
                    continue  # a finding in the settings that name it
                self._exclude(folder, "unreadable", "IO201", f"cannot be listed: {error.strerror}")
            else:
                if inside:
                    stack += [(one, self._origin) for one in inside]
        self._origin = self._root.origin

    def _look(
        self, entries: "os._ScandirIterator[str]", top: str, shown_as: str | None
    ) -> list[str]:
        """Note what one folder holds; the folders in it that are to be entered."""
        folders: list[str] = []
        documents: list[os.DirEntry[str]] = []
        linked = len(self._linked_folders)
        is_marked = False
        for entry in entries:
            name = entry.name
            if name in _TELLING:
                if name == _VENV_MARK:
                    del self._linked_folders[linked:]
                    entries.close()
                    return []
                if name in MARKS:
                    is_marked = True
                elif name == PLUGIN_FOLDER:
                    if entry.is_dir(follow_symlinks=False):
                        folder = self._visited[-1]
                        shown = folder if shown_as is None else shown_as + folder[len(top) :]
                        self._plugins.meet(entry.path, shown)
                        folders.append(entry.path)
                else:
                    documents.append(entry)
            elif entry.is_dir(follow_symlinks=False):
                if name not in NOT_ENTERED:
                    folders.append(entry.path)
            elif entry.is_symlink() and name not in NOT_ENTERED:
                self._linked_folders.append(entry.path)
        if is_marked and self._root.origin == "workspace":
            is_foreign = self._visited[-1] != self._root.boundary
            self._origin = "untrusted" if is_foreign else self._origin
        for entry in documents:
            path = entry.path
            self._meet(entry, path if shown_as is None else shown_as + path[len(top) :])
        return folders

    def _is_below_another_root(self, folder: str) -> bool:
        """Whether a folder of the workspace is in another workspace: trust ends there."""
        while self._root.origin == "workspace" and is_inside(folder, self._root.boundary):
            self._steps.paths.append(folder)
            if folder == self._root.boundary:
                break
            if is_root(folder):
                return True
            folder = os.path.dirname(folder)
        return False

    def _follow(self, links: list[str]) -> None:
        """Enter symlinked folders that stay inside the boundary and were not walked yet.

        Links out of it are excluded: to folders where skills are, and any link in a skill.
        """
        self.met_links = True
        self._linked_folders = []
        visited = set(self._visited)
        for link in links:
            target = self._steps.follow(link)
            if not os.path.isdir(target):
                if not self._is_within_bounds(target) and self._is_in_skill(link):
                    self._exclude_outside(link, target)
            elif not self._may_enter(link, target):
                if self._is_among_skills(link):
                    self._exclude_outside(link, target)
            elif target not in visited:
                visited.add(target)
                if self._is_below_another_root(target):
                    self._origin = "untrusted"
                self._descend(target, shown_as=link)
            elif self._may_meet_hosts and is_utf8(link):
                self._repeats.append((target, self._located(link)[0]))

    def _is_among_skills(self, link: str) -> bool:
        """Whether skills are to be expected behind a link to a folder."""
        shown, inside = self._located(link)[0], os.path.relpath(link, self._root.boundary)
        return "skills" in f"{shown}/{inside}".split("/") or holds_skill(link)

    def _is_in_skill(self, link: str) -> bool:
        """Whether a link is in the folder of a skill, other than a whole repository."""
        folder = os.path.dirname(link)
        while is_inside(folder, self._root.boundary) and not is_root(folder):
            if holds_skill(folder):
                return True
            if folder == self._root.boundary:
                break
            folder = os.path.dirname(folder)
        return False

    def _may_enter(self, link: str, target: str) -> bool:
        """Whether a link stays within bounds, or the user made it for a folder of theirs.

        Such links are directly in a folder of the user's, or were trusted with their target.
        """
        if self._is_within_bounds(target):
            return True
        is_users = self._root.origin == "user" and os.path.dirname(link) == self._root.path
        if not is_users and self._root.links.get(link[self._skip :]) != target:
            return False
        if is_inside(self._root.path, target):
            return False
        self._steps.look_below(target)
        if not is_own_skill_folder(target):
            return False
        self._bounds.append(target)
        return True

    def _is_within_bounds(self, target: str) -> bool:
        return any(is_inside(target, bound) for bound in self._bounds)

    def _meet(self, entry: "os.DirEntry[str]", shown: str) -> None:
        """Note one file, or why it cannot be read."""
        try:
            if entry.is_symlink():
                self._meet_link(entry.path, shown)
            else:
                self._steps.paths.append(entry.path)
                self._note(entry.path, shown, entry.stat(follow_symlinks=False))
        except OSError as error:
            self._steps.is_certain = False
            self._exclude(shown, "unreadable", "IO201", f"cannot be read: {error.strerror}")

    def _meet_link(self, link: str, shown: str) -> None:
        self.met_links = True
        target = self._steps.follow(link)
        if _is_missing(target):
            detail = f"it is a link to {readable(target)}, which does not exist"
            self._exclude(shown, "unreadable", "IO201", detail)
        elif not self._is_within_bounds(target):
            self._exclude_outside(shown, target)
        elif is_utf8(target):
            self._note(target, shown, os.stat(target), os.path.dirname(link))
        else:
            self._exclude(shown, "unreadable", "IO205", "it leads to a name that is not UTF-8")

    def _note(self, file: str, shown: str, info: os.stat_result, folder: str = "") -> None:
        size = info.st_size
        if not stat.S_ISREG(info.st_mode):
            what = _FILE_TYPES.get(stat.S_IFMT(info.st_mode), "not a regular file")
            detail = f"{what} where a file should be"
            self._exclude(shown, "unreadable", "IO204", detail)
        elif size > self._limit:
            detail = f"the file has {size} bytes, the limit is {self._limit}"
            self._exclude(shown, "too-large", "IO203", detail, info)
        elif not shown.isascii() and not is_utf8(shown):
            self._exclude(shown, "unreadable", "IO205", "the file's name is not UTF-8", info)
        else:
            path = self._prefix + shown[self._skip :]
            source, rank = self._own_source
            if "/." in path or path[0] == "." or _OTHER_SEPARATOR:
                path, source, rank = self._located(shown)
            origin = self._origin
            found = Found(
                self._kind, path, rank if origin != "untrusted" else rank + UNTRUSTED_RANK,
                size, info.st_mtime_ns, "", file, source, info.st_ino, "", "",
                info.st_ctime_ns, origin, group=self._root.group, folder=folder,
            )  # fmt: skip
            self._found.append(found)

    def _exclude_outside(self, shown: str, target: str) -> None:
        detail = f"leads out of its root, to {readable(target)}"
        self._exclude(shown, "outside-root", "IO202", detail)

    def _exclude(
        self,
        shown: str,
        reason: str,
        code: str,
        detail: str,
        info: os.stat_result | None = None,
    ) -> None:
        path, source, rank = self._located(shown)
        rank += UNTRUSTED_RANK if self._origin == "untrusted" else 0
        size, mtime = (info.st_size, info.st_mtime_ns) if info is not None else (0, 0)
        self._found.append(
            Found(
                self._root.kind, readable(path), rank, size, mtime, reason,
                readable(shown), source, 0, code, detail, 0, self._origin,
                group=self._root.group,
            )
        )  # fmt: skip

    def _located(self, shown: str) -> tuple[str, str, int]:
        """Path, source and rank of a file; a host's folder in the workspace is that host's."""
        path = self._prefix + shown[self._skip :] or "."
        if _OTHER_SEPARATOR:
            path = path.replace(os.sep, "/")
        if self._may_meet_hosts and ("/." in path or path[0] == "."):
            for label, folder, rank in PROJECT_HOSTS:
                if folder in f"/{path}":
                    return path, label, rank
        return path, *self._own_source


def _is_missing(path: str) -> bool:
    """Whether there is certainly no such file."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def readable(path: str) -> str:
    return path.encode(errors="backslashreplace").decode()


_FILE_TYPES = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
