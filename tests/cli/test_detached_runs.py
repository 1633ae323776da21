"""Runs that workers execute: `run --detach`, `runs watch`, `resume --detach`, and their errors."""

import base64
import json
import pickle
import re
import signal
import urllib.request
from contextlib import closing

import pytest

from cli.run_workspace import Agents, eventually, follows, tool
from cli.run_workspace import agents as agents
from cli.worker_processes import PASSWORD, Team, acts
from cli.worker_processes import team as team
from metier.run.dbos_queue import DbosQueue

pytestmark = pytest.mark.slow


def test_a_detached_run_needs_shared_state(agents: Agents) -> None:
    agents.agent("clerk", tool("s1"))
    finished = agents.metier("run", "clerk", "t", "--detach")
    assert finished.returncode == 2
    assert "QUEUE_NOT_CONFIGURED" in finished.stderr
    assert "[state] url" in finished.stderr
    assert agents.runs("list") == []


def test_options_of_the_queue_need_detach(agents: Agents) -> None:
    agents.agent("clerk", tool("s1"))
    finished = agents.metier("run", "clerk", "t", "--priority", "5")
    assert (finished.returncode, "--priority needs --detach" in finished.stderr) == (2, True)


@pytest.mark.parametrize("option", [("--events",), ("--allow-tool", "count")])
def test_options_for_the_process_that_executes_do_not_go_with_detach(
    agents: Agents, option: tuple[str, ...]
) -> None:
    agents.agent("clerk", tool("s1"))
    finished = agents.metier("run", "clerk", "t", "--detach", *option)
    assert (finished.returncode, f"{option[0]} has no effect" in finished.stderr) == (2, True)


@pytest.mark.soak
def test_a_queue_executes_no_more_runs_on_all_workers_than_its_limit(team: Team) -> None:
    with (team.root / "metier.toml").open("a") as file:
        file.write("[workers.queues.narrow]\nconcurrency = 2\n")
    team.agent("clerk", *acts(1))
    runs = [team.detached("clerk", "--queue", "narrow") for _ in range(6)]
    for _ in range(2):
        team.worker()
    team.ended(*runs)
    times = team.rows(
        "SELECT started, finished FROM metier.step WHERE namespace = %s", team.namespace
    )
    together = [sum(one[0] <= moment < one[1] for one in times) for moment, _ in times]
    assert (len(times), max(together) <= 2) == (6, True), together


@pytest.mark.soak
def test_a_queue_with_the_name_of_a_model_limits_how_often_its_runs_start(team: Team) -> None:
    with (team.root / "metier.toml").open("a") as file:
        file.write("[workers.queues.offline]\nstarts = 2\nseconds = 3600\n")
    team.agent("clerk", *acts(1))
    first, second, third = (team.detached("clerk", "--model", "offline") for _ in range(3))
    team.worker()
    team.ended(first, second)
    for _ in range(2):  # meanwhile the worker looked at both queues
        team.ended(team.detached("clerk"))
    assert team.state_of(third) == "pending"


def test_watching_a_run_shows_its_steps_and_ends_with_its_output_and_exit_code(team: Team) -> None:
    team.agent("clerk", *acts(1), tool("held", "hold"))
    team.agent("broken", tool("s1", "act"), tool("gone", "act", given={"unknown": 1}))
    run_id = team.detached("clerk")
    watching = team.started("runs", "watch", run_id)
    team.worker()
    eventually(lambda: f"{run_id} held" in team.lines("calls"))
    team.release()
    out, err = watching.communicate(timeout=300)
    assert (watching.returncode, out) == (0, "released\n")
    assert "s1: succeeded" in err
    assert "held: succeeded" in err
    failed = team.detached("broken")
    finished = team.metier("runs", "watch", failed)
    assert finished.returncode == 1


def test_a_signal_stops_watching_and_says_that_the_run_goes_on(agents: Agents) -> None:
    agents.agent("clerk", tool("held", "hold"))
    running = agents.started("run", "clerk", "t")
    eventually(lambda: agents.calls() == ["held"])
    watching = agents.started("runs", "watch", "last", "--events")
    assert watching.stdout is not None
    assert "run.started" in watching.stdout.readline()
    watching.send_signal(signal.SIGINT)
    _, err = watching.communicate(timeout=300)
    (run,) = agents.runs("list")
    assert watching.returncode == 130
    assert err == f"stopped watching; the run continues: metier runs watch {run['runId']}\n"
    agents.release()
    running.communicate(timeout=300)


def test_watching_works_without_shared_state(agents: Agents) -> None:
    agents.agent("clerk", tool("held", "hold"))
    running = agents.started("run", "clerk", "t")
    eventually(lambda: agents.calls() == ["held"])
    watching = agents.started("runs", "watch", "last")
    agents.release()
    out, _ = watching.communicate(timeout=300)
    assert (watching.returncode, out) == (0, "released\n")
    running.communicate(timeout=300)


