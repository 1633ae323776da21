"""Write metier into a host's list of MCP servers, and take it out again.

The same rules as for hooks: only the entry of metier is touched, an entry that somebody wrote
counts as installed, what was there before the first install is kept beside the file.
"""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from metier.core.paths import is_utf8
from metier.errors import UsageError
from metier.hooks import splice
from metier.hooks.changes import Change, Plan, read
from metier.hooks.hosts import Host, Scope, host_named, place_of
from metier.hooks.install import backup_of, kept_before, not_json, refuse_outside, taken_out
from metier.mcp import tables
from metier.mcp.hosts import HOSTS, LISTINGS, NAME, Listing

_COMMAND = "mcp"


def plan_install(
    host: str,
    scope: Scope,
    workspace: str,
    home: str,
    command: Sequence[str],
    *,
    environ: Mapping[str, str] | None = None,
) -> Plan:
    """What lists metier among the servers of `host`, run as `command` with `mcp` after it.

    Writes nothing. UsageError when the settings cannot be edited safely: the hint then shows what
    to add by hand; or when a link would have a project's settings written elsewhere.
    """
    full = [*command, _COMMAND]
    if not all(map(is_utf8, full)):
        raise UsageError("the path of metier is not UTF-8", hint="install metier elsewhere")
    settings, path = _settings(host, scope, workspace, home, environ)
    change = settings.with_entry(path, full)
    return _plan(settings.host, scope, change, workspace, installs=True)


def plan_uninstall(
    host: str,
    scope: Scope,
    workspace: str,
    home: str,
    *,
    environ: Mapping[str, str] | None = None,
) -> Plan:
    """What takes metier out of the servers of `host` again, under whatever name it stands there.

    When the rest is what was there before the first install, the very bytes come back; a file
    that was made for the entry goes. Writes nothing. UsageError as for installing.
    """
    settings, path = _settings(host, scope, workspace, home, environ)
    return _plan(settings.host, scope, settings.without_entry(path), workspace, installs=False)


def _settings(
    name: str, scope: Scope, workspace: str, home: str, environ: Mapping[str, str] | None
) -> tuple["_Settings", str]:
    host = host_named(name, HOSTS)
    path = place_of(host, scope, workspace, home, environ or {}, command=_COMMAND)
    return _Settings(host, LISTINGS[name]), path


def _plan(host: Host, scope: Scope, change: Change, workspace: str, *, installs: bool) -> Plan:
    if scope == "project":
        refuse_outside([change], workspace)
    return Plan(host=host, scope=scope, installs=installs, changes=(change,))


