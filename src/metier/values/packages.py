"""Where a skill comes from, and what came with it."""

from typing import Any, NamedTuple


class Package(NamedTuple):
    """What manifests and lock files say of one skill."""

    version: str = ""
    """Of its plugin."""
    marketplace: str = ""
    """The marketplace that lists its plugin."""
    installed_from: str = ""
    """The repository or address that a lock file names."""
    agents: tuple[str, ...] = ()
    """Agents of its plugin."""
    commands: tuple[str, ...] = ()
    """Commands of its plugin."""
    servers: tuple[str, ...] = ()
    """MCP servers that its plugin would start."""
    same_command: str = ""
    """The file of a command that has its name, absolute."""

    def to_json(self) -> dict[str, Any]:
        """Without what is empty."""
        named = {
            "version": self.version,
            "marketplace": self.marketplace,
            "installedFrom": self.installed_from,
            "agents": list(self.agents),
            "commands": list(self.commands),
            "servers": list(self.servers),
            "sameCommand": self.same_command,
        }
        return {key: value for key, value in named.items() if value}
