"""The owner of a workspace, and its git repository."""

import os
from collections.abc import Iterable, Mapping, Sequence

from metier.core.paths import is_inside
from metier.core.process import minimal_environment, output_of
from metier.storage.room import read_regular
from metier.storage.workspace import SETTINGS_FILE
from metier.values.trust import NOTHING

_LARGEST = 16 * 1024
_LARGEST_REFS = 4 * 1024 * 1024
_GIT = (
    "git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "diff.external=",
    "-c", "core.attributesFile=/dev/null", "-c", "protocol.allow=never",
)  # fmt: skip
"""Runs nothing from the repository."""
_GIT_ENVIRONMENT = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "LC_ALL": "C",
}
_GIT_SECONDS = 10
_FAR = (b"filter", b"include", b"worktree")
"""In the settings of a repository: its filters, settings or files may be elsewhere."""
_FILTER = "filter."
_OFF = {"clean": "", "process": "", "required": "false"}
"""The settings of a filter that git does not run."""


def foreign_owner(
    workspace: str,
    safe: Iterable[str] = (),
    environ: Mapping[str, str] = os.environ,
) -> str:
    """The part of a workspace that another user, not root, owns; empty if none or `safe`."""
    if any(is_inside(workspace, os.path.realpath(os.path.expanduser(path))) for path in safe):
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
    """The main worktree of a linked git worktree, if both link to each other; else empty."""
    link = os.path.join(workspace, ".git")
    if not os.path.isfile(link) or os.path.islink(link):
        return ""
    try:
        target = _line(link).removeprefix("gitdir:").strip()
        git_dir = os.path.realpath(os.path.join(workspace, target))
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


def is_tracked(workspace: str, path: str) -> bool:
    """Whether git tracks a path or anything below it; False without git."""
    return bool(git_output(workspace, ["ls-files", "--cached", "-z", "--", path]))


def git_output(
    workspace: str,
    arguments: Sequence[str],
    *,
    given: bytes = b"",
    seconds: float = _GIT_SECONDS,
    variables: Mapping[str, str] = NOTHING,
) -> bytes | None:
    """What git prints, without running anything from the repository; None if it fails.

    For what reads files of the workspace give the `variables` of `filters_off`.
    """
    environ = {**minimal_environment(), **_GIT_ENVIRONMENT, **variables}
    if not given and hasattr(os, "posix_spawnp"):
        return output_of([*_GIT, "-C", workspace, *arguments], environ, seconds)
    import subprocess  # few commands ask

    try:
        done = subprocess.run(
            [*_GIT, *arguments],
            cwd=workspace,
            env=environ,
            input=given,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def has_plain_git(workspace: str) -> bool:
    """Whether the settings of the workspace's own repository name no filters and no other files."""
    try:
        _, common = _git_folders(workspace)
        settings = read_regular(os.path.join(common, "config"), _LARGEST, links=False).lower()
    except (OSError, ValueError):
        return False
    return not any(word in settings for word in _FAR)


def filters_off(workspace: str) -> dict[str, str] | None:
    """Variables with which git runs no filter of its settings; None if it cannot list them.

    Comparing a file with a commit may run filters: its times do not always show a change.
    """
    listed = git_output(workspace, ["config", "--null", "--name-only", "--list"])
    if listed is None:
        return None
    keys = (os.fsdecode(key) for key in listed.split(b"\0"))
    filters = {key.rpartition(".")[0] for key in keys if key.startswith(_FILTER)}
    settings = [(f"{one}.{key}", _OFF[key]) for one in sorted(filters) for key in _OFF]
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        variables[f"GIT_CONFIG_KEY_{number}"] = key
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    return variables


def git_refusal(workspace: str) -> str:
    """Why git does not work in a folder, in its own words; empty if it does."""
    import subprocess  # few commands ask

    environ = {**minimal_environment(), **_GIT_ENVIRONMENT}
    try:
        done = subprocess.run(
            [*_GIT, "rev-parse", "--git-dir"],
            cwd=workspace,
            env=environ,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except OSError as error:
        return error.strerror or "it cannot be started"
    except subprocess.TimeoutExpired:
        return "it takes too long"
    if done.returncode == 0:
        return ""
    said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
    return said.removeprefix("fatal: ") or f"exit status {done.returncode}"


def head_commit(workspace: str) -> str:
    """The commit that is checked out, read from files; empty if unknown."""
    try:
        git, common = _git_folders(workspace)
        head = _line(os.path.join(git, "HEAD"))
        if not head.startswith("ref:"):
            return _commit(head)
        ref = head.removeprefix("ref:").strip()
        if ".." in ref or not ref.startswith("refs/"):
            return ""
        return _ref(common, ref)
    except (OSError, ValueError):
        return ""


def _git_folders(workspace: str) -> tuple[str, str]:
    """Where git keeps what belongs to a worktree, and what all worktrees share."""
    git = os.path.join(workspace, ".git")
    if os.path.isfile(git):
        git = os.path.join(workspace, _line(git).removeprefix("gitdir:").strip())
    if os.path.isfile(os.path.join(git, "commondir")):
        return git, os.path.join(git, _line(os.path.join(git, "commondir")))
    return git, git


def _ref(git: str, ref: str) -> str:
    try:
        return _commit(_line(os.path.join(git, ref)))
    except FileNotFoundError:
        packed = read_regular(os.path.join(git, "packed-refs"), _LARGEST_REFS, links=False)
    pairs = (line.split() for line in packed.decode(errors="replace").splitlines())
    return next((_commit(pair[0]) for pair in pairs if pair[1:] == [ref]), "")


def _commit(text: str) -> str:
    is_id = len(text) in (40, 64) and not set(text) - set("0123456789abcdef")
    return text if is_id else ""


def _line(path: str) -> str:
    return read_regular(path, _LARGEST, links=False).decode().strip()
