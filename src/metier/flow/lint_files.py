"""Which files to lint: changed in git, or named by a list; and how many of the user's are not."""

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from metier.config import ALIAS_FILE, Config
from metier.config.owners import filters_off, git_output, git_refusal, has_plain_git, head_commit
from metier.core.paths import is_inside
from metier.discover.roots import kind_folders
from metier.discover.walk import is_document
from metier.errors import StoreError, UsageError
from metier.lint.tiers import AGENTS_FILE
from metier.storage.places import state_room
from metier.storage.workspace import CATALOG_FILE, RESTRICTED_FILE
from metier.values.files import NOT_ENTERED, SKILL_NAMES, Kind

if TYPE_CHECKING:
    from metier.flow.boundary import Boundary

LAST_COMMIT = "HEAD"
MOST_LISTED = 64 * 1024 * 1024
"""The most bytes of a list of paths."""
_SECONDS = 60
_STATUS = (
    *("-c", "safe.bareRepository=explicit"),
    *("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"),
    "--ignore-submodules=all",
)
_BEFORE_PATH = len("XY ")
"""Before each path of a status: how the file differs."""
_DIFFERENCES = (
    *("diff-index", "--name-only", "-z", "--no-renames", "--relative"),
    *("--ignore-submodules=all", "--merge-base"),
)
_UNTRACKED = ("--others", "--exclude-standard")


def changed_files(workspace: str, ref: str) -> list[str]:
    """Files that differ from the commit at which `ref` and the current commit meet; absolute.

    With uncommitted, untracked and removed files. Raises `UsageError`. Runs git, but none of the
    repository's filters: ask for trust before.
    """
    listed = _status(workspace) if ref == LAST_COMMIT and has_plain_git(workspace) else None
    if listed is None:
        listed = _differing(workspace, ref)
    if listed is None:
        raise _refused(workspace, git_refusal(workspace), ref)
    return [os.path.join(workspace, os.fsdecode(one)) for one in listed if one]


def _status(workspace: str) -> list[bytes] | None:
    """What differs from the last commit, by one process; None without a repository just here."""
    only_here = {"GIT_CEILING_DIRECTORIES": os.path.dirname(workspace)}
    listed = git_output(workspace, _STATUS, seconds=_SECONDS, variables=only_here)
    return None if listed is None else [one[_BEFORE_PATH:] for one in listed.split(b"\0")]


def _differing(workspace: str, ref: str) -> list[bytes] | None:
    """What differs, for any commit and any place of the workspace in its repository."""
    variables = None if ref.startswith("-") else filters_off(workspace)
    if variables is None:
        return None

    def listed(*arguments: str) -> bytes | None:
        return git_output(workspace, arguments, seconds=_SECONDS, variables=variables)

    if ref == LAST_COMMIT and not head_commit(workspace):
        everything = listed("ls-files", "-z", "--cached", *_UNTRACKED)
        return None if everything is None else everything.split(b"\0")
    tracked = listed(*_DIFFERENCES, ref, "--")
    untracked = listed("ls-files", "-z", *_UNTRACKED)
    if tracked is None or untracked is None:
        return None
    return (tracked + untracked).split(b"\0")


def _refused(workspace: str, reason: str, ref: str) -> UsageError:
    """Why git lists nothing; without a `reason` it works there, and the commit is wrong."""
    from_list = "--files-from takes a list of files, from anywhere"
    if not reason:
        message = f"git finds no common commit with '{ref}'"
        hint = "check the name, or fetch the full history (fetch-depth: 0)"
    elif reason.startswith("not a git repository"):
        message, hint = "this is not a git repository", from_list
    elif "dubious ownership" in reason:
        message = f"git refuses to work here: {reason}"
        hint = f"git config --global --add safe.directory {workspace}; or {from_list}"
    else:
        message, hint = f"git does not work here: {reason}", from_list
    return UsageError(message, where=workspace, hint=hint)


def listed_files(raw: bytes) -> list[str]:
    """The paths in a list, each on its own line or ended by NUL. Raises `UsageError`."""
    if len(raw) > MOST_LISTED:
        raise UsageError("the list of files is too long", hint="metier lint checks all of them")
    separator = b"\0" if b"\0" in raw else b"\n"
    lines = (os.fsdecode(line.removesuffix(b"\r")) for line in raw.split(separator))
    return [line for line in lines if line]


def documents_among(files: Iterable[str], workspace: str, config: Config) -> list[str]:
    """The documents of a workspace among `files`, and the skills to which other files belong.

    Relative to the current folder. With the settings; without files that do not exist, and files
    of no known kind.
    """
    folders = kind_folders(workspace, config)
    found: dict[str, None] = {}
    for file in files:
        path = os.path.abspath(file)
        for document in _documents_of(path, workspace, folders, config.sources):
            found[os.path.relpath(document)] = None
    return list(found)


def links_among(files: Iterable[str], workspace: str, config: Config) -> list[str]:
    """The links of a workspace among `files` that are not documents themselves."""
    folders = kind_folders(workspace, config)
    paths = dict.fromkeys(map(os.path.abspath, files))
    return [
        os.path.relpath(path)
        for path in paths
        if os.path.islink(path)
        and is_inside(path, workspace)
        and _is_entered(path, workspace)
        and not _is_named_like_one(path, workspace, folders)
    ]


def _documents_of(
    path: str, workspace: str, folders: dict[str, set[Kind]], settings: Collection[str]
) -> Iterator[str]:
    folder = os.path.dirname(path)
    if not _is_entered(folder, workspace):
        if path == os.path.join(workspace, ALIAS_FILE) and os.path.isfile(path):
            yield path
    elif path in settings or _is_named_like_one(path, workspace, folders):
        if os.path.lexists(path):
            yield path
    elif is_inside(folder, workspace):
        yield from _skill_around(folder, workspace)


def _is_entered(path: str, workspace: str) -> bool:
    return NOT_ENTERED.isdisjoint(os.path.relpath(path, workspace).split(os.sep))


def _is_named_like_one(path: str, workspace: str, folders: dict[str, set[Kind]]) -> bool:
    """Whether a path has the name of a document, whatever is there."""
    folder, name = os.path.split(path)
    if name in SKILL_NAMES or path == os.path.join(workspace, AGENTS_FILE):
        return True
    return any(is_document(kind, name) for kind in folders.get(os.path.realpath(folder), ()))


def _skill_around(folder: str, workspace: str) -> Iterator[str]:
    """The skill to which a file in `folder` belongs, if any."""
    while True:
        for name in ("SKILL.md", *sorted(SKILL_NAMES - {"SKILL.md"})):
            if os.path.isfile(os.path.join(folder, name)):
                yield os.path.join(folder, name)
                return
        if folder == workspace or not is_inside(folder, workspace):
            return
        folder = os.path.dirname(folder)


def known_of_user(boundary: "Boundary") -> int:
    """How many files of the user's folders the catalog knows; 0 if there is no catalog to ask."""
    from metier.index.documents import count_of_user  # files that are named need no catalog
    from metier.index.store import Store

    name = CATALOG_FILE if boundary.trust.is_trusted else RESTRICTED_FILE
    room = state_room(boundary.workspace)
    if not boundary.config.is_workspace or room.info(name) is None:
        return 0
    try:
        with closing(Store.read_only(room.file(name))) as store:
            return count_of_user(store)
    except StoreError:
        return 0
