"""Bringing a catalogue up to date for hooks: they read, and never wait."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Self

from metier.catalog import Catalog
from metier.config import Config, read_settings, user_settings, users_config
from metier.config.capabilities import to_json
from metier.config.owners import main_worktree
from metier.config.record import TrustRecord
from metier.discover.patterns import watched
from metier.errors import ConfigError
from metier.flow.boundary import RECORD, Boundary, decide, read_boundary
from metier.flow.scan import user_roots
from metier.hook.journal import STATE, Journal
from metier.index.stems import catch_up
from metier.index.store import Store
from metier.storage.hook_files import allow, forbid, stamps_of
from metier.storage.places import state_room, user_home, user_room
from metier.storage.room import Room
from metier.storage.workspace import CATALOG_FILE, SETTINGS_FILE
from metier.values.files import Root
from metier.values.outcomes import Issue
from metier.values.trust import Trust

MOST_FOLDERS = 100


class UserCatalog(Catalog):
    """The user's own documents, whatever the workspace: all that hooks use without its trust."""

    @classmethod
    def of_user(cls, config: Config | None = None, *, home: str = "") -> Self:
        """The catalogue of the user's own documents. Raises `ConfigError` and `StoreError`."""
        home, room = home or user_home(os.environ), user_room()
        boundary = Boundary(home, Trust(), config or users_config())
        return cls(boundary, Store.open(room.file(CATALOG_FILE)), home, room)

    def _roots(self) -> tuple[list[Root], list[Issue]]:
        return user_roots(self.config, self._home, self.room)

    def folders(self) -> list[str]:
        return [root.path for root in self._roots()[0]]


def hook_boundary(
    workspace: str, file: str | None = None, *, is_outside: bool = False
) -> tuple[Boundary, str]:
    """What the user lets a workspace do with hooks, and what is wrong with its settings.

    Wrong settings of a workspace trust nothing and must not stop the user's own documents. Raises
    `ConfigError` when the user's own are wrong.
    """
    try:
        return read_boundary(workspace, file=file, for_host=True, is_outside=is_outside), ""
    except ConfigError as error:
        where = f" ({error.where})" if error.where else ""
        return Boundary(workspace, Trust(), users_config()), f"{error.message}{where}"


def prepared_catalog(boundary: Boundary, *, home: str = "") -> Catalog:
    """The catalogue that hooks use in a workspace, open and ready for them.

    It is the workspace's own if the user lets it speak, else that of the user's documents.
    """
    room = state_room(boundary.workspace)
    stamps = _stamps(boundary) if boundary.trust.is_trusted and boundary.trust.speak else None
    if stamps is None:
        forbid(room)
        return _prepared(UserCatalog.of_user(home=home))
    if user_room().info(CATALOG_FILE) is None:
        _prepared(UserCatalog.of_user(home=home)).close()  # for when the workspace falls silent
    catalog = _prepared(Catalog.within(boundary, home=home))
    allow(room, stamps, is_safe=bool(boundary.config.safe_directories))
    return catalog


def _stamps(boundary: Boundary) -> list[str] | None:
    """The stamps under which the workspace may speak; None when it has changed meanwhile.

    They are taken before the digest is compared once more, so that no change goes unnoticed.
    """
    try:
        stamps = stamps_of(depended_on(boundary))
    except ValueError as error:
        journal = Journal()
        journal.enter(boundary.workspace)
        journal.tell("refresh", error)
        return None
    now = decide(read_settings(boundary.workspace, for_host=True), RECORD, os.environ)
    return stamps if now.speak and now.digest == boundary.trust.digest else None


def _prepared(catalog: Catalog) -> Catalog:
    """The catalogue, ready for hooks; closed again when that fails."""
    try:
        prepare(catalog)
    except BaseException:
        catalog.close()
        raise
    return catalog


def prepare(catalog: Catalog) -> int:
    """Refresh, and see to all that a hook reads; how many skills were read in words."""
    catalog.refresh()
    read = catch_up(catalog.store)
    keep_settings(catalog)
    files = [row[0] for row in catalog.store.rows("SELECT file FROM document")]
    if catalog.room is not None:
        with catalog.store.checked():
            _write_watched(catalog.room, _always(catalog), files)
    return read


def depended_on(boundary: Boundary) -> list[str]:
    """Every file that the user's trust in a workspace depends on, whether it is there or not."""
    workspace = boundary.workspace
    names = [SETTINGS_FILE, "pyproject.toml", *([".git"] if main_worktree(workspace) else [])]
    folders = watched(boundary.config.agents, workspace)
    named = [*names, *folders, *boundary.trust.files, *boundary.trust.agents, *boundary.trust.links]
    return [
        TrustRecord(workspace=workspace).path,
        user_settings(),
        *(os.path.join(workspace, one) for one in named),
    ]


def _always(catalog: Catalog) -> list[str]:
    """What is watched whether it is there or not: settings, and where documents may come."""
    workspace = catalog.workspace
    settings = [os.path.join(workspace, name) for name in (SETTINGS_FILE, "pyproject.toml")]
    cards = [row[0] for row in catalog.store.rows("SELECT file FROM document WHERE kind = 'card'")]
    config = catalog.config
    named = watched([*config.abilities, *config.cards, *config.agents], workspace)
    above = [os.path.join(workspace, one) for one in named]
    return [*settings, user_settings(), *catalog.folders(), *above, *cards[:MOST_FOLDERS]]


def keep_settings(catalog: Catalog) -> None:
    """Put the settings where hooks read them."""
    catalog.store.remember("capabilities", json.dumps(to_json(catalog.config.capabilities)))


def _write_watched(room: Room, always: Sequence[str], documents: Iterable[str]) -> None:
    """Note the times of what is `always` watched and of the folders that most documents lie below.

    One line each: `time path`. `documents` are the files in the catalogue; a skill that comes or
    goes changes the folder above its own.
    """
    above = Counter(os.path.dirname(os.path.dirname(file)) for file in documents)
    above.update(os.path.dirname(file) for file in documents if not file.endswith("SKILL.md"))
    folders = [path for path, _ in sorted(above.most_common(MOST_FOLDERS))]
    paths = dict.fromkeys([*always, *folders])
    lines = [_line(path) for path in paths if "\n" not in path]
    room.write(STATE, "\n".join(lines).encode(errors="surrogateescape"))


def _line(path: str) -> str:
    try:
        return f"{os.stat(path).st_mtime_ns} {path}"
    except OSError:
        return f"- {path}"
