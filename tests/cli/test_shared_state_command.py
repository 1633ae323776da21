"""Commands on shared state: runs from another machine, copying, doctor, and no secret shown."""

import asyncio
import json
import logging
import re
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from cli.printed import Finished, looked_at, run_here
from cli.run_workspace import SETTINGS, Agents, eventually, follows, prompt, tool
from conftest import state_of
from flow.decisions import decision, injecting, text_of, verdict
from metier.run.postgres_runs import PostgresRuns
from metier.run.postgres_store import PostgresRunStore
from metier.run.sqlite_store import SqliteRunStore
from metier.run.store import this_process
from metier.storage.hook_files import DECISIONS
from postgres_server import Proxy
from shared_states import PASSWORD, UNREACHABLE, everything, new_namespace, rows, with_password

pytestmark = pytest.mark.slow


class Machine(Agents):
    """A checkout of the workspace on a machine with a home of its own."""

    def __init__(self, root: Path, home: Path, namespace: str) -> None:
        super().__init__(root)
        self.home = home
        self.namespace = namespace
        self.variables: dict[str, str] = {}

    def share(self, address: str) -> "Machine":
        """Name the database in the settings."""
        lines = f'{SETTINGS}\n[state]\nurl = "{address}"\nnamespace = "{self.namespace}"\n'
        self.write("metier.toml", lines)
        return self

    def metier(self, *arguments: str, **environment: str) -> Finished:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HOME", str(self.home))
            looked_at(self.root)
            return run_here(self.root, *arguments, **self.variables, **environment)

    def log(self, *lines: Any) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HOME", str(self.home))
            folder = state_of(self.root)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / DECISIONS).write_bytes(text_of(lines))

    @property
    def runs_file(self) -> Path:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HOME", str(self.home))
            return state_of(self.root) / "runs.db"


Machines = Callable[[str], Machine]


@pytest.fixture
def machine(tmp_path: Path) -> Machines:
    """Machines with the same documents, and one namespace for all of them."""
    namespace = new_namespace()

    def made(name: str) -> Machine:
        root, home = tmp_path / name / "workspace", tmp_path / name / "home"
        for folder in (root, home):
            folder.mkdir(parents=True)
        new = Machine(root, home, namespace)
        new.write("metier.toml", SETTINGS)
        new.agent("leaf", tool("work"), prompt("say"))
        new.agent("bad", tool("work"), tool("no", "fail"))
        new.skill("alpha", extra="capabilities: [one]")
        return new

    return made


def succeeded(finished: Finished) -> Any:
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout) if finished.stdout.startswith(("{", "[")) else None


# Runs


def test_a_run_of_a_machine_is_shown_resumed_forked_and_cancelled_on_another(
    machine: Machines, postgres: str
) -> None:
    here, there = machine("a").share(postgres), machine("b").share(postgres)
    failed = here.metier("run", "bad", "x", "--json")
    assert failed.returncode == 1
    (run,) = there.runs("list")
    assert (run["agentId"], run["state"]) == ("bad", "failed")
    steps = there.runs("show", run["runId"])["steps"]
    assert [step["stepId"] for step in steps] == ["work", "no"]
    assert there.metier("runs", "resume", "last").returncode == 1
    assert there.calls() == ["no"], "the step that succeeded did not run again"
    assert there.metier("runs", "fork", run["runId"]).returncode == 1
    assert len(here.runs("list")) == 2
    assert not here.runs_file.exists()


def test_a_namespace_does_not_see_the_runs_of_another(machine: Machines, postgres: str) -> None:
    here, other = machine("a").share(postgres), machine("b")
    other.namespace = f"{here.namespace}-b"
    other.share(postgres)
    here.metier("run", "leaf", "x")
    assert other.runs("list") == []


def test_a_pending_run_is_cancelled_from_another_machine(machine: Machines, postgres: str) -> None:
    here, there = machine("a").share(postgres), machine("b").share(postgres)
    here.metier("run", "leaf", "x")
    back = "UPDATE metier.run SET state = 'pending' WHERE namespace = %s RETURNING id"
    ((run_id,),) = rows(postgres, back, here.namespace)
    assert succeeded(there.metier("runs", "cancel", run_id, "--json"))["state"] == "cancelled"
    assert here.runs("list")[0]["state"] == "cancelled"


