"""The folders in the state folder that the cards of sources are brought into."""

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from metier.atomic import locked, make_state_folder, write_atomically
from metier.core.text import printable
from metier.errors import SourceError
from metier.sources.cards import SUFFIX, SourcedCard, content, digest
from metier.values.capabilities import SourceSetting

FOLDER = "cards"
_OWN = re.compile(r"[a-z]+-[0-9a-f]{12}\Z")


class Shelf:
    """The folders of all sources in the state folder. No link in it is ever followed."""

    def __init__(self, state_folder: str) -> None:
        self._state = state_folder
        self.root = os.path.join(state_folder, FOLDER)
        self._lock = f"{self.root}.lock"

    def folder(self, setting: SourceSetting) -> str:
        name = f"{setting.type}-{digest(setting.type + setting.location)}"
        return os.path.join(self.root, name)

    def link_to(self, folder: str) -> str:
        """The link that stands on the way to `folder`, if there is one."""
        way = (self._state, self._lock, self.root, folder)
        return next((path for path in way if os.path.islink(path)), "")

    def cards(self, folder: str) -> list[SourcedCard]:
        """What is in `folder` that may be a card."""
        self._refuse_links(folder)
        return [
            SourcedCard(name.removesuffix(SUFFIX), data)
            for name, data in sorted(_present(folder).items())
            if data is not None and name.endswith(SUFFIX)
        ]

    def put(self, folder: str, cards: Sequence[SourcedCard]) -> None:
        """Make `folder` hold these cards and nothing else."""
        wanted = {card.name + SUFFIX: card.data for card in cards}
        self._refuse_links(folder)
        if _present(folder) == wanted:
            return
        make_state_folder(self._state)
        with locked(self._lock):
            self._refuse_links(folder)
            os.makedirs(folder, exist_ok=True)
            _make_equal(folder, wanted)

    def keep_only(self, folders: Mapping[str, object]) -> None:
        """Remove the folders of all other sources."""
        self._refuse_links(self.root)
        with suppress(FileNotFoundError):
            if self._others(folders):
                with locked(self._lock):
                    for path in self._others(folders):
                        _remove(path)

    def _others(self, folders: Mapping[str, object]) -> list[str]:
        paths = {name: os.path.join(self.root, name) for name in os.listdir(self.root)}
        return [path for name, path in paths.items() if _OWN.match(name) and path not in folders]

    def _refuse_links(self, folder: str) -> None:
        link = self.link_to(folder)
        if link:
            hint = f"remove {printable(link)}"
            raise SourceError("a link stands where its cards are kept", hint=hint)


def _present(folder: str) -> dict[str, bytes | None]:
    """What is in a folder; None for what cannot be a card."""
    try:
        return {name: _if_readable(os.path.join(folder, name)) for name in os.listdir(folder)}
    except FileNotFoundError:
        return {}


def _if_readable(file: str) -> bytes | None:
    try:
        return content(file)
    except OSError:
        return None


def _make_equal(folder: str, wanted: Mapping[str, bytes]) -> None:
    present = _present(folder)
    for name, data in wanted.items():
        if present.get(name, b"") is None:
            _remove(os.path.join(folder, name))
        if present.get(name) != data:
            write_atomically(os.path.join(folder, name), data)
    for name in present.keys() - wanted.keys():
        _remove(os.path.join(folder, name))


def _remove(path: str) -> None:
    """Remove a file, a link itself, or a folder with all that is in it."""
    if os.path.isdir(path) and not os.path.islink(path):
        import shutil  # rarely needed, and not small

        shutil.rmtree(path)
    else:
        os.unlink(path)
