"""The folders in the state room with the copied cards of sources."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from metier.discover.sources.source import LARGEST, SUFFIX, SourcedCard, digest
from metier.storage.room import Room
from metier.values.capabilities import SourceSetting

FOLDER = "cards"
_OWN = re.compile(r"[a-z]+-[0-9a-f]{12}\Z")


class SourceCache:
    """The folders of all sources. No link in them is followed, nothing else is touched."""

    def __init__(self, room: Room) -> None:
        self.room = room.below(FOLDER)
        self._above = room

    def folder(self, setting: SourceSetting) -> Room:
        return self.room.below(f"{setting.type}-{digest(setting.type + setting.location)}")

    def cards(self, folder: Room) -> list[SourcedCard]:
        """The readable cards in `folder`."""
        return [
            SourcedCard(name.removesuffix(SUFFIX), data)
            for name, data in sorted(_present(folder).items())
            if data is not None
        ]

    def put(self, folder: Room, cards: Sequence[SourcedCard]) -> None:
        """Make `folder` hold these cards and no others. Raises `OSError`."""
        wanted = {card.name + SUFFIX: card.data for card in cards}
        if _present(folder) == wanted:
            return
        with self._locked():
            folder.make()
            _make_equal(folder, wanted)

    def keep_only(self, folders: Iterable[Room]) -> None:
        """Remove the cards of all other sources. Raises `OSError`."""
        kept = {folder.path for folder in folders}
        for name in self.room.names():
            folder = self.room.below(name)
            if _OWN.match(name) and folder.path not in kept:
                with self._locked():
                    _make_equal(folder, {})
                    with suppress(OSError):  # something else is in it
                        os.rmdir(folder.path)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = self._above.lock(f"{FOLDER}.lock")
        try:
            yield
        finally:
            os.close(lock)


def _present(folder: Room) -> dict[str, bytes | None]:
    """The cards in a folder; None for an unreadable card."""
    return {name: _if_readable(folder, name) for name in folder.names() if name.endswith(SUFFIX)}


def _if_readable(folder: Room, name: str) -> bytes | None:
    try:
        return folder.read(name, LARGEST)
    except OSError:
        return None


def _make_equal(folder: Room, wanted: Mapping[str, bytes]) -> None:
    present = _present(folder)
    for name, data in wanted.items():
        if present.get(name) != data:
            folder.write(name, data)
    for name in present.keys() - wanted.keys():
        folder.remove(name)