# Decisions


def test_a_refresh_sends_the_decisions_of_hooks_and_stats_read_them_everywhere(
    machine: Machines, postgres: str
) -> None:
    here, there = machine("a").share(postgres), machine("b").share(postgres)
    here.log(decision(1), injecting(2), verdict(2, right=True))
    assert here.metier("refresh").returncode == 0
    there.log(decision(3))
    shared = succeeded(there.metier("hook", "stats", "--shared", "--json"))
    assert (shared["overall"]["requests"], shared["overall"]["right"]) == (3, 1)
    assert succeeded(there.metier("hook", "stats", "--json"))["overall"]["requests"] == 1
    listed = succeeded(here.metier("hook", "stats", "decisions", "--shared", "--json"))
    assert [one["id"] for one in listed] == [decision(number)["id"] for number in (1, 2, 3)]


def test_a_command_that_uses_shared_state_sends_decisions_along(
    machine: Machines, postgres: str
) -> None:
    here = machine("a").share(postgres)
    here.log(decision(1))
    here.metier("run", "leaf", "x")
    count = "SELECT count(*) FROM metier.decision WHERE namespace = %s"
    assert rows(postgres, count, here.namespace) == [(1,)]


def test_a_refresh_succeeds_while_the_server_is_away(machine: Machines) -> None:
    here = machine("a").share(UNREACHABLE)
    here.log(decision(1))
    assert here.metier("refresh").returncode == 0


def test_shared_figures_need_shared_state(machine: Machines) -> None:
    finished = machine("a").metier("hook", "stats", "--shared")
    assert finished.returncode == 2
    assert "state is not shared here" in finished.stderr


# Copying


@pytest.fixture
def used(machine: Machines) -> Machine:
    """A machine with local runs, a report, outcomes and decisions."""
    here = machine("a")
    for agent in ("leaf", "bad", "leaf"):
        here.metier("run", agent, "x")
    here.metier("resolve", "-r", "one")
    here.metier("history", "record", "alpha", "success")
    here.log(decision(1), injecting(2))
    return here


FOUND = {
    "runs": 3, "steps": 6, "checkpoints": 6, "reports": 1, "outcomes": 1, "decisions": 2,
}  # fmt: skip
NOTHING = dict.fromkeys(FOUND, 0)


def copied(here: Machine, address: str, *more: str) -> Any:
    namespace = ("--namespace", here.namespace)
    finished = here.metier("state", "copy", "--to", address, *namespace, "--json", *more)
    data = succeeded(finished)
    follows("state-copied", data)
    return data


def test_a_copy_is_counted_and_the_runs_are_the_same_there(used: Machine, postgres: str) -> None:
    before = used.runs("list"), [used.runs("show", run["runId"]) for run in used.runs("list")]
    result = copied(used, postgres)
    assert result["found"] == result["copied"] == FOUND
    assert result["newer"] == 0
    used.share(postgres)
    assert before == (
        used.runs("list"),
        [used.runs("show", run["runId"]) for run in used.runs("list")],
    )
    assert len(succeeded(used.metier("reports", "list", "--json"))) == 1


def test_a_copy_can_be_repeated_and_doubles_nothing(used: Machine, postgres: str) -> None:
    copied(used, postgres)
    assert copied(used, postgres)["copied"] == NOTHING
    again = used.metier("state", "copy", "--to", postgres, "--namespace", used.namespace)
    assert again.stdout.endswith(": nothing: everything was already there\n")
    used.metier("run", "leaf", "x")
    assert copied(used, postgres)["copied"] == {**NOTHING, "runs": 1, "steps": 2, "checkpoints": 2}


def test_a_run_that_went_on_here_is_copied_again(used: Machine, postgres: str) -> None:
    copied(used, postgres)
    failed = next(run for run in used.runs("list") if run["state"] == "failed")
    used.metier("runs", "resume", failed["runId"])
    assert copied(used, postgres)["copied"]["runs"] == 1
    assert copied(used, postgres)["copied"]["runs"] == 0


