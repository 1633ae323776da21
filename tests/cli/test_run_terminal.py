"""A run on a terminal: steps at work change in place, what has ended stays."""

import io
import re
from typing import Any

import pytest
from rich.console import Console

from cli.run_workspace import Agents, agents, delegate, prompt, tool
from cli.terminals import ESCAPE, STYLE, at_terminal, left_on_screen
from metier.cli.run_live import Board, picture
from metier.values.runs import Event

pytestmark = pytest.mark.slow

__all__ = ["agents"]

CURSOR = re.compile(r"\x1b\[\??[0-9;]*[A-Za-z]|\r")
START = 1_700_000_000.0


def event(kind: str, step: str = "", run: str = "r", **data: Any) -> Event:
    return Event(kind, run, START, step, data)


def drawn(board: Board, width: int = 80, height: int = 24) -> list[str]:
    """What stands below everything else on a terminal of that size."""
    file = io.StringIO()
    console = Console(file=file, width=width, height=height, color_system=None)
    console.print(picture(board, console))
    return file.getvalue().splitlines()


@pytest.fixture
def board() -> Board:
    board = Board()
    board.take(event("run.started", agent="one", task="x"))
    return board


# What is at work


def test_a_step_at_work_says_what_it_does(board: Board) -> None:
    board.take(event("step.started", "ask", type="prompt"))
    board.take(event("model.asked", "ask", model="openai:gpt-5", messages=1))
    (line,) = drawn(board)
    assert " ask  " in line
    assert line.endswith("asks openai:gpt-5")
    board.take(event("tool.called", "ask", tool="search"))
    assert drawn(board)[0].endswith("calls search")


def test_what_a_model_says_is_shown_in_its_last_lines_only(board: Board) -> None:
    board.take(event("step.started", "ask", type="prompt"))
    board.take(event("model.asked", "ask", model="m", messages=1))
    for number in range(2_000):
        board.take(event("model.text", "ask", text=f"word-{number} "))
    lines = drawn(board)
    assert len(lines) == 4
    assert lines[-1].rstrip().endswith("word-1999")
    assert all(len(line) <= 80 for line in lines)


def test_what_a_model_says_cannot_speak_to_the_terminal(board: Board) -> None:
    board.take(event("step.started", "ask", type="prompt"))
    board.take(event("model.asked", "ask", model="m\x1b[2J", messages=1))
    board.take(event("model.text", "ask", text="\x1b]0;owned\x07\x9b2J"))
    assert not {"\x1b", "\x07", "\x9b"} & set("".join(drawn(board)))


def test_more_steps_than_fit_are_counted(board: Board) -> None:
    for number in range(100):
        board.take(event("step.started", f"step-{number}", type="tool"))
    lines = drawn(board, height=24)
    assert len(lines) == 11
    assert lines[0].strip() == "… and 90 more running"


def test_a_narrow_terminal_cuts_and_never_wraps(board: Board) -> None:
    board.take(event("step.started", "a-step-with-a-very-long-name", type="prompt"))
    board.take(event("model.asked", "a-step-with-a-very-long-name", model="m" * 90, messages=1))
    board.take(event("model.text", "a-step-with-a-very-long-name", text="寿司" * 90))
    lines = drawn(board, width=30)
    assert len(lines) == 4
    assert lines[0].endswith("…")


def test_a_step_that_ended_is_at_work_no_longer(board: Board) -> None:
    board.take(event("step.started", "a", type="tool"))
    told = board.take(event("step.succeeded", "a", durationMs=30.0, error=None))
    assert told is not None
    assert told.line() == "a: succeeded, 30 ms"
    assert drawn(board) == []


def test_an_error_that_a_step_has_from_one_inside_is_told_as_an_echo(board: Board) -> None:
    failure = {"code": "TOOL_TIMEOUT", "message": "late", "retryable": True, "step": "inner"}
    own = board.take(event("step.failed", "inner", durationMs=1.0, error=failure))
    outer = board.take(event("step.failed", "outer", durationMs=1.0, error=failure))
    assert own is not None
    assert outer is not None
    assert (own.is_echo, outer.is_echo) == (False, True)


# In a real terminal


def test_what_ended_stays_and_the_output_follows(agents: Agents) -> None:
    agents.agent("leaf", tool("work"))
    agents.agent("top", delegate("down", "leaf"), prompt("ask"), tool("no", condition="false"))
    seen = at_terminal(agents, "run", "top", "hello", columns=80)
    screen = [line for line in left_on_screen(seen.screen) if line.strip()]
    marks = [line for line in screen if line[0] in "✓✗–"]
    assert [line.split("  ")[0] for line in marks] == [
        "✓ down › work",
        "✓ down",
        "✓ ask",
        "– no",
    ]
    output = next(at for at, line in enumerate(screen) if line.startswith("[offline model]"))
    assert output > screen.index(marks[-1])
    assert screen[-1].startswith("to see more: metier runs show ")
    assert seen.code == 0


def test_the_cursor_is_there_again_at_the_end(agents: Agents) -> None:
    agents.agent("one", tool("a"))
    screen = at_terminal(agents, "run", "one", "x").screen
    assert screen.rfind("\x1b[?25h") > screen.rfind("\x1b[?25l") >= 0


def test_no_color_means_no_style_on_a_terminal(agents: Agents) -> None:
    agents.agent("one", tool("a"), tool("b", "fail"))
    assert not STYLE.search(at_terminal(agents, "run", "one", "x", NO_COLOR="1").screen)
    assert not STYLE.search(at_terminal(agents, "run", "one", "x", FORCE_COLOR="0").screen)
    assert STYLE.search(at_terminal(agents, "run", "one", "x").screen)


def test_a_dumb_terminal_gets_plain_lines(agents: Agents) -> None:
    agents.agent("one", tool("a"))
    seen = at_terminal(agents, "run", "one", "x", TERM="dumb")
    assert ESCAPE not in seen.screen
    assert any(line.startswith("a: succeeded, ") for line in seen.plain)


def test_piped_output_is_clean_while_the_terminal_shows_progress(agents: Agents) -> None:
    agents.agent("one", tool("a"))
    seen = at_terminal(agents, "run", "one", "x", pipe=True)
    assert seen.piped == "a\n"
    assert "✓ a" in CURSOR.sub("", seen.screen)


def test_the_output_of_an_agent_cannot_speak_to_the_terminal(agents: Agents) -> None:
    agents.agent("echo", prompt("say"))
    title = "\x1b]0;owned\x07\x9b2J"
    for command in (("run", "echo", title), ("runs", "show", "last"), ("runs", "steps", "last")):
        seen = at_terminal(agents, *command, NO_COLOR="1")
        left = CURSOR.sub("", seen.screen)
        assert not {"\x1b", "\x07", "\x9b"} & set(left)
    assert not {"\x1b", "\x07", "\x9b"} & set(at_terminal(agents, "runs", NO_COLOR="1").screen)


def test_a_list_of_runs_shows_whole_ids_in_eighty_columns(agents: Agents) -> None:
    agents.agent("one-with-a-long-name", tool("a"))
    agents.metier("run", "one-with-a-long-name", "a task that takes many words to say " * 4)
    (run,) = agents.runs("list")
    seen = at_terminal(agents, "runs", columns=80)
    header, row, count = seen.plain
    assert (header.split(), count) == (["run", "state", "ago", "what"], "1 run")
    assert row.split()[:2] == [run["runId"], "succeeded"]
    assert "one-with-a-long-name: a task" in row
    assert len(row) <= 80
