"""A time limit for calls that have none of their own."""

import threading
from collections.abc import Callable
from typing import TypeVar

from metier.core.encoders import EncoderError

T = TypeVar("T")


class LateError(EncoderError):
    """A call that took too long."""


def within(seconds: float, call: Callable[[], T]) -> T:
    """What `call` returns or raises; `LateError` if it takes longer.

    It runs in a thread, which is left behind: libraries and slow servers cannot be interrupted.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # raised again below
            errors.append(error)

    thread = threading.Thread(target=run, name="metier-encoder", daemon=True)
    thread.start()
    thread.join(max(0.0, seconds))
    if errors:
        raise errors[0]
    if not results:
        raise LateError(f"it took more than {seconds:.3g} s")
    return results[0]
