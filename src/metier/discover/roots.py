"""Which folders to look through: by the settings, or by paths that the user named."""

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from metier.config import Config
from metier.core.nearest import nearest, suggestion
from metier.core.paths import is_inside
from metier.discover.folder_patterns import fixed_part, is_pattern, matching
from metier.discover.plugins import INSTALLED
from metier.errors import UsageError
from metier.hosts.folders import FIRST_MOUNT_RANK, FOLDERS, PROJECT_FOLDERS, USER_HOSTS
from metier.values.files import KINDS, PLURAL, SKILL_NAMES, Kind, Origin, Root, SourceGroup
from metier.values.outcomes import Issue

if TYPE_CHECKING:
    from metier.values.settings import Mount

FIRST_OUTSIDE_RANK = 6_000
FIRST_USER_RANK = 5_000
"""After the folders of the workspace, before those outside of any."""


def roots_for(workspace: str, config: Config, home: str) -> list[Root]:
    """Every folder to look through: the workspace, the hosts' folders, the mounts, the user's."""
    if not config.is_workspace:
        return [*roots_of_user(config, home), *_skill_folders(workspace, home)]
    own: Origin = "workspace" if config.is_trusted else "untrusted"
    roots = [Root("skill", workspace, workspace, "workspace", 0, origin=own, links=config.links)]
    if config.host_folders:
        roots += host_roots(home, without="" if own == "untrusted" else workspace)
    roots += _mounted(config, workspace)
    for kind, folders in _folders(config).items():
        roots += _kind_roots(kind, folders, workspace, own)
    return roots + _user_roots(config)


def _skill_folders(folder: str, home: str) -> list[Root]:
    """The usual skill folders of a folder that is not a workspace, without the user's own."""
    users = [root.path for root in host_roots(home)]
    roots = []
    for rank, (label, name) in enumerate([("workspace", "skills"), *PROJECT_FOLDERS]):
        path = os.path.realpath(os.path.join(folder, name))
        is_own = is_inside(path, folder) and not any(is_inside(path, one) for one in users)
        if is_own and os.path.isdir(path):
            root = skill_root(path, label=label, rank=FIRST_OUTSIDE_RANK + rank, prefix=f"{name}/")
            roots.append(root._replace(origin="untrusted"))
    return roots


def roots_of_user(config: Config, home: str) -> list[Root]:
    """The folders of the user's own documents, whatever the workspace."""
    hosts = host_roots(home) if config.host_folders else []
    return [*hosts, *_mounted(config, home), *_user_roots(config)]


def _mounted(config: Config, workspace: str) -> list[Root]:
    roots = []
    for rank, mount in enumerate(config.mounts, start=FIRST_MOUNT_RANK):
        for path, prefix in _folders_of_mount(mount, workspace):
            root = skill_root(path, label=mount.label, rank=rank, prefix=prefix)
            roots.append(root._replace(origin=mount.origin, group="mounts"))
    return roots


def _folders_of_mount(mount: "Mount", workspace: str) -> list[tuple[str, str | None]]:
    """The folders of a mount; those that match a pattern with a prefix for their paths."""
    folders = [os.path.join(workspace, one) for one in matching([mount.path], workspace)]
    if not is_pattern(mount.path, workspace):
        return [(os.path.realpath(folder), None) for folder in folders]
    above = os.path.join(workspace, fixed_part(mount.path))
    return [
        (os.path.realpath(one), f"{mount.label}/{os.path.relpath(one, above)}/") for one in folders
    ]


def _user_roots(config: Config) -> list[Root]:
    """The folders outside every workspace that the user's own settings name."""
    roots = []
    folders = (
        (kind, one) for kind, folder in config.user_folders for one in matching([folder], "/")
    )
    for rank, (kind, folder) in enumerate(folders, start=FIRST_USER_RANK):
        path = os.path.realpath(folder)
        label = os.path.basename(path)
        root = Root(kind, path, path, label, rank, f"{label}/", origin="user", group="user")
        roots.append(root)
    return roots


def _kind_roots(kind: Kind, folders: Sequence[str], workspace: str, origin: Origin) -> list[Root]:
    roots = []
    for rank, folder in enumerate(matching(folders, workspace)):
        path = os.path.realpath(os.path.join(workspace, folder))
        inside = is_inside(path, workspace)
        is_confined = kind == "card" or origin == "untrusted"
        relative = os.path.relpath(path, workspace).replace(os.sep, "/")
        label = os.path.basename(path)
        roots.append(
            Root(
                kind=kind,
                path=path,
                boundary=workspace if inside or is_confined else path,
                label="workspace" if inside else label,
                rank=rank,
                prefix=_prefix(relative if inside else folder if is_confined else label),
                origin=origin,
            )
        )
    return roots


