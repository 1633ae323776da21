"""A worker whose queue is real, and from which the test takes runs itself."""

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest

from conftest import Workspace
from flow.decisions import decision, text_of
from metier.catalog import Catalog
from metier.errors import DamagedError, StoreError, UsageError
from metier.flow.queueing import (
    Placement,
    RunRequest,
    cancel_run,
    has_workers,
    resume_detached,
    run_facts,
    start_detached,
)
from metier.flow.run_watching import watch
from metier.flow.shared import SharedState
from metier.flow.shared_health import Health, shared_health
from metier.flow.state_settings import StateSettings
from metier.flow.worker import MOST_RETURNS, RETURN_SECONDS, RunWorker, WorkerOptions
from metier.run.dbos_queue import DbosQueue
from metier.run.dbos_worker import Execute
from metier.run.postgres_migrations import MIGRATIONS
from metier.run.queue import MOST_ATTEMPTS, QueuedRun
from metier.run.workers import Worker, Workers
from metier.storage.hook_files import DECISIONS
from metier.values.runs import Event
from run.world import prompt
from shared_states import new_namespace, rows


class Hands:
    """Stands for DBOS: executes what the test takes from the queue."""

    made: "Hands"

    def __init__(self, *_where: str, execute: Execute, **_more: object) -> None:
        type(self).made = self
        self._execute = execute
        self._idle = threading.Event()
        self._idle.set()
        self.is_hurried = False

    def launch(self, _queues: Sequence[str], _concurrency: int) -> None: ...

    def stop(self, seconds: float) -> None:
        """Wait for what executes, as DBOS does."""
        self._idle.wait(seconds)

    def hurry(self) -> None:
        self.is_hurried = True

    async def execute(self, run: QueuedRun) -> None:
        self._idle.clear()
        await self._execute(run)
        self._idle.set()


class Bench:
    """A workspace with an agent, its queue, and a worker."""

    def __init__(self, workspace: Workspace, address: str) -> None:
        self.address, self.namespace = address, new_namespace()
        workspace.write("metier.toml", f'[state]\nnamespace = "{self.namespace}"\n')
        profile = {"agentId": "clerk", "description": "Works.", "systemPrompt": "Do."}
        steps = {"workflow": [prompt("p")], "version": "1.0.0"}
        workspace.write("agents/clerk.json", json.dumps({**profile, **steps}))
        workspace.trust()
        self.catalog = Catalog.open(workspace.root)
        self.catalog.refresh()
        self.agency = self.catalog.agency
        self.queue = DbosQueue(address, self.namespace)
        self.log: list[str] = []

    def close(self) -> None:
        self.queue.close()
        self.catalog.close()

    def detached(self, key: str = "") -> str:
        return start_detached(self.agency, RunRequest("clerk", "t"), Placement(key=key)).run_id

    def work(self, by_hand: "Callable[[RunWorker], Awaitable[None]]", **options: Any) -> None:
        """Start a worker, do something by hand, and stop it."""

        async def main() -> None:
            state = StateSettings(self.address, self.namespace)
            worker = RunWorker(self.catalog, state, WorkerOptions(**options), log=self.log.append)
            working = asyncio.create_task(worker.work())
            while not worker.is_healthy and not working.done():
                await asyncio.sleep(0.001)
            try:
                await by_hand(worker)
            finally:
                worker.stop()
                await working

        asyncio.run(main())

    async def take(self, worker: RunWorker, run: QueuedRun, attempts: int = 1) -> None:
        """Take a run from the queue for the given time, and execute it, as DBOS does."""
        table = f'"{self.queue._tables.schema}".workflow_status'
        which = "WHERE workflow_uuid LIKE %s"
        taken = (
            f"UPDATE {table} SET status = 'PENDING', executor_id = %s, recovery_attempts = %s,"
            f" owner_xid = 'taken' {which} RETURNING 1"
        )
        assert rows(self.address, taken, worker.id, attempts, f"{run.run_id}:%")
        await Hands.made.execute(run)
        ended = (
            f"UPDATE {table} SET status = 'SUCCESS', deduplication_id = NULL {which}"
            " AND status = 'PENDING' AND owner_xid = 'taken' RETURNING 1"
        )
        rows(self.address, ended, f"{run.run_id}:%")

    def queued(self, run_id: str) -> list[tuple[str, int, str, QueuedRun]]:
        """The workflows of a run: state, attempts, key, and what is given to the worker."""
        schema = f'"{self.queue._tables.schema}"'
        found = rows(
            self.address,
            "SELECT status, recovery_attempts, deduplication_id, workflow_input.inputs"
            f" FROM {schema}.workflow_status JOIN {schema}.workflow_input USING (workflow_uuid)"
            " WHERE workflow_uuid LIKE %s ORDER BY created_at",
            f"{run_id}:%",
        )
        return [
            (state, attempts, key or "", QueuedRun(**json.loads(inputs)["args"][0]))
            for state, attempts, key, inputs in found
        ]


