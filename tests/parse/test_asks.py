"""What a skill asks its host for."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.parse.asks import commands_of, tools_of


@pytest.mark.parametrize(
    ("value", "tools"),
    [
        ("Read, Grep", ("Grep", "Read")),
        ("Read Grep", ("Grep", "Read")),
        (["Read", "Bash(git add:*)"], ("Bash(git add:*)", "Read")),
        ("Bash(git add:*), Bash(npm, yarn)", ("Bash(git add:*)", "Bash(npm, yarn)")),
        ("Read Read", ("Read",)),
        ("Bash(open", ("Bash(open",)),
        ("a)b", ("a)b",)),
        (None, ()),
        ({"a": 1}, ()),
        ([1, None], ()),
    ],
)
def test_tools_are_split_outside_of_parentheses(value: Any, tools: tuple[str, ...]) -> None:
    assert tools_of({"allowed-tools": value}) == tools


def test_commands_of_hooks_and_of_the_text_are_found() -> None:
    hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x.sh"}]}]}
    assert commands_of({"hooks": hooks}, "Now: !`git status` and `ls`.") == (
        "git status",
        "hook: x.sh",
    )


def test_hooks_that_are_nested_deeply_end() -> None:
    value: Any = "x"
    for _ in range(500):
        value = [value]
    assert commands_of({"hooks": value}, "") == ()


@given(st.text(alphabet="ab(), \t\n"))
def test_no_tool_is_empty_and_nothing_is_lost(text: str) -> None:
    tools = tools_of({"allowed-tools": text})
    assert all(tools)
    assert set("".join(tools)) - set(" ,\t\n") == set(text) - set(" ,\t\n")
