"""Commands as tools: no shell, bounded in everything, and nothing of them stays behind."""

import asyncio
import os
import select
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.errors import UsageError
from metier.run import command_tools
from metier.run.command_tools import run_process
from metier.run.tool import Tool, ToolContext, ToolError
from metier.run.tools import ToolExecutor
from metier.values.agents import ToolResult
from metier.values.run_settings import CommandSetting

pytestmark = pytest.mark.slow

SOON = 20.0
"""Far more than a slow machine needs, and far less than what hangs would take."""
PYTHON = (sys.executable, "-S", "-c")
SHOW = (*PYTHON, "import json, sys; print(json.dumps(sys.argv[1:]))")
"""Prints its arguments."""


def command_tool(name: str, argv: Iterable[Any], *, workspace: str, **more: Any) -> Tool:
    return command_tools.command_tool(CommandSetting(name, tuple(argv), **more), workspace)


def run(tool: Tool, args: Any, context: ToolContext | None = None) -> ToolResult:
    executor = ToolExecutor(consent=[tool.name])
    executor.register(tool)
    return asyncio.run(executor.execute(tool.name, args, context=context))


def python(workspace: Path, code: str, **more: Any) -> ToolResult:
    """Run Python code as a tool without arguments."""
    return run(command_tool("code", (*PYTHON, code), workspace=str(workspace), **more), {})


