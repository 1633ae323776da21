"""The queue of runs in DBOS, as a client sees it."""

import logging
import secrets
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from metier.errors import StoreError
from metier.run.dbos_queue import VERSION, DbosQueue, run_of
from metier.run.queue import QueuedRun
from metier.run.queue_tables import schema_of
from metier.values.settings import QueueSetting

pytestmark = pytest.mark.slow

UNLIMITED = QueueSetting()


@pytest.fixture
def queue(postgres: str) -> Iterator[DbosQueue]:
    with closing(DbosQueue(postgres, f"test-{secrets.token_hex(6)}")) as made:
        made.register("runs", UNLIMITED, update=True)
        yield made


def test_a_run_waits_until_it_is_cancelled(queue: DbosQueue) -> None:
    assert queue.enqueue(QueuedRun("r")) == "r"
    assert queue.is_waiting("r")
    assert queue.lengths() == {"runs": 1}
    queue.cancel("r")
    assert not queue.is_waiting("r")
    assert queue.lengths() == {"runs": 0}


def test_each_resume_is_a_workflow_of_its_own(queue: DbosQueue) -> None:
    for _ in range(2):
        queue.enqueue(QueuedRun("r"))
        queue.cancel("r")
    queue.enqueue(QueuedRun("r"))
    assert sorted(one.workflow_id for one in queue._workflows("r")) == ["r:1", "r:2", "r:3"]


def test_an_id_that_begins_like_another_is_another(queue: DbosQueue) -> None:
    queue.enqueue(QueuedRun("run-10"))
    assert not queue.is_waiting("run-1")


def test_a_key_is_free_again_when_its_run_has_left_the_queue(queue: DbosQueue) -> None:
    assert queue.enqueue(QueuedRun("first"), key="k") == "first"
    assert queue.enqueue(QueuedRun("second"), key="k") == "first"
    assert queue.holder("runs", "k") == "first"
    queue.cancel("first")
    assert queue.holder("runs", "k") == ""
    assert queue.enqueue(QueuedRun("second"), key="k") == "second"


def test_namespaces_do_not_see_each_others_runs(queue: DbosQueue, postgres: str) -> None:
    queue.enqueue(QueuedRun("r"))
    with closing(DbosQueue(postgres, f"test-{secrets.token_hex(6)}")) as other:
        assert not other.is_waiting("r")
        assert other.lengths() == {}


def test_only_what_a_worker_has_taken_is_enqueued_again(queue: DbosQueue) -> None:
    queue.enqueue(QueuedRun("r"))
    assert queue.enqueue_again("some-worker") == []


def test_what_an_unknown_worker_has_taken_is_enqueued_again(
    queue: DbosQueue, postgres: str
) -> None:
    queue.enqueue(QueuedRun("r"))
    table = f'"{queue._tables.schema}".workflow_status'
    with psycopg.connect(postgres) as connection:
        connection.execute(f"UPDATE {table} SET status = 'PENDING', executor_id = 'ghost'")
    assert queue.enqueue_orphans(lambda: ["ghost", "other"]) == []
    assert queue.lengths() == {"runs": 0}
    assert queue.enqueue_orphans(lambda: ["other"]) == ["r"]
    assert queue.lengths() == {"runs": 1}
    assert queue.enqueue_orphans(lambda: ["other"]) == []


def take(queue: DbosQueue, name: str = "runs") -> list[str]:
    """Take what may start now, as a worker does; ids of runs."""
    queue._tables.transition_delayed_workflows()
    found = queue._tables.get_queue(name)
    assert found is not None
    ids, _ = queue._tables.start_queued_workflows(found, "taker", VERSION, None)
    return [run_of(one) for one in ids]


def an_hour_later(queue: DbosQueue, postgres: str) -> None:
    """Let everything in the queue have happened an hour earlier."""
    table = f'"{queue._tables.schema}".workflow_status'
    moved = ", ".join(
        f"{name} = {name} - 3600000" for name in ("started_at_epoch_ms", "delay_until_epoch_ms")
    )
    with psycopg.connect(postgres) as connection:
        connection.execute(f"UPDATE {table} SET {moved}")


def test_no_more_runs_start_within_a_time_than_the_limit_of_their_queue(
    queue: DbosQueue, postgres: str
) -> None:
    queue.register("model", QueueSetting(starts=2, seconds=3600.0), update=True)
    for name in "abcde":
        queue.enqueue(QueuedRun(name, "model"))
    queue.enqueue(QueuedRun("other"))
    assert take(queue, "model") == ["a", "b"]
    assert take(queue, "model") == []
    assert take(queue) == ["other"]
    an_hour_later(queue, postgres)
    assert take(queue, "model") == ["c", "d"]


def test_a_run_that_is_given_back_for_later_keeps_its_key_and_is_no_attempt(
    queue: DbosQueue, postgres: str
) -> None:
    queue.enqueue(QueuedRun("r"), key="k")
    assert take(queue) == ["r"]
    assert queue.attempts("taker", "r") == 1
    queue.give_back("taker", QueuedRun("r", returned=1), delay=3600)
    assert take(queue) == []
    assert queue.holder("runs", "k") == "r"
    assert queue.enqueue(QueuedRun("second"), key="k") == "r"
    an_hour_later(queue, postgres)
    assert take(queue) == ["r"]
    assert queue.attempts("taker", "r") == 1


def test_what_another_worker_has_taken_since_is_not_given_back(queue: DbosQueue) -> None:
    queue.enqueue(QueuedRun("r"))
    assert take(queue) == ["r"]
    queue.give_back("some-worker", QueuedRun("r"))
    assert queue.lengths() == {"runs": 0}
    assert queue.enqueue_again("taker") == ["r"]
    assert take(queue) == ["r"]
    assert queue.attempts("taker", "r") == 2


def test_what_has_ended_is_forgotten_and_what_waits_is_not(queue: DbosQueue) -> None:
    queue.enqueue(QueuedRun("ended"))
    queue.cancel("ended")
    queue.enqueue(QueuedRun("waits"))
    assert not queue.forget(3600)
    assert len(queue._workflows("ended")) == 1
    assert not queue.forget(-1)
    assert len(queue._workflows("ended")) == 0
    assert queue.is_waiting("waits")


def test_the_schemas_of_namespaces_differ_and_are_short_enough() -> None:
    long = [schema_of("n" * 60 + letter) for letter in "ab"]
    assert long[0] != long[1]
    assert max(map(len, long)) <= 63
    assert schema_of("team-a") == "metier_queue_team-a"


def test_an_unreachable_database_is_one_clear_error_without_the_address(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(StoreError) as raised:
        DbosQueue("postgresql://joe:secret@127.0.0.1:1/nowhere", "team")
    assert raised.value.code == "STORE_UNREACHABLE"
    assert raised.value.message == "PostgreSQL cannot be reached: the connection was refused"
    for part in ("secret", "joe", "127.0.0.1"):
        assert part not in f"{raised.value.message} {raised.value.hint} {caplog.text}"
