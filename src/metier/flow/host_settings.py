"""What the settings of a host say about skills: switches, the budget, counts of use. As data."""

import json
import os
import time
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from metier.core.coerce import mapping_of, number_of, texts_of
from metier.core.paths import is_inside
from metier.core.toml import toml_of
from metier.flow.beside import is_set_beside
from metier.hosts.model import Host
from metier.index.host_rows import HostRow
from metier.listing.rules import claude_budget, claude_weight
from metier.storage.room import read_regular

_LARGEST = 16 << 20
_DAY = 86_400
Switched = Callable[[HostRow, str], dict[str, str]]
"""The values of the switches of a skill, by key; it is given the name of the skill's folder."""


class HostSettings(NamedTuple):
    """What was read of a host's settings."""

    switched: Switched | None = None
    """None if no setting switches any skill."""
    uses: Mapping[str, float] = {}
    """How much each skill was used, as the host counts."""
    context: int | None = None
    """The model's context in tokens, if a file says it."""
    budget: Callable[[int | None], int | None] = lambda _: None
    """The budget for a context, if the settings change it."""


def read_host_settings(host: Host, workspace: str, home: str) -> HostSettings:
    """Read what a host's settings say about skills; a file that cannot be read says nothing."""
    reader = _READERS.get(host.name)
    return reader(host, workspace, home) if reader else HostSettings()


def settings_files(host: Host, workspace: str, home: str) -> list[str]:
    """The files that are read, the last counts most."""
    own = os.path.join(home, f".{host.name}")
    if host.hook_settings is not None:
        variable, folder = host.hook_settings.moved_by
        moved = os.environ.get(variable, "") if variable else ""
        own = moved if os.path.isabs(moved) else os.path.join(home, folder or f".{host.name}")
    below = {
        "claude-code": ("settings.json", ("settings.json", "settings.local.json"), ".claude"),
        "codex": ("config.toml", ("config.toml",), ".codex"),
        "gemini": ("settings.json", ("settings.json",), ".gemini"),
        "openclaw": ("openclaw.json", (), ""),
    }
    if host.name == "opencode":
        return [
            os.path.join(home, ".config/opencode/opencode.json"),
            os.path.join(workspace, "opencode.json"),
        ]
    if host.name not in below:
        return []
    users, projects, folder = below[host.name]
    return [os.path.join(own, users), *(os.path.join(workspace, folder, one) for one in projects)]


def _read(file: str) -> dict[str, Any]:
    try:
        text = read_regular(file, _LARGEST).decode(errors="replace")
        return mapping_of(toml_of(text) if file.endswith(".toml") else json.loads(text))
    except (OSError, ValueError, RecursionError):
        return {}


def _all(host: Host, workspace: str, home: str) -> list[dict[str, Any]]:
    files = settings_files(host, workspace, home)
    return [{} if _leads_out(file, workspace) else _read(file) for file in files]


def _leads_out(file: str, workspace: str) -> bool:
    """Whether links lead from a file of the workspace out of it."""
    return is_inside(file, workspace) and not is_inside(
        os.path.realpath(file), os.path.realpath(workspace)
    )


def merged_settings(host: Host, workspace: str, home: str) -> dict[str, Any]:
    """The settings of all files by key; mappings are merged, later files win."""
    merged: dict[str, Any] = {}
    for one in _all(host, workspace, home):
        for key, value in one.items():
            old = mapping_of(merged.get(key))
            merged[key] = {**old, **value} if isinstance(value, dict) else value
    return merged


def _merged(settings: list[dict[str, Any]], *keys: str) -> dict[str, Any]:
    """The mapping at `keys` of all files; later files win."""
    merged: dict[str, Any] = {}
    for one in settings:
        for key in keys:
            one = mapping_of(one.get(key))
        merged |= one
    return merged


def _last(settings: list[dict[str, Any]], key: str) -> Any:
    return next((one[key] for one in reversed(settings) if key in one), None)


def _said(value: Any) -> str:
    return str(value).lower()


# Claude Code


