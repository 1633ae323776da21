"""Write the hook of metier into a host's settings, and take it out again.

A plan says what would be written; `apply` writes it. Only the entry of metier is touched: all
else keeps its characters, its order and its layout.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metier.core.paths import is_utf8
from metier.errors import MetierError, UsageError
from metier.hooks import splice
from metier.hooks.changes import BACKUP, Change, Plan, apply, read
from metier.hooks.hosts import HOSTS, Entry, Host, Scope, host_named, is_ours, place_of
from metier.hooks.shims import mark, plugin_files

__all__ = ["BACKUP", "HOSTS", "Change", "Plan", "apply", "plan_install", "plan_uninstall"]


def plan_install(
    host: str,
    scope: Scope,
    workspace: str,
    home: str,
    command: Sequence[str],
    *,
    environ: Mapping[str, str] | None = None,
) -> Plan:
    """What installs the hook of `host`, run as `command` with `hook HOST` after it.

    Writes nothing. UsageError when the settings cannot be edited safely: the hint then shows what
    to add by hand.
    """
    found = host_named(host)
    place = place_of(found, scope, workspace, home, environ or {})
    full = [*command, "hook", host]
    if not all(map(is_utf8, full)):
        raise UsageError("the path of metier is not UTF-8", hint="install metier elsewhere")
    if found.entry is None:
        changes = tuple(_plugin_changes(found, place, full))
    else:
        changes = (_settings_change(found, found.entry, place, full),)
    return Plan(host=found, scope=scope, installs=True, changes=changes)


def plan_uninstall(
    host: str,
    scope: Scope,
    workspace: str,
    home: str,
    *,
    environ: Mapping[str, str] | None = None,
) -> Plan:
    """What takes the hook of `host` out again, wherever the metier that it runs lies.

    When the rest is what was there before the first install, the very bytes come back; a file
    with nothing else in it goes. Writes nothing.
    """
    found = host_named(host)
    place = place_of(found, scope, workspace, home, environ or {})
    if found.entry is None:
        changes = tuple(_plugin_removals(found, place))
    else:
        changes = (_settings_removal(found, place),)
    return Plan(host=found, scope=scope, installs=False, changes=changes)


# Settings in JSON


def _settings_change(host: Host, entry: Entry, path: str, command: Sequence[str]) -> Change:
    before = read(path)
    text = before if before is not None and before.strip("\ufeff \t\r\n") else "{}\n"
    value = entry.value(command)
    data = _parsed(text, path, host, entry, value)
    ours = [place for place in _ours(data, host.name) if place[1] == entry.event]
    after = _updated(text, ours, value) if ours else _extended(text, data, entry, value)
    first = before is not None and not ours and not os.path.lexists(path + BACKUP)
    return Change(path=path, before=before, after=after, backup="make" if first else "keep")


def _parsed(text: str, path: str, host: Host, entry: Entry, value: dict[str, Any]) -> Any:
    """The settings, when an entry can be put into them; UsageError otherwise."""

    def refuse(message: str) -> UsageError:
        whole = _extended("{}", {}, entry, value)
        snippet = json.dumps(json.loads(whole), ensure_ascii=False)
        return UsageError(message, where=path, hint=f"add this by hand: {snippet}")

    try:
        data = splice.parse(text)
    except ValueError as error:
        raise refuse(_not_json(host, error)) from None
    if not isinstance(data, dict):
        raise refuse(f"the settings of {host.title} are not an object")
    if entry.version is not None and data.get("version", entry.version) != entry.version:
        raise refuse(f"the settings of {host.title} are not of version {entry.version}")
    hooks = data.get("hooks", {})
    if not isinstance(hooks, dict):
        raise refuse("'hooks' is not an object")
    if not isinstance(hooks.get(entry.event, []), list):
        raise refuse(f"'hooks.{entry.event}' is not a list")
    return data


def _not_json(host: Host, error: ValueError) -> str:
    why = str(error)
    if isinstance(error, json.JSONDecodeError):
        rest = error.doc[error.pos :].lstrip(", \t\r\n")
        why = f"line {error.lineno} has a comment" if rest[:2] in ("//", "/*") else why
    return f"the settings of {host.title} are not plain JSON: {why}"


def _ours(data: Any, host: str) -> list[splice.Steps]:
    """Where the entries of metier stand, in the order of the file."""
    hooks = data.get("hooks") if isinstance(data, dict) else None
    found: list[splice.Steps] = []
    for event, items in hooks.items() if isinstance(hooks, dict) else ():
        for place, entry in _entries(items):
            if any(is_ours(entry.get(key), host) for key in ("command", "bash")):
                found.append(("hooks", event, *place))
    return found


def _entries(items: Any) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Each entry of an event, alone or in a group, and the way to it."""
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if not isinstance(item, dict):
            continue
        yield (index,), item
        group = item.get("hooks")
        for inner, entry in enumerate(group if isinstance(group, list) else ()):
            if isinstance(entry, dict):
                yield (index, "hooks", inner), entry


