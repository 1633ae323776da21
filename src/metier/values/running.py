"""What the settings say about running agents."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

NONE: Mapping[str, Any] = MappingProxyType({})


class ProviderSettings(NamedTuple):
    """How one provider of models is reached, where its own ways do not do."""

    base_url: str = ""
    """The address of a server that speaks the OpenAI protocol (chat completions)."""
    api_key_env: str = ""
    """The environment variable that holds the key."""
    key_host: str = ""
    """The `host[:port]` that this key is for; empty: that of `base_url`, or the provider's own."""
    plain_http: bool = False
    """Whether the user named the address, so that http without encryption may leave the machine."""


class ModelSettings(NamedTuple):
    """Which models are used."""

    default: str = ""
    """For agents that name none; empty: the offline one."""
    providers: Mapping[str, ProviderSettings] = NONE


class CommandSetting(NamedTuple):
    """A command that agents may call as a tool."""

    name: str
    argv: tuple[str, ...]
    description: str = ""
    schema: Mapping[str, Any] | None = None
    folder: str = "."
    timeout: float = 60.0
    stdin: str = "none"
    output: str = "text"
    environment: tuple[str, ...] = ()
    raw: tuple[str, ...] = ()


class ToolSettings(NamedTuple):
    """The commands that agents may call, and which of them are consented to."""

    allow: tuple[str, ...] = ()
    commands: tuple[CommandSetting, ...] = ()


class ServerSetting(NamedTuple):
    """An MCP server whose tools agents may call."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = NONE
    folder: str | None = None
    url: str = ""
    headers: Mapping[str, str] = NONE
    timeout: float = 60.0
    plain_http: bool = False
    """Whether the user named the url, so that http without encryption may leave the machine."""
