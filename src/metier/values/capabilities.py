"""Capability awareness (spec 5): the settings, the context of a choice, and what came of it."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from metier.values.outcomes import Issue

RolloutMode = Literal["off", "monitor", "soft", "on"]
LogLevel = Literal["none", "summary", "detailed"]
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class SourceSetting(NamedTuple):
    """Where cards come from besides the workspace's own folder."""

    type: str
    """`local`, `database` or `remote`."""
    location: str
    """A folder, a database file, or an address that starts with https."""
    sha256: str = ""
    """What the bytes of a remote card must hash to."""


class CapabilitiesConfig(NamedTuple):
    """The settings of `[capabilities]`: spec 5's six, then ours."""

    enabled: bool = True
    max_tokens: int = 1_500
    confidence_threshold: float | None = None
    """Replaces every card's own."""
    force_include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    log_level: LogLevel = "summary"
    mode: RolloutMode = "on"
    scorer: str = "spec"
    overflow: Literal["skip", "stop"] = "skip"
    recent_messages: int = 5
    soft_session_types: tuple[str, ...] = ("main",)
    budgets: Mapping[int, int] = MappingProxyType({})
    """From so many characters of conversation on → so many tokens."""
    skill_suggestions: int = 3
    """How many skills a hook may name."""
    skill_threshold: float = 1.5
    """How much evidence a skill needs to be named, in words that only it has."""
    max_injection_share: float | None = None
    """Above this share of requests that inject, hooks turn to `monitor`."""
    refresh_after: int = 600
    """Seconds after which a hook has the catalogue refreshed."""
    compare: tuple[str, ...] = ()
    """Two scorers, each for half of the conversations."""
    user_tier: str = ""
    environment_type: str = ""
    sources: tuple[SourceSetting, ...] = ()
    profiles: Mapping[str, Mapping[str, Any]] = _NOTHING
    """Named sets of these settings, in the spelling of the file."""
    agents: Mapping[str, str] = _NOTHING
    """Agent → the profile that it uses."""


class SelectionContext(NamedTuple):
    """What a choice of cards is made for."""

    recent_messages: Sequence[str] = ()
    session_type: str = "main"
    token_budget: int | None = None
    """None leaves it to the settings."""
    time_of_day: str = ""
    """morning · afternoon · evening · night"""
    user_tier: str = ""
    environment_type: str = ""
    conversation_length: int | None = None
    """Characters of the whole conversation; None counts the messages given."""


class Sanitized(NamedTuple):
    """Text as it may be handed over."""

    text: str
    issues: Sequence[Issue]
    rejected: bool
    """Whether it must not be handed over at all."""


class BootstrapFile(NamedTuple):
    """One file of the context that an agent starts with."""

    name: str
    content: str