def test_a_run_that_went_on_there_stays_as_it_is(
    used: Machine, machine: Machines, postgres: str
) -> None:
    copied(used, postgres)
    there = machine("b").share(postgres)
    failed = next(run for run in there.runs("list") if run["state"] == "failed")
    there.metier("runs", "resume", failed["runId"])
    result = copied(used, postgres)
    assert (result["copied"], result["newer"]) == (NOTHING, 1)
    again = used.metier("state", "copy", "--to", postgres, "--namespace", used.namespace)
    assert again.stdout.endswith(": nothing new\n")
    assert "1 run was not copied: it continued in PostgreSQL" in again.stderr


def test_runs_that_are_on_this_machine_only_are_mentioned_until_they_are_copied(
    used: Machine, postgres: str
) -> None:
    count = len(used.runs("list"))
    used.share(postgres)
    said = f"{count} runs are on this machine only: metier state copy"
    assert said in used.metier("runs", "list").stderr
    copied(used, postgres)
    assert "on this machine only" not in used.metier("runs", "list").stderr


def test_doctor_warns_of_an_address_that_every_user_can_read(
    machine: Machines, postgres: str, tmp_path: Path
) -> None:
    here, file = machine("a").share(postgres), tmp_path / "address"
    file.write_text(postgres)
    here.write("metier.toml", f'[state]\nurl-file = "{file}"\nnamespace = "{here.namespace}"\n')
    file.chmod(0o644)
    assert checks(here)["state.url-file"]["verdict"] == "warning"
    file.chmod(0o600)
    assert "state.url-file" not in checks(here)


def test_a_run_that_continued_on_both_sides_stays_as_it_is_there(
    used: Machine, postgres: str
) -> None:
    copied(used, postgres)
    (run_id,) = [run["runId"] for run in used.runs("list") if run["state"] == "failed"]
    done = "INSERT INTO metier.step (namespace, run, id, seq, state, attempts, started, generation)"
    there = "SELECT namespace, key, 'third', 9, 'succeeded', 1, 1, 0 FROM metier.run"
    rows(postgres, f"{done} {there} WHERE id = %s RETURNING 1", run_id)
    used.metier("runs", "resume", run_id)
    result = copied(used, postgres)
    assert (result["copied"], result["newer"]) == (NOTHING, 1)


def test_nothing_is_copied_while_a_run_is_running(used: Machine, postgres: str) -> None:
    with closing(sqlite3.connect(used.runs_file)) as connection, connection:
        change = "UPDATE run SET state = 'running', owner = ?, lease = 1e12 WHERE agent = 'bad'"
        connection.execute(change, (this_process(),))
    finished = used.metier("state", "copy", "--to", postgres, "--namespace", used.namespace)
    assert finished.returncode == 2
    assert "is running" in finished.stderr
    assert "RUN_BUSY" in finished.stderr
    assert rows(postgres, "SELECT id FROM metier.run WHERE namespace = %s", used.namespace) == []


def test_a_copy_that_differs_is_an_error(
    used: Machine, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = PostgresRunStore.steps
    monkeypatch.setattr(PostgresRunStore, "steps", lambda self, key: read(self, key)[1:])
    finished = used.metier("state", "copy", "--to", postgres, "--namespace", used.namespace)
    assert finished.returncode == 1
    assert "STATE_COPY_DIFFERS" in finished.stderr


def test_a_copied_run_with_memory_and_named_checkpoints_can_be_resumed(
    used: Machine, postgres: str
) -> None:
    with closing(SqliteRunStore.open(str(used.runs_file))) as local:
        runs = local.runs()
        kept = {run.run_id: local.checkpoints(run.run_id, 0.0) for run in runs}
    copied(used, postgres)
    with closing(PostgresRunStore(postgres, used.namespace)) as store:
        assert {run.run_id: store.checkpoints(run.run_id, 0.0) for run in runs} == kept
        claimed = store.claim(runs[1].run_id, this_process(), 0.0)
        asyncio.run(store.check(claimed.claim))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "no database is named"),
        (("--to", "postgresql://127.0.0.1:1/x"), 2, "metier state copy --to URL --namespace NAME"),
        (("--to", "mysql://x", "--namespace", "t"), 2, "the address of PostgreSQL is not valid"),
        (("--to", UNREACHABLE, "--namespace", "t"), 1, "PostgreSQL cannot be reached"),
        (
            ("--to", UNREACHABLE, "--namespace", "T T"),
            2,
            "the namespace must be 1 to 40 characters",
        ),
        (
            ("--to", f"postgresql://ann:{PASSWORD}@db/x", "--namespace", "t"),
            2,
            "the address of PostgreSQL has a password in it",
        ),
    ],
)
def test_a_copy_to_nowhere_is_one_clear_error(
    machine: Machines, arguments: tuple[str, ...], code: int, message: str
) -> None:
    finished = machine("a").metier("state", "copy", *arguments)
    assert finished.returncode == code
    assert message in finished.stderr
    assert "Traceback" not in finished.stderr
    assert PASSWORD not in finished.stdout + finished.stderr


