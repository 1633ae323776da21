"""Order by dependencies: what comes before what."""

from collections.abc import Callable, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter


def dependencies_first(start: str, requires: Callable[[str], Iterable[str]]) -> list[str]:
    """`start` and its transitive requirements, each after its own; cycles end."""
    order: list[str] = []
    seen = {start}
    trail = [(start, iter(requires(start)))]
    while trail:
        here, rest = trail[-1]
        wanted = next((name for name in rest if name not in seen), None)
        if wanted is None:
            order.append(here)
            trail.pop()
        else:
            seen.add(wanted)
            trail.append((wanted, iter(requires(wanted))))
    return order


def cycle_of(graph: Mapping[str, Iterable[str]]) -> str:
    """The first cycle, as `a → b → a`; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " → ".join(reversed(error.args[1]))
    return ""


def layers_of(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Names in layers; each depends on earlier layers only."""
    sorter = TopologicalSorter(graph)
    sorter.prepare()
    place = {name: number for number, name in enumerate(graph)}
    layers: list[list[str]] = []
    while sorter.is_active():
        layers.append(sorted(sorter.get_ready(), key=place.__getitem__))
        sorter.done(*layers[-1])
    return layers
