"""The hosts that metier knows. A new host is one file, and one line here."""

from metier.hosts import claude_code, codex, copilot, cursor, gemini, openclaw, opencode, vscode
from metier.hosts.model import Host, Key
from metier.hosts.settings import SettingsFile

HOSTS: dict[str, Host] = {
    host.name: host
    for host in (
        claude_code.HOST,
        codex.HOST,
        gemini.HOST,
        copilot.HOST,
        cursor.HOST,
        opencode.HOST,
        openclaw.HOST,
        vscode.HOST,
    )
}


def _named(host: Host, file: SettingsFile) -> SettingsFile:
    return file._replace(name=host.name, title=host.title)


HOOKS = {
    name: _named(host, host.hook_settings) for name, host in HOSTS.items() if host.hook_settings
}
"""Hosts that a hook can be installed in."""
SERVERS = {
    name: _named(host, host.mcp_settings) for name, host in HOSTS.items() if host.mcp_settings
}
"""Hosts that an MCP server can be installed in."""


def host_keys() -> dict[str, Key]:
    """The keys of front matter that some host reads beyond the format's own."""
    return {name: key for host in HOSTS.values() for name, key in host.keys.items()}
