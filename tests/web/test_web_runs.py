"""Agents and runs in the inspector: selection, the list, a run, live events, and its forms."""

import asyncio
import json
import re
import signal
import sqlite3
import subprocess
import urllib.request
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import pytest

from cli.run_workspace import SETTINGS, Agents, agents, delegate, eventually, prompt, tool
from conftest import state_of as state_folder
from conftest import trust
from mcp_served import METIER, environment
from metier.flow.run_plan import base_id
from metier.values.runs import StepRecord
from metier.web.event_answers import EventAnswers
from metier.web.page import Data
from metier.web.run_pictures import axis, plan, run_bar
from metier.web.timeline import timeline_of
from shared_states import new_namespace
from web_served import Inspected, inspected

__all__ = ["agents"]

HOSTILE = "<script>alert(1)</script>\u202e"


@contextmanager
def shown(agents: Agents, **more: Any) -> Iterator[Inspected]:
    """The inspector of a workspace that its user trusts, with its own settings."""
    trust(agents.root)
    with inspected(agents.root, own_settings=True, **more) as made:
        yield made


def run_of(made: Inspected, run_id: str = "last") -> Any:
    return made.json("/run.json", id=run_id)


def state_of(made: Inspected, run_id: str) -> str:
    return str(run_of(made, run_id)["run"]["state"])


def states_of(made: Inspected) -> dict[str, str]:
    """The states of the steps of the last run, by id."""
    found = run_of(made)
    return {one["stepId"]: one["state"] for one in found.get("steps", ())}


# Agents


def test_the_page_of_agents_explains_who_is_selected(agents: Agents) -> None:
    agents.agent("gardener", prompt("p"), selectionMetadata={"keywords": ["roses"]})
    agents.agent("cook", prompt("p"), selectionMetadata={"antiKeywords": ["roses"]})
    with shown(agents) as made:
        found = made.json("/agents.json", task="cut the roses")
        first = found["matches"][0]
        assert first["agentId"] == "gardener"
        assert {"name": "keyword", "points": 0.15} in first["speaksFor"]
        assert sum(first["parts"].values()) == pytest.approx(first["raw"])
        text = made.page("/agents", task="cut the roses")
        assert "metier select --explain -- &#39;cut the roses&#39;" in text
        assert "keyword +0.15" in text
        assert made.json("/agents.json", task="xyzzy")["isFallback"]
        assert "the built-in agent" in made.page("/agents", task="xyzzy")
        assert made.json("/agents.json")["agents"]["total"] == 3


def test_what_examples_teach_is_a_part_of_its_own(agents: Agents) -> None:
    agents.write("metier.toml", '[selection]\nscorer = "learned"\n')
    for name, tasks in (
        ("gardener", ["cut the roses", "water the lawn", "plant a tree"]),
        ("cook", ["bake bread", "boil an egg", "roast a chicken"]),
    ):
        agents.agent(name, prompt("p"), selectionMetadata={"exampleTasks": tasks})
    with shown(agents) as made:
        found = made.json("/agents.json", task="water the roses")
        assert found["matches"][0]["agentId"] == "gardener"
        assert found["matches"][0]["parts"]["learned"] > 0
        assert "learned from examples" in made.page("/agents", task="water the roses")


# The list


def test_runs_are_listed_filtered_and_sorted_by_the_database(agents: Agents) -> None:
    agents.agent("good", tool("a"))
    agents.agent("bad", tool("a", "fail"))
    with shown(agents) as made:
        assert "no run fits" in made.page("/runs")
        agents.metier("run", "good", "first task")
        agents.metier("run", "bad", "second task")
        rows = made.json("/runs.json")["runs"]["rows"]
        assert [one["task"] for one in rows] == ["second task", "first task"]
        assert [one["state"] for one in rows] == ["failed", "succeeded"]
        assert len(re.findall(r'data-of="Took">\d+ ms<', made.page("/runs"))) == 2
        found = made.json("/runs.json", sort="task", size="1", page="2")["runs"]
        assert (found["total"], found["rows"][0]["task"]) == (2, "second task")
        assert made.json("/runs.json", state="failed")["runs"]["total"] == 1
        assert made.json("/runs.json", filter="FIRST")["runs"]["total"] == 1
        assert made.json("/runs.json", agent="nobody")["runs"]["total"] == 0
        assert made.json("/runs.json", 400, state="odd")["error"]["code"] == "USAGE"
        assert "metier runs list --state=failed" in made.page("/runs", state="failed")


