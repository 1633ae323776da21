"""What the settings say about running agents."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

NONE: Mapping[str, Any] = MappingProxyType({})


DEFAULT_TIMEOUT = 300.0
"""Seconds within which an answer has to be complete, where nothing else is set."""
DEFAULT_RETRIES = 0
"""How often a request is sent again, where nothing else is set: steps have a `retryPolicy`."""
PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""`{name}` in an element of `argv`: the argument `name` takes its place."""
_JINJA = re.compile(r"\{\{-?\s*([A-Za-z_]\w*)(?:[.\[][^{}]*|\s*\|[^{}]*|\s*)\}\}")
"""`{{ name }}`, which nothing replaces; `{{.Name}}` and `{{json .}}` are for the program."""


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

    @property
    def defaults(self) -> dict[str, Any]:
        """The arguments that the schema gives a value."""
        properties = (self.schema or NONE).get("properties")
        found = properties.items() if isinstance(properties, Mapping) else ()
        tables = {name: one for name, one in found if isinstance(one, Mapping)}
        return {name: one["default"] for name, one in tables.items() if "default" in one}

    @property
    def placeholders(self) -> list[str]:
        """The arguments that `argv` names, in order."""
        found = (name for element in self.argv for name in PLACEHOLDER.findall(element))
        return list(dict.fromkeys(found))

    def argv_flaw(self) -> "ArgvFlaw | None":
        """Why no call could ever start the command, if so."""
        argv = self.argv
        if not argv or not all(isinstance(one, str) and "\0" not in one for one in argv):
            return ArgvFlaw("it is not a list of strings, the program first")
        for element in argv:
            if found := _JINJA.search(element):
                hint = f"write {{{found[1]}}} where the argument '{found[1]}' belongs"
                return ArgvFlaw(f"'{found[0]}' is no placeholder", hint)
        if not argv[0] or PLACEHOLDER.search(argv[0]):
            return ArgvFlaw("the program cannot come from an argument")
        missing = [name for name in self.placeholders if not self._is_always_given(name)]
        if not missing:
            return None
        hint = f"add required = [{', '.join(map(_quoted, self._required(missing)))}] to the schema"
        return ArgvFlaw(
            f"the argument '{missing[0]}' may be missing", f"{hint}, or give it a default there"
        )

    def _is_always_given(self, name: str) -> bool:
        return self.schema is None or name in self._required(()) or name in self.defaults

    def _required(self, more: Sequence[str]) -> list[str]:
        required = (self.schema or NONE).get("required")
        known = required if isinstance(required, list | tuple) else ()
        return [*(name for name in known if isinstance(name, str)), *more]


class ArgvFlaw(NamedTuple):
    message: str
    hint: str = ""


def _quoted(name: str) -> str:
    return f'"{name}"'


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
