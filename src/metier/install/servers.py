"""Write metier into a host's list of MCP servers, and take it out again.

The same rules as for hooks: only the entry of metier is touched, an entry that somebody wrote
counts as installed, what was there before the first install is kept beside the file.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from metier.core.paths import is_utf8
from metier.errors import UsageError
from metier.hosts.servers import (
    COMMAND,
    HOSTS,
    LISTINGS,
    NAME,
    Listing,
    is_ours,
    value_at,
    words_of,
)
from metier.hosts.settings import Host, Scope, host_named, is_unsafe, place_of
from metier.install import splice
from metier.install import toml as tables
from metier.install.changes import Change, Plan, read
from metier.install.hooks import (
    backup_of,
    beside,
    is_made_whole,
    kept_before,
    not_json,
    refuse_links_outside,
    taken_out,
    without_hook,
)


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
    full = [*command, COMMAND]
    if not all(map(is_utf8, full)):
        raise UsageError("the path of metier is not UTF-8", hint="install metier elsewhere")
    settings, path = _settings("install", host, scope, workspace, home, environ)
    change = settings.with_entry(path, full)
    return Plan(host=settings.host, scope=scope, installs=True, changes=(change,))


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
    settings, path = _settings("uninstall", host, scope, workspace, home, environ)
    changes = (settings.without_entry(path),)
    return Plan(host=settings.host, scope=scope, installs=False, changes=changes)


def _settings(
    action: str,
    name: str,
    scope: Scope,
    workspace: str,
    home: str,
    environ: Mapping[str, str] | None,
) -> tuple["_Settings", str]:
    host = host_named(name, HOSTS)
    command = f"{COMMAND} {action}"
    path = place_of(host, scope, workspace, home, environ or {}, command=command)
    if scope == "project":
        refuse_links_outside([path], workspace)
    return _Settings(host, LISTINGS[name]), path


class _Settings(NamedTuple):
    """The settings of one host, whatever form they have."""

    host: Host
    listing: Listing

    def with_entry(self, path: str, command: Sequence[str]) -> Change:
        before = read(path)
        text = before if before is not None and not tables.is_blank(before) else self._blank()
        value = self.listing.entry(command)
        servers = self._servers(text, path, self._to_paste("", NAME, value))
        ours = [name for name, entry in servers.items() if is_ours(entry)]
        if any(self._is_by_hand(servers[name]) for name in ours):
            return Change(path=path, before=before, after=before)
        if not ours:
            self._refuse_names(text, path, servers, value)
        try:
            new = self._put(text, ours[0] if ours else "", servers, value)
        except ValueError as error:
            hint = f"give it this value by hand: {tables.inline(value)}"
            message = f"the entry of metier cannot be changed: {error}"
            raise UsageError(message, where=path, hint=hint) from None
        is_known = before in (None, new) or self._is_made_whole(text, ours)
        change = Change(path=path, before=before, after=new, backup=backup_of(path, is_known))
        return beside(change, self._without_hook)

    def without_entry(self, path: str) -> Change:
        before = read(path)
        hint = f"take the entry with 'metier {COMMAND}' out by hand"
        servers = self._servers(before or "", path, hint)
        ours = [name for name, entry in servers.items() if is_ours(entry)]
        if before is None or not ours:
            return Change(path=path, before=before, after=before)
        kept = kept_before(path, self._parse)
        if kept is not None and any(map(is_ours, self._listed(kept).values())):
            kept = None  # an entry of metier that stood there before must not come back
        try:
            rest = self._taken(before, ours, kept)
        except ValueError as error:
            raise UsageError(str(error), where=path, hint=hint) from None
        is_made = all(self.listing.is_made(servers[name]) for name in ours)
        is_empty = self._is_empty(rest)
        change = taken_out(
            path, before, rest, kept, kept, self._same, is_made=is_made, is_empty=is_empty
        )
        return beside(change, self._without_hook)

    # Entries

    def _listed(self, text: str) -> dict[str, Any]:
        """The servers of settings that can be read."""
        return self.listing.servers(self._parse(text))

    def _is_by_hand(self, entry: Any) -> bool:
        """Whether an entry was written by hand in another, safe form; then it stays."""
        return not self.listing.is_made(entry) and not is_unsafe(words_of(entry))

    def _is_made_whole(self, text: str, ours: Sequence[str]) -> bool:
        """Whether there is nothing in a text but what metier wrote."""
        if self.listing.form == "json":
            return is_made_whole(self.host.name, text)
        return bool(ours) and self._is_empty(self._taken(text, ours, None))

    def _servers(self, text: str, path: str, hint: str) -> dict[str, Any]:
        """The servers that settings list. UsageError when they cannot be read."""
        try:
            data = self._parse(text)
        except ValueError as error:
            raise UsageError(self._unreadable(error), where=path, hint=hint) from None
        for end in range(len(self.listing.way) + 1):
            if not isinstance(value_at(data, self.listing.way[:end]), dict):
                named = ".".join(self.listing.way[:end])
                what = f"'{named}'" if named else f"the settings of {self.host.title}"
                verb = "is" if named else "are"
                raise UsageError(f"{what} {verb} not an object", where=path, hint=hint)
        return self.listing.servers(data)

    def _unreadable(self, error: ValueError) -> str:
        if self.listing.form == "json":
            return not_json(self.host, error)
        return f"the settings of {self.host.title} are not TOML: {error}"

    # Refusals

    def _refuse_names(
        self, text: str, path: str, servers: dict[str, Any], value: dict[str, Any]
    ) -> None:
        """UsageError when there is no place for a new entry of our name."""
        if NAME in servers:
            free = NAME
            while free in servers:
                free += f"-{COMMAND}"
            hint = f"rename that server, or {self._to_paste(text, free, value)}"
            raise UsageError(f"another server is called '{NAME}'", where=path, hint=hint)
        if self.listing.form == "toml" and not tables.has_place(text, (*self.listing.way, NAME)):
            message = f"the servers stand in an inline table, {'.'.join(self.listing.way)} = {{…}}"
            raise UsageError(message, where=path, hint=self._to_paste(text, NAME, value))

    def _to_paste(self, text: str, name: str, value: dict[str, Any]) -> str:
        """What to add to settings by hand, and where."""
        way = (*self.listing.way, name)
        if self.listing.form == "json":
            whole: Any = value
            for key in reversed(way):
                whole = {key: whole}
            return f"add this by hand: {json.dumps(whole, ensure_ascii=False)}"
        if tables.has_place(text, way):
            return f"add this by hand:\n{tables.written(way, value).rstrip()}"
        return f"add this between its braces by hand: {name} = {tables.inline(value)}"

    # Texts

    def _blank(self) -> str:
        return "{}\n" if self.listing.form == "json" else ""

    def _parse(self, text: str) -> Any:
        return splice.parse(text) if self.listing.form == "json" else tables.parse(text)

    def _same(self, left: str, right: str) -> bool:
        same = splice.same if self.listing.form == "json" else tables.same
        return same(left, right)

    def _is_empty(self, text: str) -> bool:
        """Whether nothing is in a text; a comment is something."""
        return not self._parse(text) if self.listing.form == "json" else tables.is_blank(text)

    def _without_hook(self, text: str) -> str:
        """Without the hook of metier, where it may stand in the same file."""
        return without_hook(self.host.name, text) if self.listing.form == "json" else text

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
            if key not in value_at(splice.parse(text), way[:end]):
                text = splice.add(text, way[:end], {}, key=key)
        return splice.add(text, way, value, key=NAME)

    def _taken(self, text: str, names: Sequence[str], kept: str | None) -> str:
        """Without the entries, nor what they left empty and was not there before them."""
        if self.listing.form == "json":
            had = splice.parse(kept) if kept is not None else {}
            return self.listing.without(text, names, had)
        for name in names:
            text = tables.remove(text, [*self.listing.way, name])
        return text