# A run


def test_a_run_is_shown_with_all_that_is_known_about_it(agents: Agents) -> None:
    agents.agent("child", prompt("answer", "Child says {{ task }}"))
    agents.agent(
        "parent",
        tool("get", "say", given={"text": "hello"}),
        prompt("ask", "Use {{ steps.get.output }}"),
        delegate("down", "child"),
    )
    agents.metier("run", "parent", "the task", "--input", '{"n": 1}')
    stored = agents.runs("show", "last")
    with shown(agents) as made:
        found = run_of(made)
        assert found["run"]["runId"] == stored["runId"]
        kept = ("stepId", "state", "input", "output", "usage", "error")
        assert [{key: one[key] for key in kept} for one in found["steps"]] == [
            {key: one[key] for key in kept} for one in stored["steps"]
        ]
        steps = {one["stepId"]: one for one in found["steps"]}
        assert steps["ask"]["sent"]["prompt"].strip() == "Use hello"
        assert steps["ask"]["sent"]["system"].endswith("Do.")
        assert steps["ask"]["sent"]["calls"][0]["model"] == "offline:template"
        assert steps["get"]["sent"] == {"tool": "say", "args": {"text": "hello"}}
        assert [one["runId"] for one in found["children"]] == steps["down"]["runs"]
        assert {one["checkpointId"] for one in found["checkpoints"]} == {
            one["checkpointId"] for one in stored["checkpoints"]
        }
        text = made.page("/run", id=stored["runId"])
        assert "Plan of parent: get (tool, succeeded); then ask (prompt, succeeded); then" in text
        assert 'aria-label="ask: succeeded, ' in text
        assert re.findall(r'<span class="k-(\w+)">', text) == ["succeeded"]
        assert f"metier runs show {stored['runId']}" in text
        assert "data-events" not in text
        child = made.page("/run", id=found["children"][0]["runId"])
        assert f'href="/run?id={stored["runId"]}"' in child


def test_a_run_that_is_not_there_is_told(agents: Agents) -> None:
    with shown(agents) as made:
        assert made.json("/run.json") == {"run": None}
        assert "No agent has run yet" in made.page("/run")
        assert made.json("/run.json", 404, id="nothing")["error"]["code"] == "NOT_FOUND"


def test_hostile_tasks_outputs_and_errors_are_text(agents: Agents) -> None:
    agents.agent("odd", tool("echo", "say", given={"text": "{{ task }}"}), tool("b", "fail"))
    agents.metier("run", "odd", HOSTILE, "--input", json.dumps({HOSTILE: HOSTILE}))
    with shown(agents) as made:
        for page in ("/run", "/runs"):
            text = made.page(page)
            assert "<script>alert" not in text
            assert "\u202e" not in text
            assert "&lt;script&gt;" in text


def test_in_an_untrusted_workspace_runs_are_shown_and_nothing_can_be_done(agents: Agents) -> None:
    agents.agent("bad", tool("a", "fail"))
    agents.metier("run", "bad", "x")
    run_id = agents.runs("list")[0]["runId"]
    with inspected(agents.root, trust="none", own_settings=True) as made:
        text = made.page("/run", id=run_id)
        assert "/do/resume-run" not in text
        assert "/do/fork-run" not in text
        for form in ("resume-run", "fork-run", "cancel-run"):
            refused = made.post(f"/do/{form}", id=run_id)
            assert refused.status_code == 403, form
            assert "WORKSPACE_UNTRUSTED" in refused.text
        assert state_of(made, run_id) == "failed"


