"""The current process, and the environment of the programs it starts."""

import gc
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Timer

_KILL = 9
_INHERITED = ("PATH", "HOME", "LANG")
_NUMPY_THREADS = "OPENBLAS_NUM_THREADS"
_one_thread_is_enough = False


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


def use_one_thread() -> None:
    """For programs that own their process: let numpy use one thread."""
    global _one_thread_is_enough  # it is a fact about the process
    _one_thread_is_enough = True


@contextmanager
def loading_numpy() -> Iterator[None]:
    """While numpy loads, limit its threads if `use_one_thread` was called."""
    if not _one_thread_is_enough or _NUMPY_THREADS in os.environ:
        yield
        return
    os.environ[_NUMPY_THREADS] = "1"
    try:
        yield
    finally:
        del os.environ[_NUMPY_THREADS]


def discard_output() -> None:
    """Redirect standard output to the null device."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


def output_of(command: list[str], environ: Mapping[str, str], seconds: float) -> bytes | None:
    """What a program without input prints; None if it fails, or takes longer.

    `subprocess` does the same for input of any size and on any system, and takes longer to load
    than git takes to answer.
    """
    reading, writing = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    streams = [(os.POSIX_SPAWN_DUP2, own, at) for at, own in enumerate((null, writing, null))]
    try:
        child = os.posix_spawnp(command[0], command, environ, file_actions=streams)
    except OSError:
        os.close(reading)
        return None
    finally:
        os.close(writing)
        os.close(null)
    timer = Timer(seconds, os.kill, (child, _KILL))
    timer.start()
    with open(reading, "rb") as pipe:
        printed = pipe.read()
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # nothing else has its id until waitpid
    timer.cancel()
    timer.join()
    _, status = os.waitpid(child, 0)
    return printed if status == 0 else None
