"""Where settings come from: environment, files of the workspace, the user's own file."""

import os
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from metier.core.paths import is_inside
from metier.errors import ConfigError
from metier.storage.places import config_folder
from metier.storage.room import read_regular
from metier.storage.workspace import SETTINGS_FILE

ENVIRONMENT = "environment"
LARGEST = 1 << 20
VARIABLES = {
    "disabled": "METIER_DISABLED",
    "host-folders": "METIER_HOST_FOLDERS",
    "folders.abilities": "METIER_ABILITIES",
    "folders.cards": "METIER_CARDS",
    "folders.agents": "METIER_AGENTS",
    "lint.select": "METIER_LINT_SELECT",
    "lint.ignore": "METIER_LINT_IGNORE",
    "tokenizer": "METIER_TOKENIZER",
    "state.url": "METIER_STATE_URL",
    "state.namespace": "METIER_STATE_NAMESPACE",
}
"""Setting → the environment variable that sets it."""


class Layer(NamedTuple):
    """The settings of one file, or of the environment."""

    source: str
    """A file, or `environment`."""
    owner: Literal["user", "workspace"]
    values: Mapping[str, Any]

    def where(self, key: str) -> str:
        """What an error about a setting names."""
        return VARIABLES.get(key, self.source) if self.source == ENVIRONMENT else self.source


def user_settings(environ: Mapping[str, str] | None = None) -> str:
    """The path of the user's own settings file."""
    return os.path.join(config_folder(environ), SETTINGS_FILE)


def layers_of(
    workspace: str, file: str | None, environ: Mapping[str, str], *, for_host: bool
) -> list[Layer]:
    """Layers of settings, strongest first; with `for_host` files only. Raises `ConfigError`."""
    user = os.path.join(config_folder(environ, workspace), SETTINGS_FILE)
    layers = [] if for_host else [_from_environment(environ)]
    if file is not None:
        is_inside_it = bool(workspace) and is_inside(os.path.realpath(file), workspace)
        if for_host and not is_inside_it:
            raise ConfigError(
                "what a host starts takes its settings only from the workspace and your own file",
                where=file,
                hint=f"put them into {user}",
            )
        is_users = not is_inside_it
        values = _flat(_toml(file, "" if is_users else workspace, required=True), file)
        users = user_layer(user) if for_host else []
        return [*layers, _layer(file, is_users, values), *users]
    layers += _of_workspace(workspace) if workspace else ()
    return [*layers, *user_layer(user)]


def user_layer(file: str) -> list[Layer]:
    return [_layer(file, True, _flat(_toml(file, ""), file))] if os.path.exists(file) else []


def _of_workspace(workspace: str) -> Iterator[Layer]:
    own = os.path.join(workspace, SETTINGS_FILE)
    if os.path.lexists(own):
        yield _layer(own, False, _flat(_toml(own, workspace), own))
    project = os.path.join(workspace, "pyproject.toml")
    if os.path.lexists(project):
        tools = _toml(project, workspace).get("tool")
        table = tools.get("metier") if isinstance(tools, dict) else tools
        if table is not None:
            yield _layer(project, False, _flat(table, project))


def layer_of_text(text: str, source: str, *, is_users: bool, is_project: bool = False) -> Layer:
    """The layer of a settings file, or of a `pyproject.toml`, with this text.

    Raises `ConfigError`.
    """
    table: Any = _parsed(text, source)
    if is_project:
        tools = table.get("tool")
        table = tools.get("metier", {}) if isinstance(tools, dict) else {}
    return _layer(source, is_users, _flat(table, source))


def _layer(source: str, is_users: bool, values: dict[str, Any]) -> Layer:
    owner: Literal["user", "workspace"] = "user" if is_users else "workspace"
    if not values:
        return Layer(source, owner, values)
    from metier.config.settings import class_of  # a large table, and many files set nothing

    for key in values:
        if class_of(key) == "user" and not is_users:
            raise ConfigError(
                f"'{key}' is used only in your own settings",
                setting=key,
                where=source,
                hint=f"move it to {user_settings()}",
            )
    return Layer(source, owner, values)


def _from_environment(environ: Mapping[str, str]) -> Layer:
    values: dict[str, Any] = {}
    for key, variable in VARIABLES.items():
        text = environ.get(variable)
        if text is None:
            continue
        if key == "host-folders":
            values[key] = {"true": True, "1": True, "false": False, "0": False}.get(text, text)
        elif key == "tokenizer":
            values[key] = text or "chars/4"
        elif key.startswith("state."):
            values.update(_of_state(key, text))
        else:
            values[key] = [part.strip() for part in text.split(",") if part.strip()]
    return Layer(ENVIRONMENT, "user", values)


def _of_state(key: str, text: str) -> dict[str, Any]:
    """An empty variable counts as not set; an address also replaces `state.url-file`."""
    if not text:
        return {}
    return {key: text, "state.url-file": ""} if key == "state.url" else {key: text}


def _toml(file: str, workspace: str, *, required: bool = False) -> dict[str, Any]:
    """The tables of a file, which must be inside its workspace."""
    try:
        real = os.path.realpath(file)
        if workspace and not is_inside(real, workspace):
            raise OSError(None, "a link leads out of the workspace")
        text = read_regular(real, LARGEST).decode()
    except UnicodeDecodeError:
        raise ConfigError("the file is not UTF-8", where=file, hint="save it as UTF-8") from None
    except OSError as error:
        if not required and isinstance(error, FileNotFoundError) and not os.path.islink(file):
            return {}
        raise ConfigError(
            f"cannot read the configuration: {error.strerror}",
            where=file,
            hint="check the path given with --config" if required else "",
        ) from None
    return _parsed(text, file) if text else {}


def _parsed(text: str, source: str) -> dict[str, Any]:
    from metier.core.toml import TomlError, toml_of  # most workspaces have no settings to read

    try:
        return toml_of(text)
    except TomlError as error:
        raise ConfigError(
            f"not valid TOML: {error}",
            line=error.line,
            column=error.column,
            where=source,
            hint="correct that line of the file",
        ) from None


def _flat(table: Any, source: str) -> dict[str, Any]:
    """`{"lint": {"select": …}}` as `{"lint.select": …}`; unknown keys are rejected."""
    if not isinstance(table, dict):
        raise ConfigError("[tool.metier] is not a table", where=source)
    if not table:
        return {}
    from metier.config.settings import SETTINGS, unknown_setting  # see above

    tables = {key.partition(".")[0] for key in SETTINGS if "." in key}
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if key in tables and isinstance(value, dict):
            flat.update({f"{key}.{inner}": entry for inner, entry in value.items()})
        else:
            flat[key] = value
    for key in flat:
        if key not in SETTINGS:
            raise unknown_setting(key, key, SETTINGS, source)
    return flat