class _Settings(NamedTuple):
    """The settings of one host, whatever form they have."""

    host: Host
    listing: Listing

    def with_entry(self, path: str, command: Sequence[str]) -> Change:
        before = read(path)
        text = before if before is not None and before.strip("\ufeff \t\r\n") else self._blank()
        value = self.listing.entry(command)
        servers = self._servers(text, path, value)
        ours = [name for name, entry in servers.items() if is_ours(entry)]
        if any(not self._is_made(servers[name]) for name in ours):
            return Change(path=path, before=before, after=before)  # somebody wrote it
        if not ours and NAME in servers:
            raise self._refusal(f"another server is called '{NAME}'", path, value)
        try:
            new = self._put(text, ours[0] if ours else "", servers, value)
        except ValueError as error:
            raise self._refusal(str(error), path, value) from None
        is_known = before in (None, new) or self._is_all(text, ours)
        return Change(path=path, before=before, after=new, backup=backup_of(path, is_known))

    def without_entry(self, path: str) -> Change:
        before = read(path)
        servers = self._servers(before or "", path, None)
        ours = [name for name, entry in servers.items() if is_ours(entry)]
        if before is None or not ours:
            return Change(path=path, before=before, after=before)
        kept = kept_before(path, self._parse)
        if kept is not None and self._lists_ours(kept):
            kept = None  # an entry of metier that stood there before must not come back
        try:
            rest = self._taken(before, ours, kept)
        except ValueError as error:
            raise self._refusal(str(error), path, None) from None
        is_made = all(self._is_made(servers[name]) for name in ours)
        is_empty = not self._parse(rest)
        return taken_out(
            path, before, rest, kept, kept, self._same, is_made=is_made, is_empty=is_empty
        )

    # Entries

    def _lists_ours(self, text: str) -> bool:
        """Whether settings that can be read list metier."""
        servers = _at(self._parse(text), self.listing.way)
        return isinstance(servers, dict) and any(map(is_ours, servers.values()))

    def _ours(self, text: str) -> list[str]:
        """The names under which a text that was written before lists metier."""
        servers = _at(self._parse(text), self.listing.way)
        return [name for name, entry in (servers or {}).items() if is_ours(entry)]

    def _is_made(self, entry: Any) -> bool:
        """Whether an entry is as install writes it: a whole path, nothing around it."""
        words = _words(entry)
        is_plain = len(words) == 2 and os.path.isabs(words[0])
        return is_plain and bool(entry == self.listing.entry(words))

    def _is_all(self, text: str, ours: Sequence[str]) -> bool:
        """Whether there is nothing in a text but entries of metier."""
        if not ours:
            return False
        return not self._parse(self._taken(text, ours, None))

    def _servers(self, text: str, path: str, value: dict[str, Any] | None) -> dict[str, Any]:
        """The servers that settings list. UsageError when they cannot be read."""
        try:
            data = self._parse(text)
        except ValueError as error:
            raise self._refusal(self._unreadable(error), path, value) from None
        for end in range(len(self.listing.way) + 1):
            if not isinstance(_at(data, self.listing.way[:end]), dict):
                named = ".".join(self.listing.way[:end])
                what = f"'{named}'" if named else f"the settings of {self.host.title}"
                verb = "is" if named else "are"
                raise self._refusal(f"{what} {verb} not an object", path, value)
        servers: dict[str, Any] = _at(data, self.listing.way)
        return servers

    def _unreadable(self, error: ValueError) -> str:
        if self.listing.form == "json":
            return not_json(self.host, error)
        return f"the settings of {self.host.title} are not TOML: {error}"

    def _refusal(self, message: str, path: str, value: dict[str, Any] | None) -> UsageError:
        if value is None:
            hint = f"take the entry with 'metier {_COMMAND}' out by hand"
        elif self.listing.form == "json":
            whole: dict[str, Any] = {NAME: value}
            for key in reversed(self.listing.way):
                whole = {key: whole}
            hint = f"add this by hand: {json.dumps(whole, ensure_ascii=False)}"
        else:
            table = tables.add("", [*self.listing.way, NAME], value)
            hint = f"add this by hand: {'; '.join(table.split(chr(10))).strip('; ')}"
        return UsageError(message, where=path, hint=hint)

    # Texts

    def _blank(self) -> str:
        return "{}\n" if self.listing.form == "json" else ""

    def _parse(self, text: str) -> Any:
        return splice.parse(text) if self.listing.form == "json" else tables.parse(text)

    def _same(self, left: str, right: str) -> bool:
        same = splice.same if self.listing.form == "json" else tables.same
        return same(left, right)

    def _put(self, text: str, name: str, servers: dict[str, Any], value: dict[str, Any]) -> str:
        """With the entry: in the place of the one called `name`, or as a new one."""
        way = self.listing.way
        if name and servers[name] == value:
            return text
        if self.listing.form == "toml":
            text = tables.remove(text, [*way, name]) if name else text
            return tables.add(text, [*way, name or NAME], value)
        if name:
            return splice.replace(text, (*way, name), value)
        for end, key in enumerate(way):
            if key not in _at(splice.parse(text), way[:end]):
                text = splice.add(text, way[:end], {}, key=key)
        return splice.add(text, way, value, key=NAME)

    def _taken(self, text: str, names: Sequence[str], kept: str | None) -> str:
        """Without the entries, nor what they left empty and was not there before them."""
        way = self.listing.way
        if self.listing.form == "toml":
            for name in names:
                text = tables.remove(text, [*way, name])
            return text
        for name in names:
            text = splice.remove(text, (*way, name))
        had = splice.parse(kept) if kept is not None else {}
        for end in range(len(way), 0, -1):
            is_empty = not _at(splice.parse(text), way[:end])
            if is_empty and not _has(had, way[:end]):
                text = splice.remove(text, way[:end])
        return text


def is_ours(entry: object) -> bool:
    """Whether an entry runs `metier mcp`, wherever metier lies and whatever stands around it."""
    words = _words(entry)
    return any(
        os.path.basename(word) == "metier" and words[at + 1 : at + 2] == [_COMMAND]
        for at, word in enumerate(words)
    )


def _words(entry: object) -> list[str]:
    """The command of an entry and what it is given, as one list."""
    if not isinstance(entry, dict):
        return []
    command, args = entry.get("command"), entry.get("args", [])
    words = [command] if isinstance(command, str) else command
    both = [words, args]
    if not all(isinstance(one, list) for one in both):
        return []
    return [str(word) for one in both for word in one]


def _at(data: Any, way: Sequence[str]) -> Any:
    """What lies at the end of a way; an empty object where nothing does."""
    for step in way:
        data = data.get(step, {}) if isinstance(data, dict) else None
    return data


def _has(data: Any, way: Sequence[str]) -> bool:
    for step in way:
        if not isinstance(data, dict) or step not in data:
            return False
        data = data[step]
    return True
