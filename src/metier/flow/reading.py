"""Discover → read → index: what is on disk, and what a refresh made of it.

Light: a refresh with nothing to read never imports `metier.flow.entries`.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from metier.config import Config
from metier.core.paths import is_inside
from metier.discover.roots import (
    missing_folders,
    roots_for,
    roots_of_user,
    skill_root,
    source_root,
)
from metier.discover.trail import Steps, is_unchanged
from metier.discover.walk import discover
from metier.errors import REFRESH_HINT, NotFoundError, UsageError
from metier.hosts import HOOKED
from metier.storage.room import Room, read_regular
from metier.values.files import Entry, Found, Origin, Reading, Root, Team
from metier.values.outcomes import Exclusion, Issue
from metier.values.trust import NOTHING

if TYPE_CHECKING:  # slow to import, and most commands read no file
    from metier.values.documents import Document
    from metier.values.listings import Trail
    from metier.values.loads import Changes
    from metier.values.rows import Row

Review = Callable[[list[Found], list[str]], list[Found]]
"""Adds the standing of skills, and all paths that it depends on to the second list."""
READER_VERSION = "18"
"""Raised when the same files give other entries."""
DEEP_REFERENCE = "SYSTEM_ARCHITECTURE.md"
LARGEST_REFERENCE = 1_048_576


def require_folder(workspace: str) -> None:
    """Raise `UsageError` unless the workspace is a folder."""
    if not os.path.isdir(workspace):
        hint = "give an existing folder"
        raise UsageError("the workspace is not a folder", where=workspace, hint=hint)


def workspace_roots(
    workspace: str, config: Config, home: str, room: Room | None
) -> tuple[list[Root], list[Issue]]:
    """Every folder to read; cards from sources are copied into `room` first."""
    require_folder(workspace)
    roots = roots_for(workspace, config, home)
    more, issues = _source_roots(workspace, config, room, roots)
    return [*roots, *more], [*missing_folders(workspace, config), *issues]


def user_roots(config: Config, home: str, room: Room | None) -> tuple[list[Root], list[Issue]]:
    """The folders of the user's own documents, whatever the workspace."""
    roots = roots_of_user(config, home)
    more, issues = _source_roots(home, config, room, roots)
    return [*roots, *more], issues


def _source_roots(
    workspace: str, config: Config, room: Room | None, others: Sequence[Root]
) -> tuple[list[Root], list[Issue]]:
    settings = config.capabilities.sources
    if room is None or not (settings or os.path.lexists(room.file("cards"))):
        return [], []
    from metier.discover.sources.sync import source_folders, sync_sources  # rarely needed

    issues = sync_sources(settings, workspace, room)
    first_rank = sum(root.kind == "card" for root in others)
    origin: Origin = "workspace" if config.is_trusted else "user"
    roots = [
        source_root(path, label=setting.type, rank=rank)._replace(origin=origin)
        for rank, (setting, path) in enumerate(source_folders(settings, room), start=first_rank)
        if os.path.isdir(path)
    ]
    return roots, issues


def read_documents(
    roots: Iterable[Root],
    *,
    disabled: Iterable[str] = (),
    own_disabled: Iterable[str] = (),
    strict: bool = False,
    ordered: bool = True,
    known: "Trail | None" = None,
    teams: Mapping[str, Team] = NOTHING,
    review: Review | None = None,
    review_mark: str = "",
) -> Reading:
    """The files below `roots`; nothing is listed while the trail `known` is unchanged.

    `teams` are by their folders, absolute. `review` says which skills may be used, by what
    `review_mark` names.
    """
    roots = list(roots)
    off = frozenset(disabled)
    own_off = off | frozenset(own_disabled)

    def read(found: Found) -> Entry:
        disabled = own_off if found.origin == "untrusted" else off
        return _reader()(found, disabled=disabled, strict=strict)

    fingerprint = _fingerprint(roots, own_off, teams) + review_mark
    key = f"{fingerprint}\n{roots}"
    if known is not None and known.key == key and is_unchanged(known):
        return Reading([], read, fingerprint, followed=known)
    steps = Steps()
    found = discover(roots, ordered=ordered, steps=steps, teams=teams)
    if review is not None:
        found = review(found, steps.paths)
    return Reading(found, read, fingerprint, partial(steps.trail, key, len(found)))


