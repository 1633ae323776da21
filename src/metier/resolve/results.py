"""Parts of what a run gives."""

from typing import Any, NamedTuple


class Refused(NamedTuple):
    """Who would provide a requirement that stays open, and why it was rejected."""

    capability: str
    provider: str
    reasons: tuple[str, ...]
    lacks: tuple[str, ...] = ()
    """What stays open of its own requirements."""

    def to_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {
            "capability": self.capability,
            "provider": self.provider,
            "reasons": list(self.reasons),
        }
        if self.lacks:
            told["unresolved_dependencies"] = list(self.lacks)
        return told


class Dependency(NamedTuple):
    """What one provider requires itself, and who provides that."""

    provider: str
    requires: tuple[str, ...]
    selected: tuple[str, ...]
    unresolved: tuple[str, ...]
    providers: tuple[tuple[str, ...], ...] = ()
    """For each requirement those of the selected that provide it."""
    cycle: tuple[str, ...] = ()
    """The ids of a circle, if it leads back to a provider above."""
    beyond_depth: bool = False
    """Whether the providers below have requirements that were not followed."""
    below: tuple["Dependency", ...] = ()
    repeated: tuple[str, ...] = ()
    """Providers whose own requirements are described elsewhere in the report."""
    refused: tuple[Refused, ...] = ()
    """The best of those that would provide what is unresolved."""
    more_refused: int = 0
    """How many others there are."""

    @property
    def is_resolved(self) -> bool:
        return not self.unresolved and all(one.is_resolved for one in self.below)

    def all_unresolved(self) -> list[str]:
        """What is unresolved here and further below."""
        return [*self.unresolved, *(name for one in self.below for name in one.all_unresolved())]

    def to_json(self) -> dict[str, Any]:
        node: dict[str, Any] = {
            "provider": self.provider,
            "requires": list(self.requires),
            "selected": list(self.selected),
            "providers": {
                name: list(ids) for name, ids in zip(self.requires, self.providers, strict=False)
            },
            "unresolved": list(self.unresolved),
            "cycle": list(self.cycle),
            "beyond_depth": self.beyond_depth,
            "dependencies": [one.to_json() for one in self.below],
        }
        if self.repeated:
            node["repeated"] = list(self.repeated)
        if self.refused:
            node["refused"] = [one.to_json() for one in self.refused]
        if self.more_refused:
            node["more_refused"] = self.more_refused
        return node


class Lack(NamedTuple):
    """What keeps a candidate from being chosen in strict: its own requirements."""

    open: tuple[str, ...]
    """What stays open in the end, of its requirements or of those of their providers."""
    tree: Dependency


class OptionalMatch(NamedTuple):
    """Who would provide an optional capability."""

    capability: str
    provider: str | None
    match: str
    token: str | None = None
    """The capability of the provider that matched; None without an explicit match."""
