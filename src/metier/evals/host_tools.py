"""The tools of a host by which a model loads a skill, and those by which it can work without."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from metier.values.models import ToolSpec

_BEFORE_A_PATH = frozenset("/._-") | frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
FILE = "skill.md"


class HostTools(NamedTuple):
    """What a model is offered in an evaluation."""

    specs: tuple[ToolSpec, ...]
    loader: str = ""
    """The tool that loads a skill; empty where the model reads its file."""
    argument: str = ""
    """The argument of `loader` that names the skill."""


def _tool(name: str, about: str, /, **arguments: str) -> ToolSpec:
    """A tool whose arguments are texts; the first is required."""
    fields = {one: {"type": "string", "description": text} for one, text in arguments.items()}
    first = next(iter(arguments))
    return ToolSpec(name, about, {"type": "object", "properties": fields, "required": [first]})


_LOADS = "Load a skill from the list of available skills: its instructions are returned."
_WHICH = "The name of the skill, as listed"
_READS = "Read a file."
_RUNS = "Run a command in a shell and return what it prints."
_PATH = "The absolute path of the file"
_COMMAND = "The command"

HOST_TOOLS: Mapping[str, HostTools] = {
    "claude-code": HostTools(
        (
            _tool("Skill", _LOADS, skill=_WHICH, args="Arguments for the skill, if it takes any"),
            _tool("Read", _READS, file_path=_PATH),
            _tool("Bash", _RUNS, command=_COMMAND),
        ),
        "Skill",
        "skill",
    ),
    "codex": HostTools(
        (
            _tool(
                "exec_command",
                f"{_RUNS} To use a listed skill, first read its SKILL.md with it.",
                cmd=_COMMAND,
            ),
        )
    ),
    "copilot": HostTools(
        (
            _tool("skill", _LOADS, skill=_WHICH),
            _tool("view", _READS, path=_PATH),
            _tool("bash", _RUNS, command=_COMMAND),
        ),
        "skill",
        "skill",
    ),
    "gemini": HostTools(
        (
            _tool("activate_skill", _LOADS, name=_WHICH),
            _tool("read_file", _READS, file_path=_PATH),
            _tool("run_shell_command", _RUNS, command=_COMMAND),
        ),
        "activate_skill",
        "name",
    ),
    "opencode": HostTools(
        (
            _tool("skill", _LOADS, name=_WHICH),
            _tool("read", _READS, filePath=_PATH),
            _tool("bash", _RUNS, command=_COMMAND),
        ),
        "skill",
        "name",
    ),
}
"""One for each host whose listing is known. Names of tools and arguments are the hosts'."""


class Loading(NamedTuple):
    """Which skills a call of a tool loads."""

    tools: HostTools
    names: Mapping[str, str]
    """Name of a listed skill, in lower case → its name in the catalog."""
    files: Mapping[str, str]
    """Its file, as the listing or the host writes it, in lower case → the same."""

    def loaded(self, tool: str, args: Any) -> list[str]:
        """The skills that a call loads, usually one or none."""
        given = args if isinstance(args, Mapping) else {}
        if self.tools.loader and tool == self.tools.loader:
            name = self.names.get(self.asked(given).lower())
            return [name] if name else []
        found = (name for text in _texts(args) for name in self._in_text(text.lower()))
        return list(dict.fromkeys(found))

    def asked(self, args: Any) -> str:
        """The skill that a call of the loader names."""
        given = args if isinstance(args, Mapping) else {}
        value = given.get(self.tools.argument) or next(_texts(given), "")
        return str(value).strip().removeprefix("/")

    def _in_text(self, text: str) -> Iterator[str]:
        if FILE not in text:
            return
        for file, name in self.files.items():
            at = text.find(file)
            while at >= 0:
                if at == 0 or text[at - 1] not in _BEFORE_A_PATH:
                    yield name
                    break
                at = text.find(file, at + 1)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner)
