"""What happens when a required capability stays open."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from metier.values.policy import OnMissing

Decision = Literal["emulate", "continue-with-partial", "abort"]
DECISIONS: tuple[Decision, ...] = get_args(Decision)
OutcomeName = Literal[
    "not-needed", "failed", "emulated", "continued-partial", "aborted", "pending-decision"
]
_AFTER: dict[Decision, OutcomeName] = {
    "emulate": "emulated",
    "continue-with-partial": "continued-partial",
    "abort": "aborted",
}


class Outcome(NamedTuple):
    """How a resolution ended."""

    policy: OnMissing
    name: OutcomeName
    decision: Decision | None = None
    """Only when somebody was asked and answered."""
    emulated: tuple[str, ...] = ()

    is_short: bool = False
    """Whether too little was selected."""

    @property
    def is_degraded(self) -> bool:
        """Whether the resolution goes on without a required capability."""
        return self.name in ("emulated", "continued-partial")

    @property
    def keeps_selection(self) -> bool:
        if self.name == "pending-decision":
            return not self.is_short
        return self.name not in ("failed", "aborted")


def settle_missing(
    policy: OnMissing, unresolved: Sequence[str], is_short: bool, decision: Decision | None
) -> Outcome:
    """The outcome when `unresolved` stay open; `is_short` when too little was selected."""
    if not unresolved and not is_short:
        return Outcome(policy, "not-needed")
    if policy == "hard-fail":
        return Outcome(policy, "failed")
    if policy == "auto-emulate":
        return Outcome(policy, "emulated", emulated=tuple(unresolved))
    if decision is None:
        return Outcome(policy, "pending-decision", is_short=is_short)
    emulated = tuple(unresolved) if decision == "emulate" else ()
    return Outcome(policy, _AFTER[decision], decision, emulated)
