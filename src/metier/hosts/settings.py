"""Where hosts keep the settings that start metier, and what an entry looks like there."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

Scope = Literal["project", "user"]
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

    @property
    def kind(self) -> dict[str, Any]:
        return {"type": "command"} if self.has_type else {}

    def value(self, command: Sequence[str]) -> dict[str, Any]:
        return {**self.kind, self.key: shlex.join(command), **self.limits}


class ServerList(NamedTuple):
    """How MCP servers are listed."""

    keys: tuple[str, ...] = ("mcpServers",)
    """The keys that lead to the servers."""
    before: Mapping[str, Any] = {}
    """What an entry says before its command."""
    after: Mapping[str, Any] = {}
    one_list: bool = False
    """Whether command and arguments are one list."""
    form: Literal["json", "toml"] = "json"

    def value(self, command: Sequence[str]) -> dict[str, Any]:
        split = {"command": command[0], "args": list(command[1:])}
        words = {"command": list(command)} if self.one_list else split
        return {**self.before, **words, **self.after}


class Host(NamedTuple):
    """The settings of one host that hooks, or servers, are written into."""

    name: str
    title: str
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
    servers: ServerList = ServerList()


# fmt: off
_HOOKS = (
    Host("claude-code", "Claude Code", ".claude/settings.json", ".claude/settings.json",
         "start a new session of Claude Code; /hooks lists it", ("CLAUDE_CONFIG_DIR", ".claude"),
         Entry("UserPromptSubmit", limits={"timeout": 10})),
    Host("codex", "Codex CLI", ".codex/hooks.json", ".codex/hooks.json",
         "start Codex and trust the hook with /hooks: until then it is skipped",
         ("CODEX_HOME", ".codex"), Entry("UserPromptSubmit", limits={"timeout": 10})),
    Host("gemini", "Gemini CLI", ".gemini/settings.json", ".gemini/settings.json",
         "start a new session of Gemini CLI",
         entry=Entry("BeforeAgent", limits={"timeout": 10_000})),
    Host("copilot", "Copilot CLI", ".github/hooks/metier.json", ".copilot/hooks/metier.json",
         "start a new session of Copilot CLI", ("COPILOT_HOME", ".copilot"),
         Entry("sessionStart", "bash", in_group=False, limits={"timeoutSec": 10}, version=1)),
    Host("cursor", "Cursor", ".cursor/hooks.json", ".cursor/hooks.json",
         "start a new chat in Cursor",
         entry=Entry("sessionStart", in_group=False, has_type=False, version=1)),
    Host("opencode", "opencode", ".opencode/plugins", ".config/opencode/plugins",
         "restart opencode", ("XDG_CONFIG_HOME", ".config")),
    Host("openclaw", "OpenClaw", ".openclaw/extensions/metier", ".openclaw/extensions/metier",
         "openclaw plugins enable metier, then openclaw gateway restart",
         ("OPENCLAW_STATE_DIR", ".openclaw")),
)
_SERVERS = (
    Host("claude-code", "Claude Code", ".mcp.json", ".claude.json",
         "start a new session of Claude Code and allow the server; /mcp lists it",
         ("CLAUDE_CONFIG_DIR", "."), servers=ServerList(before={"type": "stdio"})),
    Host("codex", "Codex CLI", ".codex/config.toml", ".codex/config.toml",
         "restart Codex; /mcp lists it. A project's file counts in a trusted project only",
         ("CODEX_HOME", ".codex"), servers=ServerList(("mcp_servers",), form="toml")),
    Host("gemini", "Gemini CLI", ".gemini/settings.json", ".gemini/settings.json",
         "start a new session of Gemini CLI; /mcp lists it"),
    Host("copilot", "Copilot CLI", None, ".copilot/mcp-config.json",
         "start a new session of Copilot CLI; /mcp show lists it", ("COPILOT_HOME", ".copilot"),
         servers=ServerList(before={"type": "local"}, after={"tools": ["*"]})),
    Host("cursor", "Cursor", ".cursor/mcp.json", ".cursor/mcp.json",
         "turn it on in Cursor's MCP settings"),
    Host("opencode", "opencode", "opencode.json", ".config/opencode/opencode.json",
         "restart opencode", ("XDG_CONFIG_HOME", ".config"),
         servers=ServerList(("mcp",), {"type": "local"}, {"enabled": True}, one_list=True)),
    Host("openclaw", "OpenClaw", None, ".openclaw/openclaw.json",
         "openclaw gateway restart", ("OPENCLAW_STATE_DIR", ".openclaw"),
         servers=ServerList(("mcp", "servers"))),
    Host("vscode", "VS Code", ".vscode/mcp.json", None,
         "start the server in VS Code: MCP: List Servers",
         servers=ServerList(("servers",), before={"type": "stdio"})),
)
# fmt: on
HOOKS: dict[str, Host] = {host.name: host for host in _HOOKS}
SERVERS: dict[str, Host] = {host.name: host for host in _SERVERS}
