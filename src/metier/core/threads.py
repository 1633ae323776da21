"""How many threads numpy starts as it loads."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

_KEY = "OPENBLAS_NUM_THREADS"
_enough = False


def one_thread_is_enough() -> None:
    """Say that this process has no use for more: only a program may, whose process it is."""
    global _enough  # it is a fact about the process
    _enough = True


@contextmanager
def loading_numpy() -> Iterator[None]:
    """For the block that may load it: there is no thread for each core, if nobody wants them."""
    if not _enough or _KEY in os.environ:
        yield
        return
    os.environ[_KEY] = "1"
    try:
        yield
    finally:
        del os.environ[_KEY]
