"""The review record: what the user reviewed of skills, in their own settings folder.

One file for what is the user's, one for each workspace. Each has a section a kind of thing, such
as `skills`; a section that this version does not know stays as it is.
"""

import json
import os
from collections.abc import Mapping
from typing import Any

from metier.core.timestamps import now_iso
from metier.core.unread import why_not_json
from metier.errors import ConfigError
from metier.storage.places import config_folder, room_name
from metier.storage.room import Room
from metier.values.reviews import Contents, Review

FOLDER = "reviews"
VERSION = 1
LARGEST = 64 * 1024 * 1024
SKILLS = "skills"
_USERS = "user.json"
_LOCK = "reviews.lock"


class ReviewRecord:
    """One file of the record: that of a workspace, or that of the user's own sources."""

    def __init__(
        self, workspace: str, *, is_users: bool, environ: Mapping[str, str] | None = None
    ) -> None:
        """`workspace` is where the command runs: variables that point into it are ignored."""
        self._room = Room(config_folder(environ, workspace)).below(FOLDER)
        self._name = _USERS if is_users else f"{room_name(workspace)}.json"
        self._workspace = "" if is_users else workspace

    @property
    def file(self) -> str:
        return self._room.file(self._name)

    def entries(self, section: str) -> dict[str, Any]:
        """The entries of a section, unchecked. Raises `ConfigError` if the file is invalid."""
        return self._section(self._read(), section)

    def change(
        self, section: str, changes: Mapping[str, Any], *, only_new: bool = False
    ) -> dict[str, Any]:
        """Write entries, and remove those that are None; the section as it is then.

        With `only_new` entries that exist stay as they are. Raises `ConfigError` or `OSError`, and
        then records nothing.
        """
        lock = self._room.lock(_LOCK)
        try:
            data = self._read() or {"version": VERSION, "workspace": self._workspace}
            known = self._section(data, section)
            both = {**changes, **known} if only_new else {**known, **changes}
            left = {key: value for key, value in both.items() if value is not None}
            text = json.dumps({**data, section: left}, indent=1, sort_keys=True)
            self._room.write(self._name, f"{text}\n".encode())
        finally:
            os.close(lock)
        return left

    def skills(self) -> dict[str, Review | None]:
        """The reviewed skills by key; None for an entry that is incomplete."""
        return {key: _review(entry) for key, entry in self.entries(SKILLS).items()}

    def put_skills(self, reviews: Mapping[str, Review], *, only_new: bool = False) -> set[str]:
        """Record reviews; the keys whose entries are these now. Raises as `change`."""
        changes = {key: one.to_json() for key, one in reviews.items()}
        left = self.change(SKILLS, changes, only_new=only_new)
        return {key for key, entry in changes.items() if left[key] == entry}

    def revoke_skill(self, key: str, name: str) -> bool:
        """Replace the review of a skill by a note; whether there was one. Raises as `change`.

        Without the note the skill would be new, and accepted again where new skills are.
        """
        if _review(self.entries(SKILLS).get(key)) is None:
            return False
        self.change(SKILLS, {key: {"name": name, "revokedAt": now_iso()}})
        return True

    def _read(self) -> dict[str, Any]:
        """The whole file; empty if there is none. Raises `ConfigError`."""
        try:
            raw = self._room.read(self._name, LARGEST)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._broken(error.strerror or str(error)) from None
        try:
            data: Any = json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise self._broken(f"not valid JSON: {why_not_json(error, raw)}") from None
        is_ours = isinstance(data, dict) and data.get("version") == VERSION
        if not is_ours or data.get("workspace") != self._workspace:
            raise self._broken(f"it is not a review record of version {VERSION}")
        return dict(data)

    def _section(self, data: Mapping[str, Any], name: str) -> dict[str, Any]:
        section = data.get(name, {})
        if not isinstance(section, dict):
            raise self._broken(f"'{name}' is not a table")
        return dict(section)

    def _broken(self, why: str) -> ConfigError:
        return ConfigError(
            f"the review record cannot be read: {why}",
            code="REVIEW_RECORD_INVALID",
            where=self.file,
            hint="move it away, and review the skills again: metier trust --skill NAME",
        )


def _review(data: Any) -> Review | None:
    """An entry if it is complete, else None."""
    try:
        contents = Contents(
            files={_text(name): _text(value) for name, value in data["files"].items()},
            scripts=tuple(map(_text, data["scripts"])),
            capabilities=tuple(map(_text, data["capabilities"])),
            tools=tuple(map(_text, data["tools"])),
            commands=tuple(map(_text, data["commands"])),
        )
        return Review(_text(data["name"]), contents, _text(data["reviewedAt"]), _text(data["by"]))
    except (TypeError, KeyError, AttributeError):
        return None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value
