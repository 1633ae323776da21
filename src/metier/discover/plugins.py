"""Plugins of Claude Code: folders that bring skills along, whose names begin with the plugin's.

A plugin is a folder with `.claude-plugin/plugin.json`. In the folder that Claude Code installs
into, `MARKETPLACE/PLUGIN/VERSION` is one without that file as well.
"""

import json
import os

from metier.core.names import is_capability_name, slug
from metier.storage.room import read_regular
from metier.values.files import Found, Root

PLUGIN_FOLDER = ".claude-plugin"
_MANIFEST = "plugin.json"
_LARGEST_MANIFEST = 1 << 20
INSTALLED = "claude-plugins"
"""The label of the folder that Claude Code installs plugins into."""


class Plugins:
    """The plugins below one root."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._names: dict[str, str] = {}
        """By folder, relative to the root."""

    def meet(self, marker: str, shown: str) -> None:
        """Note the folder `shown` as a plugin, if its `marker` holds a manifest."""
        manifest = os.path.join(marker, _MANIFEST)
        if os.path.lexists(manifest):
            own = "" if self._root.label == INSTALLED else slug(os.path.basename(shown))
            self._names[os.path.relpath(shown, self._root.path)] = _name_in(manifest) or own

    def named(self, found: list[Found]) -> list[Found]:
        """Those found, each with the plugin that it belongs to."""
        if not self._names and self._root.label != INSTALLED:
            return found
        return [
            one._replace(plugin=plugin) if (plugin := self._plugin_of(one.path)) else one
            for one in found
        ]

    def _plugin_of(self, path: str) -> str:
        """The plugin that a file belongs to: the innermost around it, up to a hidden folder."""
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


def _name_in(manifest: str) -> str:
    """The name that a manifest gives; empty when it gives none that can be used."""
    try:
        data = json.loads(read_regular(manifest, _LARGEST_MANIFEST, links=False))
        name = data.get("name") if isinstance(data, dict) else None
    except (OSError, ValueError, RecursionError):
        return ""
    return name if isinstance(name, str) and is_capability_name(name) else ""
