"""Who owns a workspace, and whether it is a worktree of a repository that is trusted."""

import os
from collections.abc import Iterable, Mapping

from metier.core.paths import is_inside
from metier.storage.room import read_regular
from metier.storage.workspace import SETTINGS_FILE

_LARGEST = 16 * 1024


def foreign_owner(
    workspace: str,
    safe: Iterable[str] = (),
    environ: Mapping[str, str] = os.environ,
) -> str:
    """The part of a workspace that belongs to another user of the system; empty if none does.

    Root may own it, and so may the user who became root with sudo. `safe` lists exceptions.
    """
    if any(is_inside(workspace, os.path.realpath(os.path.expanduser(one))) for one in safe):
        return ""
    known = {0, os.geteuid()}
    if os.geteuid() == 0 and environ.get("SUDO_UID", "").isdecimal():
        known.add(int(environ["SUDO_UID"]))
    for name in ("", ".git", SETTINGS_FILE, "pyproject.toml"):
        path = os.path.join(workspace, name) if name else workspace
        try:
            if os.lstat(path).st_uid not in known:
                return path
        except OSError:
            continue
    return ""


def main_worktree(workspace: str) -> str:
    """The workspace that this one is a git worktree of; empty when it is none.

    Both sides must say so: `.git` names a folder of the repository, and that names `.git`.
    """
    link = os.path.join(workspace, ".git")
    if not os.path.isfile(link) or os.path.islink(link):
        return ""
    try:
        told = _line(link).removeprefix("gitdir:").strip()
        git_dir = os.path.realpath(os.path.join(workspace, told))
        back = os.path.join(git_dir, _line(os.path.join(git_dir, "gitdir")))
        common = os.path.join(git_dir, _line(os.path.join(git_dir, "commondir")))
    except (OSError, ValueError):
        return ""
    common = os.path.realpath(common)
    is_mutual = os.path.realpath(back) == os.path.realpath(link)
    is_of_repository = os.path.dirname(git_dir) == os.path.join(common, "worktrees")
    if is_mutual and is_of_repository and os.path.basename(common) == ".git":
        return os.path.dirname(common)
    return ""


def _line(path: str) -> str:
    return read_regular(path, _LARGEST, links=False).decode().strip()
