"""The values that settings pass to tools, servers, models and encoders, and their redactor."""

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from metier.safety.redactor import Redactor

if TYPE_CHECKING:
    from metier.config import Config

NOT_SECRET = frozenset(
    ("HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
)
"""Variables that every program sees; their values are in every second path."""


def redactor_for(config: "Config", environ: Mapping[str, str] = os.environ) -> Redactor:
    """What removes these values from whatever is shown."""
    return Redactor(secret_values(config, environ))


def secret_values(config: "Config", environ: Mapping[str, str] = os.environ) -> list[str]:
    """The values of variables that tools see, of keys, and of what MCP servers are given."""
    named = (environ.get(name, "") for name in _variables(config) if name not in NOT_SECRET)
    return [value for value in (*named, *_given(config)) if value]


def _variables(config: "Config") -> Iterator[str]:
    for command in config.tools.commands:
        yield from command.environment
    for provider in config.models.providers.values():
        yield provider.api_key_env
    if config.encoder is not None:
        yield config.encoder.api_key_env


def _given(config: "Config") -> Iterator[str]:
    """What the settings write out for a server; of `Bearer KEY` the key, too."""
    for server in config.servers:
        for name, value in (*server.env.items(), *server.headers.items()):
            if name not in NOT_SECRET:
                yield str(value)
                scheme, _, key = str(value).partition(" ")
                yield from (key.strip(),) if scheme.isalpha() else ()
