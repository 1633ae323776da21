"""The options of `metier eval` that ask a model."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple

import click

from metier.errors import UsageError

TRIES, CONCURRENCY = 3, 5


class Asked(NamedTuple):
    """What else the user wants of an evaluation."""

    files: Sequence[str]
    host: str | None
    bars: Mapping[str, float]
    """Those of flags: bars of the settings are for evaluations without a model."""
    limit: int
    as_json: bool


class LiveOptions(NamedTuple):
    """What the options say."""

    model: str | None
    tries: int | None
    concurrency: int | None
    max_cost: float | None
    run: str | None
    """The evaluation to go on with."""
    yes: bool

    @property
    def is_wanted(self) -> bool:
        """Whether a model is to be asked. Raises `UsageError` if other options need that."""
        if self.model is not None or self.run is not None:
            return True
        given = {
            "--tries": self.tries,
            "--concurrency": self.concurrency,
            "--max-cost": self.max_cost,
            "--yes": self.yes or None,
        }
        for option, value in given.items():
            if value is not None:
                raise UsageError(f"{option} needs --live", hint="--live provider:model")
        return False


_OPTIONS = (
    click.option(
        "--live", "live_model", metavar="MODEL",
        help="Ask a model, and compare: provider:model, as for 'metier run'.",
    ),
    click.option(
        "--tries", type=click.IntRange(1, 100), metavar="N",
        help=f"With --live: how often each case is asked (default: {TRIES}).",
    ),
    click.option(
        "--concurrency", type=click.IntRange(1, 100), metavar="N",
        help=f"With --live: how many tries at a time (default: {CONCURRENCY}).",
    ),
    click.option(
        "--max-cost", type=click.FloatRange(0, min_open=True), metavar="DOLLARS",
        help="With --live: stop once it has cost more.",
    ),
    click.option("--yes", is_flag=True, help="With --live: do not ask before it starts."),
    click.option(
        "--resume", "live_run", metavar="RUN",
        help="Continue a live evaluation that stopped, or show it: an id, or 'last'.",
    ),
)  # fmt: skip


def live_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of live evaluations; the function gets them as `live`."""

    @wraps(function)
    def wrapper(*args: Any, **given: Any) -> Any:
        names = ("live_model", "tries", "concurrency", "max_cost", "live_run", "yes")
        live = LiveOptions(*(given.pop(name) for name in names))
        return function(*args, live=live, **given)

    made: Callable[..., Any] = wrapper
    for option in reversed(_OPTIONS):
        made = option(made)
    return made
