"""Which settings of a workspace count before its user trusts it. The classes are data.

- `comfort` counts as it is: it can only touch the workspace's own documents.
- `narrowed` counts for the workspace's own documents, and only where it tightens what the user
  set. Once the workspace is trusted it counts as it is.
- `power` does not count until the workspace is trusted.
- `user` counts in the user's own settings only.

A setting without a class is a power.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from metier.core.names import loose_key

SettingClass = Literal["comfort", "narrowed", "power", "user"]

CLASSES: dict[str, SettingClass] = {
    "disabled": "narrowed",
    "host-folders": "power",
    "mounts": "power",
    "folders.abilities": "comfort",
    "folders.cards": "comfort",
    "folders.agents": "comfort",
    "abilities.minSignal": "narrowed",
    "lint.select": "comfort",
    "lint.ignore": "comfort",
    "lint.per-file-ignores": "comfort",
    "probes": "power",
    "tokenizer": "power",
    "models": "power",
    "tools": "power",
    "mcp": "power",
    "state.folder": "user",
    "safe-directories": "user",
    "capabilities.enabled": "narrowed",
    "capabilities.maxTokens": "narrowed",
    "capabilities.confidenceThreshold": "narrowed",
    "capabilities.exclude": "narrowed",
    "capabilities.mode": "narrowed",
    "capabilities.forceInclude": "power",
    "capabilities.logLevel": "power",
    "capabilities.scorer": "power",
    "capabilities.overflow": "power",
    "capabilities.recentMessages": "power",
    "capabilities.softSessionTypes": "power",
    "capabilities.budgets": "power",
    "capabilities.skillSuggestions": "power",
    "capabilities.skillThreshold": "power",
    "capabilities.maxInjectionShare": "power",
    "capabilities.refreshAfter": "power",
    "capabilities.compare": "power",
    "capabilities.userTier": "power",
    "capabilities.environmentType": "power",
    "capabilities.sources": "power",
    "capabilities.profiles": "power",
    "capabilities.agents": "power",
}
_BY_LOOSE_KEY = {loose_key(key): key for key in CLASSES}
TABLES = ("tools", "mcp", "models", "probes", "capabilities")
"""Settings whose entries are powers of their own."""
SECURITY_CODES = ("IO202", "IO204", "SK314", "SZ")
"""Findings, or families of them, that the settings of a workspace cannot turn off."""


def class_of(key: str) -> SettingClass:
    """The class of a setting; a power if it has none."""
    return CLASSES.get(key) or CLASSES.get(key.partition(".")[0]) or "power"


def entries(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Settings with their tables taken apart: `tools` becomes `tools.allow`, `tools.deploy`…"""
    for key, value in values.items():
        if key in TABLES and isinstance(value, dict):
            for inner, entry in value.items():
                whole = f"{key}.{inner}"
                known = _BY_LOOSE_KEY.get(loose_key(whole)) if key == "capabilities" else None
                yield from _by_name(known or whole, entry)
        else:
            yield from _by_name(key, value)


def _by_name(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A setting whose parts are put together by name over all files, one by one."""
    if key in ("capabilities.profiles", "capabilities.agents") and isinstance(value, dict):
        yield from ((f"{key}.{name}", entry) for name, entry in value.items())
    elif key == "mounts" and isinstance(value, list):
        for entry in value:
            table = entry if isinstance(entry, dict) else {"path": entry}
            name = str(table.get("label") or table.get("path")).rstrip("/").rpartition("/")[2]
            yield f"mounts.{name}", entry
    else:
        yield key, value
