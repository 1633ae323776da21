"""The files of the latest commit at a git address. Nothing of the repository runs.

The objects are fetched into a private folder that is removed; no file is checked out, so no hook,
filter or submodule is used. Only https, ssh and file addresses are fetched.
"""

import re
import resource
import subprocess
import tempfile
from collections.abc import Iterator, Sequence

from metier.config.owners import git_output
from metier.core.git_objects import FILES, LINK, TreeEntry, object_contents, tree_entries
from metier.core.process import minimal_environment
from metier.core.text import printable
from metier.errors import SourceError, UsageError
from metier.inspection.packing import Allowance, noted, too_many
from metier.safety.addresses import check_address, host_of
from metier.values.inspection import MOST_FILES, FileSet, InspectedFile, Noted

SECONDS = 120
LARGEST_PACK = 512 * 1024 * 1024
_LONGEST_ADDRESS = 2_000
_ALLOWED = ("https", "ssh", "file")
_HOST = r"(?!-)[A-Za-z0-9._-]+"
_USER = r"(?:(?!-)[A-Za-z0-9._-]+@)?"
_SSH_URL = re.compile(rf"ssh://{_USER}{_HOST}(?::[0-9]{{1,5}})?/(?!-)[^\s\\\x00-\x1f\x7f]+\Z")
_SHORT_SSH = re.compile(rf"{_USER}{_HOST}:(?![-/:]{{2}}|-)[^\s\\\x00-\x1f\x7f:]+\Z")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*::?(?://)?|[A-Za-z0-9._-]+@[A-Za-z0-9._-]+:")
_CREDENTIALS = re.compile(r"//[^/]*@")
_OPTIONS = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "credential.helper="),
    *("-c", "protocol.allow=never", "-c", "http.followRedirects=initial"),
    *(part for name in _ALLOWED for part in ("-c", f"protocol.{name}.allow=always")),
    *("-c", "fetch.unpackLimit=1", "-c", "transfer.unpackLimit=1", "-c", "gc.auto=0"),
    *("-c", "fetch.recurseSubmodules=false", "-c", "submodule.recurse=false"),
)
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=20",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": ":".join(_ALLOWED),
    "GIT_LFS_SKIP_SMUDGE": "1",
    "LC_ALL": "C",
}
_PASSED = ("SSH_AUTH_SOCK", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY")
"""Variables of the user's that reaching an address may need."""
_REF = "refs/inspected"
_FETCH = (
    *("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules"),
    "--no-write-fetch-head",
)


def is_address(text: str) -> bool:
    """Whether a text is meant as a git address: it has a scheme, or `user@host:`."""
    return bool(_ADDRESS.match(text))


def check_git_address(address: str) -> None:
    """Raise `UsageError` unless it is an https, ssh or file address that git fetches safely."""
    shown = printable(_CREDENTIALS.sub("//", address)[:200])
    scheme, separator, rest = address.partition("://")
    if address.startswith("-") or len(address) > _LONGEST_ADDRESS or not address.isprintable():
        raise UsageError(f"'{shown}' is not a git address")
    if scheme == "https" and host_of(address):
        check_address(address, what="the git address")
    elif separator and scheme == "file":
        if not rest.startswith("/"):
            raise UsageError(f"'{shown}' names another machine", hint="file:///FOLDER")
    elif not (_SSH_URL.match(address) if separator else _SHORT_SSH.match(address)):
        raise UsageError(
            f"metier does not fetch from '{shown}'",
            hint="https://HOST/PATH, ssh://USER@HOST/PATH, USER@HOST:PATH or file:///FOLDER",
        )


def read_repository(address: str) -> tuple[str, FileSet]:
    """The latest commit at an address, and its files.

    Raises `UsageError` for an address that is refused, `SourceError` if git cannot fetch it.
    """
    check_git_address(address)
    with tempfile.TemporaryDirectory(prefix="metier-inspect-") as folder:
        _git(folder, ["init", "--quiet", "--bare", "--template=", "."], address)
        _git(folder, [*_FETCH, "--", address, f"HEAD:{_REF}"], address)
        found = git_output(folder, ["rev-parse", "--verify", "--quiet", _REF])
        listed = git_output(folder, ["ls-tree", "-r", "-z", "-l", _REF], seconds=SECONDS)
        if found is None or listed is None:
            raise SourceError("git cannot list the files of the repository", where=address)
        reader = _Reader(folder, list(tree_entries(listed)))
        return found.decode().strip(), reader.read()


def _git(folder: str, arguments: Sequence[str], address: str) -> None:
    """Run git. Raises `SourceError` with its reason."""
    environment = {**minimal_environment(_PASSED), **_ENVIRONMENT}
    try:
        done = subprocess.run(
            ["git", *_OPTIONS, *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
            preexec_fn=_limit_files,
        )
    except subprocess.TimeoutExpired:
        raise SourceError(f"no answer within {SECONDS} s", where=address) from None
    except OSError as error:
        raise SourceError(f"git cannot be started: {error.strerror}", where=address) from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        why = printable(said[0][:300]) if said else f"exit code {done.returncode}"
        hint = "check the address, and that 'git ls-remote' can read it"
        raise SourceError(f"git cannot fetch it: {why}", where=address, hint=hint)


def _limit_files() -> None:
    """In the process of git: no file, so no pack, grows beyond the limit."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_PACK, LARGEST_PACK))


class _Reader:
    """Reads the blobs of a commit."""

    def __init__(self, folder: str, entries: list[TreeEntry]) -> None:
        self._folder = folder
        self._entries = entries
        self._allowance = Allowance()
        self._findings: list[Noted] = []

    def read(self) -> FileSet:
        entries = self._entries[:MOST_FILES]
        if len(self._entries) > MOST_FILES:
            self._findings.append(too_many(MOST_FILES))
        read = [one for one in entries if self._is_read(one)]
        contents = dict(self._contents(read))
        files = [_file(one, contents.get(one.path, b"")) for one in entries if one.mode != "160000"]
        return FileSet(files, self._findings)

    def _is_read(self, entry: TreeEntry) -> bool:
        if entry.mode not in (*FILES, LINK) or entry.size > self._allowance.take():
            return False
        self._allowance.spend(entry.size)
        return True

    def _contents(self, entries: list[TreeEntry]) -> Iterator[tuple[str, bytes]]:
        ids = "".join(f"{entry.digest}\n" for entry in entries).encode()
        batch = git_output(self._folder, ["cat-file", "--batch"], given=ids, seconds=SECONDS)
        if batch is None:
            self._findings.append(noted("IN405", "git cannot read the files of the repository"))
            return
        for entry, content in zip(entries, object_contents(batch), strict=False):
            if content is not None:
                yield entry.path, content


def _file(entry: TreeEntry, content: bytes) -> InspectedFile:
    if entry.mode == LINK:
        return InspectedFile(entry.path, 0, link=content.decode(errors="replace"))
    is_executable = entry.mode == FILES[1]
    return InspectedFile(entry.path, entry.size, content, is_executable=is_executable)