# Showing


def test_state_shows_which_store_is_used(used: Machine, postgres: str) -> None:
    local = succeeded(used.metier("state", "show", "--json"))
    follows("state", local)
    assert (local["store"], local["namespace"], local["counts"]) == ("local", "", FOUND)
    copied(used, postgres)
    used.share(postgres)
    shared = succeeded(used.metier("state", "show", "--json"))
    follows("state", shared)
    assert (shared["store"], shared["namespace"]) == ("postgresql", used.namespace)
    assert shared["counts"] == shared["local"] == FOUND
    assert used.metier("state", "show").stdout.startswith("postgresql://postgres@")


# Doctor


def checks(here: Machine) -> dict[str, dict[str, str]]:
    finished = here.metier("doctor", "--json")
    return {check["name"]: check for check in json.loads(finished.stdout)}


def test_doctor_checks_the_server_its_clock_and_the_queue(machine: Machines, postgres: str) -> None:
    here = machine("a").share(postgres)
    here.metier("run", "leaf", "x")
    found = checks(here)
    assert found["shared state"]["verdict"] == "ok"
    assert "PostgreSQL 18" in found["shared state"]["detail"]
    assert f"namespace {here.namespace}" in found["shared state"]["detail"]
    assert found["login"]["verdict"] == "warning"
    assert found["login"]["detail"] == "the login is a superuser of PostgreSQL"
    assert found["clock"]["verdict"] == "ok"
    assert found["queue"]["detail"] == "no run waits"
    pending = "UPDATE metier.run SET state = 'pending'"
    ((run_id,),) = rows(postgres, f"{pending} WHERE namespace = %s RETURNING id", here.namespace)
    stopped = checks(here)["interrupted runs"]
    assert stopped["verdict"] == "warning"
    assert stopped["hint"] == f"resume it with metier runs resume {run_id}"


def test_doctor_says_in_one_line_that_the_server_is_away(machine: Machines) -> None:
    finished = machine("a").share(UNREACHABLE).metier("doctor")
    assert finished.returncode == 1
    assert "PostgreSQL cannot be reached: the connection was refused" in finished.stdout
    assert "metier doctor" not in finished.stdout


def test_doctor_and_run_say_in_one_line_that_the_database_is_not_utf8(
    machine: Machines, postgres: str
) -> None:
    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        kind = "ENCODING SQL_ASCII LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        connection.execute(f"CREATE DATABASE {name} {kind}")
        here = machine("a").share(postgres.replace("/postgres?", f"/{name}?"))
        doctor, run = here.metier("doctor"), here.metier("run", "leaf", "x")
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    assert (doctor.returncode, run.returncode) == (1, 1)
    for said in (doctor.stdout, run.stderr):
        assert said.count("the database must have the encoding UTF8; it has SQL_ASCII") == 1
        assert "createdb -E UTF8 -T template0 NAME" in said


