"""Checks a `Config` that a program has built; those of files are checked as they are read."""

from collections.abc import Mapping
from typing import Any

from metier.config import Config
from metier.config.settings import SETTINGS
from metier.core.arguments import described
from metier.errors import ConfigError
from metier.values.checks import check_value

_FIELDS = {setting.attribute: setting.field for setting in SETTINGS.values()}
_SIMPLE = {
    name: field
    for name, field in _FIELDS.items()
    if field.type in ("text", "number", "integer", "flag") and name != "state_url"
}


def check_config(config: Config) -> None:
    """Raise `ConfigError` for a field of another type, and for a choice that there is not."""
    for name, default in Config._field_defaults.items():
        given = getattr(config, name)
        if given is default:
            continue
        if name in _SIMPLE:
            for flaw in check_value(given, _SIMPLE[name], (name,)):
                raise ConfigError(flaw.message, setting=name)
        elif wanted := _wanted(name, given, default):
            message = f"'{name}' must be {wanted}, not {described(given)}"
            raise ConfigError(message, setting=name)


def _wanted(name: str, given: Any, default: Any) -> str:
    """What a field must be, if it is something else."""
    if hasattr(default, "_fields"):
        return "" if isinstance(given, type(default)) else f"a {type(default).__name__}"
    if isinstance(default, Mapping):
        return "" if isinstance(given, Mapping) else "a mapping"
    if not isinstance(default, tuple):
        return ""
    items = _FIELDS[name].items if name in _FIELDS else None
    of_texts = items is not None and items.type == "text"
    fits = isinstance(given, tuple | list | set | frozenset)
    if fits and (not of_texts or all(isinstance(one, str) for one in given)):
        return ""
    return "a tuple of strings" if of_texts else "a tuple"
