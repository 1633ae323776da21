"""The skill folders of all hosts, by metier's precedence, each under its label. Light."""

from typing import NamedTuple


class Folder(NamedTuple):
    label: str
    folder: str
    """Relative to the workspace, to the home folder (`~/`), or absolute."""


FOLDERS: tuple[Folder, ...] = (
    Folder("claude", ".claude/skills"),
    Folder("agents", ".agents/skills"),
    Folder("copilot", ".github/skills"),
    Folder("gemini", ".gemini/skills"),
    Folder("cursor", ".cursor/skills"),
    Folder("opencode", ".opencode/skills"),
    Folder("opencode-old", ".opencode/skill"),
    Folder("codex", ".codex/skills"),
    Folder("claude-user", "~/.claude/skills"),
    Folder("claude-plugins", "~/.claude/plugins/cache"),
    Folder("agents-user", "~/.agents/skills"),
    Folder("codex-user", "~/.codex/skills"),
    Folder("codex-system", "/etc/codex/skills"),
    Folder("copilot-user", "~/.copilot/skills"),
    Folder("gemini-user", "~/.gemini/skills"),
    Folder("cursor-user", "~/.cursor/skills"),
    Folder("opencode-user", "~/.config/opencode/skills"),
    Folder("opencode-old-user", "~/.config/opencode/skill"),
    Folder("openclaw-user", "~/.openclaw/skills"),
)
PROJECT_HOSTS = tuple(
    (one.label, f"/{one.folder}/", rank)
    for rank, one in enumerate(FOLDERS, start=1)
    if not one.folder.startswith(("~", "/"))
)
PROJECT_FOLDERS = tuple((label, folder.strip("/")) for label, folder, _ in PROJECT_HOSTS)
USER_HOSTS = frozenset(one.label for one in FOLDERS if one.folder.startswith(("~", "/")))
"""Labels of the user's own folders."""
FIRST_MOUNT_RANK = len(FOLDERS) + 1