def test_the_list_says_that_shared_state_of_an_untrusted_workspace_is_ignored(
    agents: Agents,
) -> None:
    agents.write(
        "metier.toml", '[state]\nurl = "postgresql://db.example.org/metier"\nnamespace = "team"\n'
    )
    with inspected(agents.root, own_settings=True) as made:
        assert "[state] of this workspace is ignored" in made.json("/runs.json")["ignored"]
        assert "on this machine; to use it: <code>metier trust</code>" in made.page("/runs")


# Forms


def test_forms_of_runs_need_the_token_and_a_post(agents: Agents) -> None:
    with shown(agents) as made:
        for form in ("resume-run", "fork-run", "cancel-run"):
            assert made.post(f"/do/{form}", csrf="wrong").status_code == 403
            assert made.post(f"/do/{form}", origin="http://evil").status_code == 403
            assert made.client.get(f"/do/{form}").status_code == 405
            assert made.post(f"/do/{form}").status_code == 400
            assert made.post(f"/do/{form}", id="nothing").status_code == 404


def test_each_checkpoint_that_can_be_forked_has_a_name_of_its_own(agents: Agents) -> None:
    agents.agent("two", tool("a"), tool("b"))
    assert agents.metier("run", "two", "x").returncode == 0
    with shown(agents) as made:
        page = made.page("/run", id="last")
    assert re.findall(r"<option[^>]*>([^<]*)</option>", page) == ["2: after b", "1: after a"]


def test_a_failed_run_is_resumed_and_forked_by_its_forms(agents: Agents) -> None:
    agents.agent("two", tool("a"), tool("b", "later"))
    later = '[tools.later]\nargv = ["sh", "-c", "test -e release && cat release"]\n'
    settings = (agents.root / "metier.toml").read_text().replace('"hold"', '"hold", "later"')
    agents.write("metier.toml", settings + later)
    agents.metier("run", "two", "x", "--input", "1")
    with shown(agents) as made:
        run_id = run_of(made)["run"]["runId"]
        assert run_of(made)["mayResume"]
        assert "/do/resume-run" in made.page("/run")
        agents.release()
        answer = made.post("/do/resume-run", id=run_id)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/run?id={run_id}")
        eventually(lambda: state_of(made, run_id) == "succeeded")
        assert agents.calls() == ["a"]
        checkpoint = run_of(made, run_id)["checkpoints"][-1]["checkpointId"]
        wrong = made.post("/do/fork-run", id=run_id, checkpoint=checkpoint, input="{")
        assert wrong.status_code == 400
        assert "the input is not JSON" in wrong.text
        answer = made.post("/do/fork-run", id=run_id, checkpoint=checkpoint, input='{"n": 2}')
        fork_id = answer.headers["location"].partition("id=")[2]
        assert fork_id != run_id
        eventually(lambda: state_of(made, fork_id) == "succeeded")
        forked = run_of(made, fork_id)
        assert (forked["run"]["input"], forked["run"]["forkedFrom"]) == ({"n": 2}, checkpoint)
        assert [one["stepId"] for one in forked["timeline"]["bars"]] == ["b"]
        assert "1 step taken from the checkpoint" in made.page("/run", id=fork_id)
        assert agents.calls() == ["a"]


def test_a_rollback_that_is_over_says_which_steps_it_left(agents: Agents) -> None:
    undo = tool("undo_b")
    steps = (tool("a"), tool("b", compensate=undo), tool("c", "broken"))
    agents.write("metier.toml", SETTINGS + '[tools.broken]\nargv = ["false"]\n')
    settings = (agents.root / "metier.toml").read_text()
    agents.write("metier.toml", settings.replace('"hold"', '"hold", "broken"'))
    agents.agent("three", *steps, failureStrategy="rollback")
    agents.metier("run", "three", "x")
    with shown(agents) as made:
        found = run_of(made)
        assert found["run"]["state"] == "rollback_incomplete"
        assert found["notTakenBack"] == ["a"]
        page = made.page("/run")
        assert 'Not undone: <a class="mono" href="#step-a">a</a>' in page
        assert "It is being rolled back" not in page
        runs = made.page("/runs")
        assert '<span class="badge bad">rollback incomplete</span>' in runs
        assert "Cost in $" not in runs
        assert "Cost in $" in made.page("/runs", sort="-cost")


