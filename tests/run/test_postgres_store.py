"""The store of runs in PostgreSQL: many teams, lost connections, migrations, no secrets."""

import asyncio
import contextlib
import secrets
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from metier.errors import (
    ConfigError,
    MetierError,
    NotFoundError,
    RunLostError,
    StoreError,
    UsageError,
)
from metier.run import postgres_tables as tables
from metier.run.postgres_migrations import MIGRATIONS
from metier.run.postgres_store import PostgresRunStore
from metier.run.postgres_writer import Request
from metier.run.store import LEASE_SECONDS, CheckpointMark
from metier.run.tool import ToolContext
from metier.storage.database import Migration
from metier.storage.postgres import Postgres
from metier.values.agents import Checkpoint
from metier.values.runs import Failure, RunRecord, StepRecord
from postgres_server import Proxy, own_server
from run.world import Data, World, agent, do, prompt

pytestmark = pytest.mark.slow

MINE, OTHER = "here/1//x", "elsewhere/1//y"
A = StepRecord("a", "succeeded", 1, finished=1.0)


@pytest.fixture
def namespace() -> str:
    return f"test-{secrets.token_hex(6)}"


@pytest.fixture
def store(postgres: str, namespace: str) -> Iterator[PostgresRunStore]:
    with closing(PostgresRunStore(postgres, namespace)) as opened:
        yield opened


@pytest.fixture
def proxy(postgres: str) -> Iterator[Proxy]:
    with closing(Proxy(postgres)) as opened:
        yield opened


@pytest.fixture
def far(proxy: Proxy, namespace: str) -> Iterator[PostgresRunStore]:
    """A store whose connections can be lost."""
    with closing(PostgresRunStore(proxy.address, namespace, patience=60.0)) as opened:
        yield opened


