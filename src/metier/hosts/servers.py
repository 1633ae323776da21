"""The hosts that can start metier as an MCP server: where they list servers, and in which form."""

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from metier.hosts.settings import Host
from metier.install import splice

NAME = "metier"
"""What the server is called in a host's settings."""
COMMAND = "mcp"
"""What metier is told to do as a server."""


def _plain(command: Sequence[str]) -> dict[str, Any]:
    return {"command": command[0], "args": list(command[1:])}


def _stdio(command: Sequence[str]) -> dict[str, Any]:
    return {"type": "stdio", **_plain(command)}


def _with_tools(command: Sequence[str]) -> dict[str, Any]:
    return {"type": "local", **_plain(command), "tools": ["*"]}


def _in_one_list(command: Sequence[str]) -> dict[str, Any]:
    return {"type": "local", "command": list(command), "enabled": True}


class Listing(NamedTuple):
    """How a host lists servers."""

    way: tuple[str, ...]
    """The keys that lead to the servers."""
    entry: Callable[[Sequence[str]], dict[str, Any]]
    """The entry that runs a command."""
    form: Literal["json", "toml"] = "json"

    def servers(self, data: Any) -> dict[str, Any]:
        """The servers that settings list, by name; none where there is no list of them."""
        found = value_at(data, self.way)
        return found if isinstance(found, dict) else {}

    def is_made(self, entry: Any) -> bool:
        """Whether an entry is as install writes it: a whole path, nothing around it."""
        words = words_of(entry)
        is_form = len(words) == 2 or words[1:4] == ["-P", "-m", "metier"]
        is_plain = is_form and os.path.isabs(words[0]) and is_ours(entry)
        return is_plain and bool(entry == self.entry(words))

    def without(self, text: str, names: Sequence[str], had: Any) -> str:
        """JSON without these servers, nor what they leave empty and `had` has not."""
        for name in names:
            text = splice.remove(text, (*self.way, name))
        for end in range(len(self.way), 0, -1):
            is_empty = not value_at(splice.parse(text), self.way[:end])
            if is_empty and not _has(had, self.way[:end]):
                text = splice.remove(text, self.way[:end])
        return text

    def without_made(self, text: str) -> str:
        """JSON without the servers that install wrote; those that somebody wrote stay."""
        servers = self.servers(splice.parse(text))
        made = [name for name, entry in servers.items() if self.is_made(entry)]
        return self.without(text, made, {}) if made else text


def is_ours(entry: object) -> bool:
    """Whether an entry runs `metier mcp`, wherever metier lies and whatever stands around it."""
    words = words_of(entry)
    return any(
        os.path.basename(word) == "metier" and words[at + 1 : at + 2] == [COMMAND]
        for at, word in enumerate(words)
    )


def words_of(entry: object) -> list[str]:
    """The command of an entry and what it is given, as one list."""
    if not isinstance(entry, dict):
        return []
    command, args = entry.get("command"), entry.get("args", [])
    words = [command] if isinstance(command, str) else command
    both = [words, args]
    if not all(isinstance(one, list) for one in both):
        return []
    return [str(word) for one in both for word in one]


def value_at(data: Any, way: Sequence[str]) -> Any:
    """What lies at the end of a way; an empty object where nothing does."""
    for step in way:
        data = data.get(step, {}) if isinstance(data, dict) else None
    return data


def _has(data: Any, way: Sequence[str]) -> bool:
    for step in way:
        if not isinstance(data, dict) or step not in data:
            return False
        data = data[step]
    return True


_SERVERS = ("mcpServers",)
_ALL: tuple[tuple[Host, Listing], ...] = (
    (
        Host(
            "claude-code",
            "Claude Code",
            ".mcp.json",
            ".claude.json",
            None,
            "start a new session of Claude Code and allow the server; /mcp lists it",
            ("CLAUDE_CONFIG_DIR", "."),
        ),
        Listing(_SERVERS, _stdio),
    ),
    (
        Host(
            "codex",
            "Codex CLI",
            ".codex/config.toml",
            ".codex/config.toml",
            None,
            "start Codex anew; /mcp lists it. A project's file counts in a trusted project only",
            ("CODEX_HOME", ".codex"),
        ),
        Listing(("mcp_servers",), _plain, "toml"),
    ),
    (
        Host(
            "gemini",
            "Gemini CLI",
            ".gemini/settings.json",
            ".gemini/settings.json",
            None,
            "start a new session of Gemini CLI; /mcp lists it",
        ),
        Listing(_SERVERS, _plain),
    ),
    (
        Host(
            "copilot",
            "Copilot CLI",
            None,
            ".copilot/mcp-config.json",
            None,
            "start a new session of Copilot CLI; /mcp show lists it",
            ("COPILOT_HOME", ".copilot"),
        ),
        Listing(_SERVERS, _with_tools),
    ),
    (
        Host(
            "cursor",
            "Cursor",
            ".cursor/mcp.json",
            ".cursor/mcp.json",
            None,
            "look for it in Cursor's settings of MCP, and turn it on there",
        ),
        Listing(_SERVERS, _plain),
    ),
    (
        Host(
            "opencode",
            "opencode",
            "opencode.json",
            ".config/opencode/opencode.json",
            None,
            "start opencode anew",
            ("XDG_CONFIG_HOME", ".config"),
        ),
        Listing(("mcp",), _in_one_list),
    ),
    (
        Host(
            "openclaw",
            "OpenClaw",
            None,
            ".openclaw/openclaw.json",
            None,
            "openclaw gateway restart",
            ("OPENCLAW_STATE_DIR", ".openclaw"),
        ),
        Listing(("mcp", "servers"), _plain),
    ),
    (
        Host(
            "vscode",
            "VS Code",
            ".vscode/mcp.json",
            None,
            None,
            "start the server in VS Code: MCP: List Servers",
        ),
        Listing(("servers",), _stdio),
    ),
)
HOSTS: dict[str, Host] = {host.name: host for host, _ in _ALL}
LISTINGS: dict[str, Listing] = {host.name: listing for host, listing in _ALL}
