"""The trust record: the workspaces that the user trusts, and with which powers."""

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from metier.config.powers import Powers
from metier.core.timestamps import now_iso
from metier.core.unread import why_not_json
from metier.errors import ConfigError
from metier.storage.places import config_folder
from metier.storage.room import Room
from metier.values.trust import NOTHING, Consent

FILE = "trust.json"
VERSION = 1
LARGEST = 16 * 1024 * 1024


class Entry(NamedTuple):
    digest: str
    speak: bool = False
    consents: frozenset[Consent] = frozenset()
    keys: Mapping[str, list[str]] = NOTHING
    powers: Mapping[str, Any] = NOTHING
    """The trusted power set, to show what has changed since."""
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
    """The file in the user's settings folder."""

    def __init__(self, environ: Mapping[str, str] | None = None, workspace: str = "") -> None:
        self._room = Room(config_folder(environ, workspace))
        self.path = self._room.file(FILE)

    def entry(self, workspace: str) -> Entry | None:
        """The entry of a workspace. Raises `ConfigError` if the file is invalid."""
        return _entry(self._workspaces().get(workspace))

    def put(self, workspace: str, entry: Entry) -> None:
        """Record a workspace. Raises `ConfigError` or `OSError`, and then changes nothing."""
        self._change(lambda known: known.update({workspace: entry.to_json()}))

    def drop(self, workspace: str) -> bool:
        """Remove a workspace; whether it was recorded."""
        if workspace not in self._workspaces():
            return False
        self._change(lambda known: known.pop(workspace, None))
        return True

    def stamp(self) -> os.stat_result | None:
        return self._room.info(FILE)

    def _change(self, change: Any) -> None:
        lock = self._room.lock(f"{FILE}.lock")
        try:
            known = self._workspaces()
            change(known)
            text = json.dumps({"version": VERSION, "workspaces": known}, indent=2, sort_keys=True)
            self._room.write(FILE, f"{text}\n".encode())
        finally:
            os.close(lock)

    def _workspaces(self) -> dict[str, Any]:
        try:
            raw = self._room.read(FILE, LARGEST)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._broken(error.strerror or str(error)) from None
        try:
            data = json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise self._broken(f"not valid JSON: {why_not_json(error, raw)}") from None
        workspaces = data.get("workspaces") if isinstance(data, dict) else None
        if not isinstance(workspaces, dict) or data.get("version") != VERSION:
            raise self._broken(f"it is not a trust record of version {VERSION}")
        return workspaces

    def _broken(self, why: str) -> ConfigError:
        return ConfigError(
            f"the trust record cannot be read: {why}",
            code="TRUST_RECORD_INVALID",
            where=self.path,
            hint="move it away, and trust each workspace again: metier trust",
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
