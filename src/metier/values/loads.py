"""What a load, or a refresh, did."""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from metier.values.outcomes import Exclusion, Issue

T = TypeVar("T")


class Loaded(NamedTuple, Generic[T]):
    """The usable documents of a load, and why the others are excluded."""

    items: Sequence[T]
    issues: Sequence[Issue]
    excluded: Sequence[Exclusion]
    kind: str = ""


class LoadSummary(NamedTuple):
    """Counts of one load of skills: `total_on_disk == loaded + skipped`."""

    loaded: int
    """With shadowed skills."""
    skipped: int
    pruned: int
    total_on_disk: int


class Changes(NamedTuple):
    """What one refresh did to the catalog, and what is in it now."""

    included: Mapping[str, int]
    """By kind, with shadowed documents."""
    excluded: int
    shadowed: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0

    @property
    def discovered(self) -> int:
        """All files that were found, excluded files too."""
        return sum(self.included.values()) + self.excluded

    def to_json(self) -> dict[str, Any]:
        return {
            "added": self.added,
            "changed": self.changed,
            "removed": self.removed,
            "unchanged": self.unchanged,
            "discovered": self.discovered,
            "included": dict(self.included),
            "shadowed": self.shadowed,
            "excluded": self.excluded,
        }
