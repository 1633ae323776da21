"""What hooks read besides the catalog, and whether a workspace may speak."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from metier.config import Config, read_settings, user_settings, users_config
from metier.config.capabilities import to_json
from metier.config.owners import main_worktree
from metier.config.record import TrustRecord
from metier.discover.folder_patterns import watched
from metier.errors import ConfigError
from metier.flow.boundary import RECORD, Boundary, decide, read_boundary
from metier.flow.gone_workspaces import remember_workspace
from metier.index.cards import stored_cards
from metier.index.columns import catch_up
from metier.index.documents import excluded_documents
from metier.index.store import Store
from metier.storage.hook_files import STATE, log, stamps_of
from metier.storage.places import state_room, user_room
from metier.storage.room import Room
from metier.storage.workspace import SETTINGS_FILE, is_root
from metier.values.trust import Trust

MOST_FOLDERS = 100


class HookDocuments(NamedTuple):
    skills: int
    cards: int
    excluded: int
    excluded_of_user: int = 0
    """Those in the folders of the user's hosts and settings."""


def hook_boundary(
    workspace: str, file: str | None = None, *, is_outside: bool = False
) -> tuple[Boundary, str]:
    """The boundary for hooks, and why the workspace's settings are ignored, if they are."""
    try:
        return read_boundary(workspace, file=file, for_host=True, is_outside=is_outside), ""
    except ConfigError as error:
        where = f" ({error.where})" if error.where else ""
        return Boundary(workspace, Trust(), users_config()), f"{error.message}{where}"


def stamps_to_speak(boundary: Boundary) -> list[str] | None:
    """The stamps under which the workspace may speak, taken before its trust is checked again."""
    if not (boundary.trust.is_trusted and boundary.trust.speak):
        return None
    try:
        stamps = stamps_of(depended_on(boundary))
    except ValueError as error:
        log_failure(boundary.workspace, error)
        return None
    now = decide(read_settings(boundary.workspace, for_host=True), RECORD, os.environ)
    return stamps if now.speak and now.digest == boundary.trust.digest else None


def log_failure(workspace: str, error: Exception) -> None:
    """Add a failed refresh to the log of hooks."""
    room = state_room(workspace)
    rooms = (room, user_room()) if is_root(workspace) or room.exists() else (user_room(),)
    log(rooms, "refresh", f"{type(error).__name__}: {error}")


def prepare(
    store: Store, room: Room | None, workspace: str, config: Config, folders: Sequence[str]
) -> int:
    """Write what hooks read, after a refresh; how many skills were read in words."""
    read = catch_up(store)
    store.remember("capabilities", json.dumps(to_json(config.capabilities)))
    rows = store.rows("SELECT file, kind FROM document")
    cards = [file for file, kind in rows if kind == "card"]
    named = watched([*config.abilities, *config.cards, *config.agents], workspace)
    inside = [os.path.join(workspace, one) for one in (SETTINGS_FILE, "pyproject.toml", *named)]
    if room is not None:
        remember_workspace(room, workspace)
        always = [*inside, user_settings(), *folders, *cards[:MOST_FOLDERS]]
        with store.checked():
            _write_watched(room, always, [file for file, _ in rows])
    return read


def hook_documents(store: Store) -> HookDocuments:
    skills, unsafe, own_unsafe = store.rows(
        "SELECT coalesce(sum(safe), 0), coalesce(sum(NOT safe), 0),"
        " coalesce(sum(NOT safe AND origin = 'user'), 0)"
        " FROM document JOIN ranked USING (key) WHERE document.kind = 'skill' AND state = 'active'"
    )[0]
    cards = sum(card.enabled for card in stored_cards(store))
    out = [
        row.origin
        for row in excluded_documents(store)
        if row.reason != "disabled" and row.kind in ("skill", "card")
    ]
    return HookDocuments(skills, cards, unsafe + len(out), own_unsafe + out.count("user"))


def depended_on(boundary: Boundary) -> list[str]:
    """Every file that the user's trust in a workspace depends on, whether it exists or not."""
    workspace = boundary.workspace
    main, record = main_worktree(workspace), TrustRecord(workspace=workspace)
    names = [SETTINGS_FILE, "pyproject.toml", *([".git"] if main else [])]
    folders = watched(boundary.config.agents, workspace)
    named = [*names, *folders, *boundary.trust.files, *boundary.trust.agents, *boundary.trust.links]
    return [
        *record.files(workspace),
        *(record.files(main) if main else ()),
        user_settings(),
        *(os.path.join(workspace, one) for one in named),
    ]


def _write_watched(room: Room, always: Sequence[str], documents: Iterable[str]) -> None:
    """Record the times of what is `always` watched and of the folders with the most documents."""
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
