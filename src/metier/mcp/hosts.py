"""The hosts that can start metier as an MCP server: where they list servers, and in which form."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from metier.hooks.hosts import Host

NAME = "metier"
"""What the server is called in a host's settings."""


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
