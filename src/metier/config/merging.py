"""Layers of settings → one value a setting."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from metier.config.checking import checked
from metier.config.layers import Layer
from metier.config.settings import class_of, entries
from metier.core.paths import is_inside_text
from metier.errors import ConfigError
from metier.values.files import Kind
from metier.values.settings_tables import DEFAULT_MIN_SIGNAL, CapabilitiesConfig, ToolSettings

_FOLDERS: dict[str, Kind] = {
    "folders.abilities": "ability",
    "folders.cards": "card",
    "folders.agents": "agent",
}
_TRUST = "trust."
_MODES = ("off", "monitor", "soft", "on")


class _Merging(NamedTuple):
    """How a setting is merged whose entries have names."""

    owned: Callable[[Any, str], Any]
    """Marks its entries with the owner of the layer."""
    joined: Callable[[Any, Any], Any]
    """Adds the entries of a weaker layer that have other names."""


def merged_values(layers: Sequence[Layer], workspace: str) -> dict[str, Any]:
    """Each setting from the strongest layer that has it. Raises `ConfigError`."""
    values: dict[str, Any] = {}
    capabilities: list[tuple[Any, str]] = []
    user_folders: list[tuple[Kind, str]] = []
    own_trust: dict[str, Any] = {}
    for layer in layers:
        for key, raw in layer.values.items():
            if key == "capabilities":
                capabilities.append((raw, layer.source))
                continue
            value = checked(key, raw, layer.where(key))
            if key.startswith(_TRUST) and layer.owner == "workspace":
                own_trust.setdefault(key.removeprefix(_TRUST), value)
                continue
            if key in _FOLDERS and layer.owner == "user":
                outside = [one for one in value if _is_users(one, workspace)]
                user_folders += [(_FOLDERS[key], os.path.expanduser(one)) for one in outside]
                if outside and len(outside) == len(value):
                    continue
                value = tuple(one for one in value if one not in outside)
            if key in _BY_NAME:
                owned = _BY_NAME[key].owned(value, layer.owner)
                values[key] = _BY_NAME[key].joined(values[key], owned) if key in values else owned
            else:
                values.setdefault(key, value)
    if capabilities:
        values["capabilities"] = _capabilities(capabilities)
    if own_trust:
        values["own_trust"] = own_trust
    if user_folders:
        values["user_folders"] = tuple(dict.fromkeys(user_folders))
    return values


def narrowed_values(
    users: Mapping[str, Any], own: Iterable[Layer], workspace: str
) -> dict[str, Any]:
    """What the settings of an untrusted workspace change, and the powers that are ignored."""
    own = list(own)
    values: dict[str, Any] = {}
    ignored: dict[str, None] = {}
    wrong: list[str] = []
    for layer in own:
        for key, raw in layer.values.items():
            kind = class_of(key)
            if kind == "comfort":
                value = checked(key, raw, layer.where(key))
                if key in _FOLDERS:
                    outside = [one for one in value if not is_inside_text(one, workspace)]
                    ignored.update({key: None} if outside else {})
                    value = tuple(one for one in value if one not in outside)
                values.setdefault(key, value)
            elif key.startswith(_TRUST):
                level = checked(key, raw, layer.where(key))
                values.setdefault("own_trust", {}).setdefault(key.removeprefix(_TRUST), level)
            elif key == "disabled":
                values.setdefault("own_disabled", checked(key, raw, layer.where(key)))
            elif key == "abilities.minSignal":
                least = users.get(key, DEFAULT_MIN_SIGNAL)
                values.setdefault(key, max(least, checked(key, raw, layer.where(key))))
            elif kind == "power" and key != "capabilities":
                wrong += _problem(key, raw, layer.where(key))
        ignored.update(
            dict.fromkeys(key for key, _ in entries(layer.values) if class_of(key) == "power")
        )
    found = ((layer.values.get("capabilities"), layer.source) for layer in own)
    tables = [(table, source) for table, source in found if table is not None]
    if tables:
        base = users.get("capabilities", CapabilitiesConfig())
        values["own_capabilities"] = _tightened(base, tables)
    first = sorted(ignored, key=lambda key: not key.startswith("state."))  # what to know first
    return {**values, "ignored": tuple(first), "ignored_wrong": tuple(wrong)}


def _problem(key: str, raw: Any, source: str) -> list[str]:
    """What is wrong with a power that is ignored: it would stop `metier trust`."""
    try:
        checked(key, raw, source)
    except ConfigError as error:
        return [error.message]
    except RecursionError:
        return [f"'{key}' is nested too deeply"]
    return []


def _is_users(folder: str, workspace: str) -> bool:
    """Whether the user means a folder of their own, outside any workspace."""
    if folder.startswith("~"):
        return True
    return os.path.isabs(folder) and not (workspace and is_inside_text(folder, workspace))


def _capabilities(tables: Sequence[tuple[Any, str]]) -> CapabilitiesConfig:
    from metier.config.capabilities import check_capabilities, merged, read_capabilities  # rare

    made: Any = None
    for table, source in tables:
        check_capabilities(table, source)
        made = table if made is None else merged(made, table)
    return read_capabilities(made, tables[0][1])


def _tightened(users: CapabilitiesConfig, tables: Sequence[tuple[Any, str]]) -> CapabilitiesConfig:
    """The user's settings with those of an untrusted workspace where they are stricter."""
    own = _capabilities(tables)
    thresholds = [one for one in (users.confidence_threshold, own.confidence_threshold) if one]
    return users._replace(
        enabled=users.enabled and own.enabled,
        max_tokens=min(users.max_tokens, own.max_tokens),
        confidence_threshold=max(thresholds, default=None),
        exclude=tuple(dict.fromkeys((*users.exclude, *own.exclude))),
        mode=min(users.mode, own.mode, key=_MODES.index),
    )


