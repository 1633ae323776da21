"""Cards in another folder of the workspace."""

import os
from collections.abc import Iterator

from metier.core.paths import is_inside, is_markdown, without_md
from metier.core.text import printable
from metier.discover.sources.source import LARGEST, SourcedCard, content, file_stem, reason
from metier.errors import SourceError


class LocalSource:
    """The `*.md` files directly in another folder of the workspace."""

    type = "local"

    def __init__(self, folder: str, workspace: str) -> None:
        self.location = folder
        self._workspace = workspace

    def load(self) -> list[SourcedCard]:
        try:
            return list(self._cards())
        except (OSError, ValueError) as error:
            raise self._failed(f"cannot be read: {reason(error)}") from None

    def _cards(self) -> Iterator[SourcedCard]:
        root = os.path.realpath(self._workspace)
        folder = self._resolved(os.path.join(root, self.location), root, "the folder")
        for name in sorted(os.listdir(folder)):
            if not is_markdown(name) or name.startswith("."):
                continue
            data = content(self._resolved(os.path.join(folder, name), root, repr(name)))
            if data is None:
                raise self._failed(f"{name!r} is not a regular file of {LARGEST} bytes at most")
            yield SourcedCard(file_stem(without_md(name)), data)

    def _resolved(self, path: str, root: str, what: str) -> str:
        real = os.path.realpath(path)
        if not is_inside(real, root):
            hint = "copy the cards: they are read from inside the workspace only"
            raise self._failed(f"{what} leads out of the workspace", hint)
        return real

    def _failed(self, message: str, hint: str = "") -> SourceError:
        return SourceError(message, where=printable(self.location), hint=hint)
