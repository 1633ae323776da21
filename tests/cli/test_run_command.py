"""`metier run`: its output, its progress, its exit codes, and what can be given wrongly."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.run_workspace import Agents, agents, delegate, follows, prompt, tool
from metier.cli import run

__all__ = ["agents"]


@pytest.fixture
def plain(agents: Agents) -> Agents:
    agents.agent(
        "greeter", tool("fetch", "say", given={"text": "hello {{ task }}"}), prompt("greet")
    )
    agents.agent("echo", tool("say", "say", given={"text": "{{ input.text }}"}))
    return agents


def events_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


# What comes out


def test_the_output_is_all_there_is_on_standard_output(plain: Agents) -> None:
    finished = plain.metier("run", "echo", "x", "--input", '{"text": "one two"}')
    assert (finished.returncode, finished.stdout) == (0, "one two\n")


def test_an_output_that_is_no_text_is_printed_as_json(agents: Agents) -> None:
    agents.agent("both", {"stepId": "all", "type": "parallel", "config": {"steps": [tool("a")]}})
    finished = agents.metier("run", "both", "x")
    assert json.loads(finished.stdout) == {"a": "a"}


def test_progress_is_a_line_for_each_step_between_id_and_summary(plain: Agents) -> None:
    first, fetch, greet, total, more = plain.metier("run", "greeter", "Ann").stderr.splitlines()[1:]
    run_id = first.split()[1].rstrip(":")
    assert first == f"run {run_id}: started, greeter"
    assert fetch.startswith("fetch: succeeded, ")
    assert greet.startswith("greet: succeeded, ")
    assert greet.endswith(" tokens")
    assert total.startswith(f"run {run_id} succeeded: 2 steps, ")
    assert more == f"to see more: metier runs show {run_id}"


def test_quiet_prints_the_output_alone(plain: Agents) -> None:
    finished = plain.metier("run", "echo", "x", "--input", '{"text": "one"}', "-q")
    assert (finished.stdout, finished.stderr) == ("one\n", "")


def test_json_is_the_whole_result_and_follows_its_schema(plain: Agents) -> None:
    finished = plain.metier("run", "greeter", "Ann", "--json")
    result = json.loads(finished.stdout)
    follows("run", result)
    assert (result["state"], result["agentId"], result["task"]) == ("succeeded", "greeter", "Ann")
    assert [one["stepId"] for one in result["steps"]] == ["fetch", "greet"]
    assert result["output"].startswith("[offline model]")


def test_the_hints_name_the_workspace_when_it_was_named(plain: Agents) -> None:
    finished = plain.metier("run", "greeter", "x", "--root", ".")
    assert finished.stderr.splitlines()[-1].endswith(" --root .")


# Events


def test_events_are_lines_of_json_that_end_with_the_result(plain: Agents) -> None:
    finished = plain.metier("run", "greeter", "Ann", "--events")
    events = events_of(finished.stdout)
    kinds = [one["event"] for one in events]
    assert kinds[0] == "run.started"
    assert kinds[-2:] == ["run.finished", "result"]
    assert {"tool.called", "model.text", "checkpoint.saved"} <= set(kinds)
    assert events[-1]["output"].startswith("[offline model]")
    assert "succeeded:" in finished.stderr
    assert "fetch:" not in finished.stderr


def test_every_event_follows_the_schema(agents: Agents) -> None:
    again = {"maxAttempts": 2, "backoffMs": 100}
    agents.skill("notes", extra="metadata:\n  capabilities: [release-notes]", body="Write notes.")
    agents.write("abilities/style.md", "---\ntags: [ann]\n---\nWrite plainly, Ann says.\n")
    agents.agent("inner", prompt("ask", "Ask {{ task }}", requires=["release-notes"]))
    agents.agent(
        "outer",
        delegate("hand", "inner"),
        tool("no", condition="false"),
        tool("bad", "fail", retryPolicy=again),
        tool("after", dependencies=["bad"]),
        {"stepId": "turns", "type": "loop", "config": {"over": "[1, 2]", "steps": [tool("t")]}},
        failureStrategy="continueOnError",
    )
    agents.agent(
        "undone",
        tool("made", compensate=tool("unmade")),
        tool("bad", "fail"),
        failureStrategy="rollback",
    )
    kinds = set()
    for name in ("outer", "undone"):
        for event in events_of(agents.metier("run", name, "ann", "--events").stdout):
            follows("event", event)
            kinds.add(event["event"])
    assert kinds >= {
        "run.started", "run.finished", "step.started", "step.succeeded", "step.failed",
        "step.skipped", "step.blocked", "step.retried", "step.compensated", "model.asked",
        "model.text", "model.answered", "tool.called", "tool.returned", "delegation.started",
        "delegation.finished", "checkpoint.saved", "result",
    }  # fmt: skip


def test_a_delegated_run_names_the_step_that_it_belongs_to(agents: Agents) -> None:
    agents.agent("inner", tool("work"))
    agents.agent("outer", delegate("hand", "inner"))
    events = events_of(agents.metier("run", "outer", "x", "--events").stdout)
    outer, inner = (one for one in events if one["event"] == "run.started")
    assert "parentRunId" not in outer
    assert (inner["parentRunId"], inner["parentStepId"]) == (outer["runId"], "hand")


# Failures


def test_a_failed_run_is_one_error_with_code_step_and_the_way_on(agents: Agents) -> None:
    agents.agent("broken", tool("a"), tool("b", "fail"), tool("c"))
    finished = agents.metier("run", "broken", "x")
    assert (finished.returncode, finished.stdout) == (1, "")
    total, more, error, step, hint = finished.stderr.splitlines()[-5:]
    assert "failed: 3 steps (1 succeeded, 1 failed, 1 cancelled)" in total
    assert error == "error: 'fail': exit code 3: it is broken (TOOL_EXECUTION_ERROR)"
    assert step == "  step b"
    assert hint == "hint: to continue: " + more.removeprefix("to see more: ").replace(
        "show", "resume"
    )


def test_a_run_that_was_rolled_back_offers_no_way_on(agents: Agents) -> None:
    agents.agent(
        "undone",
        tool("made", compensate=tool("unmade")),
        tool("bad", "fail"),
        failureStrategy="rollback",
    )
    finished = agents.metier("run", "undone", "x")
    assert finished.returncode == 1
    assert " rolled back: " in finished.stderr
    assert "runs resume" not in finished.stderr
    assert agents.calls() == ["made", "bad", "unmade"]


def test_a_failed_run_as_json_is_told_by_the_exit_code(agents: Agents) -> None:
    agents.agent("broken", tool("b", "fail"))
    finished = agents.metier("run", "broken", "x", "--json")
    result = json.loads(finished.stdout)
    follows("run", result)
    assert (finished.returncode, result["state"]) == (1, "failed")
    assert result["error"]["code"] == "TOOL_EXECUTION_ERROR"
    assert "error:" not in finished.stderr


def test_a_try_that_fails_is_told_before_the_next(agents: Agents) -> None:
    agents.agent("stubborn", tool("b", "fail", retryPolicy={"maxAttempts": 2, "backoffMs": 100}))
    lines = agents.metier("run", "stubborn", "x").stderr.splitlines()
    assert "b: try 1 failed, again in 100 ms: 'fail': exit code 3: it is broken" in lines[2]
    assert lines[3].startswith("b: failed, ")
    assert ", 2 tries: " in lines[3]


def test_steps_of_a_delegate_are_named_after_the_step_above(agents: Agents) -> None:
    agents.agent("leaf", tool("work"))
    agents.agent("middle", delegate("down", "leaf"))
    agents.agent("top", delegate("start", "middle"))
    lines = agents.metier("run", "top", "x").stderr.splitlines()
    labels = [line.split(":")[0] for line in lines if ": succeeded" in line]
    assert labels == ["start › down › work", "start › down", "start"]


# Consent


def test_a_command_runs_only_with_consent_and_the_warning_comes_first(agents: Agents) -> None:
    agents.agent("leaf", tool("g", "guarded"))
    agents.agent("top", tool("a"), delegate("b", "leaf"))
    refused = agents.metier("run", "top", "x")
    assert refused.returncode == 1
    lines = refused.stderr.splitlines()
    warning = lines.index("warning: steps that call these tools will fail without your consent")
    assert lines[warning + 1] == "hint: --allow-tool guarded"
    assert "started, top" in lines[warning + 2]
    assert lines[-1].startswith("hint: to continue: metier runs resume ")
    assert lines[-1].endswith(" --allow-tool guarded")
    allowed = agents.metier("run", "top", "x", "--allow-tool", "guarded")
    assert allowed.returncode == 0
    assert "warning" not in allowed.stderr


def test_a_tool_that_nobody_provides_fails_the_run_with_one_clear_error(agents: Agents) -> None:
    agents.agent("leaf", prompt("p"), tools=["read_dif", "count", "server__tool"])
    agents.agent("top", tool("a"), delegate("b", "leaf"))
    finished = agents.metier("run", "top", "x")
    assert (finished.returncode, agents.calls()) == (1, [])
    assert finished.stderr.splitlines()[-2:] == [
        "error: agent 'leaf' names the tools 'read_dif' and 'server__tool', which do not exist"
        " (TOOL_NOT_FOUND)",
        "hint: set it up as [tools.read_dif] in metier.toml, or give the agent such a function",
    ]
    shown = agents.runs("show", "last")
    follows("run", shown)
    assert shown["error"]["code"] == "TOOL_NOT_FOUND"
    told = agents.metier("runs", "show", "last").stdout
    assert "hint: set it up as [tools.read_dif]" in told
    for line in agents.metier("run", "top", "x", "--events").stdout.splitlines():
        follows("event", json.loads(line))


def test_consent_to_a_tool_that_is_not_there_is_wrong_usage(plain: Agents) -> None:
    finished = plain.metier("run", "greeter", "x", "--allow-tool", "gaurded")
    assert finished.returncode == 2
    assert finished.stderr.splitlines()[-2:] == [
        "error: there is no tool 'gaurded' (USAGE)",
        "hint: did you mean 'guarded'?",
    ]


# What is given


def test_input_comes_from_the_command_line_a_file_or_standard_input(
    plain: Agents, tmp_path: Path
) -> None:
    file = tmp_path / "input.json"
    file.write_text('\ufeff{"text": "from a file"}', encoding="utf-8")
    assert plain.metier("run", "echo", "x", "--input", f"@{file}").stdout == "from a file\n"

    piped = subprocess.run(
        [sys.executable, "-m", "metier", "run", "echo", "x", "--input", "-"],
        cwd=plain.root,
        input='{"text": "from a pipe"}',
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert piped.stdout == "from a pipe\n"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("{a", "the input is not JSON: Expecting property name"),
        ("", "the input is not JSON: Expecting value"),
        ("[NaN]", "the input is not JSON: NaN is not a JSON number"),
        ("[" * 100_000, "the input is not JSON: it is nested too deeply"),
        (f"[{'9' * 5_000}]", "the input is not JSON: a number with more digits than metier reads"),
        ("@nowhere.json", "the input cannot be read: No such file"),
        ("@agents", "the input cannot be read: Is a directory"),
        ("@binary", "the input is not UTF-8"),
        ("@a\0b", "the input cannot be read: this is not a file name"),
    ],
    ids=["broken", "empty", "NaN", "deep", "digits", "no file", "folder", "binary", "NUL"],
)
def test_an_input_that_cannot_be_used_is_one_line_and_exit_2(
    plain: Agents,
    given: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (plain.root / "binary").write_bytes(b"\xff\xfe")
    monkeypatch.chdir(plain.root)
    assert run(["run", "echo", "x", "--input", given]) == 2
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert lines[0].startswith(f"error: {message}")
    assert lines[0].endswith("(USAGE)")
    assert lines[-1].startswith("hint: --input ")


@pytest.mark.parametrize(
    ("arguments", "code", "message", "hint"),
    [
        (("greter", "x"), 2, "no agent is called 'greter' (NOT_FOUND)", "did you mean 'greeter'?"),
        (("greeter", " "), 2, "the task is empty (USAGE)", "metier run AGENT"),
        (
            ("greeter", "x", "--model", "foo"),
            2,
            "no model is called 'foo', a name is provider:model (USAGE)",
            "offline",
        ),
        (
            ("greeter", "x", "--model", "opnai:gpt"),
            2,
            "no provider of models is called 'opnai' (USAGE)",
            "did you mean 'openai'?",
        ),
        (("greeter",), 2, "missing argument TASK (USAGE)", "metier run AGENT TASK; "),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is_recorded(
    plain: Agents, arguments: tuple[str, ...], code: int, message: str, hint: str
) -> None:
    plain.metier("refresh")
    finished = plain.metier("run", *arguments)
    lines = finished.stderr.splitlines()
    assert (finished.returncode, finished.stdout, lines[0]) == (code, "", f"error: {message}")
    assert lines[-1].startswith(f"hint: {hint}")
    assert plain.runs("list") == []


def test_execution_overrides_the_profile(agents: Agents) -> None:
    agents.agent("two", tool("a", "hold"), tool("b", "say", given={"text": "x"}))
    agents.release()
    finished = agents.metier("run", "two", "x", "--execution", "parallel", "--json")
    run_id = json.loads(finished.stdout)["runId"]
    assert agents.runs("show", run_id)["execution"] == "parallel"


# Where nothing can be kept


def test_a_damaged_record_of_runs_is_one_line(plain: Agents) -> None:
    plain.metier("refresh")
    file = plain.state / "runs.db"
    file.write_bytes(b"garbage " * 1000)
    for command in (("run", "greeter", "x"), ("runs",), ("runs", "show", "last")):
        finished = plain.metier(*command)
        assert finished.returncode == 1
        assert finished.stderr.splitlines() == [
            "error: the record of runs is not a database (STORE_CORRUPT)",
            f"  {file.resolve()}",
            "hint: move the file, its -wal and its -shm away; metier starts without runs",
        ]
