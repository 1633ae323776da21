"""Plugins of Claude Code: folders with skills whose names begin with the plugin's.

A plugin is a folder with `.claude-plugin/plugin.json`, or `MARKETPLACE/PLUGIN/VERSION` in the
folder that Claude Code installs into. Of a plugin that `installed_plugins.json` lists, only the
listed versions count.
"""

import os
from typing import Any

from metier.core.coerce import mapping_of
from metier.core.names import is_capability_name, slug
from metier.core.paths import is_inside
from metier.discover.trail import Steps
from metier.storage.room import read_regular
from metier.values.files import Found, Root

PLUGIN_FOLDER = ".claude-plugin"
MANIFEST = "plugin.json"
NOTED = "installed_plugins.json"
"""The file beside the cache that lists the versions in use."""
_LARGEST_MANIFEST = 1 << 20
INSTALLED = "claude-plugins"
"""The label of the folder that Claude Code installs plugins into."""


class Plugins:
    """The plugins below one root."""

    def __init__(self, root: Root, steps: Steps) -> None:
        self._root = root
        self._steps = steps
        self._names: dict[str, str] = {}
        """By folder, relative to the root."""

    def meet(self, marker: str, shown: str) -> None:
        """Note the folder `shown` as a plugin, if its `marker` holds a manifest."""
        manifest = os.path.join(marker, MANIFEST)
        self._steps.paths.append(manifest)
        if os.path.lexists(manifest):
            name = _read(manifest).get("name")
            if not isinstance(name, str) or not is_capability_name(name):
                name = "" if self._root.label == INSTALLED else slug(os.path.basename(shown))
            self._names[os.path.relpath(shown, self._root.path)] = name

    def named(self, found: list[Found]) -> list[Found]:
        """Files with the plugin they belong to; without outdated versions."""
        if self._root.label == INSTALLED:
            found = self._current(found)
        elif not self._names:
            return found
        return [
            one._replace(plugin=plugin) if (plugin := self._plugin_of(one.path)) else one
            for one in found
        ]

    def _current(self, found: list[Found]) -> list[Found]:
        """Without versions that Claude Code no longer loads."""
        versions = self._installed()
        plugins = {os.path.dirname(version) for version in versions}
        return [
            one
            for one in found
            if not any(is_inside(one.file, plugin) for plugin in plugins)
            or any(is_inside(one.file, version) for version in versions)
        ]

    def _installed(self) -> set[str]:
        """The folders of the versions that Claude Code loads."""
        cache = self._root.path
        noted = os.path.join(os.path.dirname(cache), NOTED)
        self._steps.paths.append(noted)
        plugins = mapping_of(_read(noted).get("plugins"))
        entries = [entry for value in plugins.values() for entry in _entries(value)]
        paths = [path for entry in entries if isinstance(path := entry.get("installPath"), str)]
        real = set(map(self._steps.follow, paths))
        return {path for path in real if is_inside(path, cache)} - {cache}

    def _plugin_of(self, path: str) -> str:
        """The innermost plugin around a file, up to a hidden folder."""
        *folders, _ = path[len(self._root.prefix) :].split("/")
        for depth in range(len(folders), -1, -1):
            name = self._names.get(os.path.join(*folders[:depth]) if depth else ".")
            if name:
                return name
            if depth and folders[depth - 1].startswith("."):
                return ""
        if self._root.label == INSTALLED and "skills" in folders[2:]:
            return slug(folders[1])
        return ""


def _entries(value: Any) -> list[dict[str, Any]]:
    """One installation, or a list with one per scope."""
    given = value if isinstance(value, list) else [value]
    return [one for one in given if isinstance(one, dict)]


def _read(file: str) -> dict[str, Any]:
    try:
        raw = read_regular(file, _LARGEST_MANIFEST, links=False)
    except OSError:
        return {}
    import json  # few folders have such a file

    try:
        return mapping_of(json.loads(raw))
    except (ValueError, RecursionError):
        return {}
