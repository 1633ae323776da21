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
    complete = True
    with undoing():
        for one, record in reversed(_succeeded(live, inside, suffix)):
            if one.compensate is not None or not one.groups:
                complete = await _undo(live, one, record) and complete
        _mark_containers(live, inside, suffix)
    return complete


def _succeeded(
    live: Undoing, inside: dict[str, ReadyStep], suffix: str
) -> list[tuple[ReadyStep, StepRecord]]:
    """The steps of a group that succeeded, in the order in which they ended."""
    found = []
    for record in live.ledger.in_order():
        name, bracket, turn = record.id.partition("[")
        is_inside = name in inside and f"{bracket}{turn}".startswith(suffix)
        if is_inside and record.state == "succeeded":
            found.append((inside[name], record))
    return found


async def _undo(live: Undoing, one: ReadyStep, record: StepRecord) -> bool:
    if one.compensate is None:
        return False
    suffix = record.id.removeprefix(one.id)
    undo = one.compensate.id + suffix
    live.ledger.begin_undoing(undo, record)
    failure = await live.step(one.compensate, live.names(record.id), suffix)
    if failure is not None or live.ledger.records[undo].state != "succeeded":
        return False
    live.tell("step.compensated", record.id)
    return True


def _mark_containers(live: Undoing, inside: dict[str, ReadyStep], suffix: str) -> None:
    """A step whose steps were all undone is undone too; the innermost come first."""
    parents = {child.id: one for one in inside.values() for child in one.children()}
    standing: set[str] = set()
    for one, record in _succeeded(live, inside, suffix):
        if one.groups and one.compensate is None and record.id not in standing:
            live.ledger.note(record._replace(state="compensated"))
            live.tell("step.compensated", record.id)
        elif one.id in parents:
            standing.add(_parent_key(one, record, parents[one.id]))


def _parent_key(one: ReadyStep, record: StepRecord, parent: ReadyStep) -> str:
    turn = record.id.removeprefix(one.id)
    return parent.id + (turn.rpartition("[")[0] if parent.kind == "loop" else turn)
