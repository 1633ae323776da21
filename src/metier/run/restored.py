"""Making known again what an earlier try of a run has done."""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from metier.core.templates import TemplateError
from metier.run.ledger import Ledger
from metier.run.workflow import ReadyStep, Workflow

Names = dict[str, Any]


class Restoring(Protocol):
    """A run at work, as far as it takes to restore its steps."""

    ledger: Ledger
    plan: Workflow
    scopes: dict[str, Names]

    def names(self) -> Names: ...
    def remember(self, one: ReadyStep, output: Any) -> None: ...
    def names_of_turn(
        self, one: ReadyStep, names: Names, turn: int, items: Any = None
    ) -> Names: ...


def restore_all(live: Restoring) -> None:
    """Make known again what all steps gave; memory in the order in which they ended."""
    steps = {step.id: step for one in live.plan.steps for step in _with_compensations(one)}
    for record in live.ledger.in_order():
        one = steps.get(record.id.partition("[")[0])
        if one is not None and record.state in ("succeeded", "compensated"):
            live.remember(one, record.output)
    names = live.names()
    for one in _in_order(live, live.plan.steps, ""):
        restore(live, one, names, "")


def restore(live: Restoring, one: ReadyStep, names: Names, suffix: str) -> None:
    """Let templates see again what a step gave, and all inside it."""
    key = one.id + suffix
    for inner, inner_suffix in _turns(live, one, names, suffix):
        for child in _in_order(live, one.children(), inner_suffix):
            restore(live, child, inner, inner_suffix)
    record = live.ledger.records.get(key)
    if record is not None and record.state in ("succeeded", "skipped", "compensated"):
        if suffix:
            live.scopes[key] = names
        live.ledger.show(one.id, record)


def _with_compensations(one: ReadyStep) -> Iterator[ReadyStep]:
    for step in one.walk():
        yield step
        if step.compensate is not None:
            yield from _with_compensations(step.compensate)


def _in_order(live: Restoring, steps: Iterable[ReadyStep], suffix: str) -> list[ReadyStep]:
    """Those of `steps` that began: first those that ended, in the order in which they did."""
    records = live.ledger.records
    begun = [(one, records[one.id + suffix]) for one in steps if one.id + suffix in records]
    begun.sort(key=lambda pair: (pair[1].seq == 0, pair[1].seq))
    return [one for one, _ in begun]


def _turns(
    live: Restoring, one: ReadyStep, names: Names, suffix: str
) -> Iterator[tuple[Names, str]]:
    """What the steps inside a step saw, and where they stand: of a loop, turn by turn."""
    if one.kind != "loop":
        yield names, suffix
        return
    turn = 0
    while _in_order(live, one.children(), f"{suffix}[{turn}]"):
        live.ledger.forget(one)
        yield _names_of_turn(live, one, names, suffix, turn), f"{suffix}[{turn}]"
        turn += 1


def _names_of_turn(live: Restoring, one: ReadyStep, names: Names, suffix: str, turn: int) -> Names:
    items = live.ledger.items(one.id + suffix)
    try:
        return live.names_of_turn(one, names, turn, items)
    except (TemplateError, LookupError, TypeError):  # it went over what is no longer known
        return {**names, "index": turn}
