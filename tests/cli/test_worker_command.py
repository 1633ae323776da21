"""`metier worker`: whole runs on workers, taken over when a worker dies."""

import json
import signal

import pytest

from cli.run_workspace import delegate, eventually, follows, tool
from cli.worker_processes import Team, acts
from cli.worker_processes import team as team

pytestmark = pytest.mark.slow


def test_a_worker_executes_a_detached_run(team: Team) -> None:
    team.agent("clerk", *acts(2))
    worker = team.worker("--json")
    run_id = team.detached("clerk")
    team.ended(run_id)
    assert team.lines("calls") == {f"{run_id} s1": 1, f"{run_id} s2": 1}
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0, team.log(worker)
    assert team.rows("SELECT id FROM metier.worker WHERE namespace = %s", team.namespace) == []
    for line in team.log(worker).splitlines()[-2:]:
        follows("worker-log", json.loads(line))


@pytest.mark.slow
@pytest.mark.soak
def test_two_workers_share_the_runs(team: Team) -> None:
    team.agent("clerk", tool("held", "hold"))
    first, second = (team.worker("--concurrency", "2") for _ in range(2))
    runs = [team.detached("clerk") for _ in range(4)]
    eventually(lambda: len(team.lines("calls")) == 4)
    team.release()
    team.ended(*runs)
    assert [team.log(one).count("starts") for one in (first, second)] == [2, 2]


@pytest.mark.slow
@pytest.mark.soak
def test_a_worker_executes_no_more_runs_at_a_time_than_its_concurrency(team: Team) -> None:
    team.agent("clerk", tool("held", "hold"))
    narrow = team.worker("--concurrency", "1")
    runs = [team.detached("clerk") for _ in range(3)]
    eventually(lambda: len(team.lines("calls")) == 1)
    wide = team.worker("--concurrency", "5")
    eventually(lambda: len(team.lines("calls")) == 3)
    assert [team.log(one).count("starts") for one in (narrow, wide)] == [1, 2]
    team.release()
    team.ended(*runs)


@pytest.mark.slow
def test_the_runs_of_a_killed_worker_are_taken_over_and_no_effect_happens_twice(
    team: Team,
) -> None:
    team.agent("clerk", *acts(2), tool("held", "hold"), *acts(4)[2:])
    first = team.worker()
    runs = [team.detached("clerk") for _ in range(3)]
    eventually(lambda: len(team.lines("calls")) == 9)
    second = team.worker()
    first.kill()
    team.release()
    team.ended(*runs)
    steps = [f"{run} {step}" for run in runs for step in ("s1", "s2", "s3", "s4")]
    assert team.lines("effects.txt") == dict.fromkeys(steps, 1)
    calls = team.lines("calls")
    assert {step: calls[step] for step in steps} == dict.fromkeys(steps, 1)
    (taken,) = [line for line in team.log(second).splitlines() if "took over" in line]
    assert all(run in taken for run in runs)
    for run in runs:
        shown = team.runs("show", run)
        assert [(one["stepId"], one["state"]) for one in shown["steps"]] == [
            (name, "succeeded") for name in ("s1", "s2", "held", "s3", "s4")
        ]


@pytest.mark.slow
def test_a_worker_that_is_stopped_returns_its_runs_and_another_continues_them(team: Team) -> None:
    team.agent("clerk", *acts(1), tool("held", "hold"))
    first = team.worker("--stop-after", "0")
    run_id = team.detached("clerk")
    eventually(lambda: f"{run_id} held" in team.lines("calls"))
    first.send_signal(signal.SIGTERM)
    assert first.wait(30) == 0
    shown = team.runs("show", run_id)
    assert (shown["state"], shown["error"]["code"]) == ("pending", "RUN_RELEASED")
    team.release()
    team.worker()
    team.ended(run_id)
    assert team.lines("calls") == {f"{run_id} s1": 1, f"{run_id} held": 2}


@pytest.mark.slow
@pytest.mark.soak
def test_a_worker_that_is_stopped_lets_its_runs_end_within_the_limit(team: Team) -> None:
    team.agent("clerk", tool("held", "hold"))
    worker = team.worker("--stop-after", "30")
    run_id = team.detached("clerk")
    eventually(lambda: f"{run_id} held" in team.lines("calls"))
    worker.send_signal(signal.SIGTERM)
    eventually(lambda: "stopping" in team.log(worker))
    later = team.detached("clerk")
    team.release()
    assert worker.wait(30) == 0
    assert team.state_of(run_id) == "succeeded"
    assert team.state_of(later) == "pending"


@pytest.mark.slow
def test_a_worker_that_was_frozen_past_its_lease_writes_nothing_and_ends(team: Team) -> None:
    team.agent("clerk", tool("held", "hold"), *acts(2))
    frozen = team.worker()
    run_id = team.detached("clerk")
    eventually(lambda: f"{run_id} held" in team.lines("calls"))
    frozen.send_signal(signal.SIGSTOP)
    other = team.worker()
    eventually(lambda: "took over" in team.log(other))
    team.release()
    team.ended(run_id)
    before = team.texts()
    frozen.send_signal(signal.SIGCONT)
    assert frozen.wait(60) == 1
    assert "WORKER_LOST" in team.log(frozen)
    assert team.texts() == before
    assert team.lines("effects.txt") == {f"{run_id} s1": 1, f"{run_id} s2": 1}


@pytest.mark.slow
@pytest.mark.soak
def test_a_second_signal_does_not_wait_for_runs(team: Team) -> None:
    team.agent("clerk", tool("held", "hold"))
    worker = team.worker("--stop-after", "3600")
    run_id = team.detached("clerk")
    eventually(lambda: f"{run_id} held" in team.lines("calls"))
    worker.send_signal(signal.SIGINT)
    eventually(lambda: "; a second signal returns them at once" in team.log(worker))
    worker.send_signal(signal.SIGINT)
    assert worker.wait(60) == 0
    assert team.state_of(run_id) == "pending"


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_delegate_of_a_worker_that_ends_is_continued_by_another(
    team: Team, number: signal.Signals
) -> None:
    team.agent("clerk", *acts(1), tool("held", "hold"), tool("s2", "act"))
    team.agent("chief", delegate("down", "clerk"), tool("s3", "act"))
    first = team.worker("--stop-after", "0")
    run_id = team.detached("chief")
    eventually(lambda: any(line.endswith(" held") for line in team.lines("calls")))
    first.send_signal(number)
    first.wait(30)
    team.worker()
    eventually(lambda: sum(team.lines("calls").values()) == 3)  # `held` runs again
    team.release()
    team.ended(run_id)
    found = team.rows(
        "SELECT id, state, parent FROM metier.run WHERE namespace = %s ORDER BY key",
        team.namespace,
    )
    child = found[1][0]
    assert found == [(run_id, "succeeded", ""), (child, "succeeded", run_id)]
    assert team.lines("effects.txt") == {f"{child} s1": 1, f"{child} s2": 1, f"{run_id} s3": 1}