# Settings whose entries are merged by name


def _owned_mounts(mounts: Any, owner: str) -> Any:
    return tuple(mount._replace(origin=owner) for mount in mounts)


def _owned_probes(probes: Any, owner: str) -> Any:
    return tuple(probe._replace(is_users=owner == "user") for probe in probes)


def _owned_servers(servers: Any, owner: str) -> Any:
    is_users = owner == "user"
    return tuple(server._replace(is_users=is_users, plain_http=is_users) for server in servers)


def _owned_tools(tools: Any, owner: str) -> Any:
    is_users, allow = owner == "user", tuple(tools.allow)
    return tools._replace(
        commands=tuple(command._replace(is_users=is_users) for command in tools.commands),
        allow=allow if is_users else (),
        requests=() if is_users else allow,
    )


def _owned_models(models: Any, owner: str) -> Any:
    is_users = owner == "user"
    providers = {
        name: provider._replace(plain_http=is_users, is_users=is_users)
        for name, provider in models.providers.items()
    }
    return models._replace(providers=providers)


def _owned_encoder(encoder: Any, owner: str) -> Any:
    is_users = owner == "user"
    return encoder._replace(plain_http=is_users, is_users=is_users)


def _owned_rules(rules: Any, owner: str) -> Any:
    return tuple(rule._replace(is_users=owner == "user") for rule in rules)


def _same(value: Any, _owner: str) -> Any:
    return value


def _joined_names(stronger: Any, weaker: Any) -> Any:
    return tuple(dict.fromkeys((*stronger, *weaker)))


def _strongest(stronger: Any, _weaker: Any) -> Any:
    """No part of a weaker table: a key of the user's is not for another's address."""
    return stronger


def _joined_by(name: str) -> Callable[[Any, Any], Any]:
    def joined(stronger: Any, weaker: Any) -> Any:
        known = {getattr(entry, name) for entry in stronger}
        return (*stronger, *(entry for entry in weaker if getattr(entry, name) not in known))

    return joined


def _joined_servers(stronger: Any, weaker: Any) -> Any:
    hidden = {server.name for server in weaker if server.is_users}
    marked = tuple(
        server._replace(hides_users=not server.is_users and server.name in hidden)
        for server in stronger
    )
    return _joined_by("name")(marked, weaker)


def _joined_models(stronger: Any, weaker: Any) -> Any:
    return stronger._replace(
        default=stronger.default or weaker.default,
        providers={**weaker.providers, **stronger.providers},
    )


_BY_NAME: dict[str, _Merging] = {
    "mounts": _Merging(_owned_mounts, _joined_by("label")),
    "probes": _Merging(_owned_probes, _joined_by("capability")),
    "mcp": _Merging(_owned_servers, _joined_servers),
    "tools": _Merging(_owned_tools, ToolSettings.joined),
    "models": _Merging(_owned_models, _joined_models),
    "encoder": _Merging(_owned_encoder, _strongest),
    "lint.rules": _Merging(_owned_rules, _joined_by("code")),
    "lint.plugins": _Merging(_same, _joined_names),
}
