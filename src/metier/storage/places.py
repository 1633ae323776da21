"""The user's folders: settings, the trust record, state. Light: hooks load it.

A repository can set environment variables through the settings of a host. So a folder from a
variable counts only if it is absolute, outside every workspace and owned by the user; otherwise
the default is used, and `ignored_folders` reports it.
"""

from __future__ import annotations

import os

from metier.core.paths import is_inside
from metier.storage.room import Room, read_regular
from metier.storage.workspace import SETTINGS_FILE, is_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

STATE_VARIABLE, _CONFIG = "METIER_STATE_DIR", "XDG_CONFIG_HOME"
_NAME_LENGTH = 40
_DIGEST_BYTES = 8
_LARGEST_SETTINGS = 1 << 20


def config_folder(environ: Mapping[str, str] | None = None, workspace: str = "") -> str:
    environ = os.environ if environ is None else environ
    home = user_home(environ, workspace)
    given = _accepted(environ, _CONFIG, workspace, home)
    return os.path.join(given or os.path.join(home, ".config"), "metier")


def state_home(environ: Mapping[str, str] | None = None, workspace: str = "") -> str:
    """The state folder: from the environment, the user's settings, or the XDG default."""
    environ = os.environ if environ is None else environ
    home = user_home(environ, workspace)
    if given := _accepted(environ, STATE_VARIABLE, workspace, home):
        return given
    if chosen := _folder_in_settings(environ, workspace, home):
        return chosen
    given = _accepted(environ, "XDG_STATE_HOME", workspace, home)
    return os.path.join(given or os.path.join(home, ".local", "state"), "metier")


def named_state_folder(path: str) -> str:
    """`FOLDER (VARIABLE)` for a file in a state folder that a variable names; else empty."""
    for name in (STATE_VARIABLE, "XDG_STATE_HOME"):
        folder = os.environ.get(name, "")
        if os.path.isabs(folder) and is_inside(path, folder):
            return f"{folder} ({name})"
    return ""


def state_room(workspace: str, environ: Mapping[str, str] | None = None) -> Room:
    real = os.path.realpath(workspace)
    return Room(state_home(environ, real), "workspaces", room_name(real))


def user_room(environ: Mapping[str, str] | None = None, workspace: str = "") -> Room:
    """The state outside workspaces, one for each settings folder."""
    digest = _digest(config_folder(environ, workspace))
    return Room(state_home(environ, workspace), f"user-{digest}")


def room_name(workspace: str) -> str:
    """A readable and unique name such as `shop-3f9a0c…`."""
    name = "".join(
        char if char.isascii() and char.isalnum() else "-" for char in os.path.basename(workspace)
    )
    return f"{name.strip('-')[:_NAME_LENGTH] or 'workspace'}-{_digest(workspace)}"


def _digest(path: str) -> str:
    try:
        from _blake2 import blake2b  # hashlib would load OpenSSL as well
    except ImportError:
        from hashlib import blake2b
    raw = path.encode(errors="surrogateescape")
    return blake2b(raw, digest_size=_DIGEST_BYTES).hexdigest()


def user_home(environ: Mapping[str, str], workspace: str = "") -> str:
    """The user's home folder; from the system's user database if HOME is not acceptable."""
    given = environ.get("HOME", "")
    if given and os.path.isdir(given) and not _objection(given, workspace, ""):
        return given
    recorded = _recorded_home()
    if given and os.path.realpath(given) == os.path.realpath(recorded):
        return given  # a home folder may be a repository
    return recorded


def ignored_folders(environ: Mapping[str, str] | None = None, workspace: str = "") -> list[str]:
    """A message for each variable whose folder is ignored."""
    environ = os.environ if environ is None else environ
    home = user_home(environ, workspace)
    lines = []
    if (given := environ.get("HOME", "")) and given != home:
        why = _objection(given, workspace, "") or "does not exist"
        lines.append(f"HOME is ignored: {given} {why}")
    for name in (STATE_VARIABLE, "XDG_STATE_HOME", _CONFIG):
        given = environ.get(name, "")
        if given and (why := _variable_objection(name, given, workspace, home)):
            lines.append(f"{name} is ignored: {given} {why}")
    return lines


def accepted_folder(
    name: str, environ: Mapping[str, str] | None = None, workspace: str = ""
) -> str:
    """The folder that a variable of a host names; empty if there is none or it is ignored."""
    environ = os.environ if environ is None else environ
    return _accepted(environ, name, workspace, user_home(environ, workspace))


def ignored_folder(name: str, environ: Mapping[str, str] | None = None, workspace: str = "") -> str:
    """The message for a variable of a host whose folder is ignored; else empty."""
    environ = os.environ if environ is None else environ
    given = environ.get(name, "")
    why = given and _objection(given, workspace, user_home(environ, workspace))
    return f"{name} is ignored: {given} {why}" if why else ""


def _accepted(environ: Mapping[str, str], name: str, workspace: str, home: str) -> str:
    given = environ.get(name, "")
    return given if given and not _variable_objection(name, given, workspace, home) else ""


def _variable_objection(name: str, folder: str, workspace: str, home: str) -> str:
    """A folder for settings must exist."""
    if name == _CONFIG and not os.path.isdir(folder):
        return "is relative" if not os.path.isabs(folder) else "does not exist"
    return _objection(folder, workspace, home)


def _objection(folder: str, workspace: str, home: str) -> str:
    if not os.path.isabs(folder):
        return "is relative"
    real = os.path.realpath(folder)
    if _is_inside_workspace(real, workspace, os.path.realpath(home) if home else ""):
        return "is inside a workspace"
    try:
        owner = os.stat(real).st_uid
    except OSError:
        return ""  # it will be created
    return "" if owner == os.geteuid() else "belongs to another user"


def _is_inside_workspace(folder: str, workspace: str, home: str) -> bool:
    """Whether a folder is in `workspace` or any other workspace; a home folder is no root."""
    is_home = not home and folder == workspace  # a command started in the home folder
    may_be_inside = workspace and not is_home and not is_inside(home, workspace)
    if may_be_inside and is_inside(folder, workspace):
        return True
    while folder != home:
        if is_root(folder):
            return True
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    return False


def _recorded_home() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return "/"


def _folder_in_settings(environ: Mapping[str, str], workspace: str, home: str) -> str:
    """`[state] folder` in the user's settings."""
    path = os.path.join(config_folder(environ, workspace), SETTINGS_FILE)
    try:
        raw = read_regular(path, _LARGEST_SETTINGS)
    except OSError:
        return ""
    if not any(line.lstrip(b"[ \t\"'").startswith(b"state") for line in raw.split(b"\n")):
        return ""
    from metier.core.toml import toml_of  # few users set it

    try:
        table = toml_of(raw.decode()).get("state")
    except ValueError:
        return ""  # reported where the settings are read
    folder = table.get("folder") if isinstance(table, dict) else None
    if not isinstance(folder, str) or not folder:
        return ""
    folder = folder.replace("~", home, 1) if folder.startswith("~/") else folder
    return "" if _objection(folder, workspace, home) else folder
