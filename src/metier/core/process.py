"""The current process, and the environment of the programs it starts."""

import gc
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_INHERITED = ("PATH", "HOME", "LANG")


def minimal_environment(more: Iterable[str] = ()) -> dict[str, str]:
    """The few variables that every program inherits, and those in `more`; no secrets."""
    return {name: os.environ[name] for name in (*_INHERITED, *more) if name in os.environ}


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Pause the garbage collector while many objects are created."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def discard_output() -> None:
    """Redirect standard output to the null device."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
