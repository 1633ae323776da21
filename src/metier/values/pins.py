"""What was reviewed of an MCP server: how it starts, and its tools."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from metier.values.run_settings import ServerSetting

Change = Literal["same", "new", "changed", "removed"]


class ToolPin(NamedTuple):
    """A tool as its server described it."""

    description: str
    schema: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {"description": self.description, "schema": self.schema}

    @property
    def digest(self) -> str:
        return _digest(self.to_json())


class ServerPin(NamedTuple):
    """A server as it was reviewed."""

    start: tuple[str, ...]
    """Its command with arguments, or its address."""
    tools: Mapping[str, ToolPin]
    """By the names that the server gives them."""
    at: str = ""
    by: str = "user"
    """`user`, or `first-use`: accepted when it was first connected."""

    def to_json(self) -> dict[str, Any]:
        """As the record has it."""
        return {
            "start": list(self.start),
            "tools": {name: tool.to_json() for name, tool in sorted(self.tools.items())},
            "reviewedAt": self.at,
            "by": self.by,
        }

    @property
    def digest(self) -> str:
        """Of how it starts, and of its tools."""
        data = self.to_json()
        return f"sha256:{_digest({key: data[key] for key in ('start', 'tools')})}"


def start_of(settings: ServerSetting) -> tuple[str, ...]:
    """How a server is started or reached; no values of variables or headers."""
    return (settings.url,) if settings.url else (settings.command, *settings.args)


def tool_changes(before: ServerPin | None, now: Mapping[str, ToolPin]) -> dict[str, Change]:
    """Each tool, of then or of now, and what became of it; of a new server all are new."""
    known = before.tools if before is not None else {}
    found: dict[str, Change] = {}
    for name in sorted({*known, *now}):
        if name not in known:
            found[name] = "new"
        elif name not in now:
            found[name] = "removed"
        else:
            found[name] = "same" if known[name].digest == now[name].digest else "changed"
    return found


def _digest(data: Any) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode(errors="surrogatepass")).hexdigest()
