"""Where the files of a skill come from: the address of the git repository around them.

Only `.git/config` is read, as data; git is not started.
"""

import os
import re

from metier.core.paths import is_inside
from metier.storage.room import read_regular

_LARGEST = 256 * 1024
_LONGEST = 500
_SECTION = re.compile(r'\[remote "([^"\]\n]{1,200})"\]')


def git_remote(folder: str, workspace: str) -> str:
    """The address of the repository around a folder, without credentials.

    Empty if none is known, or if it is the repository of the workspace itself: that would differ
    from clone to clone.
    """
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            break
        parent = os.path.dirname(folder)
        if parent == folder:
            return ""
        folder = parent
    if is_inside(workspace, folder):
        return ""
    try:
        raw = read_regular(os.path.join(folder, ".git", "config"), _LARGEST, links=False)
    except OSError:
        return ""
    return without_credentials(_origin_url(raw.decode(errors="replace")))


def _origin_url(text: str) -> str:
    """The url of `origin`, else of the first remote."""
    urls: dict[str, str] = {}
    remote = ""
    for line in text.split("\n"):
        line = line.strip()
        if line.startswith("["):
            match = _SECTION.fullmatch(line)
            remote = match[1] if match else ""
        elif remote and line.partition("=")[0].strip().lower() == "url":
            urls.setdefault(remote, line.partition("=")[2].strip().strip('"'))
    return urls.get("origin") or next(iter(urls.values()), "")


def without_credentials(url: str) -> str:
    """An address without user, password, query and fragment; empty if it is not printable."""
    if not url.isprintable() or len(url) > _LONGEST:
        return ""
    scheme, separator, rest = url.partition("://")
    if not separator:
        user, at, place = url.rpartition("@")
        return place if at and "/" not in user else url
    host, slash, path = rest.partition("/")
    path = path.partition("?")[0].partition("#")[0]
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
