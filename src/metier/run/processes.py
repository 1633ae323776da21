"""Runs one command as a group of processes that ends as a group."""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

_MOST_ERRORS = 8_192
"""Bytes of the end of stderr that are kept."""
_LINGER = 1.0
"""Seconds to wait for pipes that somebody outside the group holds open."""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    """Its exit code; below 0 the signal that ended it."""
    output: bytes
    errors: bytes
    """The end of stderr."""
    too_much: bool
    """Whether it was stopped for printing more than it may."""


async def run_process(
    argv: Sequence[str],
    *,
    folder: str,
    environment: Mapping[str, str],
    stdin: bytes | None,
    most_output: int,
) -> Ended:
    """Run `argv` without a shell. Raises `OSError` or `ValueError` when it cannot be started.

    When it exits, prints too much or the caller is cancelled, all that it started in its session
    is killed. What has left the session on its own lives on.
    """
    starting = asyncio.ensure_future(
        asyncio.get_running_loop().subprocess_exec(
            lambda: _Watch(most_output),
            *argv,
            cwd=folder,
            env=dict(environment),
            stdin=asyncio.subprocess.PIPE if stdin is not None else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    )
    try:
        transport, watch = await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.shield(asyncio.ensure_future(_end_once_started(starting)))
        raise
    try:
        if stdin is not None:
            _feed(transport, stdin)
        await watch.over
    finally:
        await asyncio.shield(asyncio.ensure_future(_end(transport, watch)))
    code = transport.get_returncode()
    return Ended(-1 if code is None else code, bytes(watch.output), bytes(watch.errors), watch.full)


class _Watch(asyncio.SubprocessProtocol):
    """Keeps what a command prints, within bounds, and says when it is over."""

    def __init__(self, most_output: int) -> None:
        loop = asyncio.get_running_loop()
        self.over: asyncio.Future[None] = loop.create_future()
        """It has exited or printed too much."""
        self.closed: asyncio.Future[None] = loop.create_future()
        """It has exited and its pipes are read to their ends."""
        self.output = bytearray()
        self.errors = bytearray()
        self.full = False
        self._most = most_output

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self.errors += data
            del self.errors[:-_MOST_ERRORS]
        elif len(self.output) + len(data) <= self._most:
            self.output += data
        else:
            self.full = True
            _settle(self.over)

    def process_exited(self) -> None:
        _settle(self.over)

    def connection_lost(self, _exc: Exception | None) -> None:
        _settle(self.closed)


Started = tuple[asyncio.SubprocessTransport, _Watch]


def _settle(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


def _feed(transport: asyncio.SubprocessTransport, stdin: bytes) -> None:
    pipe = transport.get_pipe_transport(0)
    assert isinstance(pipe, asyncio.WriteTransport)
    pipe.write(stdin)
    pipe.close()


async def _end_once_started(starting: "asyncio.Future[Started]") -> None:
    """Let a command that is being started come up, and end it with all its children.

    Half started it has no process group to kill yet.
    """
    await asyncio.wait((starting,))
    if not starting.cancelled() and starting.exception() is None:
        await _end(*starting.result())


async def _end(transport: asyncio.SubprocessTransport, watch: _Watch) -> None:
    """Kill the group, read what is left, let go of the pipes."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(transport.get_pid(), signal.SIGKILL)
    await asyncio.wait((watch.closed,), timeout=_LINGER)
    transport.close()
    await asyncio.wait((watch.closed,), timeout=_LINGER)
