"""Ctrl-C, kill -9 and other processes: what was done is kept, and the run goes on later."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from cli.run_workspace import Agents, agents, delegate, eventually, follows, tool
from cli.terminals import terminal

pytestmark = pytest.mark.slow

__all__ = ["agents"]


@pytest.fixture
def held(agents: Agents) -> Agents:
    """An agent whose second step waits for the file 'release'."""
    agents.agent("three", tool("a"), tool("b", "hold"), tool("c"))
    agents.agent("above", delegate("down", "three"))
    agents.metier("refresh")
    return agents


def at_step(agents: Agents, step: str, *arguments: str) -> "subprocess.Popen[str]":
    """`metier …`, once it has called the command of `step`."""
    process = agents.started(*arguments)
    eventually(lambda: step in agents.calls() or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    return process


def ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """The exit code, and what was said on standard error."""
    _, err = process.communicate(timeout=300)
    return process.returncode, err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels_the_run_keeps_what_is_done_and_says_how_to_go_on(
    held: Agents, number: signal.Signals
) -> None:
    process = at_step(held, "b", "run", "three", "x")
    process.send_signal(number)
    code, err = ended(process)
    assert code == 130
    (run,) = held.runs("list")
    assert run["state"] == "cancelled"
    assert err.splitlines()[-1] == f"to continue: metier runs resume {run['runId']}"
    assert "cancelling; Ctrl-C again stops at once" in err
    assert "Traceback" not in err
    states = {one["stepId"]: one["state"] for one in held.runs("steps", "last")}
    assert states == {"a": "succeeded", "b": "cancelled"}
    held.release()
    resumed = held.metier("runs", "resume", run["runId"])
    assert (resumed.returncode, resumed.stdout) == (0, "c\n")
    assert held.calls() == ["a", "b", "b", "c"]


def test_control_c_cancels_the_runs_of_delegates_too(held: Agents) -> None:
    process = at_step(held, "b", "run", "above", "x")
    process.send_signal(signal.SIGINT)
    assert ended(process)[0] == 130
    listed = held.runs("list", "--all")
    assert {one["agentId"]: one["state"] for one in listed} == {
        "three": "cancelled",
        "above": "cancelled",
    }
    held.release()
    resumed = held.metier("runs", "resume", "last")
    assert (resumed.returncode, resumed.stdout) == (0, "c\n")
    assert held.calls() == ["a", "b", "b", "c"]


def test_a_terminal_that_goes_away_does_not_keep_a_run_from_being_recorded(held: Agents) -> None:
    with terminal(80) as (keyboard, screen):
        process = subprocess.Popen(
            [sys.executable, "-m", "metier", "run", "three", "x"],
            cwd=held.root,
            stdin=screen,
            stdout=screen,
            stderr=screen,
        )
        os.close(screen)
        eventually(lambda: "b" in held.calls())
        assert os.read(keyboard, 1)
    process.send_signal(signal.SIGHUP)
    process.wait(60)
    (run,) = held.runs("list")
    assert run["state"] == "cancelled"
    states = {one["stepId"]: one["state"] for one in held.runs("steps", "last")}
    assert states == {"a": "succeeded", "b": "cancelled"}


def test_control_c_while_a_run_is_undone_is_recorded_too(agents: Agents) -> None:
    agents.agent(
        "undone",
        tool("made", compensate=tool("unmade", "hold")),
        tool("bad", "fail"),
        failureStrategy="rollback",
    )
    process = at_step(agents, "unmade", "run", "undone", "x")
    process.send_signal(signal.SIGINT)
    assert ended(process)[0] == 130
    (run,) = agents.runs("list")
    assert (run["state"], run["error"]["code"]) == ("rollback_incomplete", "RUN_CANCELLED")


def test_control_c_as_events_says_so_beside_them(held: Agents) -> None:
    process = at_step(held, "b", "run", "three", "x", "--events")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert json.loads(out.splitlines()[-1])["state"] == "cancelled"
    assert err.startswith("cancelling; Ctrl-C again stops at once\nto continue later: ")


def test_control_c_as_json_still_prints_the_result(held: Agents) -> None:
    process = at_step(held, "b", "run", "three", "x", "--json")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 130
    follows("run", json.loads(out))


def test_a_second_control_c_ends_the_program_at_once_and_the_run_goes_on_later(
    agents: Agents,
) -> None:
    agents.agent("slow", tool("a"), tool("b", "linger"))
    process = at_step(agents, "b", "run", "slow", "x")
    assert process.stderr is not None
    process.send_signal(signal.SIGINT)
    said = ""
    while "to continue later" not in said:
        said = process.stderr.readline()
        assert said, "it ended before it was told to"
    process.send_signal(signal.SIGINT)
    code, _ = ended(process)
    assert code == -signal.SIGINT, "a shell calls it 130"
    (run,) = agents.runs("list")
    assert said == f"to continue later: metier runs resume {run['runId']}\n"
    assert (run["state"], run["error"]["code"]) == ("pending", "RUN_INTERRUPTED")


def test_a_signal_that_is_ignored_stays_so(held: Agents) -> None:
    process = subprocess.Popen(
        ["nohup", sys.executable, "-m", "metier", "run", "three", "x"],
        cwd=held.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    eventually(lambda: "b" in held.calls())
    process.send_signal(signal.SIGHUP)
    held.release()
    out, _ = process.communicate(timeout=300)
    assert (process.returncode, out) == (0, "c\n")


def test_kill_9_loses_no_acknowledged_step_and_the_run_can_be_resumed(held: Agents) -> None:
    process = at_step(held, "b", "run", "above", "x")
    process.kill()
    ended(process)
    listed = held.runs("list", "--all")
    assert [one["state"] for one in listed] == ["pending", "pending"]
    assert {one["error"]["code"] for one in listed} == {"RUN_INTERRUPTED"}
    told = held.metier("runs", "list").stderr
    assert told.startswith("pending runs wait to be resumed: metier runs resume ")
    shown = held.metier("runs", "show", "last")
    assert "error: its process ended before the run did (RUN_INTERRUPTED)" in shown.stdout
    assert "\ndown\tinterrupted\t" in shown.stdout
    assert held.metier("runs", "steps", "last").stdout.endswith("down (interrupted)\n")
    held.release()
    resumed = held.metier("runs", "resume", "last")
    assert (resumed.returncode, resumed.stdout) == (0, "c\n")
    assert held.calls() == ["a", "b", "b", "c"], "the step in flight runs again, no other"
    assert {one["state"] for one in held.runs("list", "--all")} == {"succeeded"}


@pytest.mark.parametrize("moment", range(3))
def test_kill_9_at_any_step_leaves_a_run_that_ends_like_an_undisturbed_one(
    agents: Agents, moment: int
) -> None:
    steps = [tool(f"s{number}") for number in range(3)]
    steps.insert(moment, tool("wait", "hold"))
    agents.agent("many", *steps)
    process = at_step(agents, "wait", "run", "many", "x")
    process.kill()
    ended(process)
    agents.release()
    assert agents.metier("runs", "resume", "last").returncode == 0
    done = [one["stepId"] for one in agents.runs("steps", "last")]
    assert done == [one["stepId"] for one in steps]
    assert sorted(agents.calls()) == sorted([*done, "wait"])


def test_a_run_at_work_elsewhere_is_busy_and_can_be_cancelled_from_here(held: Agents) -> None:
    process = at_step(held, "b", "run", "three", "x")
    shown = held.metier("runs", "show", "last")
    assert "running in another process; to stop it: metier runs cancel" in shown.stderr
    busy = held.metier("runs", "resume", "last")
    assert busy.returncode == 2
    assert re.fullmatch(
        r"error: run '(\S+)' is already running in another process \(RUN_BUSY\)\n"
        r"hint: wait for it; if that process is gone, it can be resumed in [0-9]+ s;"
        r" to stop it: metier runs cancel \1\n",
        busy.stderr,
    )
    cancelled = held.runs("cancel", "last")
    follows("run-cancelled", cancelled)
    assert cancelled["state"] == "cancelled"
    code, err = ended(process)
    assert (code, err.splitlines()[-1]) == (
        130,
        f"to continue: metier runs resume {cancelled['runId']}",
    )


def test_a_run_that_waits_is_cancelled_at_once(held: Agents) -> None:
    process = at_step(held, "b", "run", "three", "x")
    process.kill()
    ended(process)
    finished = held.metier("runs", "cancel", "last")
    assert finished.returncode == 0
    assert finished.stdout.endswith(" is cancelled\n")
    assert held.runs("list")[0]["state"] == "cancelled"


def test_a_reader_of_events_that_goes_away_cancels_the_run(held: Agents) -> None:
    process = at_step(held, "b", "run", "three", "x", "--events")
    assert process.stdout is not None
    process.stdout.close()
    held.release()
    code, err = ended(process)
    assert (code, "Traceback" in err) == (130, False)
    assert held.runs("list")[0]["state"] == "cancelled"


def test_commands_do_not_outlive_a_cancelled_run(agents: Agents) -> None:
    script = "echo $$ > pid; echo $METIER_STEP_ID >> calls; exec sleep 60"
    settings = (agents.root / "metier.toml").read_text()
    agents.write("metier.toml", f'{settings}\n[tools.long]\nargv = ["sh", "-c", "{script}"]\n')
    agents.agent("one", tool("a", "long"))
    process = at_step(agents, "a", "run", "one", "x", "--allow-tool", "long")
    pid = int((agents.root / "pid").read_text())
    process.send_signal(signal.SIGINT)
    assert ended(process)[0] == 130
    eventually(_is_gone(pid))


def _is_gone(pid: int) -> Callable[[], bool]:
    def check() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    return check
