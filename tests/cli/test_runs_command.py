"""`metier runs`: lists, one run from all sides, resuming, forking, and what is refused."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cli.printed import Finished
from cli.run_workspace import Agents, agents, delegate, follows, prompt, tool
from cli.unprivileged import POSSIBLE, run_unprivileged
from conftest import state_of
from metier.cli.run_agent import Attended
from metier.cli.session import Session
from metier.errors import UsageError
from metier.values.runs import Event, OnEvent, RunResult

pytestmark = pytest.mark.slow

__all__ = ["agents"]


def run_id_of(agents: Agents, *arguments: str) -> str:
    """The id of a run that is made."""
    made: str = json.loads(agents.metier("run", *arguments, "--json").stdout)["runId"]
    return made


@pytest.fixture
def family(agents: Agents) -> Agents:
    """An agent that delegates to one that delegates to one that fails."""
    agents.agent("leaf", tool("a"), tool("bad", "fail"))
    agents.agent("middle", delegate("down", "leaf"))
    agents.agent("top", tool("begin"), delegate("start", "middle"))
    agents.agent("fine", tool("one"), prompt("two", outputs=["said"]))
    return agents


# Lists


def test_no_runs_are_no_error(agents: Agents) -> None:
    for command in (("runs",), ("runs", "list")):
        finished = agents.metier(*command)
        assert (finished.returncode, finished.stdout) == (0, "")
        assert finished.stderr.splitlines() == [
            "there is no run yet",
            "hint: metier run AGENT TASK",
        ]
    assert agents.runs("list") == []


def test_the_newest_run_comes_first_and_delegated_ones_only_when_asked(family: Agents) -> None:
    first = run_id_of(family, "fine", "x")
    second = run_id_of(family, "top", "x")
    listed = family.runs("list")
    follows("runs", listed)
    assert [one["runId"] for one in listed] == [second, first]
    everyone = family.runs("list", "--all")
    follows("runs", everyone)
    assert [one["agentId"] for one in everyone] == ["leaf", "middle", "top", "fine"]


def test_a_list_can_be_of_one_state_and_be_cut(family: Agents) -> None:
    for agent in ("fine", "top", "fine"):
        family.metier("run", agent, "x")
    assert [one["agentId"] for one in family.runs("list", "--state", "failed")] == ["top"]
    cut = family.metier("runs", "list", "--limit", "2")
    assert len(cut.stdout.splitlines()) == 2
    assert cut.stderr == "2 of 3 runs: --limit 3 shows all\n"
    failed = family.metier("runs", "list", "--limit", "1", "--state", "succeeded")
    assert failed.stderr == "1 of 2 runs: --limit 2 shows all\n"


# One run


def test_show_tells_error_delegates_steps_and_checkpoints(family: Agents) -> None:
    run_id = run_id_of(family, "top", "x")
    finished = family.metier("runs", "show", run_id)
    lines = finished.stdout.splitlines()
    assert lines[:3] == [f"run: {run_id}", "agent: top", "task: x"]
    assert "state: failed" in lines
    error = next(line for line in lines if line.startswith("error: "))
    assert error.endswith("it is broken (DELEGATION_FAILED, step start)")
    assert any(line.startswith("begin\tsucceeded\t1\t") for line in lines)
    middle, leaf = lines[lines.index("delegated") + 1 :][:2]
    assert middle.startswith("start → middle  failed  (DELEGATION_FAILED)  ")
    assert leaf.startswith("└ down → leaf  failed  (TOOL_EXECUTION_ERROR)  ")
    assert lines[lines.index("checkpoints") + 1].startswith(f"{run_id}:1 after begin, ")
    assert finished.stderr.splitlines()[-1] == f"to continue: metier runs resume {run_id}"


def test_show_as_json_has_the_whole_tree_and_follows_the_schema(family: Agents) -> None:
    shown = family.runs("show", run_id_of(family, "top", "x", "--input", '{"a": 1}'))
    follows("run", shown)
    assert shown["input"] == {"a": 1}
    assert [one["completedStepId"] for one in shown["checkpoints"]][:1] == ["begin"]
    (middle,) = shown["children"]
    (leaf,) = middle["children"]
    assert (middle["parentStepId"], leaf["agentId"], leaf["children"]) == ("start", "leaf", [])


def test_show_names_what_a_step_was_handed(agents: Agents) -> None:
    agents.skill("notes", extra="metadata:\n  capabilities: [release-notes]", body="Write notes.")
    agents.write("abilities/style.md", "---\ntags: [ann]\n---\nWrite plainly.\n")
    agents.agent("writer", prompt("write", "Write for {{ task }}", requires=["release-notes"]))
    run_id = run_id_of(agents, "writer", "ann")
    lines = agents.metier("runs", "show", run_id).stdout.splitlines()
    handed = lines[lines.index("injected") + 1]
    assert handed.startswith("write: abilities style; providers notes::skills/notes; report 2")
    report = handed.split("report ")[1].split(";")[0]
    assert agents.metier("reports", "show", report).returncode == 0


def test_usage_is_shown_per_step_and_in_all(family: Agents) -> None:
    run_id = run_id_of(family, "fine", "x")
    lines = family.metier("runs", "show", run_id).stdout.splitlines()
    used = next(line for line in lines if line.startswith("used: "))
    assert " in, " in used
    assert used.endswith(" out, 1 request, 1 tool call")
    two = next(line.split("\t") for line in lines if line.startswith("two\t"))
    assert int(two[4]) > 0


def test_steps_prints_what_each_gave_within_bounds(agents: Agents) -> None:
    agents.agent("talker", tool("short", "say", given={"text": "hi"}), tool("long", "say", given={
        "text": "{{ 'word ' * 1000 }}"}))  # fmt: skip
    run_id = run_id_of(agents, "talker", "x")
    finished = agents.metier("runs", "steps", run_id)
    lines = finished.stdout.splitlines()
    assert lines[0].startswith("short (succeeded, ")
    assert lines[1] == "  hi"
    assert lines[-1].endswith(" more characters (--json has all)")
    assert len(finished.stdout) < 1_500
    steps = agents.runs("steps", run_id)
    follows("run-steps", steps)
    assert len(steps[1]["output"]) > 4_000


def test_a_run_is_found_by_its_beginning_or_as_the_last_that_was_begun(family: Agents) -> None:
    first = run_id_of(family, "fine", "x")
    assert family.runs("show", first[:-2])["runId"] == first
    last = run_id_of(family, "top", "x")
    assert family.runs("show", "last")["runId"] == last, "not one that was delegated"


def test_no_run_and_more_than_one_are_told_apart(family: Agents) -> None:
    none = family.metier("runs", "show", "last")
    assert (none.returncode, none.stdout) == (2, "")
    assert none.stderr.splitlines()[0] == "error: there is no run yet (NOT_FOUND)"
    family.metier("run", "fine", "x")
    family.metier("run", "fine", "x")
    unknown = family.metier("runs", "show", "nope")
    assert unknown.stderr.splitlines() == [
        "error: no run is called 'nope' (NOT_FOUND)",
        "hint: metier runs list (Python: catalog.runs())",
    ]
    several = family.metier("runs", "show", "2")
    assert several.returncode == 2
    assert several.stderr.startswith("error: several runs begin with '2' (NOT_FOUND)\nhint: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show",), "missing argument RUN"),
        (("list", "x"), "unexpected argument (x)"),
        (("x",), "no such command 'runs x'"),
        (("show", "x", "--state", "failed"), "no such option --state"),
        (("list", "--checkpoint", "1"), "no such option --checkpoint"),
        (("resume", "x", "--input", "1"), "no such option --input"),
        (("show", "x", "--events"), "no such option --events"),
    ],
)
def test_what_a_subcommand_does_not_take_is_refused(
    agents: Agents, arguments: tuple[str, ...], message: str
) -> None:
    finished = agents.metier("runs", *arguments)
    assert (finished.returncode, finished.stdout) == (2, "")
    error, hint = finished.stderr.splitlines()
    assert error == f"error: {message} (USAGE)"
    named = "" if arguments == ("x",) else f"{arguments[0]} "
    assert hint.startswith("hint: metier runs ")
    assert hint.endswith(f"metier runs {named}--help")


def test_options_count_before_and_after_the_subcommand(family: Agents) -> None:
    run_id = run_id_of(family, "fine", "x")
    assert json.loads(family.metier("runs", "--json", "show", "last").stdout)["runId"] == run_id
    assert [one["runId"] for one in family.runs("--state", "succeeded")] == [run_id]
    assert family.runs("--limit", "1", "--all")[0]["runId"] == run_id
    assert json.loads(family.metier("--json", "runs", "steps", "last").stdout)[0]["stepId"] == "one"


# Going on


def test_resume_does_what_is_left_and_nothing_twice(agents: Agents) -> None:
    agents.agent("three", tool("a"), tool("g", "guarded"), tool("c"))
    run_id = run_id_of(agents, "three", "x")
    assert agents.calls() == ["a"]
    finished = agents.metier("runs", "resume", "last", "--allow-tool", "guarded")
    assert (finished.returncode, finished.stdout) == (0, "c\n")
    assert finished.stderr.splitlines()[0] == f"resuming {run_id}: 1 step kept"
    assert agents.calls() == ["a", "c"]


@pytest.mark.parametrize("is_claimed", [True, False])
def test_that_a_run_is_resumed_is_said_only_once_it_is_claimed(
    agents: Agents, capsys: pytest.CaptureFixture[str], is_claimed: bool
) -> None:
    async def begin(on_event: OnEvent) -> RunResult:
        if is_claimed:
            on_event(Event("run.started", "r1", 0.0, "", {"agent": "a", "task": "x"}))
        raise UsageError("the run is busy", code="RUN_BUSY")

    session = Session(root=str(agents.root))
    with session.open_catalog() as catalog:
        capsys.readouterr()
        with pytest.raises(UsageError):
            Attended(session, catalog, events=False, opening="resuming r1").finish(begin)
    assert ("resuming r1\n" in capsys.readouterr().err) is is_claimed


def test_resuming_a_run_that_succeeded_tells_its_output_again(family: Agents) -> None:
    run_id = run_id_of(family, "fine", "x")
    finished = family.metier("runs", "resume", run_id)
    assert finished.returncode == 0
    assert finished.stdout.startswith("[offline model]")
    assert "has already succeeded" in finished.stderr
    again = json.loads(family.metier("runs", "resume", run_id, "--json").stdout)
    follows("run", again)
    assert list(again["outputs"]) == ["said"]
    assert family.calls() == ["one"]


def test_a_run_that_was_rolled_back_cannot_be_resumed(agents: Agents) -> None:
    agents.agent(
        "undone",
        tool("made", compensate=tool("unmade")),
        tool("bad", "fail"),
        failureStrategy="rollback",
    )
    run_id = run_id_of(agents, "undone", "x")
    finished = agents.metier("runs", "resume", run_id)
    assert finished.returncode == 2
    assert "(RUN_NOT_RESUMABLE)" in finished.stderr
    assert "resuming" not in finished.stderr


def test_a_run_that_could_not_be_taken_back_names_the_steps_that_stand(agents: Agents) -> None:
    agents.agent(
        "half",
        tool("kept"),
        tool("made", compensate=tool("unmade")),
        {"stepId": "both", "type": "parallel", "config": {"steps": [tool("inner")]}},
        tool("bad", "fail"),
        failureStrategy="rollback",
    )
    finished = agents.metier("run", "half", "x")
    assert "rollback incomplete" in finished.stderr
    assert "not undone: kept, both\n" in finished.stderr


def test_resume_as_json_and_as_events_is_like_a_run(agents: Agents) -> None:
    agents.agent("two", tool("a"), tool("g", "guarded"))
    agents.metier("run", "two", "x")
    failed = agents.metier("runs", "resume", "last", "--json")
    assert failed.returncode == 1
    follows("run", json.loads(failed.stdout))
    lines = agents.metier("runs", "resume", "last", "--events", "--allow-tool", "guarded").stdout
    events = [json.loads(line) for line in lines.splitlines()]
    for one in events:
        follows("event", one)
    assert (events[0]["event"], events[-1]["state"]) == ("run.started", "succeeded")


def test_fork_begins_at_a_checkpoint_with_another_input(agents: Agents) -> None:
    agents.agent("two", tool("a"), tool("b", "say", given={"text": "{{ input.word }}"}))
    first = run_id_of(agents, "two", "x", "--input", '{"word": "old"}')
    forked = agents.metier(
        "runs", "fork", first, "--checkpoint", "1", "--input", '{"word": "new"}', "--json"
    )
    result = json.loads(forked.stdout)
    follows("run", result)
    assert (result["output"], result["forkedFrom"]) == ("new", f"{first}:1")
    assert result["runId"] != first
    assert agents.calls() == ["a"], "it is restored"


@pytest.mark.parametrize("checkpoint", ["99", "nope"])
def test_a_checkpoint_that_is_not_there_says_where_they_are_listed(
    agents: Agents, checkpoint: str
) -> None:
    agents.agent("one", tool("a"))
    run_id = run_id_of(agents, "one", "x")
    finished = agents.metier("runs", "fork", run_id, "--checkpoint", checkpoint)
    error, hint = finished.stderr.splitlines()
    assert finished.returncode == 2
    assert error.endswith("(CHECKPOINT_NOT_FOUND)")
    assert hint == f"hint: metier runs show {run_id} lists them"


def test_a_run_without_checkpoints_cannot_be_forked(agents: Agents) -> None:
    agents.agent("bare", tool("a"), checkpoint={"enabled": False})
    finished = agents.metier("runs", "fork", run_id_of(agents, "bare", "x"))
    error, hint = finished.stderr.splitlines()
    assert finished.returncode == 2
    assert error.endswith("has no checkpoint (CHECKPOINT_NOT_FOUND)")
    assert hint == "hint: start over: metier run bare TASK"


def test_a_run_that_has_ended_cannot_be_cancelled(family: Agents) -> None:
    run_id = run_id_of(family, "fine", "x")
    finished = family.metier("runs", "cancel", run_id)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.splitlines()[0] == (
        f"error: run '{run_id}' has already ended: succeeded (USAGE)"
    )


# Files


@pytest.mark.skipif(not POSSIBLE, reason="root may do everything here")
def test_where_nothing_can_be_written_a_run_is_not_kept_and_says_so(agents: Agents) -> None:
    agents.agent("fine", tool("a", "say", given={"text": "done"}))
    agents.trust()
    above = agents.state.parents[1]
    above.mkdir(parents=True)
    above.chmod(0o555)
    try:
        finished = run_unprivileged(agents.root, "run", "fine", "x")
    finally:
        above.chmod(0o755)
    assert (finished.returncode, finished.stdout) == (0, "done\n")
    assert "warning: the run is not stored: nothing can be written here" in finished.stderr
    assert "metier runs" not in finished.stderr


@pytest.mark.skipif(not POSSIBLE, reason="root may do everything here")
def test_a_record_that_cannot_be_written_can_be_read_and_nothing_more(family: Agents) -> None:
    run_id = run_id_of(family, "fine", "x")
    record = family.state / "runs.db"
    os.chmod(record, 0o444)

    def unprivileged(*arguments: str) -> Finished:
        return run_unprivileged(family.root, *arguments)

    assert run_id in unprivileged("runs", "list").stdout
    refused = unprivileged("run", "fine", "x")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.splitlines() == [
        "error: the record of runs cannot be written (STORE_READ_ONLY)",
        f"  {record.resolve()}",
        "hint: check that you may write there",
    ]


@pytest.mark.soak
def test_a_record_that_another_process_holds_is_one_line(family: Agents) -> None:
    family.metier("run", "fine", "x")
    record = family.state / "runs.db"
    holder = sqlite3.connect(record, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        finished = family.metier("runs", "list")
    finally:
        holder.close()
    assert finished.returncode == 1
    assert finished.stderr.splitlines() == [
        "error: another process holds the record of runs (STORE_LOCKED)",
        f"  {record.resolve()}",
        "hint: try again when it has finished",
    ]


def test_runs_of_a_newer_program_are_left_alone(family: Agents, tmp_path: Path) -> None:
    family.metier("run", "fine", "x")
    record = sqlite3.connect(family.state / "runs.db")
    record.execute("PRAGMA user_version = 99")
    record.close()
    finished = family.metier("runs")
    assert finished.returncode == 1
    assert "(STORE_NEWER)" in finished.stderr.splitlines()[0]


def test_show_tells_warnings_of_preparation_and_the_cut_of_abilities(agents: Agents) -> None:
    agents.write("abilities/style.md", "---\nenabled: false\n---\nWrite plainly.\n")
    agents.agent("writer", prompt("write"), abilities={"core": ["style"]})
    run_id = run_id_of(agents, "writer", "ann")
    lines = agents.metier("runs", "show", run_id).stdout.splitlines()
    assert "least signal: 10 (abilities.minSignal)" in lines
    warning = lines[lines.index("warnings") + 1]
    assert warning.startswith("write: ")
    assert "'style'" in warning
    assert warning.endswith("(ABILITY_CORE_KEPT)")
    shown = agents.runs("show", run_id)
    follows("run", shown)
    (step,) = shown["steps"]
    assert step["input"]["minSignal"] == 10
    assert [one["code"] for one in step["input"]["warnings"]] == ["ABILITY_CORE_KEPT"]


def test_a_run_prints_warnings_of_preparation_while_it_works(agents: Agents) -> None:
    agents.write("abilities/style.md", "---\nenabled: false\n---\nWrite plainly.\n")
    agents.agent("writer", prompt("write"), abilities={"core": ["style"]})
    told = agents.metier("run", "writer", "ann").stderr
    assert [line for line in told.splitlines() if line.endswith("(ABILITY_CORE_KEPT)")] != []
    for line in agents.metier("run", "writer", "ann", "--events").stdout.splitlines():
        follows("event", json.loads(line))


def test_a_run_that_is_being_rolled_back_says_what_resuming_it_does(family: Agents) -> None:
    run = run_id_of(family, "leaf", "x")
    why = json.dumps({"code": "STEP_FAILED", "message": "the disk broke", "retryable": False})
    with closing(sqlite3.connect(state_of(family.root) / "runs.db")) as connection, connection:
        connection.execute("UPDATE run SET state = 'pending', undoing = ?", (why,))
    told = family.metier("runs", "show", run).stderr.splitlines()[-1]
    assert told == (
        f"it is being rolled back, because the disk broke; to finish that: metier runs resume {run}"
    )