@pytest.fixture
def database(postgres: str) -> Iterator[str]:
    """The address of an empty database."""
    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield psycopg.conninfo.make_conninfo(postgres, dbname=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def ascii_database(postgres: str) -> Iterator[str]:
    """The address of a database that keeps bytes of no known encoding."""
    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING SQL_ASCII LC_COLLATE 'C' LC_CTYPE 'C'"
            " TEMPLATE template0"
        )
        yield psycopg.conninfo.make_conninfo(postgres, dbname=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def begun(store: PostgresRunStore, run_id: str = "run") -> RunRecord:
    run = RunRecord(
        run_id, "worker", "t", "running", time.time(), {}, {}, key=store.new_key(), epoch=1
    )
    asyncio.run(store.begin(run, MINE))
    return run


# Namespaces


def test_namespaces_do_not_see_or_change_each_other(postgres: str, namespace: str) -> None:
    with (
        closing(PostgresRunStore(postgres, namespace)) as here,
        closing(PostgresRunStore(postgres, f"{namespace}-2")) as there,
    ):
        run, other = begun(here), begun(there)
        asyncio.run(here.save_step(run.claim, A, CheckpointMark(0, {"k": 1})))
        here.save_checkpoint(_checkpoint("mine"))
        assert there.run("run") == other
        assert there.steps(run.key) == []
        assert there.checkpoints("run", 0.0) == []
        assert there.checkpoint("mine") is None
        assert there.checkpoint("run:1") is None
        assert there.recover(time.time() + 100) == ["run"]
        assert here.run("run").state == "running"
        with pytest.raises(RunLostError):
            asyncio.run(there.save_step(run.claim, A))
        with pytest.raises(RunLostError):
            asyncio.run(there.check(run.claim))
        there.release(run.claim, Failure("X", "x"))
        assert there.prune_checkpoints("run", 0, 9e9) == 0
        assert len(here.checkpoints("run", 0.0)) == 2
        there.save_checkpoint(_checkpoint("mine"))
        assert here.prune_checkpoints("run", 0, 0.0) == 2
        assert there.checkpoint("mine") is not None


def _checkpoint(name: str) -> Checkpoint:
    return Checkpoint(
        checkpoint_id=name, run_id="run", agent_id="worker", step_index=0, completed_step_id="a",
        step_outputs={}, context={}, memory_snapshot=[], created_at="2026-01-02T03:04:05+00:00",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["", " ", "a b", "a'b", "-a", "a" * 64, "é", "a\0"])
def test_a_namespace_is_a_plain_name(postgres: str, name: str) -> None:
    with pytest.raises(UsageError, match="is not a valid namespace"):
        PostgresRunStore(postgres, name)


def test_every_statement_names_the_namespace() -> None:
    words = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
    statements = [
        one
        for value in vars(tables).values()
        for one in (value if isinstance(value, tuple) else [value])
        if isinstance(one, str) and one.startswith(words) and one != tables.NEW_KEYS
    ]
    assert len(statements) > 25
    assert [one for one in statements if "namespace" not in one] == []


# Fencing


@pytest.mark.parametrize("memory", [{}, {"k": 1}], ids=["alone", "batched"])
def test_a_write_that_meets_an_uncommitted_claim_waits_and_is_refused(
    postgres: str, store: PostgresRunStore, memory: Data
) -> None:
    run = begun(store)

    async def main() -> None:
        with psycopg.connect(postgres) as other:
            values = (OTHER, LEASE_SECONDS, store.namespace, run.key)
            other.execute(tables.CLAIM, values)
            write = store.save_step(run.claim, A, CheckpointMark(0, memory))
            saving = asyncio.create_task(write)
            with psycopg.connect(postgres, autocommit=True) as looking:
                await _until_a_lock_is_awaited(looking)
            assert not saving.done()
            other.commit()
        with pytest.raises(RunLostError):
            await saving

    asyncio.run(main())
    assert store.steps(run.key) == []


async def _until_a_lock_is_awaited(connection: psycopg.Connection[Any]) -> None:
    waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    async with asyncio.timeout(30):
        while connection.execute(waiting).fetchone() is None:
            await asyncio.sleep(0.005)


def test_a_child_run_that_meets_an_uncommitted_claim_of_its_parent_waits_and_is_refused(
    postgres: str, store: PostgresRunStore
) -> None:
    run = begun(store)
    child = run._replace(run_id="child", key=store.new_key(), parent_run="run", parent_step="d")

    async def main() -> None:
        with psycopg.connect(postgres) as other:
            other.execute(tables.CLAIM, (OTHER, LEASE_SECONDS, store.namespace, run.key))
            beginning = asyncio.create_task(store.begin(child, MINE, run.claim))
            with psycopg.connect(postgres, autocommit=True) as looking:
                await _until_a_lock_is_awaited(looking)
            assert not beginning.done()
            other.commit()
        with pytest.raises(RunLostError):
            await beginning

    asyncio.run(main())
    assert store.children("run") == []


def test_a_claim_waits_for_a_write_that_is_being_committed(
    postgres: str, store: PostgresRunStore
) -> None:
    run = begun(store)
    claimed: list[RunRecord] = []

    async def main() -> None:
        with psycopg.connect(postgres) as writing:
            writing.execute(tables.LOCK, ([run.key], store.namespace))
            later = time.time() + LEASE_SECONDS + 1
            task = asyncio.create_task(asyncio.to_thread(store.claim, "run", OTHER, later))
            with psycopg.connect(postgres, autocommit=True) as looking:
                await _until_a_lock_is_awaited(looking)
            writing.execute(*store._step_write(run.claim, A))
            writing.commit()
        claimed.append(await task)

    asyncio.run(main())
    assert claimed[0].epoch == 2
    assert [one.id for one in store.steps(run.key)] == ["a"]


def test_leases_follow_the_clock_of_the_database(
    store: PostgresRunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = time.time
    monkeypatch.setattr("metier.run.postgres_runs.time.time", lambda: real() + 10_000)
    begun(store)
    with pytest.raises(UsageError):
        store.claim("run", OTHER, time.time())
    assert store.recover(time.time()) == []
    assert store.recover(time.time() + LEASE_SECONDS + 1) == ["run"]


# Lost connections


def test_a_write_whose_outcome_is_unknown_is_repeated_without_harm(
    postgres: str, proxy: Proxy, far: PostgresRunStore
) -> None:
    run = begun(far)
    warm = StepRecord("warm", "succeeded", 1, finished=1.0)
    for mark in (CheckpointMark(0, {}), CheckpointMark(0, {"k": 1})):
        asyncio.run(far.save_step(run.claim, warm, mark))
        for name in ("x", "y"):
            proxy.loses_next_reply.set()
            asyncio.run(far.save_step(run.claim, A._replace(id=name), mark))
            assert not proxy.loses_next_reply.is_set()
    assert [one.id for one in far.steps(run.key)] == ["warm", "x", "y"]
    twice = "SELECT count(*) FROM metier.step WHERE namespace = %s AND xmax <> 0"
    with psycopg.connect(postgres) as connection:
        assert connection.execute(twice, (far.namespace,)).fetchall() == [(3,)]


def test_beginning_claiming_and_ending_survive_a_lost_reply(
    proxy: Proxy, far: PostgresRunStore
) -> None:
    begun(far, "warm")
    proxy.loses_next_reply.set()
    run = begun(far)
    assert [one.run_id for one in far.runs()] == ["run", "warm"]
    proxy.loses_next_reply.set()
    claimed = far.claim("run", OTHER, time.time() + LEASE_SECONDS + 1)
    assert claimed.epoch > run.epoch
    asyncio.run(far.save_step(claimed.claim, A))
    proxy.loses_next_reply.set()
    asyncio.run(far.end_run(claimed._replace(state="succeeded", output=1)))
    assert (far.run("run").state, far.run("run").output) == ("succeeded", 1)


def test_runs_wait_while_postgres_is_away_and_then_go_on(
    proxy: Proxy,
    far: PostgresRunStore,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("metier.run.leases.HEARTBEAT_SECONDS", 0.01)
    world = World(store=far)
    beating: list[float] = []

    async def leave(_args: Data, _context: ToolContext) -> str:
        if not proxy.refused.is_set() and not proxy.is_away:
            proxy.go_away()
        return "b"

    async def come_back() -> None:
        while not proxy.refused.is_set():
            beating.append(time.monotonic())
            await asyncio.sleep(0.001)
        proxy.is_away = False

    world.acts["b"] = leave

    async def main() -> list[Any]:
        runner = world.runner()
        back = asyncio.create_task(come_back())
        runs = [runner.run(agent(do("a"), do("b"), do("c")), "t") for _ in range(3)]
        found = await asyncio.gather(*runs)
        await back
        return found

    results = asyncio.run(main())
    assert [one.state for one in results] == ["succeeded"] * 3
    assert sorted(world.calls) == sorted("abc" * 3)
    assert len(beating) > 1, "the loop was blocked"
    assert [one for one in caplog.records if one.name == "psycopg"] == []


@pytest.mark.slow
def test_runs_outlive_a_restart_of_the_server(namespace: str) -> None:
    with own_server() as server:
        store = PostgresRunStore(server.get_uri(), namespace)
        world = World(store=store)

        async def restart(_args: Data, _context: ToolContext) -> None:
            server.stop()
            threading.Thread(target=server.start).start()

        world.acts["b"] = restart
        with closing(store):
            result = world.run(agent(do("a"), do("b"), do("c")))
            assert result.success
            assert world.kept(result.run) == dict.fromkeys("abc", "succeeded")
            for thread in threading.enumerate():
                if thread.name.endswith("(start)"):
                    thread.join()


def test_a_store_that_stays_away_is_an_error_in_the_end(proxy: Proxy, namespace: str) -> None:
    with closing(PostgresRunStore(proxy.address, namespace, patience=0.05)) as store:
        run = begun(store)
        store.note(run.claim, StepRecord("n", "running"))
        proxy.go_away()
        for call in (
            lambda: asyncio.run(store.save_step(run.claim, A)),
            lambda: store.end_run_now(run),
            lambda: store.run("run"),
            lambda: store.claim("run", OTHER, time.time()),
            lambda: asyncio.run(store.renew(MINE, [run.claim], time.time())),
        ):
            with pytest.raises(StoreError) as raised:
                call()
            assert raised.value.code == "STORE_UNREACHABLE"
        store.release(run.claim, Failure("X", "x"))
        proxy.is_away = False
        asyncio.run(store.save_step(run.claim, A))
        assert {one.id for one in store.steps(run.key)} == {"a", "n"}, "a note was lost"


def test_all_that_waits_for_a_store_stops_at_the_same_moment(
    proxy: Proxy, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(PostgresRunStore(proxy.address, namespace, patience=120.0)) as store:
        run = begun(store)
        said: list[bool] = []
        store.outage.on_change = said.append
        now = [1_000.0]
        waits: list[float] = []

        def wait(seconds: float) -> bool:
            waits.append(seconds)
            now[0] += seconds
            return False

        monkeypatch.setattr("metier.storage.outages.time.monotonic", lambda: now[0])
        for database in (store._database, store._writer._database):
            monkeypatch.setattr(database._stopped, "wait", wait)
        proxy.go_away()
        for call in (
            lambda: store._writer.submit(Request(job=lambda one: one.execute("SELECT 1"))).result(
                30
            ),
            lambda: store.end_run_now(run),
            lambda: store.run("run"),
        ):
            with pytest.raises(StoreError):
                call()
        assert 110 < sum(waits) < 125
        store.release(run.claim, Failure("X", "x"))
        proxy.is_away = False
        assert store.run("run").run_id == "run"
        assert said == [True, False]


def test_a_caller_that_cannot_await_is_not_blocked_for_long(
    proxy: Proxy, far: PostgresRunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metier.run.postgres_runs.NOW_SECONDS", 0.01)
    run = begun(far)
    proxy.go_away()
    with pytest.raises(StoreError, match="as soon as it answers"):
        far.end_run_now(run._replace(state="cancelled"))
    far.release(run.claim, Failure("X", "x"))
    proxy.is_away = False
    asyncio.run(far.check(run.claim))
    assert far.run("run").state == "cancelled", "a release must not undo an end"


def test_closing_a_store_that_is_away_does_not_wait(proxy: Proxy, namespace: str) -> None:
    far = PostgresRunStore(proxy.address, namespace, patience=1e6)
    run = begun(far)
    proxy.go_away()

    async def main() -> None:
        saving = asyncio.create_task(far.save_step(run.claim, A))
        await asyncio.to_thread(proxy.refused.wait, 30)
        await asyncio.to_thread(far.close)
        with pytest.raises(StoreError):
            await saving

    asyncio.run(main())
    with pytest.raises(StoreError, match="is closed"):
        asyncio.run(far.save_step(run.claim, A))


# Batches


def test_a_batch_with_a_value_that_postgres_refuses_stores_the_others(
    store: PostgresRunStore,
) -> None:
    runs = [begun(store, f"run-{number}") for number in range(3)]

    async def main() -> list[Any]:
        steps = [A, A._replace(id="a\0"), A]
        saves = [store.save_step(run.claim, one) for run, one in zip(runs, steps, strict=True)]
        return await asyncio.gather(*saves, return_exceptions=True)

    first, second, third = asyncio.run(main())
    assert (first, third) == (None, None)
    assert isinstance(second, StoreError)
    assert [len(store.steps(run.key)) for run in runs] == [1, 0, 1]


def test_a_run_whose_id_is_taken_is_an_error_of_that_run_only(store: PostgresRunStore) -> None:
    begun(store)

    async def main() -> list[Any]:
        runs = [
            RunRecord(name, "w", "t", "running", 1.0, {}, {}, key=store.new_key(), epoch=1)
            for name in ("a", "run", "b")
        ]
        saves = [store.begin(run, MINE) for run in runs]
        return await asyncio.gather(*saves, return_exceptions=True)

    first, second, third = asyncio.run(main())
    assert (first, third) == (None, None)
    assert isinstance(second, StoreError)
    assert "UniqueViolation" in second.message
    assert {one.run_id for one in store.runs()} == {"run", "a", "b"}


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        (tables.LOCK, ([1, 2], "team")),
        (tables.LOCK_AND_ANNOUNCE, ("team", "team", [1, 2], "team")),
        (tables.SAVE_STEPS, ("team", *["{}"] * 15, "team")),
        (tables.SAVE_STEP_ALONE, (*["1"] * 13, "team", 1, 1, "team", "team")),
        (tables.END_RUNS, (*["{}"] * 7, "team")),
        (tables.END, ("x", 1.0, None, None, None, "team", 1, 1)),
        (tables.CHECK, ("team", 1, 1)),
    ],
    ids=["lock", "lock-and-announce", "steps", "step", "ends", "end", "check"],
)
def test_a_new_database_finds_a_run_by_its_key_not_by_reading_its_namespace(
    database: str, statement: str, values: tuple[Any, ...]
) -> None:
    with (
        closing(PostgresRunStore(database, "team")) as store,
        psycopg.connect(database, autocommit=True) as connection,
    ):
        for number in range(50):
            begun(store, f"run-{number}")
        for mode in ("custom", "generic"):
            connection.execute(f"SET plan_cache_mode = force_{mode}_plan")
            plan = connection.execute(f"EXPLAIN {statement}", values, prepare=True).fetchall()
            text = "\n".join(line for (line,) in plan)
            assert "run_pkey" in text
            assert "Seq Scan on run" not in text


def test_many_runs_that_end_at_once_end_but_those_that_are_lost(store: PostgresRunStore) -> None:
    runs = [begun(store, f"run-{number}") for number in range(100)]
    lost = runs[::7]
    for run in lost:
        store.claim(run.run_id, OTHER, time.time() + LEASE_SECONDS + 1)

    async def main() -> list[Any]:
        ended = [
            one._replace(state="succeeded", finished=1.5, output=['"\\', None]) for one in runs
        ]
        return await asyncio.gather(*map(store.end_run, ended), return_exceptions=True)

    results = asyncio.run(main())
    assert [isinstance(one, RunLostError) for one in results] == [run in lost for run in runs]
    for run in runs:
        found = store.run(run.run_id)
        assert (found.state, found.output) == (
            ("running", None) if run in lost else ("succeeded", ['"\\', None])
        )


def test_a_batch_is_one_transaction(store: PostgresRunStore) -> None:
    run = begun(store)
    good, bad = store._step_write(run.claim, A), (tables.END, ("x",) * 9)
    with pytest.raises(StoreError):
        store._save_now([good, bad], run.claim)
    assert store.steps(run.key) == []


def test_concurrent_runs_share_their_commits(postgres: str, namespace: str) -> None:
    def commits(connection: psycopg.Connection[Any]) -> int:
        connection.execute("SELECT pg_stat_clear_snapshot()")
        row = connection.execute("SELECT pg_current_xact_id()::text::bigint").fetchone()
        assert row is not None
        return int(row[0])

    steps = 10
    with (
        closing(PostgresRunStore(postgres, namespace)) as store,
        psycopg.connect(postgres, autocommit=True) as connection,
    ):
        world = World(store=store)

        async def main() -> None:
            runner = world.runner()
            profile = agent(*(do(f"s{number}") for number in range(steps)))
            await asyncio.gather(*(runner.run(profile, "t") for _ in range(50)))

        before = commits(connection)
        asyncio.run(main())
        used = commits(connection) - before
        assert len(store.runs(state="succeeded", limit=100)) == 50
    assert used < 50 * steps / 4


# Migrations


def test_several_processes_create_the_schema_once(database: str) -> None:
    opened: list[PostgresRunStore] = []
    errors: list[BaseException] = []

    def start() -> None:
        try:
            opened.append(PostgresRunStore(database, "team"))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=start) for _ in range(5)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for store in opened:
        store.close()
    assert errors == []
    assert len(opened) == 5
    with psycopg.connect(database) as connection:
        rows = connection.execute("SELECT number, name FROM metier.migration").fetchall()
    assert rows == [(number, one.name) for number, one in enumerate(MIGRATIONS, start=1)]


def test_a_schema_of_a_newer_version_is_an_error_that_says_so(database: str) -> None:
    PostgresRunStore(database, "team").close()
    with psycopg.connect(database) as connection:
        connection.execute("INSERT INTO metier.migration VALUES (99, 'of tomorrow')")
    with pytest.raises(StoreError, match="has version 99, this program reads") as raised:
        PostgresRunStore(database, "team")
    assert (raised.value.code, raised.value.hint) == ("STORE_NEWER", "upgrade metier")


def test_a_process_that_reconnects_to_a_newer_schema_stops(database: str) -> None:
    with closing(PostgresRunStore(database, "team")) as store:
        run = begun(store)
        with psycopg.connect(database) as connection:
            connection.execute("INSERT INTO metier.migration VALUES (99, 'of tomorrow')")
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        for call in (lambda: asyncio.run(store.save_step(run.claim, A)), store.runs):
            with pytest.raises(StoreError) as raised:
                call()
            assert raised.value.code == "STORE_NEWER"


def test_a_failed_migration_leaves_nothing(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Migration("broken", ("SELECT 1 / 0",))
    monkeypatch.setattr("metier.run.postgres_runs.MIGRATIONS", (*MIGRATIONS, broken))
    with pytest.raises(StoreError, match="DivisionByZero"):
        PostgresRunStore(database, "team")
    monkeypatch.undo()
    PostgresRunStore(database, "team").close()


# Errors


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (psycopg.errors.DiskFull, "STORE_FULL"),
        (psycopg.errors.InsufficientPrivilege, "STORE_READ_ONLY"),
        (psycopg.errors.LockNotAvailable, "STORE_LOCKED"),
        (psycopg.errors.DeadlockDetected, "STORE_LOCKED"),
        (psycopg.errors.AdminShutdown, "STORE_UNREACHABLE"),
        (psycopg.errors.ReadOnlySqlTransaction, "STORE_UNREACHABLE"),
        (psycopg.OperationalError, "STORE_UNREACHABLE"),
        (psycopg.errors.UndefinedTable, "STORE_FAILED"),
    ],
)
def test_every_error_of_postgres_has_a_code_and_none_of_its_words(
    postgres: str, error: type[psycopg.Error], code: str
) -> None:
    def job(_connection: object) -> None:
        raise error(f"said {SECRET}")

    database = Postgres(postgres, called="it", migrations=MIGRATIONS, patience=0.0)
    with closing(database), pytest.raises(StoreError) as raised:
        database.call(job)
    assert raised.value.code == code
    assert SECRET not in str(raised.value)


def test_a_job_that_met_a_passing_error_is_repeated(postgres: str) -> None:
    errors = [psycopg.errors.DeadlockDetected, psycopg.OperationalError]

    def job(_connection: object) -> str:
        if errors:
            raise errors.pop()
        return "done"

    with closing(Postgres(postgres, called="it", migrations=MIGRATIONS)) as database:
        assert database.call(job) == "done"


# Secrets

SECRET = "hunter2"


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://bob:{SECRET}@127.0.0.1:1/db",
        f"postgresql://bob:{SECRET}@[bad/db",
        f"host=127.0.0.1 port=1 password={SECRET}",
        f"host=127.0.0.1 {SECRET}",
        f"{SECRET}=x",
        f"postgresql://127.0.0.1:1/db?{SECRET}=1",
        f"host=/{SECRET}/nowhere password={SECRET}",
    ],
)
def test_no_error_reveals_the_address(address: str) -> None:
    with pytest.raises(MetierError) as raised:
        PostgresRunStore(address, "team")
    error = raised.value
    assert isinstance(error, ConfigError | StoreError)
    shown = [str(error), error.where, error.hint, *traceback.format_exception(error)]
    assert SECRET not in "\n".join(shown[:3]) + shown[-1]
    assert all(SECRET not in one for one in shown if "Error" in one)


