"""The documents of a commit, written to a folder. The user's own files are not touched."""

import hashlib
import os
import posixpath
from collections.abc import Iterable

from metier.config import Config
from metier.config.owners import git_output
from metier.core.git_objects import FILES, LINK, TreeEntry, object_contents, tree_entries
from metier.core.paths import is_inside
from metier.discover.plugins import PLUGIN_FOLDER
from metier.errors import NotFoundError
from metier.flow.examples import CASE_FILES, CASES_FOLDER
from metier.storage.room import read_regular
from metier.storage.workspace import SETTINGS_FILE
from metier.values.files import LARGEST, SKILL_NAMES

_MOST_FILES = 100_000
_MOST_BYTES = 512 * 1024 * 1024
_SECONDS = 120
_LARGEST = max(LARGEST.values())
_LONGEST_LINK = 4_096
_SHA1_LENGTH = 40
_BESIDE = "/agents/openai.yaml"
"""A file beside skills that a host reads."""


def commit_of(workspace: str, ref: str) -> str:
    """The full id of a commit. Raises `NotFoundError`."""
    wanted = f"{ref}^{{commit}}"
    found = git_output(workspace, ["rev-parse", "--verify", "--quiet", "--end-of-options", wanted])
    commit = (found or b"").decode(errors="replace").strip()
    if not commit or ref.startswith("-"):
        raise NotFoundError(
            f"'{ref}' is neither a folder nor a commit here",
            where=workspace,
            hint="a folder such as ../main, or a commit such as HEAD~1 or main",
        )
    return commit


def is_changed(workspace: str, commit: str, files: Iterable[str]) -> bool | None:
    """Whether skills of a workspace differ from a commit; None if git does not say.

    `files` are the skills that are there now. Their content is compared here: `git status` would
    run the filters that the repository names.
    """
    listed = git_output(workspace, ["ls-tree", "-r", "-z", "-l", commit], seconds=_SECONDS)
    if listed is None:
        return None
    entries = {
        os.path.join(workspace, *one.path.split("/")): one
        for one in tree_entries(listed)
        if posixpath.basename(one.path) in SKILL_NAMES and one.mode in FILES
    }
    if any(not os.path.lexists(path) for path in entries):
        return True
    inside = (path for path in files if is_inside(path, workspace))
    return any(path not in entries or _differs(path, entries[path]) for path in inside)


def _differs(path: str, entry: TreeEntry) -> bool:
    try:
        content = read_regular(path, _LARGEST, links=False)
    except (OSError, ValueError):
        return True
    kind = "sha1" if len(entry.digest) == _SHA1_LENGTH else "sha256"
    for one in (content, content.replace(b"\r\n", b"\n")):
        made = hashlib.new(kind, b"blob %d\0" % len(one), usedforsecurity=False)
        made.update(one)
        if made.hexdigest() == entry.digest:
            return False
    return True


def write_documents(workspace: str, commit: str, folder: str, config: Config) -> int:
    """Write what a catalog reads of a commit; how many files. Raises `NotFoundError`."""
    arguments = ["ls-tree", "-r", "-z", "-l", commit]
    listed = git_output(workspace, arguments, seconds=_SECONDS)
    if listed is None:
        raise NotFoundError(f"git cannot list commit {commit[:12]}", where=workspace)
    wanted = [entry for entry in tree_entries(listed) if _is_wanted(entry, config)]
    if len(wanted) > _MOST_FILES or sum(entry.size for entry in wanted) > _MOST_BYTES:
        raise NotFoundError(f"commit {commit[:12]} has too many documents", where=workspace)
    ids = "".join(f"{entry.digest}\n" for entry in wanted).encode()
    content = git_output(workspace, ["cat-file", "--batch"], given=ids, seconds=_SECONDS)
    if content is None:
        raise NotFoundError(f"git cannot read commit {commit[:12]}", where=workspace)
    texts = zip(wanted, object_contents(content), strict=False)
    return sum(_write(folder, entry, text) for entry, text in texts if text is not None)


def _is_wanted(entry: TreeEntry, config: Config) -> bool:
    path = entry.path
    if any(part in ("", ".", "..", ".git") for part in path.split("/")):
        return False
    if entry.mode == LINK:
        return entry.size <= _LONGEST_LINK
    folders = {*config.abilities, *config.cards, *config.agents}
    parent, name = posixpath.split(path)
    return (
        entry.mode in FILES
        and entry.size <= _LARGEST
        and (
            name in SKILL_NAMES
            or name == SETTINGS_FILE
            or f"/{path}".endswith(_BESIDE)
            or posixpath.basename(parent) == PLUGIN_FOLDER
            or (parent == CASES_FOLDER and name.endswith(CASE_FILES))
            or parent in {folder.rstrip("/") for folder in folders}
        )
    )


def _write(folder: str, entry: TreeEntry, content: bytes) -> bool:
    target = os.path.join(folder, *entry.path.split("/"))
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.realpath(os.path.dirname(target)) != os.path.dirname(target):
            return False  # a link of the commit is in the way
        if entry.mode == LINK:
            os.symlink(_inner_link(entry, content), target)
        else:
            with open(target, "xb") as file:
                file.write(content)
    except (OSError, ValueError):
        return False
    return True


def _inner_link(entry: TreeEntry, content: bytes) -> str:
    """The target of a link that stays in the folder. Raises `ValueError` for any other."""
    target = content.decode()
    inside = posixpath.normpath(posixpath.join(posixpath.dirname(entry.path), target))
    if target.startswith("/") or "\0" in target or inside.split("/")[0] == "..":
        raise ValueError("the link leads out")
    return target
