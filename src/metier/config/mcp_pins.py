"""Pins: the tools of MCP servers as the user reviewed them, in the review record."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from metier.config.review_record import ReviewRecord
from metier.core.timestamps import now_iso
from metier.errors import TrustError
from metier.values.pins import ServerPin, ToolPin, start_of, tool_changes
from metier.values.run_settings import ServerSetting

SECTION = "mcp"


class McpPins:
    """The pins of the servers of one workspace, and of the user's own servers."""

    def __init__(self, workspace: str, environ: Mapping[str, str] | None = None) -> None:
        self._workspace = workspace
        self._environ = environ

    def pin(self, settings: ServerSetting) -> ServerPin | None:
        """What was reviewed of a server; None if nothing was. Raises `ConfigError`.

        An entry that is incomplete counts as a review of nothing.
        """
        entries = self._record(settings).entries(SECTION)
        if settings.name not in entries:
            return None
        return _pin(entries[settings.name]) or ServerPin((), {}, by="invalid")

    def put(self, settings: ServerSetting, pin: ServerPin, *, only_new: bool = False) -> None:
        """Record a review. Raises `ConfigError` or `OSError`."""
        entries = {settings.name: pin.to_json()}
        self._record(settings).change(SECTION, entries, only_new=only_new)

    def check_start(self, settings: ServerSetting) -> None:
        """Raise `TrustError` if a reviewed server is started or reached in another way now."""
        known = self.pin(settings)
        if known is not None and known.start != start_of(settings):
            name = settings.name
            raise TrustError(
                f"the command or address of MCP server '{name}' changed since you reviewed it",
                code="MCP_SERVER_CHANGED",
                hint=_hint(name),
            )

    def switched_off(self, settings: ServerSetting, tools: Mapping[str, ToolPin]) -> dict[str, str]:
        """Tools that must not be used, with the reason; a server's first tools are recorded.

        Raises `ConfigError`.
        """
        known = self.pin(settings)
        if known is None:
            pin = ServerPin(start_of(settings), tools, now_iso(), "first-use")
            with suppress(OSError):  # then there is nothing to compare with the next time
                self.put(settings, pin, only_new=True)
            known = self.pin(settings) or pin
        changes = tool_changes(known, tools)
        why = {"new": "is new", "changed": "changed"}
        return {
            name: f"tool '{name}' of MCP server '{settings.name}' {why[change]} since you reviewed "
            f"the server, and is switched off: {_hint(settings.name)}"
            for name, change in changes.items()
            if change in why
        }

    def _record(self, settings: ServerSetting) -> ReviewRecord:
        return ReviewRecord(self._workspace, is_users=settings.is_users, environ=self._environ)


def _hint(name: str) -> str:
    return f"metier trust --mcp {name} shows what changed, and asks"


def _pin(data: Any) -> ServerPin | None:
    """An entry if it is complete, else None."""
    try:
        tools = {
            _text(name): ToolPin(_text(one["description"]), dict(one["schema"]))
            for name, one in data["tools"].items()
        }
        start = tuple(map(_text, data["start"]))
        return ServerPin(start, tools, _text(data["reviewedAt"]), _text(data["by"]))
    except (TypeError, KeyError, AttributeError, ValueError):
        return None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value
