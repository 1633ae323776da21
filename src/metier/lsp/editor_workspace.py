"""One workspace of an editor: its settings under the user's trust, and its catalog."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TypeVar

from metier.catalog import Catalog
from metier.errors import ConfigError, MetierError, StoreError
from metier.flow.boundary import Boundary, workspace_of
from metier.flow.editing import Editing
from metier.flow.hook_refresh import depended_on, hook_boundary
from metier.flow.key_help import Known
from metier.serving.catalog_thread import CatalogThread, trust_stamp
from metier.storage.hook_files import stamp_of
from metier.storage.workspace import is_workspace
from metier.values.files import KINDS

T = TypeVar("T")
_LOG = logging.getLogger("metier.lsp")


class Folder:
    """The documents around a folder that an editor has opened."""

    def __init__(self, folder: str, *, notes: bool = False) -> None:
        """Raises `UsageError` if it is not a folder."""
        self.workspace = workspace_of(folder)
        self._is_outside = not is_workspace(folder)
        self._notes = notes
        self.known: Known | None = None
        """Names in the catalog, as of the last refresh."""
        self.editing = self._made()

    def _made(self) -> Editing:
        boundary = self._boundary()
        self._stamps = _stamps(boundary)
        try:
            return Editing(boundary, notes=self._notes)
        except ConfigError as error:
            _LOG.warning("your own lint rules are off: %s", error.message)
            config = boundary.config._replace(lint_rules=(), lint_plugins=())
            return Editing(boundary._replace(config=config), notes=self._notes)

    def _boundary(self) -> Boundary:
        """The settings that count now; wrong settings of the workspace count as none."""
        boundary, problem = hook_boundary(self.workspace, is_outside=self._is_outside)
        if problem:
            _LOG.warning("%s: the settings are ignored: %s", self.workspace, problem)
        return boundary

    def renew(self) -> None:
        """Read settings and trust again if they may have changed."""
        if _stamps(self.editing.boundary) != self._stamps:
            self.editing.close()
            self.editing = self._made()

    @property
    def restriction(self) -> str:
        """What is ignored because the workspace is not trusted; empty if nothing is."""
        ignored = self.editing.boundary.config.ignored
        if self.editing.boundary.trust.is_trusted or not ignored:
            return ""
        return f"{self.workspace} is not trusted; ignored: {', '.join(ignored)} (metier trust)"

    # The catalog

    @cached_property
    def _catalog(self) -> CatalogThread:
        return CatalogThread(self._opened, trust_stamp)

    async def ask(self, question: Callable[[Catalog], T]) -> T | None:
        """The answer of the catalog; None if it cannot be used."""
        try:
            return await self._catalog.ask(question)
        except MetierError as error:
            _LOG.warning("%s: %s", self.workspace, error.message)
            return None

    async def refresh(self) -> None:
        """Bring the catalog up to date with the disk."""
        known = await self.ask(_refreshed)
        self.known = known or self.known

    @contextmanager
    def _opened(self) -> Iterator[Catalog]:
        boundary = self._boundary()
        try:
            catalog = Catalog.within(boundary)
        except StoreError as error:
            _LOG.warning("%s; reading everything again, storing nothing", error.message)
            catalog = Catalog.in_memory(boundary)
        with catalog:
            yield catalog

    def close(self) -> None:
        self.editing.close()
        if "_catalog" in self.__dict__:
            self._catalog.close()


def _refreshed(catalog: Catalog) -> Known:
    catalog.refresh(encode=False)
    names: dict[str, list[str]] = {kind: catalog.names(kind) for kind in KINDS}
    return Known({**names, "capability": catalog.capabilities()})


def _stamps(boundary: Boundary) -> list[str]:
    return [stamp_of(path) for path in depended_on(boundary)]


def folder_around(file: str, opened: list[str]) -> str:
    """The innermost of the opened folders around a file, else the file's own folder."""
    around = [one for one in opened if file.startswith(one.rstrip(os.sep) + os.sep)]
    return max(around, key=len, default=os.path.dirname(file))
