"""Python functions that the settings name as tools."""

import importlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from metier.core.paths import is_inside
from metier.errors import ConfigError
from metier.run.tool import Tool, one_line, tool_of
from metier.values.run_settings import CommandSetting

_IMPORTING = threading.Lock()
"""For the variables of `sys` that it changes."""


def named_function(
    setting: CommandSetting, workspace: str, check: Callable[[], None] | None = None
) -> Tool:
    """The function that a setting names, as a tool that needs consent.

    `check` runs before its module is imported, if the workspace named it. Raises `ConfigError` if
    there is no such function, and what `check` raises.
    """
    if check is not None:
        check()
    try:
        tool = tool_of(_imported(setting, workspace))
    except ConfigError:
        raise
    except (Exception, SystemExit) as error:  # its module may raise anything
        raise _failed(setting, one_line(f"{type(error).__name__}: {error}")) from None
    return replace(
        tool,
        name=setting.name,
        description=setting.description or tool.description,
        timeout=setting.timeout,
        needs_consent=True,
    )


def _imported(setting: CommandSetting, workspace: str) -> Callable[..., Any]:
    module, _, names = setting.function.partition(":")
    with _IMPORTING, _import_path(setting, workspace):
        found: Any = importlib.import_module(module)
    if not setting.is_users:
        _check_origin(setting, found, workspace)
    for name in names.split("."):
        found = getattr(found, name)
    if not callable(found):
        raise _failed(setting, "it is not callable")
    function: Callable[..., Any] = found
    return function


@contextmanager
def _import_path(setting: CommandSetting, workspace: str) -> Iterator[None]:
    """Look in the setting's folder last, and never read compiled files that lie beside modules.

    Installed packages come first. The folder stays on the path: functions import while they run.
    """
    folder = os.path.normpath(os.path.join(workspace, setting.folder))
    if (not setting.is_users or os.path.isabs(setting.folder)) and folder not in sys.path:
        sys.path.append(folder)
        importlib.invalidate_caches()
    before = sys.pycache_prefix
    with tempfile.TemporaryDirectory(prefix="metier-") as empty:
        sys.pycache_prefix = empty
        try:
            yield
        finally:
            sys.pycache_prefix = before


def _check_origin(setting: CommandSetting, module: Any, workspace: str) -> None:
    """Raise `ConfigError` for a module in the workspace that is not in the setting's folder."""
    file = os.path.realpath(getattr(module, "__file__", None) or "")
    folder = os.path.realpath(os.path.join(workspace, setting.folder))
    path = module.__name__.replace(".", os.sep)
    known = [os.path.join(folder, f"{path}{end}") for end in (".py", f"{os.sep}__init__.py")]
    if is_inside(file, os.path.realpath(workspace)) and file not in known:
        shown = os.path.relpath(file, workspace)
        raise _failed(setting, f"it was imported from {shown}, which you did not trust")


def _failed(setting: CommandSetting, why: str) -> ConfigError:
    return ConfigError(
        f"tool '{setting.name}': {setting.function} cannot be used: {why}",
        code="TOOL_FUNCTION_FAILED",
        where=f"tools.{setting.name}",
        hint="name an importable function, and its folder if it is not installed",
    )
