"""Where hosts keep transcripts. The user's folders only: nothing in a workspace moves them."""

import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

from metier.storage.places import accepted_folder, user_home


class Transcript(NamedTuple):
    """A file that was found, not opened."""

    path: str
    changed: float
    """Seconds since 1970."""
    size: int


class UserFolders(NamedTuple):
    """The folders of the user, as hosts find them."""

    environ: Mapping[str, str]
    workspace: str

    @property
    def home(self) -> str:
        return user_home(self.environ, self.workspace)

    def moved(self, variable: str, default: str) -> str:
        """The folder in a variable if metier accepts it, else `default` in the home folder."""
        accepted = accepted_folder(variable, self.environ, self.workspace)
        return accepted or os.path.join(self.home, default)


def found(folder: str, *patterns: str) -> Iterator[Transcript]:
    """The files below `folder` that match a pattern for each level; links are not followed."""
    pattern, *deeper = patterns
    try:
        with os.scandir(folder) as entries:
            matching = [entry for entry in entries if fnmatchcase(entry.name, pattern)]
    except OSError:
        return
    for entry in matching:
        if deeper and entry.is_dir(follow_symlinks=False):
            yield from found(entry.path, *deeper)
        elif not deeper and entry.is_file(follow_symlinks=False):
            yield from _transcript(entry)


def _transcript(entry: "os.DirEntry[str]") -> Iterator[Transcript]:
    try:
        info = entry.stat(follow_symlinks=False)
    except OSError:  # it was removed
        return
    yield Transcript(entry.path, info.st_mtime, info.st_size)
