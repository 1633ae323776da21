"""Python functions in threads that can be stopped."""

import asyncio
import contextvars
import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

_GRACE = 0.5
"""Seconds that a cancelled caller waits for a thread."""
_FIRST_PAUSE = 0.01
_LONGEST_PAUSE = 1.0


async def in_thread(work: Callable[[], Any]) -> Any:
    """Run `work` in a thread; when cancelled, raise `SystemExit` there until it ends."""
    running = _Work(work)
    running.start()
    try:
        await asyncio.wait((running.ended,))
    except asyncio.CancelledError:
        running.stop()
        await asyncio.wait((running.ended,), timeout=_GRACE)
        raise
    outcome = running.ended.result()
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


class _Outcome(NamedTuple):
    value: Any = None
    error: BaseException | None = None


class _Work:
    """Work in a thread."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._context = contextvars.copy_context()
        self._loop = asyncio.get_running_loop()
        self._at_work = True
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._main, name="metier-tool", daemon=True)
        self.ended: asyncio.Future[_Outcome] = self._loop.create_future()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop it from another thread, so that the loop may close."""
        threading.Thread(target=self._keep_raising, name="metier-stop", daemon=True).start()

    def _main(self) -> None:
        outcome = _Outcome(error=SystemExit())
        try:
            outcome = self._result()
            self._leave()
        except SystemExit:  # it was stopped after its last line
            self._leave()
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._settle, outcome)

    def _result(self) -> _Outcome:
        try:
            return _Outcome(value=self._context.run(self._work))
        except BaseException as error:
            return _Outcome(error=error)

    def _leave(self) -> None:
        """From now on nothing is raised in this thread."""
        with self._lock:
            self._at_work = False

    def _settle(self, outcome: _Outcome) -> None:
        if not self.ended.done():
            self.ended.set_result(outcome)

    def _keep_raising(self) -> None:
        pause = _FIRST_PAUSE
        while self._raise():
            self._thread.join(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _raise(self) -> bool:
        """Raise `SystemExit` in the thread; whether it was still running the tool."""
        with self._lock:
            if self._at_work and self._thread.ident is not None:
                ident = ctypes.c_ulong(self._thread.ident)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(SystemExit))
            return self._at_work