def test_a_key_starts_one_run_as_long_as_it_waits(team: Team) -> None:
    team.agent("clerk", *acts(1))
    first = team.detached("clerk", "--key", "invoice-7")
    again = team.metier("run", "clerk", "the task", "--detach", "--key", "invoice-7")
    assert "this is an older run" in again.stderr
    assert team.detached("clerk", "--key", "invoice-7") == first
    assert team.detached("clerk", "--key", "invoice-8") != first
    assert len(team.runs("list")) == 2


def test_a_run_without_a_live_worker_on_its_queue_says_so(team: Team) -> None:
    team.agent("clerk", *acts(1))
    alone = team.metier("run", "clerk", "t", "--detach", "--queue", "typo")
    said = "no live worker takes runs from 'typo'; to start one: metier worker --queue typo"
    assert said in alone.stderr
    assert "older run" not in alone.stderr
    shown = team.runs("show", alone.stdout.strip())
    follows("run", shown)
    assert shown["queue"] == "typo"
    team.worker("--queue", "typo")
    served = team.metier("run", "clerk", "t", "--detach", "--queue", "typo")
    assert "no live worker" not in served.stderr


@pytest.mark.soak
def test_runs_with_lower_numbers_start_first_and_delayed_ones_later(team: Team) -> None:
    team.agent("clerk", *acts(1))
    late = team.detached("clerk", "--after", "3600")
    second = team.detached("clerk", "--priority", "20")
    first = team.detached("clerk", "--priority", "10")
    team.worker("--concurrency", "1")
    team.ended(first, second)
    assert list(team.lines("calls")) == [f"{first} s1", f"{second} s1"]
    assert team.state_of(late) == "pending"


@pytest.mark.soak
def test_a_cancelled_run_leaves_the_queue_and_can_be_enqueued_again(team: Team) -> None:
    team.agent("clerk", *acts(1))
    run_id = team.detached("clerk")
    again = team.metier("runs", "resume", run_id, "--detach")
    assert (again.returncode, "RUN_BUSY" in again.stderr) == (2, True)
    assert team.metier("runs", "cancel", run_id).returncode == 0
    other = team.detached("clerk")
    team.worker()
    team.ended(other)
    assert team.state_of(run_id) == "cancelled"
    resumed = team.metier("runs", "resume", run_id, "--detach", "--json")
    assert resumed.returncode == 0
    follows("run", json.loads(resumed.stdout))
    team.ended(run_id)


def test_a_run_that_executes_on_a_worker_is_cancelled_from_elsewhere(team: Team) -> None:
    team.agent("clerk", tool("held", "hold"))
    worker = team.worker()
    run_id = team.detached("clerk")
    eventually(lambda: f"{run_id} held" in team.lines("calls"))
    assert team.metier("runs", "cancel", run_id).returncode == 0
    team.ended(run_id, state="cancelled")
    eventually(lambda: "cancelled" in team.log(worker))


def test_schedules_are_added_listed_and_removed(team: Team) -> None:
    team.agent("clerk", *acts(1))
    added = ("nightly", "30 2 * * *", "clerk", "tidy up", "--zone", "Europe/Berlin")
    made = team.metier("schedule", "add", *added)
    assert made.returncode == 0
    assert re.search(r"^next start: \d{4}-\d\d-\d\d 02:30 Europe/Berlin$", made.stderr, re.M)
    (found,) = json.loads(team.metier("schedule", "list", "--json").stdout)
    assert (found["name"], found["cron"], found["zone"]) == (*added[:2], "Europe/Berlin")
    assert (found["agent"], found["task"]) == ("clerk", "tidy up")
    follows("schedules", [found])
    assert team.metier("schedule", "add", *added).returncode == 2
    (row,) = team.metier("schedule", "list").stdout.splitlines()
    assert row.split("\t")[0] == "nightly"
    assert "did you mean 'nightly'?" in team.metier("schedule", "remove", "nightlx").stderr
    removed = team.metier("schedule", "remove", "nightly", "--json")
    follows("schedule", json.loads(removed.stdout))
    assert json.loads(team.metier("schedule", "list", "--json").stdout) == []
    assert team.metier("schedule", "remove", "nightly").returncode == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("n", "61 * * * *", "clerk", "t"), "not a cron expression"),
        (("n", "* * * * * *", "clerk", "t"), "not a cron expression"),
        (("n", "* * * * *", "clerk", "t", "--zone", "Mars/Base"), "no time zone 'Mars/Base'"),
        (("a b", "* * * * *", "clerk", "t"), "is not a valid name"),
    ],
)
def test_a_wrong_schedule_is_a_usage_error(team: Team, given: tuple[str, ...], said: str) -> None:
    team.agent("clerk", *acts(1))
    finished = team.metier("schedule", "add", *given)
    assert (finished.returncode, said in finished.stderr) == (2, True), finished.stderr


