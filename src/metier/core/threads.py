"""How many threads numpy starts as it loads."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

_KEY = "OPENBLAS_NUM_THREADS"
_enough = False


def use_one_thread() -> None:
    """For programs that own their process: let numpy use one thread."""
    global _enough  # it is a fact about the process
    _enough = True


@contextmanager
def loading_numpy() -> Iterator[None]:
    """While numpy loads, limit its threads if `use_one_thread` was called."""
    if not _enough or _KEY in os.environ:
        yield
        return
    os.environ[_KEY] = "1"
    try:
        yield
    finally:
        del os.environ[_KEY]