@pytest.mark.slow
def test_a_run_is_live_until_it_ends_and_is_resumed_after_a_crash(agents: Agents) -> None:
    agents.agent("three", tool("a"), tool("b", "hold"), tool("c"))
    with shown(agents) as made, ThreadPoolExecutor() as threads:
        process = agents.started("run", "three", "x")
        eventually(lambda: "b" in agents.calls())
        eventually(lambda: states_of(made).get("b") == "running")
        found = run_of(made)
        run_id = found["run"]["runId"]
        assert [one["stepId"] for one in found["timeline"]["bars"]] == ["a", "b"]
        assert (found["isLive"], found["mayCancel"], found["mayResume"]) == (True, True, False)
        page = made.page("/run", id=run_id)
        assert f'data-events="/run-events?id={run_id}"' in page
        assert ">Reload</a>" in page
        busy = made.post("/do/resume-run", id=run_id)
        assert (busy.status_code, "RUN_BUSY" in busy.text) == (400, True)
        events = threads.submit(made.page, f"/run-events?id={run_id}")
        process.kill()
        process.communicate()
        told = events.result(60)
        assert told.endswith("event: end\ndata: {}\n\n")
        assert '"isOver": true' in told
        found = run_of(made, run_id)
        assert (found["isAbandoned"], found["mayResume"]) == (True, True)
        assert states_of(made)["b"] == "interrupted"
        planned = {one["stepId"]: one["state"] for [one] in found["plan"]["layers"]}
        assert planned == {"a": "succeeded", "b": "interrupted", "c": None}
        page = made.page("/run", id=run_id)
        assert "Its process ended before the run did" in page
        assert '<span class="badge bad">interrupted</span>' in page.partition('id="step-b"')[2]
        assert 'badge warn">running' not in page
        assert made.post("/do/resume-run", id=run_id).status_code == 303
        events = threads.submit(made.page, f"/run-events?id={run_id}")
        agents.release()
        assert '"state": "succeeded", "isOver": true' in events.result(60)
        assert state_of(made, run_id) == "succeeded"
        assert agents.calls() == ["a", "b", "b", "c"]


def test_a_pending_run_that_nothing_continues_says_so(agents: Agents) -> None:
    agents.agent("one", tool("a"))
    agents.metier("run", "one", "x")
    why = json.dumps({"code": "RUN_INTERRUPTED", "message": "it ended", "retryable": False})
    with closing(sqlite3.connect(state_folder(agents.root) / "runs.db")) as connection, connection:
        connection.execute("UPDATE run SET state = 'pending', finished = NULL, failure = ?", (why,))
        connection.execute("UPDATE step SET state = 'running', step_index = NULL, finished = NULL")
    with shown(agents) as made:
        page = made.page("/run", id="last")
        assert page.count('<span class="badge bad">interrupted</span>') == 2
        assert "Its process ended before the run did" in page
        assert 'badge warn">' not in page
        assert made.json("/runs.json")["runs"]["rows"][0]["state"] == "interrupted"
        assert made.json("/overview.json")["runs"]["latest"][0]["state"] == "interrupted"
        with (
            closing(sqlite3.connect(state_folder(agents.root) / "runs.db")) as connection,
            connection,
        ):
            connection.execute("UPDATE run SET failure = NULL")
        page = made.page("/run", id="last")
        assert '<span class="badge warn">pending</span>' in page
        assert "No process works on it." in page
        assert ">Resume</button>" in page


@pytest.mark.slow
def test_a_run_is_cancelled_by_its_form_and_by_the_end_of_the_server(agents: Agents) -> None:
    agents.agent("two", tool("a", "hold"), tool("b"))
    with shown(agents) as made:
        process = agents.started("run", "two", "x")
        eventually(lambda: agents.calls() == ["a"])
        run_id = run_of(made)["run"]["runId"]
        assert made.post("/do/cancel-run", id=run_id).status_code == 303
        process.communicate(timeout=60)
        assert state_of(made, run_id) == "cancelled"
        assert made.post("/do/resume-run", id=run_id).status_code == 303
        eventually(lambda: agents.calls() == ["a", "a"])
    assert agents.runs("list")[0]["state"] == "cancelled"