def test_health_and_metrics_are_served_to_this_machine(team: Team) -> None:
    team.agent("clerk", *acts(2))
    worker = team.worker("--health", "0", "--metrics", "0")
    run_id = team.detached("clerk")
    team.ended(run_id)
    eventually(lambda: f"run {run_id} succeeded" in team.log(worker))
    addresses = [word for word in team.log(worker).split() if word.startswith("http://127.0.0.1:")]
    health, metrics = (urllib.request.urlopen(one).read().decode() for one in addresses)
    assert health == "ok\n"
    lines = metrics.splitlines()
    assert 'metier_runs{state="running"} 0.0' in lines
    assert 'metier_runs_ended_total{state="succeeded"} 1.0' in lines
    assert 'metier_queue_waiting{queue="runs"} 0.0' in lines
    assert 'metier_step_seconds_count{state="succeeded"} 2.0' in lines
    assert "metier_runs_taken_over_total 0.0" in lines


def test_a_run_with_other_documents_says_so(team: Team) -> None:
    team.agent("clerk", *acts(1))
    run_id = team.detached("clerk")
    team.skill("new")
    team.worker()
    team.ended(run_id)
    shown = team.runs("show", run_id)
    follows("run", shown)
    assert [one["code"] for one in shown["notes"]] == ["RUN_DOCUMENTS_DIFFER"]


def test_a_worker_keeps_to_the_settings_and_a_run_waits_for_one_with_the_same_documents(
    team: Team,
) -> None:
    team.agent("clerk", *acts(1))
    with (team.root / "metier.toml").open("a") as file:
        file.write('[workers]\ndocuments = "same"\nconcurrency = 3\n')
    run_id = team.detached("clerk")
    team.skill("new")
    team.worker()
    at_a_time = "SELECT concurrency FROM metier.worker WHERE namespace = %s"
    assert team.rows(at_a_time, team.namespace) == [(3,)]
    noted = "SELECT code FROM metier.run_note WHERE run = %s"
    eventually(lambda: team.rows(noted, run_id) == [("RUN_DOCUMENTS_DIFFER",)])
    same = team.detached("clerk")
    team.ended(same)
    assert team.state_of(run_id) == "pending"
    assert team.lines("calls") == {f"{same} s1": 1}


class Trap:
    """A pickle that has an effect when it is loaded."""

    def __init__(self, file: str) -> None:
        self.file = file

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (self.file, "w")


def test_nothing_is_unpickled(team: Team) -> None:
    team.agent("clerk", *acts(1))
    trapped, sound = team.detached("clerk"), team.detached("clerk")
    trap = base64.b64encode(pickle.dumps(Trap(str(team.root / "trapped")))).decode()
    schema, workflow = f'"metier_queue_{team.namespace}"', f"{trapped}:1"
    for table, change in (
        ("status", "serialization = 'py_pickle'"),
        ("input", f"inputs = '{trap}'"),
    ):
        changed = f"UPDATE {schema}.workflow_{table} SET {change} WHERE workflow_uuid = %s"
        assert team.rows(f"{changed} RETURNING 1", workflow) == [(1,)]
    team.worker()
    team.ended(sound)
    assert not (team.root / "trapped").exists()
    assert team.lines("calls") == {f"{sound} s1": 1}


def test_no_output_log_or_row_contains_the_address_or_its_password(team: Team) -> None:
    team.agent("clerk", *acts(1))
    worker = team.worker()
    run_id = team.detached("clerk")
    team.ended(run_id)
    printed = [team.metier("runs", *given, "-v") for given in (("show", run_id), ("list",))]
    printed.append(team.metier("schedule", "list", "-v"))
    unreachable = team.address.replace("/metier-pg-", "/metier-none-")
    failed = team.metier("run", "clerk", "t", "--detach", METIER_STATE_URL=unreachable)
    assert failed.returncode == 1
    worker.send_signal(signal.SIGTERM)
    worker.wait(30)
    texts = [team.log(worker), team.texts(), failed.stdout, failed.stderr]
    texts += [one.stdout + one.stderr for one in printed]
    host = team.address.partition("host=")[2]
    for text in texts:
        assert PASSWORD not in text
        assert team.address not in text
        assert host not in text


def test_a_schedule_adds_a_run_that_a_worker_executes(team: Team) -> None:
    team.agent("clerk", *acts(1))
    added = team.metier("schedule", "add", "often", "0 0 1 1 *", "clerk", "tidy up")
    assert added.returncode == 0
    team.worker()
    with closing(DbosQueue(team.address, team.namespace)) as queue:
        queue._client.trigger_schedule("often")
    eventually(lambda: [one["state"] for one in team.runs("list")] == ["succeeded"])
    (run,) = team.runs("list")
    assert (run["agentId"], run["task"]) == ("clerk", "tidy up")