def missing_folders(workspace: str, config: Config) -> list[Issue]:
    """A finding for every configured folder that does not exist.

    Default folders may be missing, and so may relative folders of the user's own settings. The
    folder of a team is never a pattern.
    """
    usual = _folders(Config())
    named = [
        *(("mounts", mount.path, workspace) for mount in config.mounts),
        *((f"folders.{PLURAL[kind]}", one, "/") for kind, one in config.user_folders),
        *(
            (f"folders.{PLURAL[kind]}", one, workspace)
            for kind, folders in _folders(config).items()
            for one in folders
            if one not in usual[kind]
        ),
        *(("teams", team.folder, workspace) for team in config.teams),
    ]
    issues = []
    for key, folder, base in named:
        problem = _problem(folder, base, may_match=key != "teams")
        file, line = _setting_of(folder, config) if problem else ("", 1)
        is_relative = base != "/" and not os.path.isabs(folder)
        is_everywhere = is_relative and bool(file) and not is_inside(file, workspace)
        if problem and not is_everywhere:
            hint = "check the spelling, or remove it"
            if key == "teams" and is_pattern(folder, base):
                hint = 'a team has one folder, without wildcards: [teams."FOLDER"]'
            message = f"{problem} ({key})"
            issues.append(Issue("IO207", message, file, line, hint=hint, setting=key))
    return issues


def _setting_of(folder: str, config: Config) -> tuple[str, int]:
    """The settings file and the line that name a folder."""
    names = [folder, folder.replace(os.path.expanduser("~/"), "~/", 1)]
    written = [f"{quote}{name}{quote}" for name in names for quote in "\"'"]
    for file in config.sources:
        with open(file, encoding="utf-8", errors="replace") as text:
            for number, line in enumerate(text, start=1):
                if any(one in line for one in written):
                    return file, number
    return "", 1


def _problem(folder: str, base: str, *, may_match: bool) -> str:
    if not folder:
        return "the name of a folder is empty"
    if may_match and is_pattern(folder, base):
        return "" if matching([folder], base) else f"no folder matches '{folder}'"
    is_there = os.path.isdir(os.path.join(base, folder))
    return "" if is_there else f"there is no folder '{folder}'"


def _prefix(folder: str) -> str:
    return "" if folder in ("", ".") else f"{folder.rstrip('/')}/"


def source_root(path: str, *, label: str, rank: int) -> Root:
    """The folder with the copied cards of a source."""
    return Root("card", path, path, label, rank, f"cards/{os.path.basename(path)}/")


def host_roots(home: str, *, without: str = "") -> list[Root]:
    """The existing folders of the user's hosts, except those inside the workspace."""
    roots = []
    for rank, host in enumerate(FOLDERS, start=1):
        if host.label not in USER_HOSTS:
            continue
        named = host.folder.replace("~", home, 1)
        if not os.path.isdir(named):
            continue
        folder = os.path.realpath(named)
        if not (without and is_inside(folder, without)):
            root = skill_root(folder, label=host.label, rank=rank)
            group: SourceGroup = "plugins" if host.label == INSTALLED else "user"
            roots.append(root._replace(origin="user", group=group))
    return roots


def skill_root(path: str, *, label: str, rank: int, prefix: str | None = None) -> Root:
    """A root that is its own boundary, with its label before every path below it."""
    return Root("skill", path, path, label, rank, f"{label}/" if prefix is None else prefix)


def roots_of_paths(
    paths: Sequence[str],
    workspace: str,
    config: Config,
    home: str,
    kind: Kind | None = None,
    *,
    links: Collection[str] = (),
) -> list[Root]:
    """A root for every file and folder named; findings show the paths as they were written.

    Links are followed as they are when nothing is named, but a folder that is itself a link is
    entered wherever it leads, unless it is one of `links`.
    """
    roots: list[Root] = []
    for rank, path in enumerate(paths):
        if not os.path.lexists(path):
            raise UsageError("no such file or folder", where=path, hint=_spelling(path))
        if path in links:
            folder, name = os.path.split(path)
            root = _root("skill", os.path.realpath(folder), folder, rank, only=name)
            roots.append(root._replace(is_link=True))
        elif os.path.isdir(path) and os.path.basename(path) not in SKILL_NAMES:
            roots += _of_folder(path, workspace, config, kind, rank)
        else:
            roots.append(_of_file(path, workspace, config, kind, rank))
    known = [*roots_for(workspace, config, home), *host_roots(home)]
    links = _linked_host_folders(home)
    for root in known:
        links |= _links_of(root)
    return [_bounded(root, known, links) for root in roots]


def _bounded(named: Root, known: Sequence[Root], links: Mapping[str, str]) -> Root:
    """A named root with the boundary and the links of the known roots around and below it."""
    around = [
        root
        for root in known
        if root.kind == named.kind
        and is_inside(named.path, root.path)
        and is_inside(named.path, root.boundary)
    ]
    nearest = max(around, key=lambda root: len(root.path), default=named)
    below = {
        os.path.relpath(link, named.path): target
        for link, target in links.items()
        if is_inside(link, named.path)
    }
    return named._replace(boundary=nearest.boundary, links=below)