@pytest.mark.slow
def test_on_postgresql_a_run_is_listed_shown_followed_and_resumed(
    agents: Agents, postgres: str
) -> None:
    settings = (agents.root / "metier.toml").read_text()
    state = f'\n[state]\nurl = "{postgres}"\nnamespace = "{new_namespace()}"\n'
    agents.write("metier.toml", settings + state)
    agents.agent("two", tool("a"), tool("b", "hold"))
    with shown(agents) as made, ThreadPoolExecutor() as threads:
        process = agents.started("run", "two", "x")
        eventually(lambda: "b" in agents.calls())
        eventually(lambda: states_of(made).get("b") == "running")
        run_id = run_of(made)["run"]["runId"]
        events = threads.submit(made.page, f"/run-events?id={run_id}")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert '"state": "cancelled", "isOver": true' in events.result(60)
        agents.release()
        assert made.post("/do/resume-run", id=run_id).status_code == 303
        eventually(lambda: state_of(made, run_id) == "succeeded")
        [row] = made.json("/runs.json", state="succeeded")["runs"]["rows"]
        assert (row["runId"], row["task"]) == (run_id, "x")
        assert agents.calls() == ["a", "b", "b"]


@pytest.mark.slow
def test_ctrl_c_ends_the_server_at_once_while_a_run_is_followed(agents: Agents) -> None:
    agents.agent("two", tool("a", "hold"))
    trust(agents.root)
    process = agents.started("run", "two", "x")
    eventually(lambda: agents.calls() == ["a"])
    args = [METIER, "web", "--root", str(agents.root), "--port", "0", "--no-open"]
    pipe = subprocess.PIPE
    with subprocess.Popen(args, stdout=pipe, stderr=pipe, text=True, env=environment()) as server:
        assert server.stdout is not None
        entrance = server.stdout.readline().strip()
        with urllib.request.urlopen(entrance, timeout=60) as answer:
            cookie = answer.headers["Set-Cookie"].partition(";")[0]
        run_id = agents.runs("list")[0]["runId"]
        url = f"{entrance.partition('/enter')[0]}/run-events?id={run_id}"
        asked = urllib.request.Request(url, headers={"Cookie": cookie})
        with urllib.request.urlopen(asked, timeout=60) as events:
            assert events.headers["Content-Type"].startswith("text/event-stream")
            while not events.readline().startswith(b"data: "):
                pass
            server.send_signal(signal.SIGINT)
            assert b"Traceback" not in events.read()
        _, said = server.communicate(timeout=60)
    assert (server.returncode, said.rstrip().endswith("stopped")) == (0, True), said
    assert "Traceback" not in said
    assert "Cancel" not in said
    agents.release()
    process.communicate(timeout=60)
    assert process.returncode == 0


# Events


async def _endless(ended: list[str]) -> AsyncGenerator[Data, None]:
    try:
        yield {"n": 1}
        await asyncio.Event().wait()
    finally:
        ended.append("ended")


def test_events_end_when_the_server_stops() -> None:
    async def main() -> list[str]:
        stopping, ended = asyncio.Event(), list[str]()
        answers = EventAnswers(stopping)
        sent = []
        async for text in answers._sent(_endless(ended)):
            sent.append(text)
            if text.startswith("data"):
                assert answers.open == 1
                stopping.set()
        assert (answers.open, ended) == (0, ["ended"])
        return sent

    assert asyncio.run(main())[1] == 'data: {"n": 1}\n\n'


def test_events_end_when_the_browser_leaves() -> None:
    async def main() -> None:
        ended: list[str] = []
        answers = EventAnswers(asyncio.Event())
        sent = answers._sent(_endless(ended))
        assert [await anext(sent), await anext(sent)][1].startswith("data")
        waiting = asyncio.ensure_future(anext(sent))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert (answers.open, ended) == (0, ["ended"])

    asyncio.run(main())


# Pictures


