"""What the settings of a host say about skills: switches, the budget, counts of use. As data."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from metier.core.coerce import mapping_of
from metier.core.paths import is_inside
from metier.core.toml import toml_of
from metier.storage.room import read_regular

_LARGEST = 16 << 20


class FoundSkill(Protocol):
    """A skill of the catalog, as switches look at it."""

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def plugin(self) -> str: ...


Switched = Callable[[FoundSkill, str], dict[str, str]]
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


class SkillSettings(NamedTuple):
    """The files with settings that say something about skills, and what they say."""

    user: str
    """The file below the home folder."""
    project: tuple[str, ...]
    """Files below the workspace; the last counts most."""
    read: Callable[[Sequence[dict[str, Any]], str], HostSettings]
    """From the settings in the files, the user's first, and the home folder."""
    moved_by: tuple[str, str] = ("", "")
    """An environment variable, and the folder below the home folder that it replaces."""


def read_host_settings(found: SkillSettings | None, workspace: str, home: str) -> HostSettings:
    """Read what a host's settings say about skills; a file that cannot be read says nothing."""
    return found.read(_all(found, workspace, home), home) if found else HostSettings()


def settings_files(found: SkillSettings, workspace: str, home: str) -> list[str]:
    """The files that are read, the last counts most."""
    users = os.path.join(home, found.user)
    variable, folder = found.moved_by
    moved = os.environ.get(variable, "") if variable else ""
    if os.path.isabs(moved):
        users = os.path.join(moved, os.path.relpath(found.user, folder))
    return [users, *(os.path.join(workspace, file) for file in found.project)]


def read_settings(file: str) -> dict[str, Any]:
    """The settings in a JSON or TOML file; empty if it cannot be read."""
    try:
        text = read_regular(file, _LARGEST).decode(errors="replace")
        return mapping_of(toml_of(text) if file.endswith(".toml") else json.loads(text))
    except (OSError, ValueError, RecursionError):
        return {}


def _all(found: SkillSettings, workspace: str, home: str) -> list[dict[str, Any]]:
    files = settings_files(found, workspace, home)
    return [{} if _leads_out(file, workspace) else read_settings(file) for file in files]


def _leads_out(file: str, workspace: str) -> bool:
    """Whether links lead from a file of the workspace out of it."""
    return is_inside(file, workspace) and not is_inside(
        os.path.realpath(file), os.path.realpath(workspace)
    )


def merged_settings(found: SkillSettings | None, workspace: str, home: str) -> dict[str, Any]:
    """The settings of all files by key; mappings are merged, later files win."""
    merged: dict[str, Any] = {}
    for one in _all(found, workspace, home) if found else ():
        for key, value in one.items():
            old = mapping_of(merged.get(key))
            merged[key] = {**old, **value} if isinstance(value, dict) else value
    return merged


def merged_at(settings: Sequence[dict[str, Any]], *keys: str) -> dict[str, Any]:
    """The mapping at `keys` of all files; later files win."""
    merged: dict[str, Any] = {}
    for one in settings:
        for key in keys:
            one = mapping_of(one.get(key))
        merged |= one
    return merged


def last_of(settings: Sequence[dict[str, Any]], key: str) -> Any:
    """The value of a key in the last file that has it."""
    return next((one[key] for one in reversed(settings) if key in one), None)
