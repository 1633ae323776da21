"""Write the hook of metier into a host's settings, and take it out again.

A plan says what would be written; `apply` writes it. Only the entry of metier is touched: all
else keeps its characters, its order and its layout.
"""

import json
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from metier.core.paths import is_inside, is_utf8
from metier.errors import MetierError, UsageError
from metier.hosts.servers import LISTINGS
from metier.hosts.settings import (
    HOSTS,
    Entry,
    Host,
    Scope,
    host_named,
    is_as_installed,
    is_by_hand,
    is_ours,
    place_of,
)
from metier.install import splice
from metier.install.changes import BACKUP, Change, Plan, apply, read
from metier.install.shims import is_unedited, mark, plugin_files

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
    to add by hand; or when a link would have a project's settings written elsewhere.
    """
    found = host_named(host)
    place = place_of(found, scope, workspace, home, environ or {})
    if scope == "project":
        refuse_links_outside(_written(found, place), workspace)
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

    When the rest is what was there before the first install, the very bytes come back, with an
    entry of metier if there was one; a file that was made for the entry goes. Writes nothing.
    UsageError as for installing.
    """
    found = host_named(host)
    place = place_of(found, scope, workspace, home, environ or {})
    if scope == "project":
        refuse_links_outside(_written(found, place), workspace)
    if found.entry is None:
        changes = tuple(_plugin_removals(found, place))
    else:
        changes = (_settings_removal(found, found.entry, place),)
    return Plan(host=found, scope=scope, installs=False, changes=changes)


def refuse_links_outside(paths: Sequence[str], workspace: str) -> None:
    """UsageError when a link would have a project's settings read or written elsewhere."""
    root = os.path.realpath(workspace)
    for path in paths:
        target = os.path.realpath(path)
        if not is_inside(target, root):
            raise UsageError(
                f"a link leads out of the workspace, to {target}",
                where=path,
                hint="--user writes your own settings; or put a file in the place of the link",
            )


def _written(host: Host, place: str) -> list[str]:
    """The files of a host that are read and written."""
    if host.entry is not None:
        return [place]
    return [os.path.join(place, name) for name in plugin_files(host.name, [])]


# Settings in JSON


def _settings_change(host: Host, entry: Entry, path: str, command: Sequence[str]) -> Change:
    before = read(path)
    text = before if before is not None and before.strip("\ufeff \t\r\n") else "{}\n"
    value = entry.value(command)
    data = _parsed(text, path, host, entry, value)
    ours = [place for place in _ours(data, host.name) if place[1] == entry.event]
    new = _updated(host, entry, text, ours, value) if ours else _extended(text, data, entry, value)
    is_known = before in (None, new) or is_made_whole(host.name, text)
    change = Change(path=path, before=before, after=new, backup=backup_of(path, is_known))
    return beside(change, LISTINGS[host.name].without_made)


def beside(change: Change, without: Callable[[str], str]) -> Change:
    """The change of a file where metier may stand as a hook and as a server.

    `without` takes out the other one, if metier wrote it: that was not there before metier.
    """
    after = change.after
    has_more = after is not None and without(after) != after
    return replace(change, copy=without(change.before or ""), has_more=has_more)


def is_made_whole(host: str, text: str) -> bool:
    """Whether there is nothing in settings but what metier wrote, as a hook or as a server."""
    rest = without_hook(host, LISTINGS[host].without_made(text))
    return rest != text and splice.parse(rest).keys() <= {"version"}


def without_hook(host: str, text: str) -> str:
    """Settings in JSON without the hook that install wrote; one that somebody wrote stays."""
    entry = HOSTS[host].entry if host in HOSTS else None
    if entry is None:
        return text
    data = splice.parse(text)
    made = [place for place in _ours(data, host) if _is_made(host, entry, data, place)]
    return _pruned(text, made, None) if made else text


def backup_of(path: str, is_known: bool) -> Literal["keep", "make"]:
    """A file is copied once, unless it is known that install can write all of it again."""
    return "keep" if is_known or os.path.lexists(path + BACKUP) else "make"


def _is_made(host: str, entry: Entry, data: Any, place: splice.Steps) -> bool:
    """Whether the entry at `place` is as install writes it, and where."""
    old = _at(data, place)
    command = old.get(entry.key)
    is_there = place[1] == entry.event and is_as_installed(command, host)
    return is_there and bool(old == entry.value(shlex.split(command)))


