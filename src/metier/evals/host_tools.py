"""The tools of a host by which a model loads a skill, and those by which it can work without."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from metier.hosts.known import HOSTS
from metier.hosts.tools import Tool
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


def _spec(tool: Tool) -> ToolSpec:
    texts = tool.arguments.items()
    fields = {name: {"type": "string", "description": about} for name, about in texts}
    first = next(iter(tool.arguments))
    schema = {"type": "object", "properties": fields, "required": [first]}
    return ToolSpec(tool.name, tool.about, schema)


HOST_TOOLS: Mapping[str, HostTools] = {
    name: HostTools(tuple(map(_spec, host.tools.tools)), host.tools.loader, host.tools.argument)
    for name, host in HOSTS.items()
    if host.tools is not None
}
"""For each host whose tools are known. Names of tools and arguments are the hosts'."""


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
            name = self.names.get(self.requested_skill(given).lower())
            return [name] if name else []
        found = (name for text in _texts(args) for name in self._in_text(text.lower()))
        return list(dict.fromkeys(found))

    def requested_skill(self, args: Any) -> str:
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
