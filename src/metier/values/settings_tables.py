"""The tables of settings that always have a value. Light: what is in them is loaded with it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from metier.values.trust import NOTHING

if TYPE_CHECKING:
    from metier.values.capabilities import SourceSetting
    from metier.values.run_settings import CommandSetting, ProviderSettings

RolloutMode = Literal["off", "monitor", "soft", "on"]
LogLevel = Literal["none", "summary", "detailed"]
DEFAULT_MIN_SIGNAL = 10.0


class CapabilitiesConfig(NamedTuple):
    """The settings of `[capabilities]`: spec 5's six, then ours."""

    enabled: bool = True
    max_tokens: int = 1_500
    confidence_threshold: float | None = None
    """Replaces that of every card."""
    force_include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    log_level: LogLevel = "summary"
    mode: RolloutMode = "on"
    scorer: str = "spec"
    overflow: Literal["skip", "stop"] = "skip"
    recent_messages: int = 5
    soft_session_types: tuple[str, ...] = ("main",)
    budgets: Mapping[int, int] = MappingProxyType({})
    """Least characters of conversation → tokens."""
    skill_suggestions: int = 3
    """The most skills that a hook names."""
    skill_threshold: float = 2.85
    """The least evidence for a skill to fire: 1 is a word that only one skill has."""
    max_injection_share: float | None = None
    """Hooks switch to `monitor` above this share of requests that inject."""
    refresh_after: int = 600
    """Seconds after which a hook starts a refresh."""
    compare: tuple[str, ...] = ()
    """Two scorers, each for half of the conversations."""
    user_tier: str = ""
    environment_type: str = ""
    sources: tuple["SourceSetting", ...] = ()
    profiles: Mapping[str, Mapping[str, Any]] = NOTHING
    """Named sets of these settings, in the spelling of the file."""
    agents: Mapping[str, str] = NOTHING
    """Agent → profile."""


class ModelSettings(NamedTuple):
    default: str = ""
    providers: "Mapping[str, ProviderSettings]" = NOTHING


class ToolSettings(NamedTuple):
    """The commands that agents may call, and the user's consent to them."""

    allow: tuple[str, ...] = ()
    """Consent of the user: names of their own commands, `server__tool`, `server/*`."""
    commands: tuple["CommandSetting", ...] = ()
    requests: tuple[str, ...] = ()
    """What the workspace asks consent for."""

    def joined(self, weaker: "ToolSettings") -> "ToolSettings":
        """These commands, and those of weaker settings that have other names."""
        known = {command.name for command in self.commands}
        more = (command for command in weaker.commands if command.name not in known)
        return ToolSettings(
            (*self.allow, *weaker.allow),
            (*self.commands, *more),
            (*self.requests, *weaker.requests),
        )


class LintSettings(NamedTuple):
    """Which findings are wanted."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