def _claude(host: Host, workspace: str, home: str) -> HostSettings:
    settings = _all(host, workspace, home)
    overrides, plugins = _merged(settings, "skillOverrides"), _merged(settings, "enabledPlugins")
    off = {name for name, value in plugins.items() if value is False}

    def switched(row: HostRow, folder: str) -> dict[str, str]:
        found = {}
        if overrides:
            value = overrides.get(f"{row.plugin}:{folder}" if row.plugin else folder)
            found = {"skillOverrides": _said(value)} if value is not None else {}
        if off and row.plugin and _plugin_keys(row) & off:
            found["enabledPlugins"] = "false"
        return found

    fraction = _last(settings, "skillListingBudgetFraction")
    characters = os.environ.get("SLASH_COMMAND_TOOL_CHAR_BUDGET", "")

    def budget(context: int | None) -> int | None:
        if characters.isascii() and characters.isdigit():
            return int(characters)
        share = number_of(fraction, 0.0)
        return claude_budget(context, share) if share > 0 else None

    has_switches = bool(overrides or off)
    return HostSettings(switched if has_switches else None, _claude_uses(home), None, budget)


def _plugin_keys(row: HostRow) -> set[str]:
    """How settings name the plugin of a skill."""
    parts = row.path.split("/")
    return (
        {row.plugin, f"{row.plugin}@{parts[1]}", f"{parts[2]}@{parts[1]}"} if parts[3:] else set()
    )


def _claude_uses(home: str) -> dict[str, float]:
    """The weight of each skill that Claude Code counted."""
    moved = os.environ.get("CLAUDE_CONFIG_DIR", "")
    folder = moved if os.path.isabs(moved) else home
    counted = mapping_of(_read(os.path.join(folder, ".claude.json")).get("skillUsage"))
    now = time.time()
    weights = {}
    for name, entry in counted.items():
        count = number_of(mapping_of(entry).get("usageCount"), 0)
        last = number_of(mapping_of(entry).get("lastUsedAt"), 0) / 1000
        weights[name] = claude_weight(int(count), max(0.0, now - last) / _DAY)
    return weights


# Codex


def _codex(host: Host, workspace: str, home: str) -> HostSettings:
    settings = _all(host, workspace, home)
    off = {
        os.path.realpath(os.path.join(home, str(one.get("path") or one.get("name") or "")))
        for each in settings
        for one in _tables(mapping_of(each.get("skills")).get("config"))
        if one.get("enabled") is False
    }
    beside = next(one for one in host.switches if one.at == "file beside")

    def switched(row: HostRow, _folder: str) -> dict[str, str]:
        folder = os.path.dirname(row.file)
        found = {}
        if off and not off.isdisjoint((row.file, folder, os.path.join(home, row.name))):
            found["skills.config.enabled"] = "false"
        if is_set_beside(folder, beside):
            found[beside.key] = "false"
        return found

    tokens = _last([mapping_of(one.get("skills")) for one in settings], "max_context_tokens")
    context = _last(settings, "model_context_window")
    return HostSettings(
        switched,
        context=context if isinstance(context, int) and context > 0 else None,
        budget=lambda _: tokens if isinstance(tokens, int) and tokens > 0 else None,
    )


def _tables(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


# Gemini CLI, opencode, OpenClaw


def _gemini(host: Host, workspace: str, home: str) -> HostSettings:
    settings = [mapping_of(one.get("skills")) for one in _all(host, workspace, home)]
    off = {name for one in settings for name in texts_of(one.get("disabled"))}
    every = {"skills.enabled": "false"} if _last(settings, "enabled") is False else {}
    if not off and not every:
        return HostSettings()
    return HostSettings(
        lambda row, _: {**every, "skills.disabled": "listed"} if row.name in off else every
    )


def _opencode(host: Host, workspace: str, home: str) -> HostSettings:
    given = [mapping_of(one.get("permission")) for one in _all(host, workspace, home)]
    rules: dict[str, Any] = {}
    for one in given:
        value = one.get("skill")
        rules |= {"*": value} if isinstance(value, str) else mapping_of(value)

    def switched(row: HostRow, _folder: str) -> dict[str, str]:
        matching = [value for pattern, value in rules.items() if fnmatchcase(row.name, pattern)]
        return {"permission.skill": _said(matching[-1])} if matching else {}

    return HostSettings(switched if rules else None)


def _openclaw(host: Host, workspace: str, home: str) -> HostSettings:
    entries = _merged(_all(host, workspace, home), "skills", "entries")
    off = {name for name, one in entries.items() if mapping_of(one).get("enabled") is False}
    return HostSettings(lambda row, _: {"skills.entries": "false"} if row.name in off else {})


_READERS: dict[str, Callable[[Host, str, str], HostSettings]] = {
    "claude-code": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "opencode": _opencode,
    "openclaw": _openclaw,
}
