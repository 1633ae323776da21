"""What metier switched off, and what was there before: in the user's state, for `metier enable`."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, NamedTuple

from metier.core.coerce import mapping_of
from metier.storage.room import Room

_FILE, _LOCK = "switches.json", "switches.lock"
_VERSION = 1


class Entry(NamedTuple):
    """One skill that is off in one file."""

    file: str
    key: str
    """Of the switch."""
    name: str
    """What the settings call the skill."""
    before: str | None
    """The text of the file; None if there was none."""
    after: str
    """The digest of the text that was written."""
    made: int = 0
    had: tuple[Any, ...] = ()

    @property
    def about(self) -> tuple[str, str, str]:
        return self.file, self.key, self.name


def digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()


class SwitchRecord:
    """The entries of one user. A damaged record says nothing."""

    def __init__(self, room: Room) -> None:
        self._room = room

    def entries(self) -> list[Entry]:
        try:
            data = mapping_of(json.loads(self._room.read(_FILE)))
        except (OSError, ValueError, RecursionError):
            return []
        found = data.get("entries") if data.get("version") == _VERSION else None
        return [_entry(one) for one in found or () if _is_entry(one)]

    def of(self, file: str, key: str, name: str) -> Entry | None:
        return next((one for one in self.entries() if one.about == (file, key, name)), None)

    def keep(self, entry: Entry) -> None:
        """Raises `OSError`."""
        with self._locked():
            others = [one for one in self.entries() if one.about != entry.about]
            self._write([*others, entry])

    def drop(self, file: str, key: str, name: str) -> None:
        """Forget an entry; another one for the same file removes what it left empty."""
        with self._locked():
            entries = self.entries()
            at = next((at for at, one in enumerate(entries) if one.about == (file, key, name)), -1)
            if at < 0:
                return
            gone, later = entries[at], entries[at + 1 :]
            self._write([*entries[:at], *(_heir(one, gone) for one in later)])

    def _write(self, entries: list[Entry]) -> None:
        content = {"version": _VERSION, "entries": [one._asdict() for one in entries]}
        self._room.write(_FILE, json.dumps(content).encode())

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = self._room.lock(_LOCK)
        try:
            yield
        finally:
            os.close(lock)


def _heir(entry: Entry, gone: Entry) -> Entry:
    """A later entry, once an earlier one is gone: what was there before is what that one found."""
    if entry.file != gone.file:
        return entry
    is_same = entry.key == gone.key and not entry.had
    made = min(entry.made, gone.made) if is_same else entry.made
    return entry._replace(made=made, before=gone.before)


def _entry(value: dict[str, Any]) -> Entry:
    return Entry(**{**value, "had": tuple(value["had"])})


def _is_entry(value: Any) -> bool:
    kinds = {"file": str, "key": str, "name": str, "after": str, "made": int, "had": list}
    is_whole = isinstance(value, dict) and value.keys() == set(Entry._fields)
    if not is_whole or not isinstance(value["before"], str | None):
        return False
    return all(isinstance(value[name], kind) for name, kind in kinds.items())