@pytest.fixture
def bench(workspace: Workspace, postgres: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("METIER_STATE_URL", postgres)
    monkeypatch.setattr("metier.flow.worker.DbosWorker", Hands)
    with closing(Bench(workspace, postgres)) as made:
        yield made


def test_a_run_that_never_ends_fails_visibly_and_can_be_resumed(bench: Bench) -> None:
    run_id = bench.detached()

    async def take(worker: RunWorker) -> None:
        await bench.take(worker, QueuedRun(run_id), MOST_ATTEMPTS + 1)
        assert [note.code for note in worker._workers.notes(run_id)] == ["RUN_GIVEN_UP"]
        assert worker.counts.ended == {"failed": 1}

    bench.work(take)
    run = bench.agency.store.run(run_id)
    assert run.failure is not None
    assert (run.state, run.failure.code) == ("failed", "RUN_GIVEN_UP")
    assert "resume --detach" in run.failure.hint
    with closing(SharedState(StateSettings(bench.address, bench.namespace))) as shared:
        assert shared_health(shared).given_up == 1
    resume_detached(bench.agency, run_id, Placement())
    assert bench.queued(run_id)[-1][:2] == ("ENQUEUED", 0)
    with closing(SharedState(StateSettings(bench.address, bench.namespace))) as shared:
        assert shared_health(shared).given_up == 0


def test_the_last_attempt_is_made(bench: Bench) -> None:
    run_id = bench.detached()
    bench.work(lambda worker: bench.take(worker, QueuedRun(run_id), MOST_ATTEMPTS))
    assert bench.agency.store.run(run_id).state == "succeeded"


def other_documents(bench: Bench, monkeypatch: pytest.MonkeyPatch, key: str = "") -> str:
    """A run that was started with other documents than the worker has."""
    with monkeypatch.context() as patch:
        patch.setattr(type(bench.agency), "documents", lambda _: "of another checkout")
        return bench.detached(key)


def test_a_run_with_other_documents_is_given_back_with_its_key_for_later(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = other_documents(bench, monkeypatch, key="invoice-7")
    bench.work(lambda worker: bench.take(worker, QueuedRun(run_id)), same_documents=True)
    assert bench.queued(run_id) == [("DELAYED", 0, "invoice-7", QueuedRun(run_id, returned=1))]
    assert bench.detached("invoice-7") == run_id
    assert bench.queue.lengths() == {"runs": 1}


def test_a_run_is_given_back_so_often_and_then_stays_pending(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = other_documents(bench, monkeypatch, key="invoice-7")

    async def take(worker: RunWorker) -> None:
        await bench.take(worker, QueuedRun(run_id, returned=MOST_RETURNS - 1))
        ((state, _, _, run),) = bench.queued(run_id)
        assert (state, run.returned) == ("DELAYED", MOST_RETURNS)
        await bench.take(worker, run)
        assert worker.counts.returned == 1

    bench.work(take, same_documents=True)
    run = bench.agency.store.run(run_id)
    assert run.failure is not None
    assert (run.state, run.failure.code) == ("pending", "RUN_DOCUMENTS_DIFFER")
    assert MOST_RETURNS * RETURN_SECONDS == 600  # as the documentation says


def test_a_worker_that_stops_gives_a_run_back_at_once_and_does_not_count_it(
    bench: Bench,
) -> None:
    run_id = bench.detached("invoice-7")

    async def take(worker: RunWorker) -> None:
        worker.stop()
        await bench.take(worker, QueuedRun(run_id), 5)

    bench.work(take)
    assert bench.queued(run_id) == [("ENQUEUED", 4, "invoice-7", QueuedRun(run_id))]


def test_a_worker_that_executes_nothing_logs_that_it_stops(bench: Bench) -> None:
    async def nothing(_worker: RunWorker) -> None:
        pass

    bench.work(nothing)
    assert bench.log[-1] == "stopping"


def test_a_run_that_is_taken_in_the_moment_of_stopping_does_not_start(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = bench.detached()

    async def take(worker: RunWorker) -> None:
        def attempts(*_given: object) -> int:
            worker._from_thread(worker.stop)
            return 1

        monkeypatch.setattr(worker._queue, "attempts", attempts)
        await bench.take(worker, QueuedRun(run_id), 5)

    bench.work(take)
    assert not any("starts" in line for line in bench.log)
    assert bench.agency.store.run(run_id).state == "pending"
    assert bench.queued(run_id) == [("ENQUEUED", 4, "", QueuedRun(run_id))]


def test_a_worker_that_counts_as_dead_starts_no_run(bench: Bench) -> None:
    run_id = bench.detached()

    async def take(worker: RunWorker) -> None:
        worker._workers.leave(worker.id)  # as another one does that takes over
        await bench.take(worker, QueuedRun(run_id), 5)

    with contextlib.suppress(StoreError):  # if its heartbeat noticed meanwhile
        bench.work(take)
    run = bench.agency.store.run(run_id)
    assert (run.state, run.epoch) == ("pending", 0)
    assert bench.queued(run_id) == [("ENQUEUED", 4, "", QueuedRun(run_id))]


def failing(bench: Bench, monkeypatch: pytest.MonkeyPatch, error: Exception) -> str:
    """A detached run that a worker took, and could not execute."""
    run_id = bench.detached()

    async def resume(*_given: object, **_more: object) -> None:
        raise error

    monkeypatch.setattr("metier.flow.running.Agency.resume", resume)
    bench.work(lambda worker: bench.take(worker, QueuedRun(run_id), 3))
    return run_id


def test_trouble_of_the_store_is_not_the_fault_of_the_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = failing(bench, monkeypatch, StoreError("the disk is full", code="STORE_FULL"))
    assert bench.queued(run_id) == [("DELAYED", 2, "", QueuedRun(run_id))]
    assert f"run {run_id} could not be executed: the disk is full" in bench.log


def test_an_unexpected_error_counts_as_an_attempt(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = failing(bench, monkeypatch, RuntimeError("a bug"))
    assert bench.queued(run_id) == [("ENQUEUED", 3, "", QueuedRun(run_id))]


def test_a_damaged_run_is_not_tried_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = failing(bench, monkeypatch, DamagedError("the record is damaged"))
    run = bench.agency.store.run(run_id)
    assert run.failure is not None
    assert (run.state, run.failure.message) == ("pending", "the record is damaged")


def test_a_worker_that_is_too_old_for_the_schema_ends(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def upgrade(worker: RunWorker) -> None:
        monkeypatch.setattr(worker._workers._database, "_migrations", MIGRATIONS[:-1])
        while not worker.is_stopping:
            await asyncio.sleep(0.001)

    with pytest.raises(StoreError) as raised:
        bench.work(upgrade, lease=1.0)
    assert (raised.value.code, raised.value.hint) == ("STORE_NEWER", "upgrade metier")


def health_of(bench: Bench) -> Health:
    with closing(SharedState(StateSettings(bench.address, bench.namespace))) as shared:
        return shared_health(shared)


def test_a_worker_sends_the_decisions_of_hooks_while_it_works(bench: Bench) -> None:
    assert bench.catalog.room is not None
    bench.catalog.room.write(DECISIONS, text_of([decision(1), decision(2)]))
    count = "SELECT count(*) FROM metier.decision WHERE namespace = %s"

    async def wait(_worker: RunWorker) -> None:
        async with asyncio.timeout(30):
            while rows(bench.address, count, bench.namespace) != [(2,)]:
                await asyncio.sleep(0.001)

    bench.work(wait)


def test_health_sees_the_runs_of_a_dead_worker_without_help_of_other_commands(
    bench: Bench,
) -> None:
    run_id = bench.detached()
    with closing(Workers(bench.address, bench.namespace)) as workers:
        workers.join(Worker("dead", "runs", 1, "digest", "1.0"))
    bench.agency.store.claim(run_id, "dead", time.time() - 3600)
    table = f'"{bench.queue._tables.schema}".workflow_status'
    taken = f"UPDATE {table} SET status = 'PENDING', executor_id = 'dead' RETURNING 1"
    assert rows(bench.address, taken)
    assert health_of(bench).of_dead_workers == 0
    over = "UPDATE metier.worker SET lease = clock_timestamp() - interval '1 s' WHERE namespace"
    assert rows(bench.address, f"{over} = %s RETURNING 1", bench.namespace)
    found = health_of(bench)
    assert (found.workers, found.dead_workers, found.of_dead_workers) == (1, 1, 1)
    assert (found.waiting, found.in_no_queue) == (0, 0)
    assert bench.agency.store.recover(time.time()) == [run_id]
    assert health_of(bench).of_dead_workers == 1


def test_watching_says_that_a_run_waits_and_who_takes_it_over(bench: Bench) -> None:
    run_id = bench.detached()
    said: list[str] = []

    with closing(Workers(bench.address, bench.namespace, lease=0.0)) as workers:

        def say(line: str) -> None:
            said.append(line)
            if "waits" in line and len(said) == 1:
                workers.join(Worker("dead", "runs", 1, "digest", "1.0"))
                bench.agency.store.claim(run_id, "dead", time.time())
            elif "waits" in line:
                cancel_run(bench.agency, run_id)

        def on_event(event: Event) -> None:
            said.append(event.kind)
            workers.take_over("other", lambda _dead: [run_id])

        result = asyncio.run(watch(bench.agency, run_id, on_event, say))
    waits = f"run {run_id} waits in queue 'runs'; no live worker takes runs from 'runs'; to start"
    assert [line[: len(waits)] for line in said] == [
        waits,
        "run.started",
        f"run {run_id}: taken over from dead by other",
        waits,
    ]
    assert result.run.state == "cancelled"


def test_health_sees_runs_in_queues_of_no_worker_and_in_no_queue(bench: Bench) -> None:
    with closing(Workers(bench.address, bench.namespace)) as workers:
        workers.join(Worker("alive", "runs, openai:gpt-5", 1, "digest", "1.0"))
    bench.detached()
    typo = start_detached(bench.agency, RunRequest("clerk", "t"), Placement(queue="typo"))
    assert run_facts(bench.agency, typo.run_id).queue == "typo"
    assert not has_workers(bench.agency, "typo")
    assert has_workers(bench.agency, "openai:gpt-5")
    stopped = bench.agency.runner.add(bench.agency.startable("clerk"), "t")
    found = health_of(bench)
    assert (found.waiting, found.unserved) == (2, {"typo": 1})
    assert (found.in_no_queue, found.oldest_in_no_queue) == (1, stopped)
    assert run_facts(bench.agency, stopped).queue == ""


@pytest.mark.parametrize("name", ['a b/../"x', "a,b", " ", "-x", "x" * 129, "a\n"])
def test_a_queue_has_a_plain_name(bench: Bench, name: str) -> None:
    with pytest.raises(UsageError, match="is not a valid name of a queue"):
        start_detached(bench.agency, RunRequest("clerk", "t"), Placement(queue=name))
    assert bench.agency.store.runs() == []


def test_a_worker_that_stops_while_postgresql_is_away_does_not_wait_to_return_runs(
    bench: Bench,
) -> None:
    async def go_away(worker: RunWorker) -> None:
        assert worker.problem == ""
        assert worker._heartbeat is not None
        worker._heartbeat.outage.begin()
        assert worker.problem == "PostgreSQL does not answer"
        await asyncio.sleep(0)

    bench.work(go_away)
    assert Hands.made.is_hurried
    assert any(line.startswith("PostgreSQL does not answer") for line in bench.log)
    bench.work(lambda _: asyncio.sleep(0))
    assert not Hands.made.is_hurried
