"""Which names and folders wrong names of skills become."""

import os
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from metier.core.names import is_capability_name, plugin_name, team_name
from metier.core.paths import is_inside
from metier.flow.entries import read_bytes, read_text
from metier.flow.host_switches import HostSwitches, NamedSkill
from metier.flow.repairing import NAME_CODES, Naming, moved
from metier.lint.skills import proper_name
from metier.values.documents import Skill
from metier.values.files import NOT_ENTERED, Found
from metier.values.outcomes import Issue

_STAY = frozenset({".git", ".claude-plugin", "metier.toml"})
"""What a folder holds that others refer to by its path."""

_NO_WORKSPACE = "folders are renamed only in a workspace"
_NOT_INSIDE = "its folder is not in the workspace"
OUTSIDE = (_NO_WORKSPACE, _NOT_INSIDE)
"""Reasons that are gone in a run with another workspace."""


class Chosen(NamedTuple):
    """What becomes of wrong names, by path."""

    names: dict[str, Naming]
    refused: dict[str, str]
    """Why a skill keeps its name and folder."""


class Surroundings(NamedTuple):
    """What else has names."""

    workspace: str
    """Symlinks resolved."""
    found: Sequence[Found]
    """All documents."""
    handles: Sequence[str]
    """The names of skills."""
    switches: HostSwitches
    moves: bool = True
    """Whether folders may be renamed."""


class Renaming:
    """Chooses names so that none is used twice, and folders so that none is overwritten."""

    def __init__(
        self, around: Surroundings, texts: Mapping[str, bytes] = MappingProxyType({})
    ) -> None:
        """`texts` has, by path, what a file holds once it is repaired."""
        self._around = around
        self._texts = texts
        self._holders = {handle: {handle} for handle in around.handles}
        self._claimed: set[str] = set()
        self._crowded = _above_others([os.path.dirname(one.file) for one in around.found])
        self._wrong: dict[str, Found] = {}
        """The skills to rename, by folder."""
        self._decided: dict[str, Naming | str] = {}
        """By path: the new name, or why the old one stays."""

    def choose(self, found: Sequence[Found], issues: Iterable[Issue]) -> Chosen:
        """The new names of skills with one of these findings."""
        wrong = {issue.path for issue in issues if issue.code in NAME_CODES}
        self._wrong = {_folder(one): one for one in found if one.path in wrong}
        for one in found:
            if one.path in wrong:
                self._decide(one)
        decided = self._decided.items()
        return Chosen(
            {path: naming for path, naming in decided if isinstance(naming, Naming)},
            {path: reason for path, reason in decided if isinstance(reason, str)},
        )

    def _decide(self, found: Found) -> Naming | str:
        if found.path not in self._decided:
            self._decided[found.path] = "its new folder exists"  # while folders swap names
            self._decided[found.path] = self._naming(found)
        return self._decided[found.path]

    def _naming(self, found: Found) -> Naming | str:
        try:
            raw = self._texts.get(found.path) or read_bytes(found)
        except OSError as error:
            return f"it cannot be read: {error.strerror}"
        skill = read_text(found, raw).document
        if not isinstance(skill, Skill):
            return "it cannot be read as a skill"
        name, folder = skill.own_name, skill.folder_name
        is_valid = is_capability_name(name)
        new = name if is_valid else proper_name(name, folder)
        naming = Naming("" if is_valid else new, "" if new == folder else new)
        if not new or naming == Naming():
            return "no valid name can be made from its name or its folder"
        reason = self._reason_to_stay(found, skill, naming)
        if reason:
            return reason
        if naming.folder:
            self._claimed.add(_folder(moved(found, naming.folder)))
        return naming

    def _reason_to_stay(self, found: Found, skill: Skill, naming: Naming) -> str:
        if naming.folder:
            reason = self._immovable(found) or self._taken(found, naming.folder)
            if reason:
                return reason
        after = moved(found, naming.folder)
        new_name = plugin_name(found.plugin, naming.name) if naming.name else skill.name
        host = self._around.switches.changed_by(
            NamedSkill(skill.name, found.path, found.file, found.plugin),
            NamedSkill(new_name, after.path, after.file, after.plugin),
        )
        if host:
            return f"the settings of {host} switch it by its name: metier enable it first"
        if naming.name and not self._can_take(found, skill.name, naming.name):
            return f"another skill is called '{naming.name}'"
        return ""

    def _can_take(self, found: Found, name: str, new: str) -> bool:
        """Whether no skill of another name has the new one; skills of one name share it."""
        team = found.team.name
        old = team_name(team, name)
        holders = self._holders.setdefault(team_name(team, plugin_name(found.plugin, new)), set())
        if not holders <= {old}:
            return False
        holders.add(old)
        return True

    def _immovable(self, found: Found) -> str:
        """Why a folder keeps its name, whatever the new one is; empty if it need not."""
        folder, workspace = _folder(found), self._around.workspace
        held = next((one for one in _STAY if os.path.lexists(os.path.join(folder, one))), "")
        reasons = {
            _NO_WORKSPACE: not self._around.moves,
            _NOT_INSIDE: not is_inside(folder, workspace),
            "its folder is the workspace": folder == workspace,
            "its folder is reached by a link": bool(found.also)
            or os.path.realpath(folder) != folder,
            "its folder holds other documents": folder in self._crowded,
            f"its folder holds {held}": bool(held),
        }
        return next((reason for reason, is_so in reasons.items() if is_so), "")

    def _taken(self, found: Found, new: str) -> str:
        """Why a folder cannot have that name; empty if it can."""
        if new in NOT_ENTERED:
            return f"folders called '{new}' are not looked through"
        folder, target = _folder(found), _folder(moved(found, new))
        is_taken = target in self._claimed or not (is_free(target, folder) or self._leaves(target))
        return f"the folder '{new}' exists" if is_taken else ""

    def _leaves(self, folder: str) -> bool:
        """Whether a folder gets another name itself."""
        found = self._wrong.get(folder)
        naming = self._decide(found) if found is not None else ""
        return isinstance(naming, Naming) and bool(naming.folder)


def _folder(found: Found) -> str:
    return os.path.dirname(found.file)


def is_free(target: str, folder: str) -> bool:
    """Whether nothing has that name, or only the folder itself in another case."""
    return not os.path.lexists(target) or os.path.samefile(target, folder)


def _above_others(folders: Sequence[str]) -> set[str]:
    """The folders that hold the files of two documents or more."""
    seen: set[str] = set()
    crowded: set[str] = set()
    for folder in folders:
        (crowded if folder in seen else seen).add(folder)
        above = os.path.dirname(folder)
        while above not in crowded and above != os.path.dirname(above):
            crowded.add(above)
            above = os.path.dirname(above)
    return crowded
