"""Files that say where a skill comes from and what came with it: read as data, never started.

A plugin has `plugin.json`, and may have agents, commands and `.mcp.json`; `marketplace.json` and
`installed_plugins.json` say which marketplace it is from; lock files say where a skill was
installed from. What is missing, or not as expected, says nothing.
"""

import json
import os
from collections.abc import Iterator
from typing import Any

from metier.core.coerce import mapping_of, text_of
from metier.core.paths import is_inside, is_markdown, without_md
from metier.discover.plugins import MANIFEST, NOTED, PLUGIN_FOLDER
from metier.storage.room import read_regular
from metier.values.packages import Package
from metier.values.rows import Row

_MARKETPLACE = f"{PLUGIN_FOLDER}/marketplace.json"
_LOCKS = {"workspace": "skills-lock.json", "user": ".agents/.skill-lock.json"}
_COMMANDS = ".claude/commands"
_LARGEST = 1 << 20
_MOST = 100
"""Names that are listed of one kind."""


def package_of(row: Row, workspace: str, home: str) -> Package:
    """What is known of one skill. Only files in the workspace, or below `home`, are read."""
    scope = "workspace" if is_inside(row.file, workspace) else "user"
    within = workspace if scope == "workspace" else os.path.realpath(home)
    if row.kind != "skill" or not is_inside(row.file, within):
        return Package()
    reader = _Reader(within)
    found = reader.plugin(os.path.dirname(row.file), home) if row.plugin else Package()
    folder = os.path.basename(os.path.dirname(row.file))
    commands = _COMMANDS
    if row.plugin:
        commands = os.path.relpath(reader.plugin_folder or within, within) + "/commands"
    return found._replace(
        installed_from=reader.locked(_LOCKS[scope], {row.own_name, folder}),
        same_command=reader.command(commands, {row.own_name, folder}),
    )


class _Reader:
    """Reads files below one folder; links must not lead out of it."""

    def __init__(self, within: str) -> None:
        self._within = within
        self.plugin_folder = ""

    def plugin(self, folder: str, home: str) -> Package:
        """The nearest plugin around a folder."""
        around = list(self._upwards(folder))
        self.plugin_folder = next(
            (one for one in around if self._is_there(one, f"{PLUGIN_FOLDER}/{MANIFEST}")), ""
        )
        if not self.plugin_folder:
            return Package()
        top = self.plugin_folder
        manifest = self._read(top, f"{PLUGIN_FOLDER}/{MANIFEST}")
        listed = {**self._read(top, ".mcp.json"), **manifest}
        marketplace, version = self._marketplace(around, text_of(manifest.get("name")), home)
        return Package(
            version=text_of(manifest.get("version")) or version,
            marketplace=marketplace,
            agents=self._names(top, "agents"),
            commands=self._names(top, "commands"),
            servers=tuple(list(mapping_of(listed.get("mcpServers")))[:_MOST]),
        )

    def locked(self, lock: str, names: set[str]) -> str:
        """Where a lock file says that a skill is from."""
        skills = mapping_of(self._read(self._within, lock).get("skills"))
        entries = [mapping_of(entry) for name, entry in skills.items() if name in names]
        return next((source for one in entries if (source := text_of(one.get("source")))), "")

    def command(self, folder: str, names: set[str]) -> str:
        """The file of a command with one of these names."""
        found = {without_md(name): name for name in self._files(self._within, folder)}
        return next(
            (
                os.path.normpath(os.path.join(self._within, folder, found[name]))
                for name in sorted(names)
                if name in found
            ),
            "",
        )

    def _marketplace(self, around: list[str], plugin: str, home: str) -> tuple[str, str]:
        """The marketplace of a plugin, and the version that is listed there."""
        for folder in around:
            data = self._read(folder, _MARKETPLACE)
            listed = data.get("plugins")
            for entry in map(mapping_of, listed if isinstance(listed, list) else []):
                if plugin and entry.get("name") == plugin:
                    return text_of(data.get("name")), text_of(entry.get("version"))
        return self._installed(home)

    def _installed(self, home: str) -> tuple[str, str]:
        noted = mapping_of(self._read(home, f".claude/plugins/{NOTED}").get("plugins"))
        for name, value in noted.items():
            for entry in map(mapping_of, value if isinstance(value, list) else [value]):
                path = text_of(entry.get("installPath"))
                if path and os.path.realpath(path) == self.plugin_folder:
                    return name.partition("@")[2], text_of(entry.get("version"))
        return "", ""

    def _upwards(self, folder: str) -> Iterator[str]:
        while is_inside(folder, self._within):
            yield folder
            if folder == self._within:
                return
            folder = os.path.dirname(folder)

    def _names(self, top: str, folder: str) -> tuple[str, ...]:
        return tuple(without_md(name) for name in self._files(top, folder))[:_MOST]

    def _files(self, top: str, folder: str) -> list[str]:
        """The Markdown files directly in a folder, by name."""
        path = os.path.join(top, folder)
        try:
            names = os.listdir(path) if self._is_inside(path) else []
        except OSError:
            return []
        return sorted(name for name in names if is_markdown(name))

    def _is_there(self, top: str, name: str) -> bool:
        return os.path.isfile(os.path.join(top, name))

    def _is_inside(self, path: str) -> bool:
        return is_inside(os.path.realpath(path), self._within)

    def _read(self, top: str, name: str) -> dict[str, Any]:
        path = os.path.join(top, name)
        try:
            if not self._is_inside(path):
                return {}
            return mapping_of(json.loads(read_regular(path, _LARGEST, links=False)))
        except (OSError, ValueError, RecursionError):
            return {}