@cache
def _reader() -> Callable[..., Entry]:
    from metier.flow.entries import read_entry  # loads the parsers and the linter

    return read_entry


def _fingerprint(roots: Sequence[Root], disabled: frozenset[str], teams: Mapping[str, Team]) -> str:
    parts = [READER_VERSION, *HOOKED, *sorted(disabled)]
    parts += [f"{root.kind}|{root.path}|{root.prefix}|{root.rank}|{root.origin}" for root in roots]
    parts += [repr(team) for team in teams.values()]
    return "\n".join(parts)


def team_folders(workspace: str, config: Config) -> dict[str, Team]:
    """The teams of a workspace by their folders, absolute."""
    return {f"{workspace.rstrip('/')}/{team.folder}": team for team in config.teams}


def read_skills(roots: Iterable[Root | str | os.PathLike[str]]) -> Reading:
    """The skills below `roots`; a plain folder counts as its own root."""
    made = []
    for rank, root in enumerate(roots):
        if not isinstance(root, Root):
            path, prefix = os.path.realpath(root), None if rank else ""
            root = skill_root(path, label=os.path.basename(path), rank=rank, prefix=prefix)
        made.append(root)
    return read_documents(made)


class Refreshed:
    """What a refresh changed; issues and exclusions are read on access."""

    changes: "Changes"
    """How many documents were added, changed and removed."""

    def __init__(
        self,
        changes: "Changes",
        issues: Callable[[], list[Issue]],
        excluded: Callable[[], list[Exclusion]],
    ) -> None:
        self.changes = changes
        self._issues = issues
        self._excluded = excluded

    @property
    def issues(self) -> list[Issue]:
        """Every finding in every file, excluded files included."""
        return self._issues()

    @property
    def excluded(self) -> list[Exclusion]:
        """Every excluded file, with the reason."""
        return self._excluded()

    def to_json(self) -> dict[str, Any]:
        """What was read as a dictionary for JSON."""
        return {
            **self.changes.to_json(),
            "exclusions": [exclusion.to_json() for exclusion in self.excluded],
            "issues": [issue.to_json() for issue in self.issues],
        }


def read_document(row: "Row") -> "Document":
    """The whole document behind a row. Raises `NotFoundError`.

    Of a skill that was reviewed, only the text that the catalog knows is returned.
    """
    entry = read_again(row)
    if row.review and entry.sha256 != row.sha256:
        raise _gone(row, "it has changed since the last refresh")
    if entry.document is None:
        raise _gone(row, entry.issues[0].message)
    return entry.document


def read_again(row: "Row") -> Entry:
    """What the file behind a row holds now. Raises `NotFoundError`."""
    try:
        info = os.stat(row.file)
    except OSError as error:
        raise _gone(row, error.strerror or "") from None
    if os.path.realpath(row.file) != row.file:
        raise _gone(row, "it was replaced by a link")
    found = Found(
        row.kind, row.path, 0, info.st_size, 0, "", row.file, row.source, info.st_ino,
        plugin=row.plugin, team=Team(row.team, owner=row.owner),
    )  # fmt: skip
    return read_documents([]).read(found)


def _gone(row: "Row", detail: str) -> NotFoundError:
    return NotFoundError(
        f"the file of {row.kind} '{row.name}' cannot be read: {detail}",
        code="ABILITY_LOAD_FAILED" if row.kind == "ability" else None,
        where=row.file,
        hint=REFRESH_HINT,
    )


def read_reference(workspace: str, name: str) -> str:
    """A text that is read on request and never injected. Raises `NotFoundError`."""
    for folder in ("", "docs"):
        path = os.path.join(workspace, folder, name)
        real = os.path.realpath(path)
        if name == DEEP_REFERENCE and is_inside(real, workspace) and os.path.isfile(real):
            try:
                return read_regular(real, LARGEST_REFERENCE, links=False).decode(errors="replace")
            except OSError as error:
                message = f"'{name}' cannot be read: {error.strerror}"
                raise NotFoundError(message, where=path) from None
    hint = f"there is one such text: {DEEP_REFERENCE}, in the workspace or in docs"
    raise NotFoundError(f"no reference is called '{name}'", where=workspace, hint=hint)