def _updated(text: str, ours: Sequence[splice.Steps], value: dict[str, Any]) -> str:
    """The first entry of metier as it should be, and no second one."""
    first, *others = ours
    for place in reversed(others):
        text = _removed(text, place)
    old = _at(splice.parse(text), first)
    new = {**old, **value}
    return text if new == old else splice.replace(text, first, new)


def _extended(text: str, data: Any, entry: Entry, value: dict[str, Any]) -> str:
    if entry.version is not None and "version" not in data:
        text = splice.add(text, (), entry.version, key="version")
    if "hooks" not in data:
        text = splice.add(text, (), {}, key="hooks")
    if entry.event not in data.get("hooks", {}):
        text = splice.add(text, ("hooks",), [], key=entry.event)
    item = {"hooks": [value]} if entry.in_group else value
    return splice.add(text, ("hooks", entry.event), item)


def _at(data: Any, path: splice.Steps) -> Any:
    for step in path:
        data = data[step]
    return data


def _removed(text: str, place: splice.Steps) -> str:
    """Without the entry at `place`, nor the group that held only it."""
    text = splice.remove(text, place)
    group = place[:-2]
    if len(place) > 3 and _at(splice.parse(text), group) == {"hooks": []}:
        text = splice.remove(text, group)
    return text


def _settings_removal(host: Host, path: str) -> Change:
    before = read(path)
    try:
        ours = _ours(splice.parse(before or ""), host.name)
    except ValueError as error:
        hint = f"remove the entry that ends with 'hook {host.name}' by hand"
        raise UsageError(_not_json(host, error), where=path, hint=hint) from None
    if before is None or not ours:
        return Change(path=path, before=before, after=before)
    kept = _backup(path)
    rest = _pruned(before, ours, None if kept is None else splice.parse(kept))
    if kept is not None and splice.same(rest, kept):
        return Change(path=path, before=before, after=kept, backup="drop")
    empty = kept is None and splice.parse(rest).keys() <= {"version"}
    return Change(path=path, before=before, after=None if empty else rest)


def _backup(path: str) -> str | None:
    """What was there before the first install; None when that is not known."""
    try:
        text = read(path + BACKUP)
        return text if text is not None and isinstance(splice.parse(text), dict) else None
    except (ValueError, MetierError):
        return None


def _pruned(text: str, ours: Sequence[splice.Steps], was: dict[str, Any] | None) -> str:
    """Without our entries, nor what they left empty and was not there before them."""
    for place in reversed(ours):
        text = _removed(text, place)
    old = was or {}
    had = old.get("hooks")
    for event in dict.fromkeys(place[1] for place in ours):
        is_empty = not _at(splice.parse(text), ("hooks", event))
        if is_empty and not (isinstance(had, dict) and event in had):
            text = splice.remove(text, ("hooks", event))
    if not splice.parse(text)["hooks"] and "hooks" not in old:
        text = splice.remove(text, ("hooks",))
    if was is not None and "version" not in was and "version" in splice.parse(text):
        text = splice.remove(text, ("version",))
    return text


# Plugins


def _plugin_changes(host: Host, folder: str, command: Sequence[str]) -> Iterator[Change]:
    for name, text in plugin_files(host.name, command).items():
        path = os.path.join(folder, name)
        before = read(path)
        if before is not None and mark(host.name) not in before:
            hint = f"move it away, then: metier hook install {host.name}"
            raise UsageError("the file is there and is not metier's", where=path, hint=hint)
        yield Change(path=path, before=before, after=text)


def _plugin_removals(host: Host, folder: str) -> Iterator[Change]:
    """Last made, first removed: the folder is empty when the first file goes."""
    for name in reversed(plugin_files(host.name, [])):
        path = os.path.join(folder, name)
        before = read(path)
        is_made = before is not None and mark(host.name) in before
        yield Change(path=path, before=before, after=None if is_made else before)