def test_a_live_run_is_busy_for_every_kind_of_resume(machine: Machines, postgres: str) -> None:
    here = machine("a").share(postgres)
    here.metier("run", "leaf", "x")
    live = "UPDATE metier.run SET state = 'running', owner = 'b', lease = now() + interval '1 h'"
    ((run_id,),) = rows(postgres, f"{live} WHERE namespace = %s RETURNING id", here.namespace)
    resumed = here.metier("runs", "resume", run_id)
    detached = here.metier("runs", "resume", run_id, "--detach")
    assert (resumed.returncode, detached.returncode) == (2, 2)
    without_seconds = [re.sub(r"\d+ s;", "", one.stderr) for one in (resumed, detached)]
    assert without_seconds[0] == without_seconds[1]
    for part in ("RUN_BUSY", "it can be resumed in 3", f"metier runs cancel {run_id}"):
        assert part in resumed.stderr


def test_a_run_says_that_the_server_went_away_and_how_to_resume_it(
    machine: Machines, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PostgresRuns.__init__, "__kwdefaults__", {"patience": 0.05})
    with closing(Proxy(postgres)) as proxy:
        port = conninfo_to_dict(proxy.address)["port"]
        here = machine("a").share(f"postgresql://postgres@127.0.0.1:{port}/postgres")
        here.agent("clerk", tool("held", "hold"), tool("work"))

        def go_away() -> None:
            eventually(lambda: here.calls() == ["held"])
            proxy.go_away()
            assert proxy.refused.wait(30)
            here.release()

        with ThreadPoolExecutor(1) as pool:
            away = pool.submit(go_away)
            finished = here.metier("run", "clerk", "x")
            away.result(60)
        proxy.is_away = False
        (run,) = json.loads(here.metier("runs", "list", "--json").stdout)
    assert finished.returncode == 1
    assert "PostgreSQL does not answer; the run waits" in finished.stderr
    assert f"metier runs resume {run['runId']}" in finished.stderr
    assert "see metier doctor" not in finished.stderr


@pytest.fixture
def database(postgres: str) -> Iterator[str]:
    """A database of its own, whose tables a test may change."""
    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield postgres.replace("/postgres?", f"/{name}?")
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_doctor_counts_dead_workers_and_runs_without_a_worker_for_them(
    machine: Machines, database: str
) -> None:
    here = machine("a").share(database)
    here.metier("run", "leaf", "x")
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO metier.worker (namespace, id, queue, concurrency, documents, version,"
            " lease) VALUES (%(n)s, 'a', 'runs', 4, 'd1', '1', now() + interval '1 h'),"
            " (%(n)s, 'b', 'runs', 4, 'd2', '1', now() - interval '1 h')",
            {"n": here.namespace},
        )
        connection.execute("UPDATE metier.blob SET data = '{\"documents\": \"d2\"}' WHERE data"
                           " LIKE '{\"input\"%'")  # fmt: skip
        connection.execute("UPDATE metier.run SET state = 'pending'")
    found = checks(here)
    assert found["workers"]["detail"] == "1 live, 1 dead: their leases have expired"
    assert found["workers"]["verdict"] == "warning"
    assert found["queue"]["verdict"] == "ok"
    assert found["documents of runs"]["detail"].startswith("1 pending run started with documents")


def test_a_schema_of_a_newer_version_is_one_clear_error(machine: Machines, database: str) -> None:
    here = machine("a").share(database)
    here.metier("runs", "list")
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("INSERT INTO metier.migration VALUES (99, 'of tomorrow')")
    finished = here.metier("runs", "list")
    assert finished.returncode == 1
    assert "STORE_NEWER" in finished.stderr
    assert "upgrade metier" in finished.stderr
    assert checks(here)["shared state"]["verdict"] == "error"


# Errors


@pytest.mark.parametrize(
    "command",
    [("runs", "list"), ("runs", "show", "last"), ("run", "leaf", "x"), ("reports", "list"),
     ("state", "show"), ("hook", "stats", "--shared")],
)  # fmt: skip
def test_an_unreachable_server_is_one_clear_line(
    machine: Machines, command: tuple[str, ...]
) -> None:
    finished = machine("a").share(UNREACHABLE).metier(*command)
    assert finished.returncode == 1
    assert "PostgreSQL cannot be reached: the connection was refused" in finished.stderr
    assert "Traceback" not in finished.stderr