class Witness:
    """A pipe with a name that processes write to and keep open as long as they live."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.code = f"import os; os.write(os.open({str(path)!r}, os.O_WRONLY), b'x'); "
        """What a process does to be seen."""
        self.reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    async def seen(self, count: int) -> None:
        """Wait until so many processes were seen."""
        while count > 0:
            await asyncio.sleep(0.005)
            try:
                count -= len(os.read(self.reader, count))
            except BlockingIOError:
                continue

    def all_are_gone(self) -> bool:
        poll = select.poll()
        poll.register(self.reader, select.POLLHUP)
        return bool(poll.poll(SOON * 1_000))


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[Witness]:
    one = Witness(tmp_path / "alive")
    yield one
    os.close(one.reader)


# What it gives


def test_the_output_is_what_it_prints_without_the_last_line_end(tmp_path: Path) -> None:
    assert python(tmp_path, "print(' a\\n b ')").output == " a\n b "
    assert python(tmp_path, "import sys; print(sys.stdin.read())").output == ""


def test_output_that_is_not_utf8_is_still_text(tmp_path: Path) -> None:
    code = "import sys; sys.stdout.buffer.write(b'a\\xff\\xc3')"
    assert python(tmp_path, code).output == "a��"


def test_output_may_be_json(tmp_path: Path) -> None:
    assert python(tmp_path, "print('{\"a\": [1, null]}')", output="json").output == {"a": [1, None]}


@pytest.mark.parametrize(
    "printed", ["", "{", "[1] 2", "NaN", "[-Infinity]", "'a'", "'[' * 50_000", "'1' * 5_000"]
)
def test_output_that_should_be_json_and_is_not_is_an_error(tmp_path: Path, printed: str) -> None:
    code = f"print({printed if '*' in printed else repr(printed)})"
    result = python(tmp_path, code, output="json")
    assert (result.error_code, result.retryable) == ("TOOL_EXECUTION_ERROR", False)
    assert "not JSON" in str(result.error)


def test_an_exit_code_is_an_error_with_the_last_line_of_stderr(tmp_path: Path) -> None:
    code = "import sys; print('out'); print('first\\nlast one\\n', file=sys.stderr); sys.exit(3)"
    result = python(tmp_path, code)
    assert (result.error_code, result.retryable) == ("TOOL_EXECUTION_ERROR", True)
    assert result.error == "'code': exit code 3: last one"


def test_a_signal_is_an_error_with_its_name(tmp_path: Path) -> None:
    result = python(tmp_path, f"import os; os.kill(os.getpid(), {int(signal.SIGTERM)})")
    assert result.error == "'code': ended by SIGTERM"


def test_a_command_that_is_not_there_is_an_error_and_vain_to_try_again(tmp_path: Path) -> None:
    result = run(command_tool("none", ["no-such-program-x"], workspace=str(tmp_path)), {})
    assert (result.error_code, result.retryable) == ("TOOL_EXECUTION_ERROR", False)
    assert "cannot be started" in str(result.error)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_gigabyte_of_output_is_not_kept(tmp_path: Path, stream: str) -> None:
    code = f"import sys\nfor _ in range(1_000): sys.{stream}.buffer.write(b'x' * 1_000_000)"
    ended = asyncio.run(
        run_process(
            (*PYTHON, code),
            folder=str(tmp_path),
            environment=os.environ,
            stdin=None,
            most_output=1_000_000,
        )
    )
    assert ended.too_much == (stream == "stdout")
    assert len(ended.output) <= 1_000_000
    assert len(ended.errors) <= 10_000


def test_a_command_that_prints_without_end_is_stopped(tmp_path: Path) -> None:
    result = run(command_tool("yes", ["yes"], workspace=str(tmp_path)), {})
    assert (result.error_code, result.retryable) == ("TOOL_EXECUTION_ERROR", False)
    assert result.error == "'yes': printed more than 1,000,000 bytes and was stopped"


def test_a_megabyte_of_output_is_given_whole(tmp_path: Path) -> None:
    assert python(tmp_path, "print('x' * 999_990)").output == "x" * 999_990


# Arguments


def shown(folder: Path, elements: list[str], args: Any, **more: Any) -> ToolResult:
    tool = command_tool("show", (*SHOW, *elements), workspace=str(folder), output="json", **more)
    return run(tool, args)


@pytest.mark.parametrize(
    "value",
    ["a b", "", "$(touch x)", "`id`; rm -rf /", "a\nb", "'\"\\", "{other}", "é\U0001f600", "*"],
)
def test_a_value_stays_one_element_and_no_shell_sees_it(tmp_path: Path, value: str) -> None:
    result = shown(tmp_path, ["{a}", "--x={a}", "{a}{b}", "{ a }", "{}"], {"a": value, "b": "B"})
    assert result.output == [value, f"--x={value}", f"{value}B", "{ a }", "{}"]
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [(3, "3"), (1.5, "1.5"), (True, "true"), (None, "null"), (["a", 1], '["a", 1]')],
)
def test_a_value_that_is_no_text_is_written_as_json(tmp_path: Path, value: Any, text: str) -> None:
    schema = {"properties": {"a": {}}, "required": ["a"]}
    assert shown(tmp_path, ["{a}"], {"a": value}, schema=schema).output == [text]


ANYTHING = {"properties": {"a": {}, "b": {"default": ""}}, "required": ["a"]}


@pytest.mark.invariant(id="INV-TOOL-001")
@pytest.mark.parametrize(
    ("element", "args"),
    [
        ("{a}", {"a": "-rf"}),
        ("{a}", {"a": "--output=/etc/passwd"}),
        ("{a}", {"a": -1}),
        ("{a}.txt", {"a": "-rf"}),
        ("{b}{a}", {"a": "-rf"}),
        ("{a}", {"a": "x\0y"}),
        ("--x={a}", {"a": "\0"}),
    ],
)
def test_a_value_that_would_be_an_option_or_no_argument_at_all_is_refused(
    tmp_path: Path, element: str, args: Any
) -> None:
    result = shown(tmp_path, [element], args, schema=ANYTHING)
    assert (result.error_code, result.retryable) == ("TOOL_VALIDATION_ERROR", False)


def test_a_value_that_starts_with_a_dash_is_fine_inside_an_option_and_where_it_is_raw(
    tmp_path: Path,
) -> None:
    assert shown(tmp_path, ["--x={a}"], {"a": "-1"}).output == ["--x=-1"]
    assert shown(tmp_path, ["--", "{a}"], {"a": "-1"}, raw=["a"]).output == ["--", "-1"]


def test_a_missing_argument_has_the_default_of_the_schema(tmp_path: Path) -> None:
    schema = {"properties": {"n": {"type": "integer", "default": 5}}}
    assert shown(tmp_path, ["--n={n}"], {}, schema=schema).output == ["--n=5"]
    assert shown(tmp_path, ["--n={n}"], {"n": 7}, schema=schema).output == ["--n=7"]


@pytest.mark.invariant(id="INV-TOOL-001")
def test_without_a_schema_each_placeholder_is_a_required_text(tmp_path: Path) -> None:
    for args in ({}, {"a": 1}, {"a": "x", "b": "y"}):
        assert shown(tmp_path, ["{a}"], args).error_code == "TOOL_VALIDATION_ERROR"


def test_arguments_may_come_as_json_on_stdin(tmp_path: Path) -> None:
    args = {"a": "é" * 300_000, "b": [1, {"c": None}]}
    code = "import sys; print(sys.stdin.read(), end='')"
    tool = command_tool(
        "echo", (*PYTHON, code), workspace=str(tmp_path), schema={}, stdin="json", output="json"
    )
    assert run(tool, args).output == args


def test_a_command_that_does_not_read_its_stdin_is_no_problem(tmp_path: Path) -> None:
    tool = command_tool(
        "deaf", (*PYTHON, "print('done')"), workspace=str(tmp_path), schema={}, stdin="json"
    )
    assert run(tool, {"a": "x" * 1_000_000}).output == "done"


PARTS = st.sampled_from(["{a}", "{b}", "x", "-", "--o=", "{", "}", " "])


@given(
    elements=st.lists(st.lists(PARTS, max_size=3).map("".join), max_size=3),
    a=st.text(),
    b=st.text(),
)
def test_no_value_makes_an_option_or_another_element(elements: list[str], a: str, b: str) -> None:
    schema = {"properties": {"a": {}, "b": {}}, "required": ["a", "b"]}
    tool = command_tool("one", ["true", *elements], workspace="/", schema=schema)
    assert tool.prepare is not None
    try:
        argv = tool.prepare({"a": a, "b": b}).argv
    except ToolError:
        return
    assert len(argv) == 1 + len(elements)
    for before, after in zip(elements, argv[1:], strict=True):
        assert after.startswith("-") == before.startswith("-")


# Definitions that cannot work


@pytest.mark.parametrize(
    ("argv", "more"),
    [
        ([], {}),
        ([""], {}),
        (["{a}"], {}),
        (["./{a}.sh"], {}),
        (["true", 7], {}),
        (["true", "a\0b"], {}),
        (["true", "{a}"], {"schema": {"properties": {"a": {"type": "string"}}}}),
        (["true", "{b}"], {"schema": {"properties": {"a": {}}, "required": ["a"]}}),
        (["true"], {"folder": ".."}),
        (["true"], {"folder": "/"}),
        (["true"], {"folder": "inside/../.."}),
        (["true"], {"folder": "link"}),
        (["true"], {"timeout": 0}),
        (["true"], {"schema": {"type": "text"}}),
    ],
)
def test_a_definition_that_cannot_work_is_refused(tmp_path: Path, argv: Any, more: Any) -> None:
    (tmp_path / "link").symlink_to("/usr")
    with pytest.raises(UsageError):
        command_tool("one", argv, workspace=str(tmp_path), **more)


# Where it runs, and what it sees


def test_it_runs_in_its_folder_of_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a/b")
    here = "import os; print(os.getcwd())"
    assert python(tmp_path, here).output == os.path.realpath(tmp_path)
    for folder in ("a/b", "link"):
        assert python(tmp_path, here, folder=folder).output == os.path.realpath(tmp_path / "a/b")


def test_a_folder_that_becomes_a_way_out_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    tool = command_tool("list", ["ls"], workspace=str(tmp_path), folder="a")
    (tmp_path / "a").rmdir()
    (tmp_path / "a").symlink_to("/usr")
    result = run(tool, {})
    assert (result.error_code, result.retryable) == ("TOOL_EXECUTION_ERROR", False)
    assert "leaves the workspace" in str(result.error)


def test_it_sees_little_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "s")
    monkeypatch.setenv("WANTED", "w")
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("METIER_RUN_ID", "somebody else's")
    tool = command_tool(
        "env", ["env", "-0"], workspace=str(tmp_path), environment=["WANTED", "NOT_THERE"]
    )
    output = str(run(tool, {}, ToolContext("run-1", "step-2", "agent", 3, "key-4")).output)
    seen = dict(entry.split("=", 1) for entry in output.split("\0") if entry)
    assert seen == {
        "PATH": os.environ["PATH"],
        "HOME": os.environ["HOME"],
        "LANG": "C.UTF-8",
        "WANTED": "w",
        "METIER_RUN_ID": "run-1",
        "METIER_STEP_ID": "step-2",
        "METIER_IDEMPOTENCY_KEY": "key-4",
    }


def test_it_needs_consent(tmp_path: Path) -> None:
    executor = ToolExecutor()
    executor.register(command_tool("touch", ["touch", "x"], workspace=str(tmp_path)))
    result = asyncio.run(executor.execute("touch", {}))
    assert result.error_code == "TOOL_PERMISSION_DENIED"
    assert os.listdir(tmp_path) == []


# Its end


def family(witness: Witness, then: str) -> tuple[str, ...]:
    """A command that starts two children that never end, and then does this."""
    child = witness.code + "import time; print('x', flush=True); time.sleep(1_000)"
    start = f"subprocess.Popen([sys.executable, '-S', '-c', {child!r}], stdout=subprocess.PIPE)"
    code = f"import subprocess, sys, time; children = [{start} for _ in range(2)]; {then}"
    return (*PYTHON, witness.code + code)


def test_over_its_time_it_is_killed_with_its_children(tmp_path: Path, witness: Witness) -> None:
    argv = family(witness, "time.sleep(1_000)")
    result = run(command_tool("hang", argv, workspace=str(tmp_path), timeout=0.5), {})
    assert (result.error_code, result.retryable) == ("TOOL_TIMEOUT", True)
    assert result.error == "'hang': stopped after 0.5 s"
    assert witness.all_are_gone()


def test_when_the_caller_is_cancelled_it_is_killed_with_its_children(
    tmp_path: Path, witness: Witness
) -> None:
    argv = family(witness, "time.sleep(1_000)")
    executor = ToolExecutor(consent=["hang"])
    executor.register(command_tool("hang", argv, workspace=str(tmp_path)))

    async def main() -> None:
        call = asyncio.create_task(executor.execute("hang", {}))
        await asyncio.wait_for(witness.seen(3), SOON)
        call.cancel()
        await asyncio.wait((call,))
        assert call.cancelled()

    asyncio.run(main())
    assert witness.all_are_gone()


def test_children_that_it_leaves_behind_are_killed_and_nobody_waits_for_them(
    tmp_path: Path, witness: Witness
) -> None:
    then = "[one.stdout.read(1) for one in children]; print('done')"
    tool = command_tool("leave", family(witness, then), workspace=str(tmp_path))
    assert run(tool, {}).output == "done"
    assert len(os.read(witness.reader, 9)) == 3
    assert witness.all_are_gone()


def test_a_child_that_has_left_the_group_does_not_hold_up_the_result(
    tmp_path: Path, witness: Witness
) -> None:
    child = witness.code + "import time; time.sleep(1_000)"
    code = (
        "import subprocess, sys; print('done', flush=True); "
        f"p = subprocess.Popen([sys.executable, '-S', '-c', {child!r}], start_new_session=True); "
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(p.pid))"
    )
    result = python(tmp_path, code)
    assert result.output == "done"
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_many_commands_at_once_keep_their_outputs_apart(tmp_path: Path) -> None:
    executor = ToolExecutor(consent=["show"])
    executor.register(command_tool("show", (*SHOW, "{a}"), workspace=str(tmp_path), output="json"))

    async def main() -> list[ToolResult]:
        calls = (executor.execute("show", {"a": str(number)}) for number in range(20))
        return await asyncio.gather(*calls)

    assert [result.output for result in asyncio.run(main())] == [[str(n)] for n in range(20)]
