"""Where shared state lives: the address and namespace of PostgreSQL, if it is configured."""

import os
import re
from typing import NamedTuple

from metier.config import Config
from metier.config.database_url import check_no_secret, check_url, without_secrets
from metier.core.paths import is_inside
from metier.errors import ConfigError
from metier.storage.room import read_regular
from metier.values.checks import FORMS

_LARGEST = 16 * 1024
_LONGEST = 40


class StateSettings(NamedTuple):
    """How to reach shared state. The connection string is a secret, and is not printed."""

    conninfo: str
    namespace: str

    def __repr__(self) -> str:
        return f"StateSettings({self.address!r}, namespace={self.namespace!r})"

    @property
    def address(self) -> str:
        """The address without secrets."""
        return without_secrets(self.conninfo)


def state_settings(config: Config, workspace: str = "") -> StateSettings | None:
    """The database of the settings; None if state is local. Raises `ConfigError`.

    `METIER_STATE_URL` wins over `state.url-file`, which wins over `state.url`.
    """
    if config.state_url_file:
        url = _url_of_file(config.state_url_file, workspace)
    elif config.state_url is not None:
        url = config.state_url.text
    else:
        return None
    return StateSettings(url, namespace_of(config.state_namespace))


def is_shared(config: Config) -> bool:
    """Whether the settings name a database."""
    return config.state_url is not None or bool(config.state_url_file)


def ignored_state(config: Config) -> str:
    """Why the shared state of a workspace does not count; empty if it does, or if it has none."""
    is_elsewhere = is_shared(config)
    needed = {"state.url", "state.url-file", *(["state.namespace"] if is_elsewhere else [])}
    if needed.isdisjoint(config.ignored):
        return ""
    where = "in your own database" if is_elsewhere else "on this machine"
    return (
        "[state] of this workspace is ignored, since you do not trust it: "
        f"these are the runs and reports {where}"
    )


def settings_for(address: str, namespace: str, known: StateSettings | None) -> StateSettings:
    """The database at an address that was typed. Raises `ConfigError`, also for a password in it.

    If the settings name the same database, their address is used, which may have a password.
    """
    check_url(address, "--to")
    check_no_secret(address, "--to")
    if known is not None and known.address == without_secrets(address):
        address = known.conninfo
    return StateSettings(address, namespace_of(namespace))


def namespace_of(name: str) -> str:
    """A valid namespace. Raises `ConfigError`."""
    if not name:
        raise ConfigError(
            "shared state needs a namespace",
            code="STATE_NAMESPACE_MISSING",
            hint="set [state] namespace to the name of your team or project",
        )
    is_valid, form = FORMS["namespace"]
    if not is_valid(name):
        raise ConfigError(f"the namespace must {form}")
    return name


def suggested_namespace(workspace: str) -> str:
    """A namespace after the folder of a workspace."""
    words = re.findall(r"[a-z0-9]+", os.path.basename(workspace).lower())
    return "-".join(words)[:_LONGEST].strip("-") or "my-team"


def _url_of_file(path: str, workspace: str) -> str:
    """The address in a file. A workspace could change its own file after it was trusted."""
    real = os.path.realpath(os.path.expanduser(path))
    if not os.path.isabs(os.path.expanduser(path)):
        raise ConfigError("'state.url-file' names the home of an unknown user", where=path)
    if workspace and is_inside(real, workspace):
        raise ConfigError(
            "'state.url-file' must be outside the workspace",
            where=path,
            hint="move the file to your home folder, readable by you only",
        )
    try:
        text = read_regular(real, _LARGEST).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise ConfigError(f"cannot read the address of PostgreSQL: {reason}", where=path) from None
    check_url(text, path)
    return text
