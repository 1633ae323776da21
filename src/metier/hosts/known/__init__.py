"""The hosts that metier knows. A new host is one file in this folder, which declares `HOST`.

`make docs` brings the light table and the pages up to date.
"""

import os
from importlib import import_module

from metier.hosts.model import Host, Key
from metier.hosts.settings_forms import SettingsFile


def _declared() -> list[Host]:
    """What the files of this folder declare, in the order of the hosts."""
    files = os.listdir(os.path.dirname(__file__))
    names = [file.removesuffix(".py") for file in files if file.endswith(".py")]
    modules = [import_module(f"{__name__}.{name}") for name in names if name != "__init__"]
    hosts: list[Host] = [module.HOST for module in modules]
    return sorted(hosts, key=lambda host: (host.order, host.name))


HOSTS: dict[str, Host] = {host.name: host for host in _declared()}


def _named(host: Host, file: SettingsFile) -> SettingsFile:
    return file._replace(name=host.name, title=host.title)


HOOKS = {
    name: _named(host, host.hook_settings) for name, host in HOSTS.items() if host.hook_settings
}
"""Hosts that a hook can be installed in."""
SERVERS = {
    name: _named(host, host.mcp_settings) for name, host in HOSTS.items() if host.mcp_settings
}
"""Hosts that an MCP server can be installed in."""


def host_keys() -> dict[str, Key]:
    """The keys of front matter that some host reads beyond the format's own."""
    return {name: key for host in HOSTS.values() for name, key in host.keys.items()}
