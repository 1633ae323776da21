"""Values of settings: raw from a file → as `Config` has them. Raises `ConfigError`."""

import os
import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Any

from metier.config.database_url import DatabaseUrl, check_no_secret, check_url
from metier.config.layers import VARIABLES
from metier.config.settings import SETTINGS, unknown_setting
from metier.errors import ConfigError, UsageError
from metier.values.checks import Field, check_value, dotted
from metier.values.files import KeyPath, Team
from metier.values.own_rules import CODE_FORM, RuleSetting, is_own_code
from metier.values.run_settings import CommandSetting, ModelOptions, ProviderSettings, ServerSetting
from metier.values.settings import (
    QUEUE_FORM,
    EncoderSettings,
    Mount,
    ProbeSetting,
    QueueSetting,
    is_queue_name,
)
from metier.values.settings_tables import ModelSettings, ToolSettings

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def checked(key: str, value: Any, source: str) -> Any:
    """The value of a setting, except `capabilities`."""
    field = SETTINGS[key].field
    check(value, field, (key,), source)
    make = _MAKERS.get(key)
    return make(value, source) if make is not None else plain(value, field)


def check(value: Any, field: Field, at: KeyPath, source: str) -> None:
    """Raise at the first flaw."""
    for flaw in check_value(value, field, at):
        if flaw.problem == "unknown" and flaw.known:
            hint = _table_meant(flaw.at, value)
            if hint:
                message = f"unknown setting '{dotted(flaw.at)}'"
                raise ConfigError(message, where=source, hint=hint)
            raise unknown_setting(dotted(flaw.at), str(flaw.at[-1]), flaw.known, source)
        raise ConfigError(flaw.message, setting=dotted(flaw.at), where=source)


def _table_meant(at: KeyPath, value: Any) -> str:
    """How to write the table of a model that lies too deep; empty for anything else."""
    if at[0] != "models":
        return ""
    for key in at[1:]:
        value = value[key]
    if not isinstance(value, dict):
        return ""
    provider, *names = map(str, at[1:])
    if names[0] == "models":
        return f"the table of a model is [{dotted(('models', provider, '.'.join(names[1:])))}]"
    # TOML reads [models.openai.gpt-5.1] as two
    return f"a name with a dot is quoted: [{dotted(('models', provider, '.'.join(names)))}]"


def plain(value: Any, field: Field) -> Any:
    """Lists as tuples, numbers as floats."""
    if field.type == "mapping" and field.others is not None:
        return {key: plain(inner, field.others) for key, inner in value.items()}
    return {"list": tuple, "number": float}.get(field.type, lambda same: same)(value)


