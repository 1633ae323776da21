"""Entries of metier in a host's settings file: a hook or an MCP server, added and removed.

Only the entry of metier is touched: all else keeps its characters, order and layout. An entry
written by hand counts as installed. A backup keeps what was there before the first install.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from metier.errors import MetierError, UsageError
from metier.hosts.known import HOOKS, SERVERS
from metier.hosts.settings_forms import Entry, SettingsFile
from metier.install import splice, toml_edits
from metier.install.changes import BACKUP, Change, backup_of, read
from metier.install.commands import (
    around,
    is_as_installed,
    is_by_hand,
    is_unsafe,
    shell_words,
    words_of,
)

_MISSING = object()
SERVER = "metier"


class Settings(ABC):
    """The entries of metier in a settings file."""

    own_keys: frozenset[str] = frozenset()
    restores_own = False
    """Uninstalling restores an entry from before the first install."""
    form = "json"
    called: tuple[str, ...] = ()
    """The arguments of metier."""

    def __init__(self, host: SettingsFile) -> None:
        self.host = host

    @abstractmethod
    def put(self, text: str, path: str, command: Sequence[str]) -> str:
        """Add an entry that runs `command`. Raises `UsageError`."""

    @abstractmethod
    def ours(self, data: Any) -> list[splice.Steps]:
        """Paths of the entries of metier, in file order."""

    @abstractmethod
    def is_made(self, data: Any, at: splice.Steps) -> bool:
        """Whether an entry is as install writes it."""

    @abstractmethod
    def without(self, text: str, ours: Sequence[splice.Steps]) -> str:
        """Remove entries."""

    @abstractmethod
    def pruned(self, text: str, ours: Sequence[splice.Steps], had: Any) -> str:
        """Remove entries, and what they leave empty unless `had` has it."""

    def beside(self) -> "Settings | None":
        """The other kind of entry that may be in the same file."""
        return None

    # Texts

    def parse(self, text: str) -> Any:
        return splice.parse(text) if self.form == "json" else toml_edits.parse(text)

    def is_empty(self, text: str) -> bool:
        """Whether a text has nothing but what metier may have added."""
        if self.form == "toml":
            return toml_edits.is_blank(text)
        return bool(self.parse(text).keys() <= self.own_keys)

    def parsed(self, text: str, path: str, hint: str) -> Any:
        """Parse settings. Raises `UsageError`."""
        try:
            return self.parse(text)
        except ValueError as error:
            why = str(error)
            if isinstance(error, json.JSONDecodeError):
                rest = error.doc[error.pos :].lstrip(", \t\r\n")
                why = f"line {error.lineno} has a comment" if rest[:2] in ("//", "/*") else why
            form = "plain JSON" if self.form == "json" else "TOML"
            message = f"the settings of {self.host.title} are not {form}: {why}"
            raise UsageError(message, where=path, hint=hint) from None

    def without_made(self, text: str) -> str:
        """Remove the entries that install wrote."""
        data = self.parse(text)
        made = [at for at in self.ours(data) if self.is_made(data, at)]
        return self.pruned(text, made, None) if made else text

    # The two changes

    def installed(self, path: str, command: Sequence[str]) -> Change:
        before = read(path)
        blank = "{}\n" if self.form == "json" else ""
        text = blank if before is None or toml_edits.is_blank(before) else before
        new = self.put(text, path, command)
        is_known = before in (None, new) or self._is_all_made(text)
        change = Change(path=path, before=before, after=new, backup=backup_of(path, is_known))
        return self._with_beside(change)

    def uninstalled(self, path: str) -> Change:
        """Remove the entries, or restore the file from before the first install."""
        before = read(path)
        hint = f"remove the entry with 'metier {' '.join(self.called)}' by hand"
        data = self.parsed(before or "", path, hint)
        ours = self.ours(data)
        if before is None or not ours:
            return Change(path=path, before=before, after=before)
        kept = self._kept(path)
        was = None if kept is None else self.without(kept, self.ours(self.parse(kept)))
        try:
            rest = self.pruned(before, ours, None if was is None else self.parse(was))
        except ValueError as error:
            raise UsageError(str(error), where=path, hint=hint) from None
        same = splice.same if self.form == "json" else toml_edits.same
        is_made = all(self.is_made(data, at) for at in ours)
        is_as_before = was is not None and same(rest, was)
        if kept is not None and is_as_before and not same(before, kept):
            change = Change(path=path, before=before, after=kept, backup="drop")
        else:
            after = None if is_made and kept is None and self.is_empty(rest) else rest
            change = Change(path=path, before=before, after=after, backup=backup_of(path, is_made))
        return self._with_beside(change)

    def _kept(self, path: str) -> str | None:
        """The backup; None if there is no usable backup."""
        try:
            text = read(path + BACKUP)
            data = None if text is None else self.parse(text)
        except (ValueError, MetierError):
            return None
        is_usable = isinstance(data, dict) and (self.restores_own or not self.ours(data))
        return text if is_usable else None

    def _is_all_made(self, text: str) -> bool:
        other = self.beside()
        rest = self.without_made(other.without_made(text) if other else text)
        return rest != text and self.is_empty(rest)

    def _with_beside(self, change: Change) -> Change:
        """Leave the other entry of metier out of the backup."""
        other = self.beside()
        if other is None:
            return change
        after = change.after
        has_more = after is not None and other.without_made(after) != after
        return replace(change, copy=other.without_made(change.before or ""), has_more=has_more)


class HookSettings(Settings):
    """Settings with a list of hooks for each event."""

    own_keys = frozenset({"version"})
    restores_own = True

    def __init__(self, host: SettingsFile, entry: Entry) -> None:
        super().__init__(host)
        self.entry = entry
        self.called = ("hook", host.name)

    def beside(self) -> Settings | None:
        other = ServerSettings(SERVERS[self.host.name])
        return other if other.form == "json" else None

    def to_paste(self, command: Sequence[str]) -> str:
        text = "{}"
        for event in self.entry.events:
            text = self._extended(text, event, self.entry.value(command))
        whole = json.loads(text)
        return f"add this by hand: {json.dumps(whole, ensure_ascii=False)}"

    def put(self, text: str, path: str, command: Sequence[str]) -> str:
        entry, hint = self.entry, self.to_paste(command)
        data = self.parsed(text, path, hint)
        problem = self._problem(data)
        if problem:
            raise UsageError(problem, where=path, hint=hint)
        value = entry.value(command)
        text = self._without_old(text)
        text = self._put(text, entry.event, value)
        if self._is_written_by_hand(text):
            return text  # it counts as installed, with the events that its author chose
        for event in entry.more:
            text = self._put(text, event, value)
        return text

    def _without_old(self, text: str) -> str:
        """Without the entries that an older version wrote for other events."""
        data = splice.parse(text)
        old = [at for at in self.ours(data) if at[1] not in self.entry.events]
        old = [at for at in old if self._is_as_written(_at(data, at))]
        events = [("hooks", event) for event in dict.fromkeys(at[1] for at in old)]
        return _pruned(self.without(text, old), events, None)

    def _put(self, text: str, event: str, value: dict[str, Any]) -> str:
        data = splice.parse(text)
        ours = [at for at in self.ours(data) if at[1] == event]
        return self._updated(text, ours, value) if ours else self._extended(text, event, value)

    def _is_written_by_hand(self, text: str) -> bool:
        data = splice.parse(text)
        first = next(at for at in self.ours(data) if at[1] == self.entry.event)
        return is_by_hand(_at(data, first).get(self.entry.key), self.host.name)

    def _problem(self, data: Any) -> str:
        """Why no entry can be added; empty if an entry can be added."""
        entry, title = self.entry, self.host.title
        if not isinstance(data, dict):
            return f"the settings of {title} are not an object"
        if entry.version is not None and data.get("version", entry.version) != entry.version:
            return f"the settings of {title} are not of version {entry.version}"
        hooks = data.get("hooks", {})
        if not isinstance(hooks, dict):
            return "'hooks' is not an object"
        for event in entry.events:
            if not isinstance(hooks.get(event, []), list):
                return f"'hooks.{event}' is not a list"
        return ""

    def ours(self, data: Any) -> list[splice.Steps]:
        hooks = data.get("hooks") if isinstance(data, dict) else None
        found: list[splice.Steps] = []
        for event, items in hooks.items() if isinstance(hooks, dict) else ():
            for index, item in enumerate(items if isinstance(items, list) else ()):
                at: splice.Steps = ("hooks", event, index)
                found += [at] if self._is_ours(item) else []
                group = item.get("hooks") if isinstance(item, dict) else None
                for inner, one in enumerate(group if isinstance(group, list) else ()):
                    found += [(*at, "hooks", inner)] if self._is_ours(one) else []
        return found

    def _is_ours(self, item: Any) -> bool:
        commands = (item.get(key) for key in ("command", "bash")) if isinstance(item, dict) else ()
        return any(around(shell_words(command), *self.called) is not None for command in commands)

    def is_made(self, data: Any, at: splice.Steps) -> bool:
        return at[1] in self.entry.events and self._is_as_written(_at(data, at))

    def _is_as_written(self, item: Any) -> bool:
        """Whether an entry has the form that install writes."""
        words = shell_words(item.get(self.entry.key))
        return is_as_installed(words, *self.called) and bool(item == self.entry.value(words))

    def _updated(self, text: str, ours: Sequence[splice.Steps], value: dict[str, Any]) -> str:
        """Update the first entry, unless written by hand; remove others."""
        first, *others = ours
        text = self.without(text, others)
        old = _at(splice.parse(text), first)
        is_kept = is_by_hand(old.get(self.entry.key), self.host.name)
        new = {**self.entry.kind, **old} if is_kept else {**old, **value}
        return text if new == old else splice.replace(text, first, new)

    def _extended(self, text: str, event: str, value: dict[str, Any]) -> str:
        entry, data = self.entry, splice.parse(text)
        if entry.version is not None and "version" not in data:
            text = splice.add(text, (), entry.version, key="version")
        text = _with_keys(text, ("hooks",))
        item = entry.group(event, value) if entry.in_group else value
        if event not in data.get("hooks", {}):
            return splice.add(text, ("hooks",), [item], key=event)
        return splice.add(text, ("hooks", event), item)

    def without(self, text: str, ours: Sequence[splice.Steps]) -> str:
        for at in reversed(ours):
            text = splice.remove(text, at)
            group = at[:-2]
            empty: tuple[dict[str, Any], ...] = ({"hooks": []}, self.entry.group(str(at[1])))
            if len(at) > 3 and _at(splice.parse(text), group) in empty:
                text = splice.remove(text, group)
        return text

    def pruned(self, text: str, ours: Sequence[splice.Steps], had: Any) -> str:
        events = [("hooks", event) for event in dict.fromkeys(at[1] for at in ours)]
        text = _pruned(self.without(text, ours), [*events, ("hooks",)], had)
        if had is not None and "version" not in had and "version" in splice.parse(text):
            text = splice.remove(text, ("version",))
        return text


class ServerSettings(Settings):
    """Settings with a list of MCP servers, by name."""

    called = ("mcp",)

    def __init__(self, host: SettingsFile) -> None:
        super().__init__(host)
        self.keys = host.servers.keys
        self.form = host.servers.form

    def beside(self) -> Settings | None:
        entry = HOOKS[self.host.name].entry if self.host.name in HOOKS else None
        is_there = entry is not None and self.form == "json"
        return HookSettings(HOOKS[self.host.name], entry) if is_there and entry else None

    def to_paste(self, command: Sequence[str], name: str = SERVER, text: str = "") -> str:
        keys, value = (*self.keys, name), self.host.servers.value(command)
        if self.form == "toml":
            if toml_edits.has_room(text, keys):
                return f"add this by hand:\n{toml_edits.written(keys, value).rstrip()}"
            return f"add this between its braces by hand: {name} = {toml_edits.inline(value)}"
        for key in reversed(keys):
            value = {key: value}
        return f"add this by hand: {json.dumps(value, ensure_ascii=False)}"

    def put(self, text: str, path: str, command: Sequence[str]) -> str:
        hint = self.to_paste(command)
        data = self.parsed(text, path, hint)
        for end in range(len(self.keys) + 1):
            if not isinstance(_at(data, self.keys[:end], {}), dict):
                named = ".".join(self.keys[:end])
                what = f"'{named}' is" if named else f"the settings of {self.host.title} are"
                raise UsageError(f"{what} not an object", where=path, hint=hint)
        value, ours = self.host.servers.value(command), self.ours(data)
        olds = [_at(data, at) for at in ours]
        if value in olds[:1] or any(map(self._is_by_hand, olds)):
            return text
        if not ours:
            self._check_name(text, path, command, _at(data, self.keys, {}))
        try:
            return self._put(text, ours[0] if ours else None, value)
        except ValueError as error:
            hint = f"give it this value by hand: {toml_edits.inline(value)}"
            message = f"the entry of metier cannot be changed: {error}"
            raise UsageError(message, where=path, hint=hint) from None

    def _is_by_hand(self, entry: Any) -> bool:
        """Whether an entry has another form that is safe."""
        return not self._is_made(entry) and not is_unsafe(words_of(entry))

    def _check_name(
        self, text: str, path: str, command: Sequence[str], servers: dict[str, Any]
    ) -> None:
        """Raise `UsageError` if a new entry cannot be added."""
        if SERVER in servers:
            free = SERVER
            while free in servers:
                free += "-mcp"
            hint = f"rename that server, or {self.to_paste(command, free, text)}"
            raise UsageError(f"another server is called '{SERVER}'", where=path, hint=hint)
        if self.form == "toml" and not toml_edits.has_room(text, (*self.keys, SERVER)):
            message = f"the servers are in an inline table, {'.'.join(self.keys)} = {{…}}"
            raise UsageError(message, where=path, hint=self.to_paste(command, text=text))

    def _put(self, text: str, old: splice.Steps | None, value: dict[str, Any]) -> str:
        """Replace the entry at `old`, or add an entry."""
        if self.form == "toml":
            keys = [str(step) for step in old or (*self.keys, SERVER)]
            return toml_edits.add(toml_edits.remove(text, keys) if old else text, keys, value)
        if old:
            return splice.replace(text, old, value)
        return splice.add(_with_keys(text, self.keys), self.keys, value, key=SERVER)

    def ours(self, data: Any) -> list[splice.Steps]:
        servers = _at(data, self.keys, {})
        return [
            (*self.keys, name)
            for name, entry in (servers.items() if isinstance(servers, dict) else ())
            if around(words_of(entry), *self.called) is not None
        ]

    def is_made(self, data: Any, at: splice.Steps) -> bool:
        return self._is_made(_at(data, at))

    def _is_made(self, entry: Any) -> bool:
        words = words_of(entry)
        is_plain = is_as_installed(words, *self.called)
        return is_plain and bool(entry == self.host.servers.value(words))

    def without(self, text: str, ours: Sequence[splice.Steps]) -> str:
        for at in ours:
            in_toml = self.form == "toml"
            text = (
                toml_edits.remove(text, list(map(str, at))) if in_toml else splice.remove(text, at)
            )
        return text

    def pruned(self, text: str, ours: Sequence[splice.Steps], had: Any) -> str:
        text = self.without(text, ours)
        paths = [self.keys[:end] for end in range(len(self.keys), 0, -1)]
        return _pruned(text, paths, had) if self.form == "json" else text


def _at(data: Any, path: splice.Steps, missing: Any = _MISSING) -> Any:
    for step in path:
        try:
            data = data[step]
        except (LookupError, TypeError):
            return missing
    return data


def _with_keys(text: str, keys: Sequence[str]) -> str:
    """Add an object at `keys` if missing."""
    for end, key in enumerate(keys):
        if key not in _at(splice.parse(text), keys[:end]):
            text = splice.add(text, keys[:end], {}, key=key)
    return text


def _pruned(text: str, paths: Sequence[splice.Steps], had: Any) -> str:
    """Remove what is empty at `paths` and not in `had`."""
    for path in paths:
        if not _at(splice.parse(text), path) and _at(had, path) is _MISSING:
            text = splice.remove(text, path)
    return text
