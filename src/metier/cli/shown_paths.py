"""Paths that commands show, and folders that ship with metier."""

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from metier.core.paths import is_inside
from metier.values.outcomes import Issue

if TYPE_CHECKING:  # slow to load
    from metier.catalog import Catalog
    from metier.values.rows import Row


def shown_file(file: str, workspace: str) -> str:
    """Relative to the current folder if near it, else absolute."""
    try:
        here = _resolved(os.getcwd())
    except OSError:  # it was removed
        return file
    near = workspace if is_inside(here, workspace) else here
    if not is_inside(file, near) and not is_inside(file, here):
        return file
    return os.path.relpath(file, here).replace(os.sep, "/")


@lru_cache(maxsize=1)
def _resolved(folder: str) -> str:
    return os.path.realpath(folder)


class ShownPaths:
    def __init__(self, catalog: "Catalog") -> None:
        self._workspace = catalog.workspace
        self._files: Mapping[str, str] = catalog.files()

    def __call__(self, path: str) -> str:
        if not path:
            return ""
        file = self._files.get(path) or os.path.join(self._workspace, path)
        return shown_file(file, self._workspace) if os.path.lexists(file) else path

    def issue(self, issue: Issue) -> dict[str, Any]:
        return issue._replace(path=self(issue.path)).to_json()


def which_and_why(catalog: "Catalog") -> str:
    """Which command says what is excluded: that of the workspace leaves the user's folders out."""
    from metier.values.rows import shadowed  # slow to load

    option = " --user" if catalog.excluded_of_user() else ""
    copies = (row for row in catalog.excluded_rows("skill") if row.shadowed_by)
    if any(shadowed(row).severity == "info" for row in copies):
        option += " --notes"
    return f"metier lint{option} says which and why"


def shipped_folder(packaged: str, in_checkout: str) -> str:
    """A folder of the installed package, or of the checkout; empty if there is none."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = os.path.join(package, packaged), os.path.join(package, "..", "..", in_checkout)
    return next((os.path.realpath(folder) for folder in folders if os.path.isdir(folder)), "")


def row_json(row: "Row") -> dict[str, Any]:
    return {**row.to_json(), "file": row.file}