def _parsed(text: str, path: str, host: Host, entry: Entry, value: dict[str, Any]) -> Any:
    """The settings, when an entry can be put into them; UsageError otherwise."""

    def refuse(message: str) -> UsageError:
        whole = _extended("{}", {}, entry, value)
        snippet = json.dumps(json.loads(whole), ensure_ascii=False)
        return UsageError(message, where=path, hint=f"add this by hand: {snippet}")

    try:
        data = splice.parse(text)
    except ValueError as error:
        raise refuse(not_json(host, error)) from None
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


def not_json(host: Host, error: ValueError) -> str:
    """Why settings cannot be edited, in one line."""
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


def _updated(
    host: Host, entry: Entry, text: str, ours: Sequence[splice.Steps], value: dict[str, Any]
) -> str:
    """The first entry of metier as it should be, and no second one.

    One that somebody wrote keeps its command, its limits and all else.
    """
    first, *others = ours
    text = _without(text, others)
    old = _at(splice.parse(text), first)
    by_hand = is_by_hand(old.get(entry.key), host.name)
    new = {**entry.kind, **old} if by_hand else {**old, **value}
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


def _settings_removal(host: Host, entry: Entry, path: str) -> Change:
    before = read(path)
    try:
        data = splice.parse(before or "")
    except ValueError as error:
        hint = f"remove the entry with 'hook {host.name}' by hand"
        raise UsageError(not_json(host, error), where=path, hint=hint) from None
    ours = _ours(data, host.name)
    if before is None or not ours:
        return Change(path=path, before=before, after=before)
    kept = kept_before(path)
    was = None if kept is None else _without(kept, _ours(splice.parse(kept), host.name))
    rest = _pruned(before, ours, None if was is None else splice.parse(was))
    is_made = all(_is_made(host.name, entry, data, place) for place in ours)
    is_empty = splice.parse(rest).keys() <= {"version"}
    change = taken_out(path, before, rest, kept, was, is_made=is_made, is_empty=is_empty)
    return beside(change, LISTINGS[host.name].without_made)


def taken_out(
    path: str,
    before: str,
    rest: str,
    kept: str | None,
    was: str | None,
    same: Callable[[str, str], bool] = splice.same,
    *,
    is_made: bool,
    is_empty: bool,
) -> Change:
    """The change from `before` to `rest`, or back to the bytes of before the first install.

    `kept` are these bytes and `was` the same without our entries. A file goes with its last entry
    when install made both.
    """
    is_as_before = was is not None and same(rest, was)
    if kept is not None and is_as_before and not same(before, kept):
        return Change(path=path, before=before, after=kept, backup="drop")
    after = None if is_made and is_empty and kept is None else rest
    return Change(path=path, before=before, after=after, backup=backup_of(path, is_made))


def kept_before(path: str, parse: Callable[[str], Any] = splice.parse) -> str | None:
    """What was there before the first install; None when that is not known."""
    try:
        text = read(path + BACKUP)
        return text if text is not None and isinstance(parse(text), dict) else None
    except (ValueError, MetierError):
        return None


def _without(text: str, ours: Sequence[splice.Steps]) -> str:
    for place in reversed(ours):
        text = _removed(text, place)
    return text


def _pruned(text: str, ours: Sequence[splice.Steps], was: dict[str, Any] | None) -> str:
    """Without our entries, nor what they left empty and was not there before them."""
    text = _without(text, ours)
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
        is_known = before is None or is_unedited(host.name, name, before)
        yield Change(path=path, before=before, after=text, backup=backup_of(path, is_known))


def _plugin_removals(host: Host, folder: str) -> Iterator[Change]:
    """What was there before the first install comes back, or else all that metier made goes.

    Last made, first removed: the folder is empty when the first file goes.
    """
    names = list(reversed(plugin_files(host.name, [])))
    paths = {name: os.path.join(folder, name) for name in names}
    now = {name: read(path) for name, path in paths.items()}
    kept = {name: text for name in names if (text := _kept_plugin(host, paths[name], now[name]))}
    for name, path in paths.items():
        before = now[name]
        if name in kept:
            yield Change(path=path, before=before, after=kept[name], backup="drop")
        elif kept or before is None or mark(host.name) not in before:
            yield Change(path=path, before=before, after=before)
        else:
            copy = backup_of(path, is_unedited(host.name, name, before))
            yield Change(path=path, before=before, after=None, backup=copy)


def _kept_plugin(host: Host, path: str, now: str | None) -> str:
    """What stood in the place of a file of metier before it was installed anew; empty for none."""
    try:
        text = read(path + BACKUP) or ""
    except MetierError:
        return ""
    is_ours = now is not None and mark(host.name) in now
    return text if is_ours and mark(host.name) in text and text != now else ""
