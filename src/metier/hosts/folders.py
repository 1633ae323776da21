"""The skill folders of all hosts, by metier's precedence, each under its label. Light."""

from typing import NamedTuple

from metier.hosts.table import FOLDERS as TABLE


class Folder(NamedTuple):
    label: str
    folder: str
    """Relative to the workspace, to the home folder (`~/`), or absolute."""


FOLDERS = tuple(Folder(*one) for one in TABLE)
PROJECT_HOSTS = tuple(
    (one.label, f"/{one.folder}/", rank)
    for rank, one in enumerate(FOLDERS, start=1)
    if not one.folder.startswith(("~", "/"))
)
PROJECT_FOLDERS = tuple((label, folder.strip("/")) for label, folder, _ in PROJECT_HOSTS)
USER_HOSTS = frozenset(one.label for one in FOLDERS if one.folder.startswith(("~", "/")))
"""Labels of the user's own folders."""
FIRST_MOUNT_RANK = len(FOLDERS) + 1
