"""Which names and folders wrong names of skills become."""

import os
from collections.abc import Iterable, Mapping, Sequence

from metier.core.names import is_capability_name, plugin_name, team_name
from metier.core.paths import is_inside
from metier.flow.entries import read_bytes, read_text
from metier.flow.repairing import Naming, moved
from metier.lint.skills import proper_name
from metier.values.documents import Skill
from metier.values.files import NOT_ENTERED, Found
from metier.values.outcomes import Issue

NAME_CODES = frozenset({"SK301", "SK302", "SK303"})
_STAY = frozenset({".git", ".claude-plugin", "metier.toml"})
"""What a folder holds that others refer to by its path."""


class Renaming:
    """Chooses names so that none is used twice, and folders so that none is overwritten."""

    def __init__(
        self, workspace: str, found: Sequence[Found], handles: Iterable[str], *, moves: bool = True
    ) -> None:
        """`found` are all documents, `handles` the names of skills.

        Without `moves` all folders keep their names.
        """
        self._moves = moves
        self._workspace = os.path.realpath(workspace)
        self._holders = {handle: {handle} for handle in handles}
        self._claimed: set[str] = set()
        self._folders = [os.path.dirname(one.file) for one in found]
        self._crowded = _above_others(self._folders)

    def choose(self, found: Sequence[Found], issues: Iterable[Issue]) -> Mapping[str, Naming]:
        """The new names of skills with one of these findings, by path."""
        wrong = {issue.path for issue in issues if issue.code in NAME_CODES}
        chosen = ((one.path, self._naming(one)) for one in found if one.path in wrong)
        return {path: naming for path, naming in chosen if naming is not None}

    def _naming(self, found: Found) -> Naming | None:
        try:
            skill = read_text(found, read_bytes(found)).document
        except OSError:
            return None
        if not isinstance(skill, Skill):
            return None
        name, folder = skill.own_name, skill.folder_name
        is_valid = is_capability_name(name)
        new = name if is_valid else proper_name(name, folder)
        naming = Naming("" if is_valid else new, "" if new == folder else new)
        if not new or naming == Naming():
            return None
        if naming.folder and not self._can_move(found, naming.folder):
            return None
        if naming.name and not self._can_take(found, skill.name, naming.name):
            return None
        if naming.folder:
            self._claimed.add(_folder(moved(found, naming.folder)))
        return naming

    def _can_take(self, found: Found, name: str, new: str) -> bool:
        """Whether no skill of another name has the new one; skills of one name share it."""
        team = found.team.name
        old = team_name(team, name)
        holders = self._holders.setdefault(team_name(team, plugin_name(found.plugin, new)), set())
        if not holders <= {old}:
            return False
        holders.add(old)
        return True

    def _can_move(self, found: Found, new: str) -> bool:
        """Whether the skill's folder is its own, in the workspace, and the new one is free."""
        folder = _folder(found)
        target = _folder(moved(found, new))
        return (
            self._moves
            and is_inside(folder, self._workspace)
            and os.path.realpath(folder) == folder
            and folder not in (self._workspace, *self._crowded)
            and not found.also
            and new not in NOT_ENTERED
            and target not in self._claimed
            and not any(os.path.lexists(os.path.join(folder, name)) for name in _STAY)
            and _is_free(target, folder)
        )


def _folder(found: Found) -> str:
    return os.path.dirname(found.file)


def _is_free(target: str, folder: str) -> bool:
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
