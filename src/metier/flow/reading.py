"""What is on disk, and how to read it: the light half of loading.

A refresh with nothing to read is done with this module; the parsers and rules behind
`metier.flow.entries` are imported when the first file is read.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial

from metier.config import Config
from metier.core.paths import is_inside
from metier.discover import (
    Steps,
    discover,
    is_unchanged,
    missing_folders,
    roots_for,
    roots_of_user,
    skill_root,
    source_root,
)
from metier.storage.room import Room
from metier.values.files import Entry, Found, Origin, Reading, Root, Trail
from metier.values.outcomes import Issue

READER_VERSION = "12"
"""Raised whenever the same bytes would give another entry: every file is then read again.

Also when the same folders would give other files: a trail of before then no longer counts.
"""


def workspace_roots(
    workspace: str, config: Config, home: str, room: Room | None
) -> tuple[list[Root], list[Issue]]:
    """Every folder to look through; cards from elsewhere are brought into the state room first.

    Without a room there are no such cards. Sources that fail become findings.
    """
    roots = roots_for(workspace, config, home)
    more, issues = _source_roots(workspace, config, room, _card_roots(roots))
    return [*roots, *more], [*_missing(workspace, config), *issues]


def _card_roots(roots: Sequence[Root]) -> int:
    return sum(root.kind == "card" for root in roots)


def _missing(workspace: str, config: Config) -> list[Issue]:
    """A finding for every folder in the settings that is not there.

    A folder that the user wants to be read in every workspace may be missing in some.
    """
    issues = []
    for one in missing_folders(workspace, config):
        file, line = _place(one.folder, config)
        is_everywhere = one.in_workspace and bool(file) and not is_inside(file, workspace)
        if not is_everywhere:
            message = f"{one.problem} ({one.key})"
            hint = "check the spelling, or take it out"
            issues.append(Issue("IO207", message, file, line, hint=hint))
    return issues


def _place(folder: str, config: Config) -> tuple[str, int]:
    """The settings file and the line that name a folder."""
    home = os.path.expanduser("~/")
    names = [folder, folder.replace(home, "~/", 1)]
    written = [f"{quote}{name}{quote}" for name in names for quote in "\"'"]
    for file in config.sources:
        with open(file, encoding="utf-8", errors="replace") as text:
            for number, line in enumerate(text, start=1):
                if any(one in line for one in written):
                    return file, number
    return "", 1


def user_roots(config: Config, home: str, room: Room | None) -> tuple[list[Root], list[Issue]]:
    """The same for the user's own documents, whatever the workspace."""
    roots = roots_of_user(config, home)
    more, issues = _source_roots(home, config, room, _card_roots(roots))
    return [*roots, *more], issues


def _source_roots(
    workspace: str, config: Config, room: Room | None, first_rank: int
) -> tuple[list[Root], list[Issue]]:
    settings = config.capabilities.sources
    if room is None or not (settings or os.path.lexists(room.file("cards"))):
        return [], []
    from metier.discover.sources import source_folders, sync_sources  # most workspaces name none

    issues = sync_sources(settings, workspace, room)
    folders = source_folders(settings, room)
    roots = [
        source_root(path, label=setting.type, rank=rank)
        for rank, (setting, path) in enumerate(folders, start=first_rank)
        if os.path.isdir(path)
    ]
    origin: Origin = "workspace" if config.is_trusted else "user"
    return [root._replace(origin=origin) for root in roots], issues


def read_documents(
    roots: Iterable[Root],
    *,
    disabled: Iterable[str] = (),
    own_disabled: Iterable[str] = (),
    strict: bool = False,
    ordered: bool = True,
    known: Trail | None = None,
) -> Reading:
    """What is on disk below `roots`, and how to read one file of it.

    `own_disabled` switches off documents of an untrusted workspace only. Nothing is listed if
    `known`, the trail of an earlier reading, says that it would be the same files as then.
    """
    roots = list(roots)
    off = frozenset(disabled)
    own_off = off | frozenset(own_disabled)

    def read(found: Found) -> Entry:
        disabled = own_off if found.origin == "untrusted" else off
        return _reader()(found, disabled=disabled, strict=strict)

    fingerprint = _fingerprint(roots, own_off)
    key = f"{fingerprint}\n{roots}"
    if known is not None and known.key == key and is_unchanged(known):
        return Reading([], read, fingerprint, followed=known)
    steps = Steps()
    found = discover(roots, ordered=ordered, steps=steps)
    return Reading(found, read, fingerprint, partial(steps.trail, key, len(found)))


@cache
def _reader() -> Callable[..., Entry]:
    from metier.flow.entries import read_entry  # see above

    return read_entry


def read_skills(roots: Iterable[Root | str | os.PathLike[str]]) -> Reading:
    """The skills below `roots`; a plain folder counts as a root of its own."""
    return read_documents(_as_roots(roots))


def _as_roots(roots: Iterable[Root | str | os.PathLike[str]]) -> list[Root]:
    out: list[Root] = []
    for rank, root in enumerate(roots):
        if isinstance(root, Root):
            out.append(root)
        else:
            path = os.path.realpath(root)
            label = os.path.basename(path)
            out.append(skill_root(path, label=label, rank=rank, prefix="" if rank == 0 else None))
    return out


def _fingerprint(roots: Sequence[Root], disabled: frozenset[str]) -> str:
    parts = [READER_VERSION, *sorted(disabled)]
    parts += [f"{root.kind}|{root.path}|{root.prefix}|{root.rank}|{root.origin}" for root in roots]
    return "\n".join(parts)
