"""Settings for runs: `[models]`, `[tools]` and `[mcp]`."""

from collections.abc import Callable, Mapping
from typing import Any

from metier.core.nearest import nearest
from metier.errors import ConfigError
from metier.values.running import CommandSetting, ModelSettings, ProviderSettings, ServerSetting
from metier.values.running import ToolSettings as Tools

_PROVIDER = {"base-url": str, "api-key-env": str}
_COMMAND: dict[str, type] = {
    "argv": list,
    "description": str,
    "schema": dict,
    "folder": str,
    "timeout": float,
    "stdin": str,
    "output": str,
    "environment": list,
    "raw": list,
}
_SERVER: dict[str, type] = {
    "command": str,
    "args": list,
    "env": dict,
    "folder": str,
    "url": str,
    "headers": dict,
    "timeout": float,
}
_CALLED = {
    str: "a text",
    list: "a list of texts",
    dict: "a table",
    float: "a number of seconds above 0",
}


def read_models(table: Any, source: str) -> ModelSettings:
    """`default = "provider:model"`, and a table `[models.PROVIDER]` for each provider."""
    table = _table("models", table, source)
    default = table.get("default", "")
    if not isinstance(default, str):
        raise _wrong("models.default", "a text such as openai:gpt-5", source)
    providers = {
        name: ProviderSettings(**_fields(f"models.{name}", entry, _PROVIDER, source))
        for name, entry in table.items()
        if name != "default"
    }
    return ModelSettings(default, providers)


def read_tools(table: Any, source: str) -> Tools:
    """`allow = […]`, and a table `[tools.NAME]` for each command."""
    table = _table("tools", table, source)
    allow = table.get("allow", [])
    if not _is_texts(allow):
        raise _wrong("tools.allow", "a list of texts", source)
    commands = []
    for name, entry in table.items():
        if name == "allow":
            continue
        fields = _fields(f"tools.{name}", entry, _COMMAND, source)
        if not fields.get("argv"):
            raise _wrong(f"tools.{name}.argv", "a list of texts, the program first", source)
        commands.append(CommandSetting(name=name, **fields))
    return Tools(tuple(allow), tuple(commands))


def read_servers(table: Any, source: str) -> tuple[ServerSetting, ...]:
    """A table `[mcp.NAME]` for each server: a command to start, or an address."""
    servers = []
    for name, entry in _table("mcp", table, source).items():
        if "__" in name:
            raise _wrong(f"mcp.{name}", "a name without '__', which ends the name", source)
        fields = _fields(f"mcp.{name}", entry, _SERVER, source)
        if bool(fields.get("command")) == bool(fields.get("url")):
            raise _wrong(f"mcp.{name}", "a table with either 'command' or 'url'", source)
        servers.append(ServerSetting(name=name, **fields))
    return tuple(servers)


READERS: dict[str, Callable[[Any, str], Any]] = {
    "models": read_models,
    "tools": read_tools,
    "mcp": read_servers,
}


def _table(key: str, value: Any, source: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(key, "a table", source)
    return value


def _fields(key: str, entry: Any, known: Mapping[str, type], source: str) -> dict[str, Any]:
    """The fields of one table under Python's names; lists as tuples."""
    fields: dict[str, Any] = {}
    for name, value in _table(key, entry, source).items():
        kind = known.get(name)
        if kind is None:
            near = nearest(name, known)
            hint = f"did you mean '{near}'?" if near else f"known: {', '.join(known)}"
            raise ConfigError(f"unknown setting '{key}.{name}'", where=source, hint=hint)
        if not _fits(value, kind):
            raise _wrong(f"{key}.{name}", _CALLED[kind], source)
        fields[name.replace("-", "_")] = tuple(value) if kind is list else value
    return fields


def _fits(value: Any, kind: type) -> bool:
    if kind is list:
        return _is_texts(value)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return isinstance(value, kind)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _wrong(key: str, wanted: str, source: str) -> ConfigError:
    return ConfigError(f"'{key}' must be {wanted}", where=source)
