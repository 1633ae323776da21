"""What is told of a run: nothing before it is so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from metier.errors import StoreError
from metier.run.checkpoints import CheckpointStore
from metier.run.sqlite_store import SqliteRunStore
from metier.run.store import _started, is_gone, this_process
from metier.values.runs import Event
from run.world import BROKEN, World, agent, do


def test_the_end_of_a_run_is_told_when_it_is_on_the_disk() -> None:
    world = World()
    states: list[str] = []

    def look(event: Event) -> None:
        if event.kind == "run.finished":
            states.append(world.store.run(event.run_id).state)

    world.run(agent(do("a")), on_event=look)
    world.acts["bad"] = BROKEN
    world.run(agent(do("bad")), on_event=look)
    assert states == ["succeeded", "failed"]


@pytest.mark.parametrize("interval", [1, 2, 3, 10])
def test_every_checkpoint_is_told_once_and_can_be_loaded(interval: int) -> None:
    world = World()
    told: list[str] = []

    def look(event: Event) -> None:
        if event.kind == "checkpoint.saved":
            told.append(event.data["checkpointId"])

    settings = {"interval": interval, "maximum": 100}
    result = world.run(agent(*map(do, "abcd"), checkpoint=settings), on_event=look)
    kept = CheckpointStore(world.store).list(result.run_id)
    assert told == [one.checkpoint_id for one in kept]
    assert kept[-1].completed_step_id == "d"


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE step SET output = '{'",
        "UPDATE step SET usage = '[1]x'",
        "UPDATE step SET failure = '[]'",
    ],
)
def test_a_damaged_step_is_named_as_such(damage: str) -> None:
    world = World()
    run = world.run(agent(do("a"))).run
    world.store.connection.execute(damage)
    with pytest.raises(StoreError) as raised:
        world.store.steps(run.key)
    assert raised.value.code == "STORE_CORRUPT"


@pytest.mark.parametrize(
    "damage", ["UPDATE blob SET data = 'x'", "UPDATE run SET usage = '{'", "DELETE FROM blob"]
)
def test_a_damaged_run_is_named_as_such(damage: str) -> None:
    world = World()
    run = world.run(agent(do("a"))).run
    world.store.connection.execute(damage)
    with pytest.raises(StoreError) as raised:
        world.resume(run.run_id)
    assert raised.value.code == "STORE_CORRUPT"


def test_each_commit_is_on_the_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    store = SqliteRunStore.open(str(tmp_path / "runs.db"))
    full = 2
    assert store.rows("PRAGMA synchronous") == [(full,)]
    assert store.rows("PRAGMA journal_mode") == [("wal",)]
    store.close()


def test_a_process_that_is_dead_and_not_yet_buried_is_gone() -> None:
    machine = this_process().rsplit("/", 3)[0]
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        owner = f"{machine}/{process.pid}/{_started(process.pid)}/x"
        was_gone = is_gone(owner, None, 0.0)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not was_gone
        assert is_gone(owner, None, 0.0)
