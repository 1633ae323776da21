"""What a refresh of a catalog reads: its folders, teams and trail, and which skills may be used.

Light: a refresh with nothing to read never imports `metier.flow.reviewing`.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from metier.config import Config
from metier.config.source_trust import is_all_trusted, settings_mark
from metier.flow.reading import read_documents, team_folders
from metier.index.store import Store
from metier.index.trail import kept_trail
from metier.values.files import Found, Reading, Root
from metier.values.outcomes import Issue

if TYPE_CHECKING:
    from metier.flow.reviewing import Reviewing


class CatalogReading:
    def __init__(self, workspace: str, store: Store) -> None:
        self._workspace = workspace
        self._store = store
        self._reviewing: Reviewing | None = None

    def read(self, roots: Sequence[Root], config: Config) -> Reading:
        """The files below `roots`; nothing is listed while nothing has changed."""
        is_reviewed = not is_all_trusted(config, roots)
        return read_documents(
            roots,
            disabled=config.disabled,
            own_disabled=config.own_disabled,
            ordered=False,
            known=kept_trail(self._store),
            teams=team_folders(self._workspace, config),
            review=partial(self._review, config) if is_reviewed else None,
            review_mark=settings_mark(config) if is_reviewed else "",
        )

    def _review(self, config: Config, found: list[Found], paths: list[str]) -> list[Found]:
        from metier.flow.reviewing import Reviewing  # many users have no source to review

        self._reviewing = Reviewing(self._workspace, config, self._store)
        return self._reviewing.apply(found, paths)

    @property
    def issues(self) -> list[Issue]:
        """Reviews that could not be recorded."""
        return self._reviewing.issues if self._reviewing is not None else []

    def keep(self) -> None:
        """Remember which files of skills were read."""
        if self._reviewing is not None:
            self._reviewing.keep()
