"""Settings: flags > environment > metier.toml > [tool.metier] > user file > defaults."""

import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from metier.core.nearest import nearest
from metier.errors import ConfigError
from metier.values.capabilities import CapabilitiesConfig
from metier.values.running import ModelSettings, ServerSetting, ToolSettings
from metier.workspace import SETTINGS_FILE
from metier.workspace import STATE_FOLDER as STATE_FOLDER
from metier.workspace import find_workspace as find_workspace

FILE_NAME = SETTINGS_FILE
ALIAS_FILE = os.path.join(".dci", "aliases.v1.json")
"""The alias table of a workspace."""


class Mount(NamedTuple):
    """A folder outside the workspace whose skills are wanted."""

    path: str
    label: str


class ProbeSetting(NamedTuple):
    """A command that tries whether candidates really provide a capability."""

    capability: str
    argv: tuple[str, ...]
    timeout: float = 10.0
    """Seconds."""


class Config(NamedTuple):
    """Every setting, with its default."""

    disabled: tuple[str, ...] = ()
    """Names or ids of skills that are never candidates."""
    host_folders: bool = True
    """Whether skills that agent hosts have installed for the user are looked at."""
    mounts: tuple[Mount, ...] = ()
    abilities: tuple[str, ...] = ("abilities",)
    cards: tuple[str, ...] = ("docs/capabilities",)
    agents: tuple[str, ...] = ("agents", ".claude/agents")
    lint_select: tuple[str, ...] = ()
    lint_ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    probes: tuple[ProbeSetting, ...] = ()
    tokenizer: str = "chars/4"
    """How tokens are counted: `chars/4`, or an encoding of tiktoken whose ranks are on disk."""
    capabilities: CapabilitiesConfig = CapabilitiesConfig()
    models: ModelSettings = ModelSettings()
    tools: ToolSettings = ToolSettings()
    servers: tuple[ServerSetting, ...] = ()
    """MCP servers whose tools agents may call."""
    sources: tuple[str, ...] = ()
    """The files that these settings came from, strongest first."""


_KEYS: dict[str, str] = {
    "disabled": "disabled",
    "host-folders": "host_folders",
    "mounts": "mounts",
    "folders.abilities": "abilities",
    "folders.cards": "cards",
    "folders.agents": "agents",
    "lint.select": "lint_select",
    "lint.ignore": "lint_ignore",
    "lint.per-file-ignores": "per_file_ignores",
    "probes": "probes",
    "tokenizer": "tokenizer",
    "capabilities": "capabilities",
    "models": "models",
    "tools": "tools",
    "mcp": "servers",
}
_TABLES = {"folders", "lint"}
_ENVIRONMENT = {
    "METIER_DISABLED": "disabled",
    "METIER_HOST_FOLDERS": "host-folders",
    "METIER_ABILITIES": "folders.abilities",
    "METIER_CARDS": "folders.cards",
    "METIER_AGENTS": "folders.agents",
    "METIER_LINT_SELECT": "lint.select",
    "METIER_LINT_IGNORE": "lint.ignore",
    "METIER_TOKENIZER": "tokenizer",
}


_VARIABLES = {key: variable for variable, key in _ENVIRONMENT.items()}


def load_config(
    workspace: str, *, file: str | None = None, environ: Mapping[str, str] = os.environ
) -> Config:
    """The settings in force for `workspace`. Raises `ConfigError` at the first wrong one."""
    layers = [_from_environment(environ), *_files(workspace, file, environ)]
    values: dict[str, Any] = {}
    capabilities: Any = None
    for source, layer in layers:
        for key, value in layer.items():
            where = _VARIABLES.get(key, source) if source == "environment" else source
            if key == "capabilities":
                capabilities = _with_capabilities(capabilities, value, where)
            elif key not in values:
                values[key] = _checked(key, value, where)
    if capabilities is not None:
        values["capabilities"] = _checked("capabilities", capabilities, layers[1][0])
    fields = {_KEYS[key]: value for key, value in values.items()}
    sources = tuple(source for source, _ in layers[1:])
    return Config(**fields, sources=sources)


def _with_capabilities(stronger: Any, weaker: Any, source: str) -> Any:
    """The tables of two files as one. Raises `ConfigError` for what is wrong in the weaker one."""
    from metier.config.capabilities import check_capabilities, merged  # most workspaces set none

    check_capabilities(weaker, source)
    return weaker if stronger is None else merged(stronger, weaker)


_Layer = tuple[str, dict[str, Any]]


def _from_environment(environ: Mapping[str, str]) -> _Layer:
    values: dict[str, Any] = {}
    for variable, key in _ENVIRONMENT.items():
        text = environ.get(variable)
        if text is None:
            continue
        if key == "host-folders":
            values[key] = {"true": True, "1": True, "false": False, "0": False}.get(text, text)
        elif key == "tokenizer":
            values[key] = text or Config().tokenizer
        else:
            values[key] = [part.strip() for part in text.split(",") if part.strip()]
    return "environment", values


def _files(workspace: str, file: str | None, environ: Mapping[str, str]) -> Iterator[_Layer]:
    if file is not None:
        yield file, _flat(_toml(file, required=True), file)
        return
    own = os.path.join(workspace, FILE_NAME)
    if os.path.exists(own):
        yield own, _flat(_toml(own), own)
    project = os.path.join(workspace, "pyproject.toml")
    if os.path.exists(project):
        tools = _toml(project).get("tool")
        table = tools.get("metier") if isinstance(tools, dict) else tools
        if table is not None:
            yield project, _flat(table, project)
    user = user_settings(environ)
    if os.path.exists(user):
        yield user, _flat(_toml(user), user)