def test_a_store_does_not_show_its_address(store: PostgresRunStore, postgres: str) -> None:
    shown = [repr(store), store.path, repr(vars(store)), repr(vars(store._database))]
    assert all(postgres not in one for one in shown)


@pytest.mark.parametrize(
    ("address", "mode"),
    [
        ("host=db.example.org", "require"),
        ("postgresql://a,b/x", "require"),
        ("host=localhost,db.example.org", "require"),
        ("host=db.example.org sslmode=verify-full", "verify-full"),
        ("host=db.example.org sslmode=disable", "disable"),
        ("host=127.0.0.1", None),
        ("host=/run/postgresql", None),
        ("", None),
    ],
)
def test_beyond_this_machine_tls_is_the_default(
    address: str, mode: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []

    def connect(address: str, **_: Any) -> None:
        given.append(address)
        raise psycopg.OperationalError

    monkeypatch.setattr(psycopg, "connect", connect)
    with contextlib.suppress(StoreError):
        Postgres(address, called="it", migrations=()).open()
    assert psycopg.conninfo.conninfo_to_dict(given[0]).get("sslmode") == mode


def test_a_server_without_tls_is_one_clear_error(proxy: Proxy) -> None:
    with pytest.raises(StoreError) as raised:
        PostgresRunStore(f"{proxy.address} sslmode=require", "team")
    assert raised.value.message == "PostgreSQL cannot be reached: it does not offer TLS"
    assert "sslmode=disable" in raised.value.hint


def test_a_run_in_postgres_records_no_address(store: PostgresRunStore, postgres: str) -> None:
    world = World(store=store)
    result = world.run(agent(do("a"), prompt("b")))
    assert result.success
    assert postgres not in repr(store.runs()) + repr(store.steps(result.run.key))
    with pytest.raises(NotFoundError) as raised:
        store.run("unknown")
    assert postgres not in str(raised.value)


# Encodings


def test_a_database_that_is_not_utf8_is_refused_and_left_empty(ascii_database: str) -> None:
    with pytest.raises(StoreError) as raised:
        PostgresRunStore(ascii_database, "here")
    assert raised.value.message == "the database must have the encoding UTF8; it has SQL_ASCII"
    assert raised.value.code == "STORE_ENCODING"
    assert raised.value.hint == "createdb -E UTF8 -T template0 NAME"
    with psycopg.connect(ascii_database) as connection:
        schemas = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'metier'")
        assert schemas.fetchall() == []
