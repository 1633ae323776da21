"""Servers in processes of their own, for as long as the tests need them."""

import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pytest

START_SECONDS = 30
END_SECONDS = 10


@contextmanager
def running(argv: Sequence[str], ready: str, env: Mapping[str, str]) -> Iterator[str]:
    """Start a server; give the last word of the line with `ready` in it, which is its address."""
    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=dict(env),
    )
    try:
        yield _address(process, ready)
    finally:
        _end(process)


def _address(process: "subprocess.Popen[str]", ready: str) -> str:
    assert process.stdout is not None
    limit = threading.Timer(START_SECONDS, process.kill)
    limit.start()
    said = ""
    try:
        for line in process.stdout:
            if ready in line:
                return line.split()[-1]
            said += line
    finally:
        limit.cancel()
    pytest.fail(f"the server did not start: {said}")


def _end(process: "subprocess.Popen[str]") -> None:
    """End it; one that reads its input ends by itself."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.terminate()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
