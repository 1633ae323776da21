"""Who may write about a run: the latest one to claim it, and nobody else."""

import asyncio
import json
import multiprocessing
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from metier.errors import RunLostError, StoreError, UsageError
from metier.run.checkpoints import CheckpointStore
from metier.run.sqlite_store import SqliteRunStore
from metier.run.store import LEASE_SECONDS, SILENT_SECONDS, CheckpointMark, is_gone, this_process
from metier.run.tool import ToolContext
from metier.values.agents import AgentProfile
from metier.values.runs import Event, Failure, StepRecord
from run.random_plans import FAR_AWAY
from run.stores import Stores
from run.world import BROKEN, Data, World, agent, delegate, do, forever, parallel, prompt, states

pytestmark = pytest.mark.slow

OTHER = "elsewhere/1//y"
A = StepRecord("a", "succeeded", 1)
LATER = LEASE_SECONDS + SILENT_SECONDS + 1


def in_file(path: Path, *profiles: AgentProfile) -> World:
    world = World(*profiles)
    world.store.close()
    world.store = SqliteRunStore.open(str(path / "runs.db"))
    return world


def taken(world: World) -> str:
    """Have another process claim the only run, as if this one had been silent for long."""
    run = world.store.runs()[-1]
    world.store.claim(run.run_id, OTHER, time.time() + LATER)
    return str(run.run_id)


def with_epochs(world: World) -> list[int]:
    return [one.epoch for one in world.store.runs()]


# Names of processes


