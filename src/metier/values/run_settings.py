"""What the settings say about running agents."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

NONE: Mapping[str, Any] = MappingProxyType({})


DEFAULT_TIMEOUT = 300.0
"""Seconds within which an answer has to be complete, where nothing else is set."""
DEFAULT_RETRIES = 0
"""How often a request is sent again, where nothing else is set: steps have a `retryPolicy`."""


class ModelOptions(NamedTuple):
    """What the settings say about one model."""

    timeout: float | None = None
    """Seconds within which an answer has to be complete; None: those of the provider."""
    retries: int | None = None
    """How often a request is sent again after a transient error; None: as for the provider."""
    input: float | None = None
    """Dollars per million tokens of prompts; set together with `output`."""
    output: float | None = None
    context: int | None = None
    """The most tokens of a prompt; a larger one is not sent."""
    max_tokens: int | None = None
    """The most tokens of an answer, unless the agent's profile says."""


class ProviderSettings(NamedTuple):
    """How to reach a provider of models."""

    base_url: str = ""
    """The address of a server with the OpenAI protocol (chat completions)."""
    api_key_env: str = ""
    key_host: str = ""
    """The only host that the key may be sent to; empty: that of `base_url`, or the provider's."""
    plain_http: bool = False
    """Whether http beyond this machine is allowed."""
    is_users: bool = True
    """Whether the user's own settings name it, and not the workspace's."""
    timeout: float | None = None
    """Seconds within which an answer has to be complete; None: 300."""
    retries: int | None = None
    """How often a request is sent again after a transient error; None: never."""
    models: Mapping[str, ModelOptions] = NONE
    """What is set for single models."""

    def options(self, model: str) -> ModelOptions:
        """What holds for a model: its own options, else the provider's, else the defaults."""
        own = self.models.get(model, ModelOptions())
        timeouts, retries = (own.timeout, self.timeout), (own.retries, self.retries)
        return own._replace(
            timeout=next((one for one in timeouts if one is not None), DEFAULT_TIMEOUT),
            retries=next((one for one in retries if one is not None), DEFAULT_RETRIES),
        )


class CommandSetting(NamedTuple):
    """A command, or a Python function, that agents may call as a tool."""

    name: str
    argv: tuple[str, ...] = ()
    function: str = ""
    """`package.module:name`, in place of a command."""
    description: str = ""
    schema: Mapping[str, Any] | None = None
    folder: str = "."
    timeout: float = 60.0
    stdin: str = "none"
    output: str = "text"
    environment: tuple[str, ...] = ()
    raw: tuple[str, ...] = ()
    is_users: bool = True
    """Whether the user's own settings name it, and not the workspace's."""


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
    """Whether http beyond this machine is allowed."""
    is_users: bool = True
    hides_users: bool = False
    """Whether it replaces a server of the user's own settings."""
