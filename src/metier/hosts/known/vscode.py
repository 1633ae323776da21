"""VS Code: MCP servers only. Its agent mode reads skills as Copilot CLI does."""

from metier.hosts.model import Host, Source
from metier.hosts.settings_forms import ServerList, SettingsFile

HOST = Host(
    name="vscode",
    title="VS Code",
    loading=None,
    plugins=None,
    keys={},
    switches=(),
    listing=None,
    hook_settings=None,
    mcp_settings=SettingsFile(
        ".vscode/mcp.json",
        None,
        "start the server in VS Code: MCP: List Servers",
        servers=ServerList(("servers",), before={"type": "stdio"}),
    ),
    hook=None,
    transcripts=None,
    sources={
        "mcp_settings": Source("code.visualstudio.com/docs/copilot", "2026-09", "docs"),
    },
    order=8,
)