def test_a_missing_driver_names_the_extra(
    machine: Machines, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = machine("a").share(postgres)
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    finished = here.metier("runs", "list")
    assert finished.returncode == 2
    assert "STATE_NO_PACKAGE" in finished.stderr
    assert "install metier with its extra 'postgres'" in finished.stderr


def test_an_untrusted_workspace_keeps_its_runs_local(machine: Machines) -> None:
    here = machine("a").share(UNREACHABLE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(here.home))
        finished = run_here(here.root, "runs", "list")
    assert finished.returncode == 0
    assert "there is no run yet" in finished.stderr


def test_init_suggests_a_namespace(tmp_path: Path) -> None:
    root = tmp_path / "My Project"
    root.mkdir()
    assert run_here(root, "init").returncode == 0
    assert '# namespace = "my-project"' in (root / "metier.toml").read_text()


# Secrets


def test_a_password_is_shown_nowhere(
    machine: Machines, postgres: str, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    here = machine("a")
    here.variables = {
        "METIER_STATE_URL": with_password(postgres),
        "METIER_STATE_NAMESPACE": here.namespace,
    }
    assert PASSWORD in here.variables["METIER_STATE_URL"]
    here.log(decision(1))
    commands = [
        ("run", "leaf", "x"), ("run", "bad", "x"), ("runs", "list"), ("runs", "show", "last"),
        ("runs", "resume", "last"), ("resolve", "-r", "one"), ("refresh",), ("doctor",),
        ("state", "show"), ("state", "copy"), ("hook", "stats", "--shared"), ("reports", "list"),
        ("trust", "--show"),
    ]  # fmt: skip
    for command in commands:
        for more in ((), ("--json",), ("-v",)):
            finished = here.metier(*command, *more)
            assert PASSWORD not in finished.stdout + finished.stderr, command
    assert rows(postgres, "SELECT 1 FROM metier.run WHERE namespace = %s", here.namespace)
    assert PASSWORD not in everything(postgres)
    assert PASSWORD not in caplog.text
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert files
    assert [file for file in files if PASSWORD.encode() in file.read_bytes()] == []


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ann:{PASSWORD}@127.0.0.1:1/x",
        f"postgresql://127.0.0.1:1/x?password={PASSWORD}",
        f"host=127.0.0.1 password={PASSWORD}",
        f"postgresql://ann:{PASSWORD}/@127.0.0.1:1/x",
        f"postgresql://nowhere.invalid/x?password={PASSWORD}",
    ],
)
def test_no_error_shows_the_address(machine: Machines, address: str) -> None:
    here = machine("a")
    environment = {"METIER_STATE_URL": address, "METIER_STATE_NAMESPACE": "team"}
    for command in (("runs", "list", "-v"), ("doctor", "-v"), ("state", "show", "-v")):
        finished = here.metier(*command, **environment)
        assert finished.returncode in (1, 2)
        assert PASSWORD not in finished.stdout + finished.stderr


@pytest.mark.parametrize(
    "line",
    [
        f'url = "postgresql://ann:{PASSWORD}@db.example.org/x"',
        f'url = "postgresql://db.example.org/x?password={PASSWORD}"',
        f'url = "password={PASSWORD}"',
        f'url = "postgresql://ann:{PASSWORD}@db',
        f'url = ["postgresql://ann:{PASSWORD}@db"]',
        f'uri = "postgresql://ann:{PASSWORD}@db"',
        f'namespace = "postgresql://ann:{PASSWORD}@db"',
    ],
)
@pytest.mark.parametrize("is_trusted", [True, False])
def test_a_password_in_the_settings_is_not_shown(
    machine: Machines, line: str, is_trusted: bool
) -> None:
    here = machine("a")
    if is_trusted:
        here.metier("list")
    here.write("metier.toml", f"[state]\n{line}\n")
    commands = [("trust", "--show"), ("trust", "--show", "--json"), ("list",), ("doctor",),
                ("runs", "list", "-v"), ("refresh",), ("lint",), ("hook", "stats")]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(here.home))
        for command in commands:
            finished = run_here(here.root, *command)
            assert PASSWORD not in finished.stdout + finished.stderr, command
    files = [file for file in here.home.rglob("*") if file.is_file()]
    assert [file for file in files if PASSWORD.encode() in file.read_bytes()] == []