def _links_of(root: Root) -> dict[str, str]:
    """The links that may leave a root of skills → target; both absolute."""
    links = {os.path.join(root.path, link): target for link, target in root.links.items()}
    if root.kind == "skill" and root.origin == "user":
        with suppress(OSError), os.scandir(root.path) as entries:
            links |= {one.path: os.path.realpath(one.path) for one in entries if one.is_symlink()}
    return links


def _linked_host_folders(home: str) -> dict[str, str]:
    """The host folders that are links themselves → target; both absolute."""
    real = os.path.realpath(home)
    folders = [host.folder.replace("~", real, 1) for host in FOLDERS if host.label in USER_HOSTS]
    return {folder: os.path.realpath(folder) for folder in folders if os.path.islink(folder)}


def _folders(config: Config) -> dict[Kind, Sequence[str]]:
    return {"ability": config.abilities, "card": config.cards, "agent": config.agents}


def _of_folder(
    path: str, workspace: str, config: Config, kind: Kind | None, rank: int
) -> list[Root]:
    real = os.path.realpath(path)
    known = kind or _kind_by_folder(real, workspace, config)
    if known is not None and known != "skill":
        return [_root(known, real, path, rank)]
    roots = [_root("skill", real, path, rank)]
    if kind is not None:
        return roots
    for other, folders in _folders(config).items():
        for below in _known_below(real, folders, workspace):
            shown = os.path.join(path, os.path.relpath(below, real))
            roots.append(_root(other, os.path.realpath(below), shown, rank))
    return roots


def _known_below(real: str, folders: Sequence[str], workspace: str) -> list[str]:
    """The folders of a kind in a named folder: configured folders, and those of the same names."""
    own = [os.path.realpath(os.path.join(workspace, one)) for one in matching(folders, workspace)]
    alike = [
        os.path.join(real, one)
        for folder in folders
        if not os.path.isabs(folder)
        for one in matching(_rests(folder, real), real)
    ]
    found = {
        os.path.realpath(one): one for one in [*own, *alike] if os.path.isdir(one) and one != real
    }
    return [one for one in found.values() if is_inside(one, real)]


def _rests(folder: str, real: str) -> list[str]:
    """What is left of a relative folder below `real`, for each beginning that `real` ends with."""
    parts = folder.split("/")
    ends = real.split(os.sep)
    return [
        "/".join(parts[size:])
        for size in range(len(parts))
        if size == 0 or ends[-size:] == parts[:size]
    ]


def _of_file(path: str, workspace: str, config: Config, kind: Kind | None, rank: int) -> Root:
    folder, name = os.path.split(os.path.abspath(path))
    known = kind or kind_of_file(folder, name, workspace, config)
    if known is None:
        raise UsageError(
            "cannot tell what kind of document this is",
            where=path,
            hint=f"add --kind {'|'.join(KINDS)}",
        )
    return _root(known, os.path.realpath(folder), os.path.dirname(path), rank, only=name)


def kind_of_file(folder: str, name: str, workspace: str, config: Config) -> Kind | None:
    """What kind of document a file is by its name and folder; None for any other file."""
    if name in SKILL_NAMES:
        return "skill"
    by_folder = _kind_by_folder(os.path.realpath(folder), workspace, config)
    if by_folder is not None:
        return by_folder
    for kind, folders in _folders(config).items():
        if os.path.basename(folder) in {os.path.basename(one) for one in folders}:
            return kind
    return "agent" if name.endswith((".yaml", ".yml", ".json")) else None


def kind_folders(workspace: str, config: Config) -> dict[str, set[Kind]]:
    """The folders of abilities, cards and agents, resolved → their kinds."""
    found: dict[str, set[Kind]] = {}
    for kind, folders in _folders(config).items():
        for folder in matching(folders, workspace):
            found.setdefault(os.path.realpath(os.path.join(workspace, folder)), set()).add(kind)
    return found


def _kind_by_folder(real: str, workspace: str, config: Config) -> Kind | None:
    for kind, folders in _folders(config).items():
        for folder in matching(folders, workspace):
            if is_inside(real, os.path.realpath(os.path.join(workspace, folder))):
                return kind
    return None


def _root(kind: Kind, real: str, shown: str, rank: int, only: str = "") -> Root:
    return Root(kind, real, real, "named", rank, _prefix(shown), only)


def _spelling(path: str) -> str:
    """Which path was meant: the first name in `path` that does not exist is compared."""
    folder, name = os.path.split(path.rstrip("/"))
    while folder and not os.path.isdir(folder):
        folder, name = os.path.split(folder)
    try:
        near = nearest(name, os.listdir(folder or "."))
    except OSError:
        near = ""
    return suggestion(os.path.join(folder, near) if near else "", "check the spelling")
