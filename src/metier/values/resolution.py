"""A resolution: the request, the decision on what is missing, the outcome and the report."""

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from metier.core.arguments import check_choice
from metier.errors import UsageError
from metier.safety.escapes import escaped_json
from metier.values.candidates import Candidate
from metier.values.contracts import Mode
from metier.values.policy import OnMissing

DEPTH = 2
"""How far requirements of providers are followed."""
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

REASONS = (
    "runtime-incompatible",
    "contract-inflated",
    "probe-failed",
    "dependency-unresolved",
    "nothing-resolved",
    "below-min-contract-score",
    "below-min-required-coverage",
    "below-min-total-score",
    "beyond-max-candidates-hint",
    "beyond-max-candidates",
    "own-team-first",
)
"""Why a candidate is rejected, in the order in which reasons are named."""
TIE_BREAKS = (
    "S_total_final",
    "S_contract",
    "required_coverage",
    "unresolved_required",
    "S_specificity",
    "S_skill",
    "stable_hash",
)
"""What ranks candidates: the final score, then the six tie-breakers as steps 1 to 6."""
OWN_TEAM = "own_team"


def tie_breaks(team: str) -> tuple[str, ...]:
    """`TIE_BREAKS`; if a team asks, its own candidates come first before the last step."""
    return (*TIE_BREAKS[:-1], OWN_TEAM, TIE_BREAKS[-1]) if team else TIE_BREAKS


class ProbeResult(NamedTuple):
    candidate: str
    capability: str
    passed: bool
    detail: str = ""
    output: str = ""


Probe = Callable[[Candidate, str], ProbeResult]
MayProbe = Callable[[Candidate, str], bool]
Decide = Callable[[Sequence[str]], Decision | None]
"""Called with the unresolved capabilities when `offer-emulation` needs a decision."""


class ResolveRequest(NamedTuple):
    """What a caller asks for, by the names of `Catalog.resolve`."""

    requires: Sequence[str] = ()
    query: str = ""
    consumer: str | None = None
    """The name or id of the skill whose requirements are resolved too."""
    mode: Mode | None = None
    policy: Mapping[str, str] = MappingProxyType({})
    """Overrides the consumer's policy."""
    alias_file: str | os.PathLike[str] | None = None
    host: str | None = None
    decide: Decide | None = None
    may_probe: MayProbe | None = None
    divergence: bool = True
    depth: int = DEPTH
    only: Collection[str] | None = None
    """Names or ids of the only skills that may be chosen."""
    team: str = ""
    """The team that asks: its own skills come first. By default the consumer's."""


class Outcome(NamedTuple):
    policy: OnMissing
    name: OutcomeName
    decision: Decision | None = None
    emulated: tuple[str, ...] = ()
    is_short: bool = False
    """Whether too little was selected."""

    @property
    def is_degraded(self) -> bool:
        """Whether it continues without a required capability."""
        return self.name in ("emulated", "continued-partial")

    @property
    def keeps_selection(self) -> bool:
        if self.name == "pending-decision":
            return not self.is_short
        return self.name not in ("failed", "aborted")

    def to_json(self) -> dict[str, Any]:
        decision = {} if self.decision is None else {"user_decision": self.decision}
        return {"policy": self.policy, "outcome": self.name, **decision}


def settle(
    policy: OnMissing, unresolved: Sequence[str], is_short: bool, decision: Decision | None
) -> Outcome:
    """The outcome for `unresolved` capabilities; `is_short` when too little was selected."""
    if not unresolved and not is_short:
        return Outcome(policy, "not-needed")
    if policy == "hard-fail":
        return Outcome(policy, "failed")
    if policy == "auto-emulate":
        return Outcome(policy, "emulated", emulated=tuple(unresolved))
    if decision is None:
        return Outcome(policy, "pending-decision", is_short=is_short)
    check_choice("decision", decision, DECISIONS)
    emulated = tuple(unresolved) if decision == "emulate" else ()
    return Outcome(policy, _AFTER[decision], decision, emulated)


class Report(dict[str, Any]):
    """A `capability_resolution_report`."""

    def to_json(self) -> str:
        return escaped_json(json.dumps(self, indent=2, ensure_ascii=False))

    @property
    def data(self) -> dict[str, Any]:
        """Its fields, as in the schema `capability-resolution-report`."""
        return self

    @property
    def id(self) -> str:
        """For `catalog.report` and `catalog.decide`."""
        return str(self["run_id"])

    @property
    def outcome(self) -> str:
        """`not-needed`, `failed`, `pending-decision`, …"""
        return str(self["on_missing_required_action"]["outcome"])

    @property
    def is_pending(self) -> bool:
        """Whether it waits for a decision."""
        return self.outcome == "pending-decision"

    def for_client(self, client: str) -> "Report":
        """The same report, with the client of a server in its id."""
        return Report(self | {"run_id": f"{self.id}-{client}"})

    def decided(self, decision: Decision) -> "Report":
        """The report of the same resolution after `decision`. Raises `UsageError`."""
        if decision not in DECISIONS:
            raise UsageError(f"'{decision}' is not a decision", hint=", ".join(DECISIONS))
        if not self.is_pending:
            message = f"report '{self.id}' does not wait for a decision: it is {self.outcome}"
            raise UsageError(message)
        unresolved = self["unresolved_required_capabilities"]
        outcome = settle("offer-emulation", unresolved, True, decision)
        selected = list(self["diagnostics"]["chosen"]) if outcome.keeps_selection else []
        rows = [{**row, "selected": row["id"] in selected} for row in self["candidates"]]
        return Report(self | outcome_fields(outcome) | {"selected": selected, "candidates": rows})


def outcome_fields(outcome: Outcome) -> dict[str, Any]:
    """The fields of a report that a decision changes, apart from the selection."""
    return {
        "on_missing_required_action": outcome.to_json(),
        "degraded_mode": outcome.is_degraded,
        "emulated_capabilities": list(outcome.emulated),
    }
