"""Commands as groups of processes: whenever they are cancelled, nothing of them lives on."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from metier.run.command_tools import run_process

BOUND = 20.0
"""Seconds after which a cancelled command counts as stuck."""


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in ("Z", "X")


def survivors(folder: Path) -> list[int]:
    """The children that are still there once a killed one has had time to leave the table.

    Its pipes close, which is what a command waits for, a moment before it counts as dead.
    """
    end = time.monotonic() + BOUND
    while alive := [pid for pid in children(folder) if is_alive(pid)]:
        if time.monotonic() > end:
            break
        os.sched_yield()
    return alive


def started(mark: Path) -> "asyncio.Future[object]":
    """A command with a child that would live for a long time."""
    argv = ["sh", "-c", f"sleep 300 & echo $! > {mark}; wait"]
    return asyncio.ensure_future(
        run_process(
            argv, folder="/", environment={"PATH": os.environ["PATH"]}, stdin=None, most_output=100
        )
    )


def children(folder: Path) -> list[int]:
    texts = [one.read_text().strip() for one in folder.iterdir()]
    return [int(text) for text in texts if text]


async def cancelled_after(turns: int, mark: Path, *, again: bool = False) -> None:
    task = started(mark)
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    if again:
        await asyncio.sleep(0)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, BOUND)


@pytest.mark.parametrize("again", [False, True], ids=["once", "twice"])
def test_a_command_that_is_cancelled_while_it_starts_ends_with_its_children(
    again: bool, tmp_path: Path
) -> None:
    async def main() -> None:
        for turns in range(12):
            await cancelled_after(turns, tmp_path / str(turns), again=again)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)

    asyncio.run(main())
    assert survivors(tmp_path) == []


def test_a_command_whose_time_is_over_while_it_starts_ends_too(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await started(tmp_path / "mark")

    asyncio.run(main())
    assert survivors(tmp_path) == []