def test_a_forked_process_has_a_name_of_its_own() -> None:
    mine = this_process()
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.write(writing, this_process().encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(writing)
    with os.fdopen(reading) as file:
        assert file.read() not in ("", mine)
    assert this_process() == mine


def test_of_forked_workers_that_resume_one_run_only_one_executes_it(tmp_path: Path) -> None:
    world = in_file(tmp_path)
    world.acts["b"] = BROKEN
    run_id = world.run(agent(do("a"), do("b"))).run_id
    context = multiprocessing.get_context("fork")
    ready, told = context.Barrier(4), context.Queue()
    path = world.store.path
    workers = [context.Process(target=_work, args=(path, run_id, ready, told)) for _ in range(4)]
    for one in workers:
        one.start()
    answers = [told.get(timeout=300) for _ in workers]
    for one in workers:
        one.join(60)
    told.close()
    told.join_thread()
    calls = [call for _, some in answers for call in some]
    assert calls == ["b"]
    assert {state for state, _ in answers} <= {"succeeded", "RUN_BUSY", "RUN_NOT_RESUMABLE"}


def _work(path: str, run_id: str, ready: Any, told: Any) -> None:
    """One worker: resumes the run at the same moment as the others."""
    world = World()
    world.store = SqliteRunStore.open(path)
    ready.wait(60)
    try:
        state: str = world.resume(run_id).state
    except UsageError as error:
        state = error.code
    told.put((state, world.calls))


def test_a_process_of_another_container_counts_as_gone_only_when_its_lease_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine, pid, _, _ = this_process().rsplit("/", 3)
    name, _, _ = machine.rpartition(":")
    there = f"{name}:pid:[1]/{pid}/1/x"
    assert not is_gone(there, 10.0, 9.0)
    assert is_gone(there, 10.0, 11.0)
    rebooted = f"{name.partition(':')[0]}:another-boot:pid:[1]/{pid}/1/x"
    assert not is_gone(rebooted, 10.0, 9.0)


# Epochs


def test_every_claim_raises_the_epoch() -> None:
    world = World()
    world.acts["a"] = iter([BROKEN, BROKEN, 1])
    run_id = world.run(agent(do("a"))).run_id
    assert with_epochs(world) == [1]
    world.resume(run_id)
    assert with_epochs(world) == [2]
    world.resume(run_id)
    assert with_epochs(world) == [3]


@pytest.mark.parametrize(
    "write",
    [
        lambda store, run: store.save_step(run.claim, A),
        lambda store, run: store.save_step(run.claim, A, CheckpointMark(0, {})),
        lambda store, run: store.end_run(run),
        lambda store, run: store.end_run(run, CheckpointMark(0, {"x": 1}, "a", 9, 1e12)),
        lambda store, run: store.begin_rollback(run.claim, Failure("X", "x")),
    ],
    ids=["step", "checkpoint", "end", "last-checkpoint", "rollback"],
)
@pytest.mark.parametrize("others", [0, 1], ids=["alone", "with-others"])
def test_a_write_with_an_old_claim_is_refused_and_changes_nothing(
    write: Callable[..., Any], others: int
) -> None:
    world = World()
    world.acts["b"] = BROKEN
    run = world.run(agent(do("a"), do("b"))).run
    taken(world)
    before = list(world.store.connection.iterdump())

    async def main() -> None:
        world.store.live = 2 * others
        await write(world.store, run)

    with pytest.raises(RunLostError) as raised:
        asyncio.run(main())
    assert raised.value.code == "RUN_LOST"
    assert list(world.store.connection.iterdump()) == before


def test_what_was_noted_of_a_lost_run_is_not_written_and_does_not_stop_others() -> None:
    world = World()
    world.acts["b"] = BROKEN
    run = world.run(agent(do("a"), do("b"))).run
    other = world.run(agent(do("a"), do("b"))).run
    taken(world)  # the older one
    world.store.note(run.claim, StepRecord("late", "running"))
    asyncio.run(world.store.save_step(other.claim, StepRecord("c", "succeeded", 9)))
    assert "late" not in world.kept(run)
    assert world.kept(other)["c"] == "succeeded"


def test_a_runner_whose_step_ends_after_its_run_was_taken_stops_and_writes_nothing() -> None:
    world = World()

    async def freeze(_args: Data, _context: ToolContext) -> str:
        taken(world)
        return "late"

    world.acts["b"] = freeze
    with pytest.raises(RunLostError):
        world.run(agent(do("a"), do("b"), do("c")))
    assert world.calls == ["a", "b"]
    run = world.store.runs()[0]
    assert (run.state, run.epoch) == ("running", 2)
    assert world.kept(run) == {"a": "succeeded"}


def test_a_runner_that_wakes_after_its_lease_starts_no_further_tool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    clock = [time.time()]
    monkeypatch.setattr("metier.run.ledger.time.time", lambda: clock[0])

    def freeze(event: Event) -> None:
        if event.kind == "step.succeeded":
            run = world.store.runs()[0]
            clock[0] += LATER
            world.store.claim(run.run_id, OTHER, clock[0])

    with pytest.raises(RunLostError):
        world.run(agent(do("a"), do("b")), on_event=freeze)
    assert world.calls == ["a"]


@pytest.mark.parametrize("step", [prompt("b"), delegate("b", "kid")], ids=["prompt", "delegate"])
def test_a_runner_that_wakes_after_its_lease_asks_no_model_and_no_other_agent(
    monkeypatch: pytest.MonkeyPatch, step: Data
) -> None:
    world = World(agent(do("x"), agent_id="kid"))
    clock = [time.time()]
    monkeypatch.setattr("metier.run.ledger.time.time", lambda: clock[0])

    def freeze(event: Event) -> None:
        if event.kind == "step.succeeded":
            clock[0] += LATER
            world.store.claim(event.run_id, OTHER, clock[0])

    with pytest.raises(RunLostError):
        world.run(agent(do("a"), step), on_event=freeze)
    assert (world.models, len(world.store.runs())) == ([], 1)


@pytest.mark.parametrize("is_resumed", [False, True], ids=["new", "resumed"])
def test_a_runner_frozen_just_before_it_delegates_starts_no_run_of_the_delegate(
    stores: Stores, is_resumed: bool
) -> None:
    world, there = World(agent(do("x"), agent_id="kid"), store=stores.open()), stores.open()
    world.acts["x"] = BROKEN
    runner, profile = world.runner(), agent(delegate("d", "kid"))
    run_id = world.run(profile).run_id if is_resumed else ""
    children = there.children(run_id)

    def freeze(event: Event) -> None:
        if event.kind == "delegation.started":
            there.claim(event.run_id, OTHER, time.time() + LATER)

    executed = (
        runner.resume(run_id, on_event=freeze)
        if is_resumed
        else runner.run(profile, "do it", on_event=freeze)
    )
    with pytest.raises(RunLostError):
        asyncio.run(executed)
    (run,) = there.runs(delegated=False)
    assert (run.state, run.epoch) == ("running", 2 + is_resumed)
    assert there.children(run.run_id) == children
    assert world.calls == ["x"] * is_resumed


def test_steps_in_flight_stop_once_the_heartbeat_finds_the_run_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("metier.run.leases.HEARTBEAT_SECONDS", 0.001)
    world = World()
    stopped = []

    async def hang(_args: Data, context: ToolContext) -> None:
        if len(world.calls) == 2:
            taken(world)
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(context.step_id)

    world.acts |= {"a": hang, "b": hang}
    with pytest.raises(RunLostError):
        world.run(agent(parallel("p", do("a"), do("b"))))
    assert sorted(stopped) == ["a", "b"]
    assert world.store.runs()[0].state == "running"


def test_a_run_that_was_set_free_while_its_process_slept_is_taken_back_by_its_heartbeat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("metier.run.leases.HEARTBEAT_SECONDS", 0.001)
    world = World()
    seen = []

    async def sleep_long(_args: Data, _context: ToolContext) -> None:
        assert world.store.recover(time.time() + LATER) == [world.store.runs()[0].run_id]
        seen.append(world.store.runs()[0].state)
        while world.store.runs()[0].state != "running":
            await asyncio.sleep(0.001)

    world.acts["a"] = sleep_long
    assert world.run(agent(do("a"), do("b"))).success
    assert seen == ["pending"]
    assert world.store.runs()[0].state == "succeeded"


def test_a_run_that_somebody_cancelled_while_its_process_slept_stays_cancelled() -> None:
    world = World()

    async def sleep_long(_args: Data, _context: ToolContext) -> None:
        now = time.time() + LATER
        world.store.recover(now)
        assert not world.store.request_cancel(world.store.runs()[0].run_id, now)

    world.acts["a"] = sleep_long
    with pytest.raises(RunLostError):
        world.run(agent(do("a"), do("b")))
    assert world.calls == ["a"]
    assert world.store.runs()[0].state == "cancelled"


def test_a_lost_run_whose_delegate_is_at_work_stops_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metier.run.leases.HEARTBEAT_SECONDS", 0.001)
    world = World(agent(do("x"), agent_id="kid"))

    async def hang(_args: Data, _context: ToolContext) -> None:
        top = next(one for one in world.store.runs() if not one.parent_run)
        world.store.claim(top.run_id, OTHER, time.time() + LATER)
        await asyncio.Event().wait()

    world.acts["x"] = hang
    with pytest.raises(RunLostError):
        world.run(agent(delegate("d", "kid")))
    kid = next(one for one in world.store.runs() if one.parent_run)
    assert kid.state == "cancelled"


def test_a_run_that_ended_meanwhile_cannot_be_claimed() -> None:
    world = World()
    world.acts["a"] = iter([BROKEN, 1])
    run_id = world.run(agent(do("a"))).run_id
    world.resume(run_id)
    with pytest.raises(UsageError) as raised:
        world.store.claim(run_id, FAR_AWAY, time.time())
    assert raised.value.code == "RUN_NOT_RESUMABLE"
    assert world.store.run(run_id).state == "succeeded"


# Errors of the store


class FailingStore(SqliteRunStore):
    """A store that cannot be written for a while."""

    failures = 0

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        if self.failures:
            self.failures -= 1
            raise StoreError("the disk is full", code="STORE_FULL")
        with super().transaction() as connection:
            yield connection


def failing(path: Path, failures: int) -> World:
    world = in_file(path)
    world.store.close()
    store = FailingStore.open(world.store.path)
    world.store = store

    async def fill(_args: Data, _context: ToolContext) -> None:
        store.failures = failures

    world.acts["b"] = fill
    return world


def test_a_full_disk_stops_a_run_and_the_steps_before_are_kept(tmp_path: Path) -> None:
    world = in_file(tmp_path)

    async def fill(_args: Data, _context: ToolContext) -> str:
        (pages,) = world.store.rows("PRAGMA page_count")[0]
        world.store.rows(f"PRAGMA max_page_count = {pages}")
        return "x" * 400_000

    world.acts["b"] = fill
    with pytest.raises(StoreError) as raised:
        world.run(agent(do("a"), do("b"), do("c")))
    assert raised.value.code == "STORE_FULL"
    world.store.rows("PRAGMA max_page_count = 1000000")
    world.acts["b"] = iter([1])
    result = world.resume(world.store.runs()[0].run_id)
    assert result.success
    assert world.calls.count("a") == 1


def test_after_a_passing_store_error_another_process_can_resume_the_run_at_once(
    tmp_path: Path,
) -> None:
    world = failing(tmp_path, 1)
    with pytest.raises(StoreError):
        world.run(agent(do("a"), do("b"), do("c")))
    run = world.store.runs()[0]
    assert run.state == "pending"
    assert run.failure is not None
    assert run.failure.code == "STORE_FULL"
    assert world.store.claim(run.run_id, OTHER, time.time()).state == "running"


def test_a_run_is_released_as_soon_as_its_record_can_be_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metier.run.sqlite_runs.RETRY_SECONDS", 0.01)
    world = failing(tmp_path, 2)
    with pytest.raises(StoreError):
        world.run(agent(do("a"), do("b"), do("c")))
    for thread in threading.enumerate():
        if thread.daemon and "_release_later" in thread.name:
            thread.join(60)
    run = world.store.runs()[0]
    assert (run.state, run.failure and run.failure.code) == ("pending", "STORE_FULL")


@pytest.fixture
def no_second_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metier.run.sqlite_runs.RETRY_SECONDS", 10_000.0)


def test_a_run_that_could_not_even_be_released_is_free_after_a_silence(
    tmp_path: Path, no_second_try: None
) -> None:
    world = failing(tmp_path, 2)
    with pytest.raises(StoreError):
        world.run(agent(do("a"), do("b"), do("c")))
    run = world.store.runs()[0]
    assert run.state == "running"
    with pytest.raises(UsageError):
        world.store.claim(run.run_id, OTHER, time.time())
    assert world.store.claim(run.run_id, OTHER, time.time() + LATER).state == "running"


def test_a_run_that_could_not_be_released_can_be_cancelled_by_its_own_process(
    tmp_path: Path, no_second_try: None
) -> None:
    world = failing(tmp_path, 2)
    with pytest.raises(StoreError):
        world.run(agent(do("a"), do("b"), do("c")))
    run_id = world.store.runs()[0].run_id
    assert not world.runner().cancel(run_id)
    assert world.store.run(run_id).state == "cancelled"


def test_what_was_noted_before_a_store_error_is_written_later() -> None:
    world = World()
    world.store = store = FailingStore.in_memory()
    run = world.run(agent(do("a"))).run
    store.note(run.claim, StepRecord("b", "running"))
    store.failures = 1
    with pytest.raises(StoreError):
        asyncio.run(store.save_step(run.claim, StepRecord("c", "running")))
    asyncio.run(store.save_step(run.claim, StepRecord("d", "running")))
    assert world.kept(run) == {"a": "succeeded", "b": "running", "d": "running"}


# Checkpoints


def test_checkpoint_numbers_never_repeat_and_old_records_never_change() -> None:
    world = World()
    world.acts["b"] = BROKEN
    profile = agent(do("a"), do("b"), do("c"), checkpoint={"interval": 5})
    result = world.run(profile)
    checkpoints = CheckpointStore(world.store)

    def records() -> dict[str, str]:
        found = checkpoints.list(result.run_id)
        return {one.checkpoint_id: json.dumps(one.to_json()) for one in found}

    before = records()
    assert list(before) == [f"{result.run_id}:2"]

    async def resume_and_cancel() -> None:
        runner = world.runner()
        world.acts["b"] = forever
        task = asyncio.create_task(runner.resume(result.run_id))
        await World.pause()
        runner.cancel(result.run_id)
        await task

    asyncio.run(resume_and_cancel())
    assert records() == before
    world.acts["b"] = 1
    assert world.resume(result.run_id).success
    after = records()
    assert {key: after[key] for key in before} == before
    assert len(after) == 2, "the final record is missing"
    assert json.loads(after[f"{result.run_id}:4"])["stepIndex"] == 2


def test_every_checkpoint_is_told_when_runs_execute_side_by_side() -> None:
    world = World()
    told: list[str] = []

    def look(event: Event) -> None:
        if event.kind == "checkpoint.saved":
            told.append(event.data["checkpointId"])

    async def main() -> None:
        runner = world.runner()
        steps = [do(f"s{number}") for number in range(6)]
        profile = agent(*steps, execution="parallel")
        await asyncio.gather(*(runner.run(profile, "t", on_event=look) for _ in range(3)))

    asyncio.run(main())
    kept = [
        one.checkpoint_id
        for run in world.store.runs()
        for one in CheckpointStore(world.store).list(run.run_id)
    ]
    assert sorted(told) == sorted(kept)
    assert len(kept) == 18


def test_the_interval_counts_the_successes_of_earlier_tries_too() -> None:
    world = World()
    world.acts["b"] = iter([BROKEN, 1])
    profile = agent(do("a"), do("b"), do("c"), do("d"), checkpoint={"interval": 2})
    result = world.run(profile)
    world.resume(result.run_id)
    found = CheckpointStore(world.store).list(result.run_id)
    assert [one.completed_step_id for one in found] == ["a", "b", "d"]
    assert states(world.resume(result.run_id))["d"] == "succeeded"
