"""The folders in which agent hosts keep skills, by precedence."""

from typing import NamedTuple


class Host(NamedTuple):
    label: str
    folder: str
    """Relative to the workspace, to the home folder (`~/`), or absolute."""


HOSTS: tuple[Host, ...] = (
    Host("claude", ".claude/skills"),
    Host("agents", ".agents/skills"),
    Host("copilot", ".github/skills"),
    Host("gemini", ".gemini/skills"),
    Host("cursor", ".cursor/skills"),
    Host("opencode", ".opencode/skills"),
    Host("openclaw", ".openclaw/skills"),
    Host("claude-user", "~/.claude/skills"),
    Host("claude-plugins", "~/.claude/plugins/cache"),
    Host("agents-user", "~/.agents/skills"),
    Host("codex-user", "~/.codex/skills"),
    Host("codex-system", "/etc/codex/skills"),
    Host("copilot-user", "~/.copilot/skills"),
    Host("gemini-user", "~/.gemini/skills"),
    Host("cursor-user", "~/.cursor/skills"),
    Host("opencode-user", "~/.config/opencode/skills"),
    Host("openclaw-user", "~/.openclaw/skills"),
)
PROJECT_HOSTS = tuple(
    (host.label, f"/{host.folder}/", rank)
    for rank, host in enumerate(HOSTS, start=1)
    if not host.folder.startswith(("~", "/"))
)
PROJECT_FOLDERS = tuple((label, folder.strip("/")) for label, folder, _ in PROJECT_HOSTS)
USER_HOSTS = frozenset(host.label for host in HOSTS if host.folder.startswith(("~", "/")))
"""Labels of the user's own folders."""
FIRST_MOUNT_RANK = len(HOSTS) + 1
