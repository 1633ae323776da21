"""What a run gives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from metier.resolve.choice import Verdicts
from metier.resolve.missing import Decision, Outcome
from metier.resolve.policy import Policy
from metier.resolve.pool import Pool
from metier.resolve.scores import Question, Scores
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

    @property
    def is_resolved(self) -> bool:
        return not self.unresolved and all(one.is_resolved for one in self.below)


class OptionalMatch(NamedTuple):
    """Who would provide an optional capability."""

    capability: str
    provider: str | None
    match: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The result of one run."""

    question: Question
    policy: Policy
    selected: tuple[str, ...]
    """Ids of the chosen providers; empty after `failed` and `aborted`."""
    chosen: tuple[str, ...]
    """The same, whatever the outcome."""
    unresolved: tuple[str, ...]
    outcome: Outcome
    optional: tuple[OptionalMatch, ...]
    dependencies: tuple[Dependency, ...]
    probes: tuple[ProbeResult, ...]
    warnings: tuple[str, ...]
    pool: Pool = field(repr=False)
    scores: Scores = field(repr=False)
    verdicts: Verdicts = field(repr=False)
    ranked: tuple[int, ...] = field(repr=False)
    """Places of the candidates that were left after gates, walk and cut, best first."""

    @property
    def degraded_mode(self) -> bool:
        return self.outcome.is_degraded
