"""Making known again what steps gave that an earlier try has done."""

from collections.abc import Sequence
from typing import Any, Protocol

from metier.run.ledger import Ledger
from metier.run.workflow import ReadyStep
from metier.values.runs import StepRecord


class Restoring(Protocol):
    """A run at work, as far as it takes to restore its steps."""

    ledger: Ledger
    scopes: dict[str, dict[str, Any]]

    def remember(self, one: ReadyStep, output: Any) -> None: ...
    def names_of_turn(self, one: ReadyStep, names: dict[str, Any], turn: int) -> dict[str, Any]: ...


def restore(
    live: Restoring, one: ReadyStep, known: StepRecord, names: dict[str, Any], suffix: str
) -> None:
    """Make known again what a step gave that is done, and all inside it."""
    turns = [(names, suffix)]
    if one.kind == "loop" and isinstance(known.output, list):
        turns = [
            (live.names_of_turn(one, names, turn), f"{suffix}[{turn}]")
            for turn in range(len(known.output))
        ]
    children = [child for group in one.groups.values() for child in group.steps]
    for inner, inner_suffix in turns:
        for child, record in ended_steps(live.ledger, children, inner_suffix):
            if inner_suffix:
                live.scopes[record.id] = inner
            restore(live, child, record, inner, inner_suffix)
    live.ledger.show(one.id, known)
    if known.state == "succeeded":
        live.remember(one, known.output)


def ended_steps(
    ledger: Ledger, steps: Sequence[ReadyStep], suffix: str = ""
) -> list[tuple[ReadyStep, StepRecord]]:
    """Those of `steps` that are done, with their records, in the order in which they ended."""
    found = [(one, ledger.done(one.id + suffix)) for one in steps]
    done = [(one, record) for one, record in found if record is not None]
    return sorted(done, key=lambda pair: pair[1].seq)
