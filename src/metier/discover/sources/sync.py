"""Configured sources → plain files in the state folder."""

import os
from collections.abc import Callable, Sequence

from metier.core.text import printable
from metier.discover.sources.cache import SourceCache
from metier.discover.sources.database import DatabaseSource
from metier.discover.sources.local import LocalSource
from metier.discover.sources.remote import RemoteSource, shown_address
from metier.discover.sources.source import CardSource, SourcedCard, reason
from metier.errors import ConfigError, MetierError, SourceError
from metier.storage.room import Room
from metier.values.capabilities import SourceSetting
from metier.values.outcomes import Issue

_SOURCES: dict[str, Callable[[SourceSetting, str], CardSource]] = {
    "local": lambda setting, workspace: LocalSource(setting.location, workspace),
    "database": lambda setting, workspace: DatabaseSource(
        os.path.join(workspace, os.path.expanduser(setting.location))
    ),
    "remote": lambda setting, _: RemoteSource(setting.location, setting.sha256),
}


def source_of(setting: SourceSetting, workspace: str) -> CardSource:
    """The source that a setting names. Raises `ConfigError` for a type that is not known."""
    make = _SOURCES.get(setting.type)
    if make is None:
        message = f"no source of cards has the type '{printable(setting.type)}'"
        raise ConfigError(message, hint=f"known: {', '.join(_SOURCES)}")
    return make(setting, workspace)


def source_folders(
    settings: Sequence[SourceSetting], room: Room
) -> list[tuple[SourceSetting, str]]:
    """The folder of each source, if it exists; links are ignored."""
    cache = SourceCache(room)
    folders: dict[str, SourceSetting] = {}
    for setting in settings:
        if setting.type in _SOURCES and cache.folder(setting).exists():
            folders.setdefault(cache.folder(setting).path, setting)
    return [(setting, folder) for folder, setting in folders.items()]


def sync_sources(settings: Sequence[SourceSetting], workspace: str, room: Room) -> list[Issue]:
    """Copy the cards of all sources into the state folder; a finding for each that fails.

    Cards and sources that are gone are removed. A source that fails keeps what is still valid: a
    database all, an address what is pinned, a folder nothing. Never raises.
    """
    cache = SourceCache(room)
    if not settings and not os.path.lexists(cache.room.path):
        return []
    issues: list[Issue] = []
    seen: dict[str, SourceSetting] = {}
    folders: list[Room] = []
    for setting in settings:
        try:
            source = source_of(setting, workspace)
            folder = cache.folder(setting)
            folders.append(folder)
            if seen.setdefault(folder.path, setting) != setting:
                raise SourceError("it is named twice, with two hashes; the first is used")
            _bring(source, folder, cache)
        except MetierError as error:
            issues.append(_issue(_shown(setting), error.message, error.hint))
        except Exception as error:  # a failing source must not stop the others
            why = f"not loaded: {reason(error)}"
            issues.append(_issue(_shown(setting), why, cache.room.path))
    try:
        cache.keep_only(folders)
    except OSError as error:
        issues.append(_issue(cache.room.path, f"cannot be cleared: {reason(error)}"))
    return issues


def _issue(path: str, message: str, hint: str = "") -> Issue:
    return Issue("SRC901", message, path, hint=hint)


def _shown(setting: SourceSetting) -> str:
    is_remote = setting.type == "remote"
    return shown_address(setting.location) if is_remote else printable(setting.location)


def _bring(source: CardSource, folder: Room, cache: SourceCache) -> None:
    """Copy the cards of a source, or those that are still valid. Raises `SourceError`."""
    kept = _still_valid(source, cache.cards(folder))
    if kept and isinstance(source, RemoteSource):
        cache.put(folder, kept)
        return
    try:
        cache.put(folder, source.load())
    except SourceError as error:
        cache.put(folder, kept)
        if kept:
            error.message += "; its earlier cards are still used"
        raise


def _still_valid(source: CardSource, had: list[SourcedCard]) -> list[SourcedCard]:
    """The cards to keep from the last time if a source fails."""
    if isinstance(source, RemoteSource):
        return [card for card in had if card.name == source.name and source.is_pinned(card.data)]
    return had if isinstance(source, DatabaseSource) else []
