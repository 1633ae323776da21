"""Parts of what a run gives."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from metier.resolve.missing import Decision
from metier.values.candidates import Candidate


class ProbeResult(NamedTuple):
    """What a probe of one candidate for one capability gave."""

    candidate: str
    capability: str
    passed: bool
    detail: str = ""
    output: str = ""
    """What it printed, cut to a bound."""


Probe = Callable[[Candidate, str], ProbeResult]
Decide = Callable[[Sequence[str]], Decision | None]
"""Asked when `offer-emulation` needs an answer; gets the capabilities that are open."""
MayProbe = Callable[[Candidate, str], bool]


class Dependency(NamedTuple):
    """What one provider requires itself, and who provides that."""

    provider: str
    requires: tuple[str, ...]
    selected: tuple[str, ...]
    unresolved: tuple[str, ...]
    cycle: tuple[str, ...] = ()
    """The ids of a circle, if it leads back to a provider above."""
    beyond_depth: bool = False
    """Whether the providers below have requirements that were not followed."""
    below: tuple["Dependency", ...] = ()
    repeated: tuple[str, ...] = ()
    """Those of the selected whose own requirements are described elsewhere in the tree."""

    @property
    def is_resolved(self) -> bool:
        return not self.unresolved and all(one.is_resolved for one in self.below)

    def to_json(self) -> dict[str, Any]:
        node: dict[str, Any] = {
            "provider": self.provider,
            "requires": list(self.requires),
            "selected": list(self.selected),
            "unresolved": list(self.unresolved),
            "cycle": list(self.cycle),
            "beyond_depth": self.beyond_depth,
            "dependencies": [one.to_json() for one in self.below],
        }
        if self.repeated:
            node["repeated"] = list(self.repeated)
        return node


class OptionalMatch(NamedTuple):
    """Who would provide an optional capability."""

    capability: str
    provider: str | None
    match: str
    token: str | None = None
    """The capability of the provider that matched; None without an explicit match."""
