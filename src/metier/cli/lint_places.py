"""Where the documents are that `metier lint` checks."""

import os

from metier.cli.shown import shown_file
from metier.core.paths import is_inside
from metier.values.files import Reading


class Places:
    """Paths as they are shown, and as the settings mean them."""

    def __init__(self, workspace: str, *, named: bool) -> None:
        self._workspace = workspace
        self._named = named
        self._users: set[str] = set()
        self._files: dict[str, str] = {}

    def note(self, reading: Reading) -> None:
        """Remember the files, and which of them are the user's own and not the workspace's."""
        self._files = {found.path: found.file for found in reading.found}
        self._users = {found.path for found in reading.found if found.origin == "user"}

    def is_own(self, path: str) -> bool:
        """Whether a shown path is a document of the workspace."""
        return path not in self._users and not self.inside(path).startswith("../")

    def inside(self, path: str) -> str:
        """A shown path relative to the workspace."""
        if not self._named:
            return path
        return os.path.relpath(os.path.realpath(path), self._workspace).replace(os.sep, "/")

    def may_write(self, file: str) -> bool:
        return self._named or is_inside(file, self._workspace)

    def shown(self, path: str) -> str:
        """A path of a finding as it can be opened; what was named stays as it was written."""
        file = self._files.get(path) or os.path.join(self._workspace, path)
        if self._named or not path or not os.path.lexists(file):
            return path
        return shown_file(file, self._workspace)
