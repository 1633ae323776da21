"""Review an MCP server: how it starts, its tools, and what changed since the last review."""

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Sequence
from difflib import unified_diff
from functools import partial
from typing import Any, NamedTuple

from metier.config.consent import check_files
from metier.config.mcp_pins import McpPins
from metier.core.bounded_patterns import is_bounded, patterns_in
from metier.core.nearest import did_you_mean
from metier.core.timestamps import now_iso
from metier.errors import TrustError, UsageError
from metier.flow.boundary import Boundary
from metier.run.mcp_tools import listed_tools
from metier.run.server_text import unusable
from metier.safety.disguise import examine
from metier.values.pins import Change, ServerPin, ToolPin, start_of, tool_changes
from metier.values.run_settings import ServerSetting


class ToolChange(NamedTuple):
    """One tool, and what became of it since the review."""

    name: str
    change: Change
    lines: tuple[str, ...]
    """Its description and schema; of a changed tool a unified diff of them."""
    notes: tuple[str, ...] = ()
    """What a model will not see of it, and what is not checked."""

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "lines": list(self.lines), "notes": list(self.notes)}


class ServerReview(NamedTuple):
    """A server as it was reviewed, and as it is now."""

    settings: ServerSetting
    before: ServerPin | None
    now: ServerPin

    @property
    def is_same(self) -> bool:
        return self.before is not None and self.before.digest == self.now.digest

    @property
    def state(self) -> str:
        if self.before is None:
            return "new"
        return "same" if self.is_same else "changed"

    def tools(self) -> list[ToolChange]:
        """Every tool of then and now; changed ones first."""
        order: Sequence[Change] = ("changed", "new", "removed", "same")
        found = tool_changes(self.before, self.now.tools)
        named = sorted(found, key=lambda name: (order.index(found[name]), name))
        return [self._tool(name, found[name]) for name in named]

    def _tool(self, name: str, change: Change) -> ToolChange:
        before = self.before.tools.get(name) if self.before is not None else None
        now = self.now.tools.get(name)
        if change == "removed" or now is None:
            return ToolChange(name, change, ())
        lines = _lines(now)
        if change == "changed" and before is not None:
            lines = list(unified_diff(_lines(before), lines, lineterm="", n=2))[2:]
        return ToolChange(name, change, tuple(lines), tuple(_notes(now)))

    def to_json(self) -> dict[str, Any]:
        before = self.before
        return {
            "server": self.settings.name,
            "state": self.state,
            "reviewedAt": before.at if before is not None else None,
            "reviewedBy": before.by if before is not None else None,
            "startBefore": list(before.start) if before is not None else None,
            "start": list(self.now.start),
            "digest": self.now.digest,
            "tools": [one.to_json() for one in self.tools()],
        }


def _lines(tool: ToolPin) -> list[str]:
    return [
        *tool.description.splitlines(),
        *json.dumps(tool.schema, indent=2, sort_keys=True, ensure_ascii=False).splitlines(),
    ]


def _notes(tool: ToolPin) -> Iterator[str]:
    examined = examine(tool.description)
    if examined.rejected:
        yield f"models do not see its description: {examined.findings[0].message}"
    if why := unusable(tool):
        yield f"it cannot be used: {why}"
    for pattern in dict.fromkeys(patterns_in(tool.schema)):
        if not is_bounded(pattern):
            yield f"not checked here, since it could take long: the pattern {pattern[:100]!r}"


class McpReviews:
    """Reviews of the MCP servers in the settings."""

    def __init__(self, boundary: Boundary) -> None:
        self._boundary = boundary
        self._pins = McpPins(boundary.workspace)

    def server(self, name: str) -> ServerSetting:
        """A server of the settings. Raises `UsageError`, and `TrustError` if it is not trusted."""
        servers = self._boundary.config.servers
        for one in servers:
            if one.name == name:
                folder = os.path.join(self._boundary.workspace, one.folder or "")
                return one._replace(folder=folder)
        if not self._boundary.trust.is_trusted and "mcp" in " ".join(self._boundary.config.ignored):
            raise TrustError(
                f"MCP server '{name}' may be one of this workspace, which is not trusted",
                where=self._boundary.workspace,
                hint="metier trust",
            )
        known = [one.name for one in servers]
        hint = did_you_mean(name, known, "servers are under [mcp.NAME] in metier.toml")
        raise UsageError(f"there is no MCP server '{name}' in the settings", hint=hint)

    def review(self, name: str) -> ServerReview:
        """Connect to a server, and list its tools. Raises `MetierError`."""
        settings = self.server(name)
        tools = asyncio.run(listed_tools(settings, self._check(settings)))
        now = ServerPin(start_of(settings), tools, now_iso())
        return ServerReview(settings, self._pins.pin(settings), now)

    def _check(self, settings: ServerSetting) -> Callable[[], None] | None:
        if settings.is_users:
            return None
        argv = (settings.command, *settings.args, *settings.env.values())
        workspace, trust = self._boundary.workspace, self._boundary.trust
        return partial(check_files, argv, settings.folder or "", workspace, trust)

    def accept(self, review: ServerReview) -> None:
        """Record a server as it is now. Raises `ConfigError` or `OSError`."""
        self._pins.put(review.settings, review.now)

    def revoke(self, name: str) -> bool:
        """Switch all tools of a server off until a review; whether any were on."""
        settings = self.server(name)
        before = self._pins.pin(settings)
        self._pins.put(settings, ServerPin(start_of(settings), {}, now_iso(), "revoked"))
        return before is None or bool(before.tools)
