"""Looking through all documents: filters, order and counts."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from metier.values.files import Kind
from metier.values.rows import Row

FACETS = ("kind", "source", "state", "host", "agent", "finding", "capability", "owner")
"""What documents can be filtered by."""
ORDERS = ("name", "kind", "source", "state", "reason", "issues", "length", "best")
"""What they can be sorted by; `best` is the order of a search."""


class Browse(NamedTuple):
    """Which documents, and in which order."""

    search: str = ""
    facets: Mapping[str, Sequence[str]] = {}
    """For each facet the values of which one must fit."""
    order: str = "name"
    descending: bool = False
    offset: int = 0
    limit: int = 50


class FacetValue(NamedTuple):
    value: str
    documents: int
    """How many have it and fit all other facets."""
    is_chosen: bool

    def to_json(self) -> dict[str, Any]:
        return {"value": self.value, "documents": self.documents, "isChosen": self.is_chosen}


class DocumentCount(NamedTuple):
    """How many documents are alike in these respects."""

    kind: Kind
    source: str
    state: str
    reason: str
    """Why they are excluded; else empty."""
    documents: int


class Browsed(NamedTuple):
    """Some documents of all that fit."""

    rows: Sequence[Row]
    total: int
    facets: Mapping[str, Sequence[FacetValue]]
