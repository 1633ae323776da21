"""How hosts write hooks and MCP servers into their settings: the forms, not the hosts."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

Scope = Literal["project", "user"]
MARK = "@MARK@"
"""In a file of a plugin: the words that mark the files of metier."""
SCOPES: tuple[Scope, ...] = ("project", "user")


class Entry(NamedTuple):
    event: str
    key: str = "command"
    in_group: bool = True
    """Whether entries are in `{"hooks": […]}` groups, or in the event's list itself."""
    limits: Mapping[str, int] = {}
    """The host's timeout, in its own key and unit."""
    has_type: bool = True
    version: int | None = None
    more: Mapping[str, str] = {}
    """Other events with the same command → the matcher of their group; empty for none."""

    @property
    def kind(self) -> dict[str, Any]:
        return {"type": "command"} if self.has_type else {}

    @property
    def events(self) -> tuple[str, ...]:
        return (self.event, *self.more)

    def value(self, command: Sequence[str]) -> dict[str, Any]:
        import shlex  # only installing needs it

        return {**self.kind, self.key: shlex.join(command), **self.limits}

    def group(self, event: str, *values: dict[str, Any]) -> dict[str, Any]:
        """A group of entries for an event."""
        matcher = self.more.get(event, "")
        return {**({"matcher": matcher} if matcher else {}), "hooks": list(values)}


class ServerList(NamedTuple):
    """How MCP servers are listed."""

    keys: tuple[str, ...] = ("mcpServers",)
    """The keys that lead to the servers."""
    before: Mapping[str, Any] = {}
    """What an entry says before its command."""
    after: Mapping[str, Any] = {}
    as_list: bool = False
    """Whether command and arguments are one list."""
    form: Literal["json", "toml"] = "json"

    def value(self, command: Sequence[str]) -> dict[str, Any]:
        split = {"command": command[0], "args": list(command[1:])}
        words = {"command": list(command)} if self.as_list else split
        return {**self.before, **words, **self.after}


class SettingsFile(NamedTuple):
    """The settings of one host that hooks, or servers, are written into."""

    project: str | None
    """The settings file, or the folder of the plugin, below the workspace."""
    user: str | None
    """The same below the home folder."""
    next_step: str
    """What to do after installing."""
    moved_by: tuple[str, str] = ("", "")
    """An environment variable, and the folder below the home folder that it replaces."""
    entry: Entry | None = None
    """How a hook is written; None for a plugin, and for servers."""
    plugin: Mapping[str, str] = {}
    """The files of metier's plugin by name, for a host without `entry`; scripts may call `ask`."""
    servers: ServerList = ServerList()
    name: str = ""
    """The host's; `known` fills in name and title."""
    title: str = ""
