"""The order of a workflow: what waits for what, known before anything runs."""

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from metier.errors import UsageError
from metier.values.agents import WorkflowStep


def plan_layers(steps: Iterable[WorkflowStep] | Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Step ids in layers: those of one layer wait only for those of the layers before.

    `steps` may be given as the dependencies of each id. Raises `UsageError` for a circle, which
    it prints, and for a dependency on a step that is not there.
    """
    waits = dict(steps) if isinstance(steps, Mapping) else _waits(steps)
    for step, dependencies in waits.items():
        for one in dependencies:
            if one not in waits:
                raise UsageError(f"step '{step}' depends on '{one}', which is not there")
    sorter = TopologicalSorter(waits)
    try:
        sorter.prepare()
    except CycleError as error:
        circle = " → ".join(reversed(error.args[1]))
        raise UsageError(f"steps depend on each other: {circle}") from None
    place = {step: number for number, step in enumerate(waits)}
    layers: list[list[str]] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=place.__getitem__)
        layers.append(ready)
        sorter.done(*ready)
    return layers


def _waits(steps: Iterable[WorkflowStep]) -> dict[str, tuple[str, ...]]:
    waits: dict[str, tuple[str, ...]] = {}
    for step in steps:
        if step.step_id in waits:
            raise UsageError(f"step id '{step.step_id}' is used twice")
        waits[step.step_id] = step.dependencies
    return waits


def check_order(steps: Sequence[WorkflowStep]) -> None:
    """Raise `UsageError` when a step of a sequence depends on one that does not come before it."""
    plan_layers(steps)
    before: set[str] = set()
    for step in steps:
        for one in step.dependencies:
            if one not in before:
                raise UsageError(
                    f"step '{step.step_id}' depends on '{one}', a later step",
                    hint="move it up, or run with execution: parallel",
                )
        before.add(step.step_id)
