"""Workers in PostgreSQL: leases, take-overs, and the heartbeat."""

import asyncio
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest

from metier.errors import MetierError, RunLostError, RunReleasedError, StoreError, UsageError
from metier.run.heartbeat import Heartbeat
from metier.run.postgres_migrations import MIGRATIONS
from metier.run.postgres_store import PostgresRunStore
from metier.run.workers import TakeOver, Worker, Workers
from metier.values.runs import RunRecord, StepRecord

LONG = 600.0


class Shared:
    """Workers of one namespace, as several processes see them."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.namespace = f"test-{secrets.token_hex(6)}"
        self._opened: list[Workers] = []

    def open(self, lease: float = LONG) -> Workers:
        self._opened.append(Workers(self.address, self.namespace, lease=lease))
        return self._opened[-1]

    def kill(self, worker_id: str) -> None:
        """Let the lease of a worker be over."""
        with psycopg.connect(self.address) as connection:
            connection.execute(
                "UPDATE metier.worker SET lease = clock_timestamp() - interval '1 second'"
                " WHERE namespace = %s AND id = %s",
                (self.namespace, worker_id),
            )

    def close(self) -> None:
        for one in self._opened:
            one.close()


@pytest.fixture
def shared(postgres: str) -> Iterator[Shared]:
    with closing(Shared(postgres)) as made:
        yield made


def worker(worker_id: str) -> Worker:
    return Worker(worker_id, "runs", 4, "digest", "1.0")


def nothing(_worker_id: str) -> Sequence[str]:
    return ()


def test_a_worker_is_alive_until_its_lease_is_over(shared: Shared) -> None:
    workers = shared.open()
    workers.join(worker("a"))
    assert [(one.id, one.is_dead) for one in workers.all()] == [("a", False)]
    shared.kill("a")
    assert [one.is_dead for one in workers.all()] == [True]
    assert workers.renew("a")
    assert [one.is_dead for one in workers.all()] == [False]


def test_a_worker_that_was_taken_over_cannot_renew(shared: Shared) -> None:
    workers = shared.open()
    workers.join(worker("a"))
    shared.kill("a")
    assert workers.take_over("b", nothing) == TakeOver("a", [])
    assert not workers.renew("a")


def test_no_live_worker_is_taken_over(shared: Shared) -> None:
    workers = shared.open()
    workers.join(worker("a"))
    assert workers.take_over("b", nothing) is None


def test_workers_of_another_namespace_are_not_taken_over(shared: Shared, postgres: str) -> None:
    with closing(Shared(postgres)) as other:
        other.open().join(worker("a"))
        other.kill("a")
        assert shared.open().take_over("b", nothing) is None


def test_exactly_one_of_many_takes_over_a_dead_worker(shared: Shared) -> None:
    first = shared.open()
    first.join(worker("dead"))
    shared.kill("dead")
    takers = [shared.open() for _ in range(4)]
    together, called = threading.Barrier(4), []

    def enqueue_again(worker_id: str) -> Sequence[str]:
        called.append(worker_id)
        return ["run"]

    def take_over(number: int) -> TakeOver | None:
        together.wait()
        return takers[number].take_over(f"taker-{number}", enqueue_again)

    with ThreadPoolExecutor(4) as pool:
        taken = [one for one in pool.map(take_over, range(4)) if one is not None]
    assert taken == [TakeOver("dead", ["run"])]
    assert called == ["dead"]
    assert [one.code for one in first.notes("run")] == ["RUN_TAKEN_OVER"]


def test_a_take_over_that_fails_is_made_again(shared: Shared) -> None:
    workers = shared.open()
    workers.join(worker("dead"))
    shared.kill("dead")

    def away(_worker_id: str) -> Sequence[str]:
        raise StoreError("PostgreSQL is unreachable")

    with pytest.raises(StoreError):
        workers.take_over("b", away)
    assert workers.notes("run") == []
    assert workers.take_over("b", lambda _: ["run"]) == TakeOver("dead", ["run"])


def test_the_runs_of_a_dead_worker_can_be_claimed_at_once(shared: Shared, postgres: str) -> None:
    workers = shared.open()
    with closing(PostgresRunStore(postgres, shared.namespace)) as store:
        run = RunRecord("r", "clerk", "t", "pending", 1.0, {}, {}, key=store.new_key())
        store.add(run)
        lost = store.claim("r", "dead", time.time())
        workers.join(worker("dead"))
        shared.kill("dead")
        with pytest.raises(UsageError):
            store.claim("r", "other", time.time())
        workers.take_over("other", nothing)
        assert store.run("r").state == "pending"
        assert store.claim("r", "other", time.time()).epoch > lost.epoch


def test_a_worker_that_was_taken_over_writes_nothing_even_before_its_run_is_claimed_again(
    shared: Shared, postgres: str
) -> None:
    workers = shared.open()
    with closing(PostgresRunStore(postgres, shared.namespace)) as store:
        store.add(RunRecord("r", "clerk", "t", "pending", 1.0, {}, {}, key=store.new_key()))
        frozen = store.claim("r", "frozen", time.time())
        workers.join(worker("frozen"))
        shared.kill("frozen")
        workers.take_over("other", nothing)
        with pytest.raises(RunLostError):
            asyncio.run(store.save_step(frozen.claim, StepRecord("s", "succeeded")))
        with pytest.raises(RunLostError):
            asyncio.run(store.end_run(frozen._replace(state="succeeded", finished=2.0)))
        renewed = asyncio.run(store.renew("frozen", [frozen.claim], time.time()))
        assert renewed.lost == ["r"]
        assert store.run("r").state == "pending"
        assert store.steps(frozen.key) == []


def test_a_worker_that_was_taken_over_claims_no_run(shared: Shared, postgres: str) -> None:
    workers = shared.open()
    with closing(PostgresRunStore(postgres, shared.namespace)) as store:
        store.add(RunRecord("r", "clerk", "t", "pending", 1.0, {}, {}, key=store.new_key()))
        workers.join(worker("frozen"))
        store.worker = "frozen"
        shared.kill("frozen")
        workers.take_over("other", nothing)
        with pytest.raises(RunReleasedError):
            store.claim("r", "frozen", time.time())
        assert store.run("r").state == "pending"


def test_a_run_that_has_ended_is_not_taken_over(shared: Shared, postgres: str) -> None:
    workers = shared.open()
    with closing(PostgresRunStore(postgres, shared.namespace)) as store:
        for run_id in ("cancelled", "elsewhere", "waits"):
            key = store.new_key()
            store.add(RunRecord(run_id, "clerk", "t", "pending", 1.0, {}, {}, key=key))
        store.request_cancel("cancelled", time.time())
        store.claim("elsewhere", "another process", time.time())
        workers.join(worker("dead"))
        shared.kill("dead")
        taken = workers.take_over("b", lambda _: ["cancelled", "elsewhere", "waits"])
    assert taken == TakeOver("dead", ["waits"])
    assert [len(workers.notes(one)) for one in ("cancelled", "elsewhere", "waits")] == [0, 0, 1]
    assert workers.takeable(["cancelled", "unknown"]) == ["unknown"]


class Beats:
    """A heartbeat whose calls are counted, over a queue from which nothing was taken."""

    def __init__(self, workers: Workers, worker_id: str) -> None:
        self.lost, self.taken = threading.Event(), threading.Event()
        self.why = ""
        self.orphans: Sequence[str] = ()
        self.outages: list[bool] = []
        self.heartbeat = Heartbeat(
            workers, worker_id,
            queue=self,
            on_lost=self._lost,
            on_take_over=lambda _: self.taken.set(),
            on_outage=self.outages.append,
        )  # fmt: skip

    def _lost(self, why: MetierError) -> None:
        self.why = why.code
        self.lost.set()

    def enqueue_again(self, _worker_id: str) -> Sequence[str]:
        return ()

    def enqueue_orphans(self, known: Callable[[], Collection[str]]) -> Sequence[str]:
        self.known = set(known())
        return self.orphans


def test_a_heartbeat_renews_and_takes_over(shared: Shared) -> None:
    workers = shared.open(lease=0.5)
    workers.join(worker("alive"))
    shared.open(lease=0.5).join(worker("dead"))
    beats = Beats(workers, "alive")
    beats.heartbeat.start()
    assert beats.taken.wait(30)
    beats.heartbeat.stop()
    assert [one.id for one in workers.all()] == ["alive"]
    assert beats.known == {"alive"}
    assert not beats.lost.is_set()


def test_a_heartbeat_ends_when_its_worker_was_taken_over(shared: Shared) -> None:
    workers = shared.open(lease=1.0)
    workers.join(worker("a"))
    workers.leave("a")
    beats = Beats(workers, "a")
    beats.heartbeat.start()
    assert beats.lost.wait(30)
    beats.heartbeat.stop()
    assert beats.why == "WORKER_LOST"


def test_a_heartbeat_ends_when_a_newer_program_has_changed_the_schema(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers = shared.open(lease=1.0)
    workers.join(worker("a"))
    monkeypatch.setattr(workers._database, "_migrations", MIGRATIONS[:-1])
    beats = Beats(workers, "a")
    beats.heartbeat.start()
    assert beats.lost.wait(30)
    beats.heartbeat.stop()
    assert beats.why == "STORE_NEWER"


def test_a_heartbeat_goes_on_after_any_other_error_and_says_when_postgresql_is_away(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers = shared.open(lease=0.5)
    workers.join(worker("a"))
    away = StoreError("away", code="STORE_UNREACHABLE")
    errors = iter([away, away, RuntimeError("a bug")])
    healthy: list[bool] = []
    renewed, renew = threading.Event(), workers.renew

    def fail_first(worker_id: str) -> bool:
        healthy.append(beats.heartbeat.is_healthy)
        if error := next(errors, None):
            raise error
        renewed.set()
        return renew(worker_id)

    monkeypatch.setattr(workers, "renew", fail_first)
    beats = Beats(workers, "a")
    beats.heartbeat.start()
    assert renewed.wait(30)
    beats.heartbeat.stop()
    assert not beats.lost.is_set()
    assert beats.outages == [True, False]
    assert healthy[1:3] == [False, False]


def test_a_worker_takes_over_only_after_a_lease_without_trouble(shared: Shared) -> None:
    workers = shared.open(lease=LONG)
    workers.join(worker("alive"))
    shared.open().join(worker("dead"))
    shared.kill("dead")
    beats = Beats(workers, "alive")
    beats.heartbeat._renewed()
    beats.heartbeat._take_over()
    assert not beats.taken.is_set()
    beats.heartbeat._since -= LONG
    beats.heartbeat._take_over()
    assert beats.taken.is_set()


def test_an_orphan_that_has_ended_is_not_taken_over(shared: Shared, postgres: str) -> None:
    workers = shared.open()
    with closing(PostgresRunStore(postgres, shared.namespace)) as store:
        store.add(RunRecord("r", "clerk", "t", "pending", 1.0, {}, {}, key=store.new_key()))
        store.request_cancel("r", time.time())
    beats = Beats(workers, "alive")
    beats.orphans = ["r"]
    beats.heartbeat._since -= LONG
    beats.heartbeat._take_over()
    assert not beats.taken.is_set()
