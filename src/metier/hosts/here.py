"""Which hosts are used in a workspace: by their hooks, their skill folders and their settings."""

import os

from metier.hosts.known import HOSTS
from metier.hosts.model import Host


def hosts_here(workspace: str, home: str) -> list[str]:
    """The hosts whose own folders are here, or else those that read a skill folder that is.

    `.agents/skills` belongs to many hosts: it counts for those that left other traces.
    """
    reading = [host for host in HOSTS.values() if _reads_a_folder(host, workspace, home)]
    used = [host for host in HOSTS.values() if _has_traces(host, workspace, home)]
    both = [host for host in reading if host in used]
    return [host.name for host in both or used or reading]


def _reads_a_folder(host: Host, workspace: str, home: str) -> bool:
    if host.loading is None:
        return False
    folders = [os.path.join(workspace, one) for one in host.loading.project]
    folders += [one.replace("~", home, 1) for one in host.loading.user]
    borrowed = host.loading.borrowed
    names = (*host.loading.project, *host.loading.user)
    return any(
        os.path.isdir(folder)
        for folder, name in zip(folders, names, strict=True)
        if name not in borrowed
    )


def _has_traces(host: Host, workspace: str, home: str) -> bool:
    """Whether a folder for the settings of this host alone is there, or metier's hook in it."""
    file = host.hook_settings
    if file is None or host.loading is None:
        return False
    folders = [_folder(os.path.join(home, file.user)).removesuffix("/hooks")] if file.user else []
    folders += [_folder(os.path.join(workspace, file.project))] if file.project else []
    return any(map(os.path.isdir, folders))


def _folder(path: str) -> str:
    """The host's folder around a settings file or a plugin."""
    folder = os.path.dirname(path)
    return os.path.dirname(folder) if os.path.basename(folder) in ("plugins", "plugin") else folder