def test_a_pause_between_two_lives_of_a_run_is_cut_short() -> None:
    steps = [
        StepRecord("a", "succeeded", 1, started=100.0, finished=101.0),
        StepRecord("b", "succeeded", 2, started=4_000.0, finished=4_001.0),
        StepRecord("c", "skipped", 3, started=4_001.0, finished=4_001.0),
    ]
    found = timeline_of(steps, is_live=False)
    a, b = found["bars"]
    assert a["start"] == 0
    assert b["end"] == 1
    assert 0.4 < a["end"] < b["start"] < 0.6
    assert found["pauses"] == [{"at": a["end"], "seconds": 3_899.0}]
    assert timeline_of([], is_live=True)["bars"] == []


def test_the_axis_of_a_timeline_has_round_times() -> None:
    steps = [
        StepRecord("a", "succeeded", 1, started=100.0, finished=101.0),
        StepRecord("b", "succeeded", 2, started=101.0, finished=102.5),
    ]
    ticks = timeline_of(steps, is_live=False)["ticks"]
    assert [one["seconds"] for one in ticks] == [0, 0.5, 1, 1.5, 2, 2.5]
    assert [one["at"] for one in ticks] == [0, 0.2, 0.4, 0.6, 0.8, 1]
    drawn = axis(ticks)
    assert '<text class="first" x="0.00%" y="11">0</text>' in drawn
    assert '<text class="middle odd" x="20.00%" y="11">500 ms</text>' in drawn
    assert '<text class="last odd" x="100.00%" y="11">2.5 s</text>' in drawn
    assert 'd="M200.0 0V12' in run_bar(0, 1, state="succeeded", label="a", ticks=ticks)


def test_times_are_even_and_whole_milliseconds_where_steps_are_short_and_far_apart() -> None:
    steps = [
        StepRecord("a", "succeeded", 1, started=1.0, finished=1.001),
        StepRecord("b", "succeeded", 2, started=1.0035, finished=1.0042),
    ]
    ticks = timeline_of(steps, is_live=False)["ticks"]
    assert [one["seconds"] for one in ticks] == [0, 0.001, 0.002, 0.003, 0.004]
    assert [one["at"] * 4.2 for one in ticks] == pytest.approx([0, 1, 2, 3, 4], abs=1e-3)


@pytest.mark.parametrize("pause", [0.0, 4_000.0])
def test_an_axis_without_length_or_with_a_cut_has_no_times(pause: float) -> None:
    steps = [
        StepRecord("a", "succeeded", 1, started=100.0, finished=100.0),
        StepRecord("b", "succeeded", 2, started=100.0 + pause, finished=100.0 + pause),
    ]
    assert timeline_of(steps, is_live=False)["ticks"] == []


def test_a_step_that_runs_has_a_bar_until_now() -> None:
    found = timeline_of([StepRecord("a", "running", started=100.0)], is_live=True)
    assert found["bars"][0]["seconds"] > 1_000


def _step(name: str, *groups: Any, **more: Any) -> dict[str, Any]:
    known = {"type": "tool", "name": "", "about": "", "state": None, "times": 0}
    return {"stepId": name, "dependencies": [], "groups": groups, **known, **more}


def test_a_plan_is_drawn_with_all_steps_and_said_in_words() -> None:
    inner = {"key": "steps", "isParallel": False, "layers": [[_step("in", state="running")]]}
    layers = [[_step("a")], [_step(HOSTILE, inner, type="loop", times=2, dependencies=["a"])]]
    drawn = str(plan({"key": "steps", "isParallel": True, "layers": layers}))
    assert "<script>" not in drawn
    assert 'role="img"' in drawn
    assert "a (tool, not started); then &lt;script&gt;" in drawn
    assert "steps: [in (tool, running)]" in drawn
    assert drawn.count('class="box"') == 3
    assert drawn.count('class="edge"') == 1
    many = {"key": "steps", "isParallel": False, "layers": [[_step(f"s{n}")] for n in range(999)]}
    assert "<svg" not in str(plan(many))
    assert 'class="s-none"' in str(run_bar(0, 1, state='"><b>', label="x"))


def test_an_iteration_belongs_to_its_step() -> None:
    assert (base_id("check[2]"), base_id("check[0][12]"), base_id("a")) == ("check", "check", "a")
