"""The trust record: the workspaces that the user trusts, and with which powers."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from metier.config.powers import Powers
from metier.core.paths import is_utf8
from metier.core.timestamps import now_iso
from metier.core.unread import why_not_json
from metier.errors import ConfigError
from metier.storage.places import config_folder, room_name
from metier.storage.room import Room
from metier.values.trust import NOTHING, Consent

FOLDER = "trust"
SHARED = "trust.json"
"""The file that all workspaces shared before."""
_LOCK = "trust.lock"
VERSION = 1
LARGEST = 16 * 1024 * 1024


class Entry(NamedTuple):
    digest: str
    speak: bool = False
    consents: frozenset[Consent] = frozenset()
    keys: Mapping[str, list[str]] = NOTHING
    powers: Mapping[str, Any] = NOTHING
    """The trusted powers, to show what has changed since."""
    trusted_at: str = ""

    @classmethod
    def of(cls, powers: Powers, *, speak: bool) -> "Entry":
        return cls(
            powers.digest, speak, powers.consents(), powers.keys(), powers.to_json(), now_iso()
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "digest": self.digest,
            "trustedAt": self.trusted_at,
            "speak": self.speak,
            "consents": [consent._asdict() for consent in sorted(self.consents)],
            "keys": dict(self.keys),
            "powers": dict(self.powers),
        }


class TrustRecord:
    """A file for each workspace, in the user's settings folder.

    Hooks compare the file of their workspace with every prompt: trusting another workspace must
    not change it. The file that all workspaces shared before is still read, and split by the
    next change.
    """

    def __init__(self, environ: Mapping[str, str] | None = None, workspace: str = "") -> None:
        self._above = Room(config_folder(environ, workspace))
        self._room = self._above.below(FOLDER)

    def files(self, workspace: str) -> tuple[str, str]:
        """The files that decide about a workspace, whether they exist or not: its own first."""
        return self._room.file(_name(workspace)), self._above.file(SHARED)

    def entry(self, workspace: str) -> Entry | None:
        """The entry of a workspace. Raises `ConfigError` if the file is invalid."""
        return _entry(self._recorded(workspace))

    def put(self, workspace: str, entry: Entry) -> None:
        """Record a workspace. Raises `ConfigError` or `OSError`, and then trusts nothing new."""
        with self._locked():
            self._split()
            self._write(workspace, {workspace: entry.to_json()})

    def drop(self, workspace: str) -> bool:
        """Remove a workspace; whether it was recorded."""
        if self._recorded(workspace) is None:
            return False
        with self._locked():
            self._split()
            self._write(workspace, {})  # lasts through a power failure, unlike the removal
            self._room.remove(_name(workspace))
        return True

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = self._room.lock(_LOCK)
        try:
            yield
        finally:
            os.close(lock)

    def _recorded(self, workspace: str) -> Any:
        """What is recorded of a workspace, unchecked. Its own file decides if there is one."""
        own = self._read(self._room, _name(workspace))
        known = own if own is not None else self._read(self._above, SHARED) or {}
        return known.get(workspace)

    def _split(self) -> None:
        """Give each workspace in the shared file its own file, and remove the shared file."""
        known = self._read(self._above, SHARED)
        if known is None:
            return
        for workspace, entry in known.items():
            if is_utf8(workspace) and not self._room.has(_name(workspace)):
                self._write(workspace, {workspace: entry})
        self._above.remove(SHARED)

    def _write(self, workspace: str, known: Mapping[str, Any]) -> None:
        import json  # it is read more often than written

        text = json.dumps({"version": VERSION, "workspaces": known}, indent=2, sort_keys=True)
        self._room.write(_name(workspace), f"{text}\n".encode())

    def _read(self, room: Room, name: str) -> dict[str, Any] | None:
        """The workspaces in a file; None if there is no such file. Raises `ConfigError`."""
        try:
            raw = room.read(name, LARGEST)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _broken(error.strerror or str(error), room.file(name)) from None
        import json  # many users have no such file

        try:
            data = json.loads(raw)
        except (ValueError, RecursionError) as error:
            why = f"not valid JSON: {why_not_json(error, raw)}"
            raise _broken(why, room.file(name)) from None
        workspaces = data.get("workspaces") if isinstance(data, dict) else None
        if not isinstance(workspaces, dict) or data.get("version") != VERSION:
            why = f"it is not a trust record of version {VERSION}"
            raise _broken(why, room.file(name))
        return workspaces


def _name(workspace: str) -> str:
    return f"{room_name(workspace)}.json"


def _broken(why: str, file: str) -> ConfigError:
    return ConfigError(
        f"the trust record cannot be read: {why}",
        code="TRUST_RECORD_INVALID",
        where=file,
        hint="move it away, and trust the workspace again: metier trust",
    )


def _entry(data: Any) -> Entry | None:
    """An entry if it is complete, else None."""
    try:
        consents = frozenset(
            Consent(_text(item["tool"]), _text(item["digest"]), _text(item["agent"]))
            for item in data["consents"]
        )
        keys = {_text(name): list(map(_text, hosts)) for name, hosts in data["keys"].items()}
        if not isinstance(data["powers"], dict) or type(data["speak"]) is not bool:
            return None
        return Entry(
            _text(data["digest"]), data["speak"], consents, keys, data["powers"],
            _text(data["trustedAt"]),
        )  # fmt: skip
    except (TypeError, KeyError, AttributeError):
        return None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value
