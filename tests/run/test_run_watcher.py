"""Changes of a run are announced to those who watch it."""

import asyncio
import secrets
import time
from contextlib import closing

import psycopg

from metier.run.postgres_store import PostgresRunStore
from metier.run.postgres_watching import RunWatcher
from metier.values.runs import Failure, RunRecord, StepRecord

PATIENCE = 30.0


def test_a_watcher_hears_of_its_run_and_of_no_other(postgres: str) -> None:
    namespace = f"test-{secrets.token_hex(6)}"
    with closing(PostgresRunStore(postgres, namespace)) as store:
        for run_id in ("watched", "other"):
            store.add(RunRecord(run_id, "a", "t", "pending", 1.0, {}, {}, key=store.new_key()))
        run = store.run("watched")
        with closing(RunWatcher(postgres, namespace, run.key)) as watcher:
            assert watcher.wait(PATIENCE)  # it has connected
            store.claim("other", "me", time.time())
            assert not watcher.wait(0.2)
            claimed = store.claim("watched", "me", time.time())
            assert watcher.wait(PATIENCE)
            store.release(claimed.claim, Failure("RUN_RELEASED", "it stopped"))
            assert watcher.wait(PATIENCE)
        with psycopg.connect(postgres) as connection:
            left = connection.execute(
                "SELECT count(*) FROM metier.watch WHERE namespace = %s", (namespace,)
            ).fetchone()
        assert left == (0,)


def test_a_watcher_hears_of_steps_that_ended(postgres: str) -> None:
    namespace = f"test-{secrets.token_hex(6)}"
    with closing(PostgresRunStore(postgres, namespace)) as store:
        store.add(RunRecord("r", "a", "t", "pending", 1.0, {}, {}, key=store.new_key()))
        run = store.claim("r", "me", time.time())
        with closing(RunWatcher(postgres, namespace, run.key)) as watcher:
            assert watcher.wait(PATIENCE)  # it has connected
            assert not watcher.wait(0.2)
            step = StepRecord("s", "succeeded", seq=1, started=1.0, finished=2.0)
            asyncio.run(store.save_step(run.claim, step))
            assert watcher.wait(PATIENCE)
