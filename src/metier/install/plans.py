"""Plan how to install or uninstall a hook or an MCP server."""

import os
from collections.abc import Mapping, Sequence

from metier.core.nearest import did_you_mean
from metier.core.paths import is_inside, is_utf8
from metier.errors import UsageError
from metier.hosts.known import HOOKS, SERVERS
from metier.hosts.settings_forms import SCOPES, Scope, SettingsFile
from metier.install.changes import Kind, Plan
from metier.install.js_plugins import plugin_changes, plugin_files, plugin_removals
from metier.install.settings_entries import HookSettings, ServerSettings


def make_plan(
    kind: Kind,
    host: str,
    scope: Scope,
    workspace: str,
    home: str,
    command: Sequence[str] = (),
    *,
    environ: Mapping[str, str] | None = None,
) -> Plan:
    """Plan to install `command` in `host`, or uninstall without a command. Raises `UsageError`."""
    found = host_named(host, HOOKS if kind == "hook" else SERVERS)
    asked = f"{kind} {'install' if command else 'uninstall'}"
    path = path_of(found, scope, workspace, home, environ or {}, command=asked)
    is_plugin = kind == "hook" and found.entry is None
    if scope == "project":
        names = plugin_files(host, []) if is_plugin else [""]
        check_links([os.path.join(path, name) if name else path for name in names], workspace)
    full = [*command, kind, *([host] if kind == "hook" else [])]
    if not all(map(is_utf8, full)):
        raise UsageError("the path of metier is not UTF-8", hint="install metier elsewhere")
    if is_plugin:
        changes = tuple(
            plugin_changes(host, path, full) if command else plugin_removals(host, path)
        )
    else:
        settings = (
            ServerSettings(found) if found.entry is None else HookSettings(found, found.entry)
        )
        changes = (settings.installed(path, full) if command else settings.uninstalled(path),)
    return Plan(host=found, scope=scope, installs=bool(command), changes=changes)


def host_named(name: str, hosts: Mapping[str, SettingsFile] = HOOKS) -> SettingsFile:
    if name in hosts:
        return hosts[name]
    message = "; ".join(filter(None, [f"no host is called '{name}'", did_you_mean(name, hosts)]))
    raise UsageError(message, hint=f"hosts: {', '.join(hosts)}")


def path_of(
    host: SettingsFile,
    scope: Scope,
    workspace: str,
    home: str,
    environ: Mapping[str, str],
    *,
    command: str = "hook install",
) -> str:
    """The file or folder to write. Raises `UsageError` if the host has none."""
    below = {"project": host.project, "user": host.user}
    if scope not in below:
        raise UsageError(f"no scope is called '{scope}'", hint=f"scopes: {', '.join(SCOPES)}")
    path = below[scope]
    if path is None:
        other = next(one for one in SCOPES if below[one] is not None)
        raise UsageError(
            f"{host.title} has no {scope} settings that metier can write",
            hint=f"metier {command} {host.name} --{other}",
        )
    if scope == "project":
        return os.path.join(workspace, path)
    variable, folder = host.moved_by
    moved = environ.get(variable, "") if variable else ""
    if os.path.isabs(moved):
        return os.path.join(moved, os.path.relpath(path, folder))
    return os.path.join(home, path)


def check_links(paths: Sequence[str], workspace: str) -> None:
    """Raise `UsageError` if a link leads out of the workspace."""
    root = os.path.realpath(workspace)
    for path in paths:
        target = os.path.realpath(path)
        if not is_inside(target, root):
            raise UsageError(
                f"a link leads out of the workspace, to {target}",
                where=path,
                hint="--user writes your own settings; or replace the link with a file",
            )
