"""What has to come before what."""

from collections.abc import Callable, Iterable


def dependencies_first(start: str, requires: Callable[[str], Iterable[str]]) -> list[str]:
    """`start` and all that it requires, directly or not, each after what it requires itself.

    Each is met once, so a circle ends like any other chain.
    """
    order: list[str] = []
    met = {start}
    trail = [(start, iter(requires(start)))]
    while trail:
        here, rest = trail[-1]
        wanted = next((one for one in rest if one not in met), None)
        if wanted is None:
            order.append(here)
            trail.pop()
        else:
            met.add(wanted)
            trail.append((wanted, iter(requires(wanted))))
    return order