def user_settings(environ: Mapping[str, str] = os.environ) -> str:
    """The user's own settings file, whether it is there or not."""
    return os.path.join(_user_folder(environ), "metier", FILE_NAME)


def _user_folder(environ: Mapping[str, str]) -> str:
    return environ.get("XDG_CONFIG_HOME") or os.path.join(
        environ.get("HOME") or os.path.expanduser("~"), ".config"
    )


def _toml(file: str, *, required: bool = False) -> dict[str, Any]:
    import tomllib  # most workspaces have no settings to read

    try:
        with open(file, "rb") as stream:
            return tomllib.load(stream)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not valid TOML: {error}", where=file) from None
    except UnicodeDecodeError:
        raise ConfigError("the file is not UTF-8", where=file, hint="save it as UTF-8") from None
    except OSError as error:
        if not required and isinstance(error, FileNotFoundError):
            return {}
        raise ConfigError(
            f"cannot read the configuration: {error.strerror}",
            where=file,
            hint="check the path given with --config" if required else "",
        ) from None


def _flat(table: Any, source: str) -> dict[str, Any]:
    """`{"lint": {"select": …}}` as `{"lint.select": …}`; unknown keys are refused."""
    if not isinstance(table, dict):
        raise ConfigError("[tool.metier] is not a table", where=source)
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if key in _TABLES and isinstance(value, dict):
            flat.update({f"{key}.{inner}": entry for inner, entry in value.items()})
        else:
            flat[key] = value
    for key in flat:
        if key not in _KEYS:
            near = nearest(key, _KEYS)
            hint = f"did you mean '{near}'?" if near else f"known: {', '.join(_KEYS)}"
            raise ConfigError(f"unknown setting '{key}'", where=source, hint=hint)
    return flat


def _checked(key: str, value: Any, source: str) -> Any:
    if key == "host-folders":
        if not isinstance(value, bool):
            raise _wrong(key, "true or false", source)
        return value
    if key == "tokenizer":
        if not isinstance(value, str):
            raise _wrong(key, "a text", source)
        return value
    if key == "mounts":
        return _mounts(value, source)
    if key == "probes":
        return _probes(value, source)
    if key == "capabilities":
        from metier.config.capabilities import read_capabilities  # most workspaces set none

        return read_capabilities(value, source)
    if key in ("models", "tools", "mcp"):
        from metier.config import running  # only for those who run agents

        read = {
            "models": running.read_models,
            "tools": running.read_tools,
            "mcp": running.read_servers,
        }[key]
        return read(value, source)
    if key == "lint.per-file-ignores":
        return _per_file(value, source)
    return _texts(key, value, source)


def _texts(key: str, value: Any, source: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise _wrong(key, "a list of texts", source)
    return tuple(value)


def _per_file(value: Any, source: str) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise _wrong("lint.per-file-ignores", "a table of patterns and codes", source)
    return {
        pattern: _texts("lint.per-file-ignores", codes, source) for pattern, codes in value.items()
    }


def _probes(value: Any, source: str) -> tuple[ProbeSetting, ...]:
    wanted = "tables [probes.CAPABILITY] with 'argv' and, if you like, 'timeout'"
    if not isinstance(value, dict):
        raise _wrong("probes", wanted, source)
    probes: list[ProbeSetting] = []
    for capability, table in value.items():
        if not isinstance(table, dict) or set(table) - {"argv", "timeout"}:
            raise _wrong("probes", wanted, source)
        argv, timeout = table.get("argv"), table.get("timeout", 10.0)
        if not isinstance(argv, list) or not argv or not all(isinstance(a, str) for a in argv):
            raise _wrong(f"probes.{capability}.argv", "a list of texts, the program first", source)
        if isinstance(timeout, bool) or not isinstance(timeout, int | float):
            raise _wrong(f"probes.{capability}.timeout", "a number of seconds", source)
        if not 0 < timeout <= 600:
            raise _wrong(f"probes.{capability}.timeout", "between 0 and 600 seconds", source)
        probes.append(ProbeSetting(capability, tuple(argv), float(timeout)))
    return tuple(probes)


def _mounts(value: Any, source: str) -> tuple[Mount, ...]:
    wanted = "a list of tables with 'path' and, if you like, 'label'"
    if not isinstance(value, list):
        raise _wrong("mounts", wanted, source)
    mounts: list[Mount] = []
    for entry in value:
        if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
            raise _wrong("mounts", wanted, source)
        if set(entry) - {"path", "label"}:
            raise _wrong("mounts", wanted, source)
        path = os.path.expanduser(entry["path"])
        label = entry.get("label", os.path.basename(path.rstrip("/")))
        if not isinstance(label, str) or not label or "/" in label:
            raise _wrong("mounts", "labels without '/'", source)
        mounts.append(Mount(path=path, label=label))
    labels = [mount.label for mount in mounts]
    if len(set(labels)) < len(labels):
        raise ConfigError("two mounts have one label", where=source, hint="give each a 'label'")
    return tuple(mounts)


def _wrong(key: str, wanted: str, source: str) -> ConfigError:
    return ConfigError(f"'{key}' must be {wanted}", where=source)
