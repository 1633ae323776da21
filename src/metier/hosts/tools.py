"""The tools of a host by which a model loads a skill, and those by which it can work without."""

from collections.abc import Mapping
from typing import NamedTuple


class Tool(NamedTuple):
    """A tool that a host offers to the model."""

    name: str
    about: str
    arguments: Mapping[str, str]
    """Name → what it is; all are texts, and the first is required."""


class HostTools(NamedTuple):
    """The tools of a host that matter for skills."""

    tools: tuple[Tool, ...]
    loader: str = ""
    """The tool that loads a skill; empty where the model reads its file."""
    argument: str = ""
    """The argument of `loader` that names the skill."""


_LOADS = "Load a skill from the list of available skills: its instructions are returned."
_RUNS = "Run a command in a shell and return what it prints."


def skill_tool(name: str, argument: str, **more: str) -> Tool:
    """A tool that loads a skill."""
    return Tool(name, _LOADS, {argument: "The name of the skill, as listed", **more})


def file_tool(name: str, argument: str) -> Tool:
    """A tool that reads a file."""
    return Tool(name, "Read a file.", {argument: "The absolute path of the file"})


def shell_tool(name: str, argument: str, hint: str = "") -> Tool:
    """A tool that runs a command."""
    return Tool(name, f"{_RUNS} {hint}".strip(), {argument: "The command"})
