"""A page: one function gives its data, a template shows it, and `.json` gives it as it is."""

import shlex
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from metier.catalog import Catalog
from metier.values.runs import OnEvent
from metier.web.query import Items, Query

T = TypeVar("T")
Data = Mapping[str, Any]
"""What a page shows. Values are JSON, or have `to_json`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a page function gets: the catalog, what was asked, and what is in force."""

    catalog: Catalog
    query: Query
    page: str

    @property
    def is_restricted(self) -> bool:
        """Whether the user has not trusted the workspace: documents are shown, nothing runs."""
        return self.catalog.config.is_workspace and not self.catalog.trust.is_trusted

    def cached(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, cached until the catalog changes."""
        return self.catalog.store.cached(("web", self.page, key), make)

    def briefly(self, key: Hashable, make: Callable[[], T]) -> T:
        """As `cached`, for half a minute at most: for what depends on files of hosts, too."""
        return self.cached((key, int(time.monotonic() // 30)), make)

    def latest(self, key: Hashable, make: Callable[[], T]) -> T:
        """As `briefly`, but only for the last key: for answers that are too large to keep many."""
        whole, kept = (key, int(time.monotonic() // 30)), self.cached("latest", dict[Hashable, T])
        if whole not in kept:
            made = make()
            kept.clear()
            kept[whole] = made
        return kept[whole]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page, at `/name` and `/name.json`, shown by the template `name.html`."""

    name: str
    title: str
    build: Callable[[View], Data]
    """Runs in the catalog's thread. Raises `MetierError` for what cannot be shown."""
    command: Callable[[Data], list[str]] | None = None
    """The arguments of the `metier` command that prints the same."""
    group: str = ""
    """Its heading in the sidebar; empty for a page that only links lead to."""
    under: str = ""
    """The page of the sidebar that it belongs to, if it is not in the sidebar itself."""
    order: int = 100
    """Its place in the sidebar."""
    is_cached: bool = False
    """Whether its data depend on nothing but the catalog and the query."""
    computes: bool = False
    """Whether it may take long: it then runs in another thread than quick pages."""

    def data(self, catalog: Catalog, query: Query) -> Data:
        """What the page shows, without the values of secrets."""
        return catalog.redactor.value(self._built(catalog, query))

    def _built(self, catalog: Catalog, query: Query) -> Data:
        view = View(catalog=catalog, query=query, page=self.name)
        if not self.is_cached:
            return self.build(view)
        key: Items = query.items
        return view.cached(("page", key), lambda: self.build(view))

    def command_line(self, data: Data) -> str:
        return shlex.join(["metier", *self.command(data)]) if self.command is not None else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Something a form does, at `/do/name`, by POST only."""

    name: str
    do: Callable[[Catalog, Mapping[str, str]], str]
    """Gets the writable catalog and the fields; returns the address of the page to show next.
    Call `catalog.require_trust` first if it uses a power."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A form that begins or resumes a run, at `/do/name`, by POST only; shows the run next."""

    name: str
    work: Callable[[Catalog, Mapping[str, str], OnEvent], Awaitable[str]]
    """Gets a writable catalog for itself, and the fields; returns the id of the run at its end."""


Ask = Callable[[Callable[[Catalog], Any]], Awaitable[Any]]
"""Asks the catalog something, in its thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Events for a page that is live, at `/name`."""

    name: str
    events: Callable[[Ask, Query], AsyncGenerator[Data, None]]


def to_plain(value: Any) -> Any:
    """JSON for a value that has none: `to_json`, or a collection."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} is not JSON")
