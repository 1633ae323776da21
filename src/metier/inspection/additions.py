"""What files would add to a host: by their names, and by what their manifests say."""

import json
import posixpath
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from metier.core.coerce import mapping_of
from metier.core.paths import is_markdown, without_md
from metier.values.files import SKILL_NAMES, Kind
from metier.values.inspection import Addition, InspectedFile

_MANIFESTS = {
    ".claude-plugin/plugin.json": "plugin",
    ".claude-plugin/marketplace.json": "plugin",
    ".codex-plugin/plugin.json": "plugin",
    ".cursor-plugin/plugin.json": "plugin",
    "gemini-extension.json": "plugin",
}
_SERVER_FILES = (".mcp.json", "mcp.json", "gemini-extension.json", "plugin.json", "settings.json")
_HOOK_FILES = ("hooks.json", "settings.json", "settings.local.json", "plugin.json")
_OWN_SETTINGS = "metier.toml"
_SETTINGS = (_OWN_SETTINGS, "config.toml")
_MOST_NAMED = 200
_DEEPEST = 12


def document_kind(path: str) -> Kind | None:
    """The kind of document that a file is, wherever its folder is put."""
    folder, name = posixpath.split(path)
    above = posixpath.basename(folder)
    if name in SKILL_NAMES:
        return "skill"
    if above == "agents" and (is_markdown(name) or name.endswith((".yaml", ".yml", ".json"))):
        return None if name == "openai.yaml" else "agent"
    if not is_markdown(name) or name.startswith("."):
        return None
    if f"/{folder}".endswith("/docs/capabilities"):
        return "card"
    return "ability" if above == "abilities" else None


def other_additions(file: InspectedFile) -> Iterator[Addition]:
    """Commands, plugins, hooks, MCP servers and settings in one file."""
    folder, name = posixpath.split(file.path)
    if posixpath.basename(folder) == "commands" and is_markdown(name):
        yield Addition("command", without_md(name), file.path)
    data = _data(file, name)
    if not data:
        return
    for ending, kind in _MANIFESTS.items():
        if f"/{file.path}".endswith(f"/{ending}"):
            yield Addition(kind, _text(data.get("name")) or ending, file.path, _described(data))
    if name in _HOOK_FILES or posixpath.basename(folder) == "hooks":
        for command in list(_commands(data.get("hooks"), _DEEPEST))[:_MOST_NAMED]:
            yield Addition("hook", "hook", file.path, command)
    if name in (*_SERVER_FILES, *_SETTINGS):
        yield from _servers(data, file.path)
    if name == _OWN_SETTINGS:
        yield Addition("settings", name, file.path, ", ".join(sorted(map(str, data)))[:200])


def _data(file: InspectedFile, name: str) -> Mapping[str, Any]:
    try:
        if name.endswith(".json"):
            return mapping_of(json.loads(file.content))
        if name in _SETTINGS:
            return tomllib.loads(file.content.decode())
    except (ValueError, RecursionError):
        return {}
    return {}


def _servers(data: Mapping[str, Any], path: str) -> Iterator[Addition]:
    for key in ("mcpServers", "mcp_servers", "mcp", "servers"):
        for name, given in list(mapping_of(data.get(key)).items())[:_MOST_NAMED]:
            server = mapping_of(given)
            argv = [server.get("command"), *_list(server.get("args"))]
            start = " ".join(one for one in argv if isinstance(one, str))
            if start or _text(server.get("url")):
                yield Addition("mcp-server", str(name), path, start or _text(server.get("url")))


def _commands(value: Any, deepest: int) -> Iterator[str]:
    """The commands in the settings of hooks, at any depth."""
    if deepest == 0:
        return
    if isinstance(value, dict):
        command = value.get("command")
        if isinstance(command, str):
            yield command
        for inner in value.values():
            yield from _commands(inner, deepest - 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _commands(inner, deepest - 1)


def _described(data: Mapping[str, Any]) -> str:
    about = mapping_of(data.get("metadata"))
    return _text(data.get("description")) or _text(about.get("description"))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
