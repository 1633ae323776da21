"""Taking back what a group of steps has done."""

from typing import Any, Protocol

from metier.run.ledger import Ledger, undoing
from metier.run.workflow import Group, ReadyStep
from metier.values.runs import Failure, StepRecord


class Undoing(Protocol):
    """A run at work, as far as it takes to undo its steps."""

    ledger: Ledger

    def names(self, key: str) -> dict[str, Any]: ...
    def tell(self, kind: str, step: str) -> None: ...
    async def step(self, one: ReadyStep, names: dict[str, Any], suffix: str) -> Failure | None: ...


async def roll_back(live: Undoing, group: Group, suffix: str = "") -> bool:
    """Undo what succeeded in `group`, the latest first; whether all of it could be undone."""
    inside = {one.id: one for step in group.steps for one in step.walk()}
    succeeded = [one for one in live.ledger.in_order() if one.state == "succeeded"]
    complete = True
    with undoing():
        for record in reversed(succeeded):
            name, bracket, turn = record.id.partition("[")
            one = inside.get(name)
            if one is not None and f"{bracket}{turn}".startswith(suffix):
                complete = await _undo(live, one, record) and complete
    return complete


async def _undo(live: Undoing, one: ReadyStep, record: StepRecord) -> bool:
    if one.compensate is None:
        return bool(one.groups)  # its steps are undone one by one
    suffix = record.id.removeprefix(one.id)
    undo = one.compensate.id + suffix
    live.ledger.records.pop(undo, None)  # of an earlier time
    live.ledger.undone_with(undo, record)
    failure = await live.step(one.compensate, live.names(record.id), suffix)
    if failure is None:
        live.tell("step.compensated", record.id)
    return failure is None
