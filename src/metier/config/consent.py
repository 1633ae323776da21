"""Check tools and files against what the user agreed to."""

from collections.abc import Sequence

from metier.config import Config
from metier.config.powers import (
    LARGEST_ENCODER,
    LARGEST_FILE,
    UNREADABLE,
    file_digest,
    files_of,
)
from metier.errors import TrustError
from metier.values.settings import EncoderSettings
from metier.values.trust import Trust


def consented(tool: str, agent_id: str, config: Config, trust: Trust) -> bool:
    """Whether the user's settings, or the record of this workspace, let an agent call a tool."""
    servers = (server for server in config.servers if tool.startswith(f"{server.name}__"))
    server = next(servers, None)
    command = next((known for known in config.tools.commands if known.name == tool), None)
    is_meant = not (server.hides_users if server else command is not None and not command.is_users)
    allowed = {tool, f"{server.name}/*"} if server is not None else {tool}
    if is_meant and not allowed.isdisjoint(config.tools.allow):
        return True
    return any(known.tool == tool and known.agent == agent_id for known in trust.consents)


def check_files(argv: Sequence[str], folder: str, workspace: str, trust: Trust) -> None:
    """Raise `TrustError` if a file that a command names has changed since it was trusted."""
    paths = files_of(("tools.", {"argv": list(argv), "folder": folder}), workspace)
    _check(paths, workspace, trust, LARGEST_FILE)


def check_encoder(encoder: EncoderSettings, workspace: str, trust: Trust) -> None:
    """Raise `TrustError` if a file of the workspace's encoder has changed since it was trusted."""
    named = {"file": encoder.file, "tokenizer": encoder.tokenizer}
    _check(files_of(("encoder", named), workspace), workspace, trust, LARGEST_ENCODER)


def _check(paths: Sequence[str], workspace: str, trust: Trust, largest: int) -> None:
    for path in paths:
        now = file_digest(path, workspace, largest)
        if trust.files.get(path) != now or now.startswith(UNREADABLE):
            raise TrustError(
                f"{path} has changed since you trusted this workspace",
                where=path,
                hint="metier trust shows what changed, and asks",
            )