def _entry(key: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a named table under Python's names."""
    others = SETTINGS[key].field.others
    fields = (others.fields if others is not None else None) or {}
    return {name.replace("-", "_"): plain(value, fields[name]) for name, value in table.items()}


def _models(table: Mapping[str, Any], source: str) -> ModelSettings:
    """`default = "provider:model"`, and a table `[models.PROVIDER]` for each provider."""
    default = table.get("default", "")
    if default not in ("", "offline") and not all(default.partition(":")):
        raise wrong("models.default", "a model such as openai:gpt-5", source)
    providers = {
        name: _provider(name, entry, source) for name, entry in table.items() if name != "default"
    }
    return ModelSettings(default, providers)


def _provider(name: str, entry: Mapping[str, Any], source: str) -> ProviderSettings:
    """A table with a table `[models.PROVIDER.MODEL]` for each model that has one."""
    models = {key: value for key, value in entry.items() if isinstance(value, dict)}
    own = {key: value for key, value in entry.items() if key not in models}
    check_whole_provider(name, entry, source)
    _check_address(dotted(("models", name, "base-url")), entry.get("base-url", ""), source)
    return ProviderSettings(
        **_entry("models", own),
        models={model: _options(options) for model, options in models.items()},
    )


def check_whole_provider(name: str, entry: Mapping[str, Any], source: str) -> None:
    """Raise `ConfigError` for what the types of its keys do not rule out."""
    variable = entry.get("api-key-env", "")
    if variable and not _VARIABLE.fullmatch(variable):
        key = dotted(("models", name, "api-key-env"))
        raise wrong(key, "the name of an environment variable, which holds the key", source)
    for model, options in entry.items():
        if isinstance(options, dict) and ("input" in options) != ("output" in options):
            key = dotted(("models", name, model))
            raise wrong(key, "given both 'input' and 'output' as prices, or neither", source)


def _check_address(key: str, url: str, source: str) -> None:
    """Raise for what is no address. Whether plain http is allowed depends on who set it."""
    if not url:
        return
    from metier.safety.addresses import check_address  # few settings have any

    try:
        check_address(url, plain_http=True, what=f"'{key}'")
    except UsageError as error:
        raise ConfigError(error.message, setting=key, where=source, hint=error.hint) from None


def _options(table: Mapping[str, Any]) -> ModelOptions:
    provider = SETTINGS["models"].field.others
    fields = (provider and provider.others and provider.others.fields) or {}
    return ModelOptions(
        **{key.replace("-", "_"): plain(value, fields[key]) for key, value in table.items()}
    )


def _tools(table: Mapping[str, Any], source: str) -> ToolSettings:
    """`allow = […]`, and a table `[tools.NAME]` for each command or function."""
    for name, entry in table.items():
        if name != "allow":
            _check_tool(dotted(("tools", name)), entry, source)
    commands = tuple(
        CommandSetting(name=name, **_entry("tools", entry))
        for name, entry in table.items()
        if name != "allow"
    )
    for command in commands:
        _check_argv(command, source)
    return ToolSettings(tuple(table.get("allow", ())), commands)


_OF_FUNCTIONS = {"function", "description", "folder", "timeout"}


def _check_tool(key: str, entry: Mapping[str, Any], source: str) -> None:
    """Raise `ConfigError` unless it is either a command or a function."""
    if ("argv" in entry) == ("function" in entry):
        raise wrong(key, "a table with either 'argv' or 'function'", source)
    function = entry.get("function")
    if function is None:
        return
    module, colon, name = function.partition(":")
    if not colon or not all(map(str.isidentifier, (*module.split("."), *name.split(".")))):
        raise wrong(f"{key}.function", "a function as 'package.module:name'", source)
    for other in sorted(entry.keys() - _OF_FUNCTIONS):
        raise wrong(f"{key}.{other}", "set only beside 'argv'", source)


def _check_argv(command: CommandSetting, source: str) -> None:
    """Raise `ConfigError` for a command that no call could start."""
    flaw = None if command.function else command.argv_flaw()
    if flaw:
        key = dotted(("tools", command.name, "argv"))
        raise ConfigError(f"'{key}': {flaw.message}", setting=key, where=source, hint=flaw.hint)


def _servers(table: Mapping[str, Any], source: str) -> tuple[ServerSetting, ...]:
    """A table `[mcp.NAME]` for each server: a command to start, or an address."""
    for name, entry in table.items():
        if "__" in name:
            raise wrong(dotted(("mcp", name)), "a name without '__', which ends the name", source)
        if bool(entry.get("command")) == bool(entry.get("url")):
            raise wrong(dotted(("mcp", name)), "a table with either 'command' or 'url'", source)
    return tuple(ServerSetting(name=name, **_entry("mcp", entry)) for name, entry in table.items())


def _encoder(table: Mapping[str, Any], source: str) -> EncoderSettings:
    """A file, or an address and the name of a model."""
    field = SETTINGS["encoder"].field.fields or {}
    wanted = ("url", "model") if table["kind"] == "http" else ("file",)
    for name in wanted:
        if not table.get(name):
            raise wrong(f"encoder.{name}", f"set for the kind '{table['kind']}'", source)
    _check_address("encoder.url", table.get("url", ""), source)
    return EncoderSettings(
        **{name.replace("-", "_"): plain(value, field[name]) for name, value in table.items()}
    )


def _probes(table: Mapping[str, Any], _source: str) -> tuple[ProbeSetting, ...]:
    return tuple(ProbeSetting(name, **_entry("probes", entry)) for name, entry in table.items())


def _mounts(tables: list[Any], source: str) -> tuple[Mount, ...]:
    mounts = []
    for table in tables:
        path = os.path.expanduser(table["path"])
        label = table.get("label", _label(path))
        if not label or "/" in label:
            raise wrong("mounts", "given a label without '/'", source)
        mounts.append(Mount(path=path, label=label))
    if len({mount.label for mount in mounts}) < len(mounts):
        message = "two mounts have the same label"
        raise ConfigError(message, setting="mounts", where=source, hint="give each a 'label'")
    return tuple(mounts)


def _state_url(text: str, source: str) -> DatabaseUrl:
    """Only the environment may bring a password."""
    check_url(text, source)
    if source != VARIABLES["state.url"]:
        check_no_secret(text, source)
    return DatabaseUrl(text)


def _url_file(text: str, source: str) -> str:
    """A path that means the same in every folder."""
    if text and not text.startswith(("/", "~")) and not os.path.isabs(text):
        raise ConfigError(
            "'state.url-file' must be an absolute path, or start with ~",
            setting="state.url-file",
            where=source,
            hint="such as ~/.config/metier/database-url",
        )
    return text


def _queues(table: Mapping[str, Any], source: str) -> Mapping[str, QueueSetting]:
    for name, entry in table.items():
        if not is_queue_name(name):
            raise wrong(dotted(("workers.queues", name)), f"named with {QUEUE_FORM}", source)
        if ("starts" in entry) != ("seconds" in entry):
            raise wrong(
                dotted(("workers.queues", name)), "given both 'starts' and 'seconds'", source
            )
    return {name: QueueSetting(**_entry("workers.queues", entry)) for name, entry in table.items()}


def _label(path: str) -> str:
    """The default label of a mount: its folder's name, or that of the folder above a pattern."""
    first, *others = re.split(r"/(?=[^/]*[*?\[])", path.rstrip("/"), maxsplit=1)
    label = os.path.basename(first)
    return "" if others and label in (".", "..") else label


def _teams(table: Mapping[str, Any], source: str) -> tuple[Team, ...]:
    """A table `[teams."FOLDER"]` for each folder of the workspace that belongs to a team."""
    by_name: dict[str, Team] = {}
    folders: set[str] = set()
    for key, entry in table.items():
        team = _team(key, entry, source)
        if team.folder in folders:
            message = f"the folder '{team.folder}' has two teams"
            hint = "remove one of the two tables"
            raise ConfigError(message, setting=dotted(("teams", key)), where=source, hint=hint)
        if team.name in by_name:
            both = f"{by_name[team.name].folder} and {team.folder}"
            message = f"two teams are called '{team.name}': {both}"
            hint = "give one of them another 'name'"
            raise ConfigError(message, setting=dotted(("teams", key)), where=source, hint=hint)
        folders.add(team.folder)
        by_name[team.name] = team
    return tuple(by_name.values())


def _team(key: str, entry: Mapping[str, Any], source: str) -> Team:
    folder = posixpath.normpath(key)
    setting = dotted(("teams", key))
    if folder == ".":
        raise wrong(setting, "named after a folder inside the workspace", source)
    if folder.startswith(("/", "~")) or folder.split("/")[0] == "..":
        raise ConfigError(
            f"'{setting}' is outside of the workspace",
            setting=setting,
            where=source,
            hint="name a folder inside of it, such as [teams.api]",
        )
    fields = {"name": posixpath.basename(folder), **_entry("teams", entry)}
    if "/" in fields["name"] or ":" in fields["name"]:
        raise wrong(dotted(("teams", key, "name")), "a name without '/' and ':'", source)
    return Team(folder=folder, **fields)


def _rules(table: Mapping[str, Any], source: str) -> tuple[RuleSetting, ...]:
    """A table `[lint.rules.CODE]` for each user-defined rule."""
    return tuple(_rule(code, entry, source) for code, entry in table.items())


def _rule(code: str, entry: Mapping[str, Any], source: str) -> RuleSetting:
    key = dotted(("lint.rules", code))
    if not is_own_code(code):
        raise wrong(key, f"named by a code: {CODE_FORM}", source)
    if not entry.keys() & _CONDITIONS:
        raise wrong(key, f"given a condition: one of {', '.join(sorted(_CONDITIONS))}", source)
    if "field" not in entry and entry.keys() & _OF_FIELDS:
        given = ", ".join(sorted(entry.keys() & _OF_FIELDS))
        raise wrong(key, f"given a 'field' for {given}", source)
    if "field" in entry and "in" in entry:
        raise wrong(key, "given either 'field' or 'in'", source)
    made = _entry("lint.rules", {name: one for name, one in entry.items() if name != "in"})
    return RuleSetting(code=code, scope=entry.get("in", "body"), **{**_typed(entry), **made})


def _typed(entry: Mapping[str, Any]) -> dict[str, str]:
    """The type of a field by the conditions for it."""
    if entry.keys() & {"least", "most"}:
        return {"type": "number"}
    return {"type": "text"} if entry.keys() & {"choices", "shortest", "longest"} else {}


_OF_FIELDS = {
    *("required", "forbidden", "type", "choices", "shortest", "longest", "least", "most"),
}
_CONDITIONS = {"regex", "must-match", *_OF_FIELDS}


def wrong(key: str, wanted: str, source: str) -> ConfigError:
    return ConfigError(f"'{key}' must be {wanted}", setting=key, where=source)


_MAKERS: dict[str, Callable[[Any, str], Any]] = {
    "models": _models,
    "tools": _tools,
    "mcp": _servers,
    "encoder": _encoder,
    "probes": _probes,
    "mounts": _mounts,
    "state.url": _state_url,
    "state.url-file": _url_file,
    "workers.queues": _queues,
    "teams": _teams,
    "lint.rules": _rules,
}
