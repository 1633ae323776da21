"""Where hosts find a skill that metier found, and what they make of it there."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from metier.hosts import HOOKED
from metier.hosts.folders import FOLDERS
from metier.hosts.known import HOSTS
from metier.hosts.loading import (
    DoesNotLoad,
    Loads,
    Location,
    Yaml,
    drops_invalid,
    loads,
    readers_of,
)
from metier.hosts.model import Host

_USER_FOLDERS = {one.label: one.folder for one in FOLDERS if one.folder.startswith(("~", "/"))}
_PLUGINS = "~/.claude/plugins/cache"
_IN_CLAUDE = "/.claude/skills/"
_ALL = (1 << len(HOOKED)) - 1


class Judged(NamedTuple):
    """What a host makes of a skill, at the location that counts."""

    outcome: Loads | DoesNotLoad
    location: Location


def locations_of(path: str, plugin: str = "", also: Sequence[str] = ()) -> tuple[Location, ...]:
    """Every location of a skill, from its paths in the catalog."""
    found = [_location(one, plugin) for one in (path, *also)]
    if plugin and _IN_CLAUDE in f"/{path}" and "/skills/" in path.rpartition(_IN_CLAUDE[1:])[2]:
        found.append(Location(_in_plugin(path), plugin, _PLUGINS))
    return tuple(found)


def _location(path: str, plugin: str) -> Location:
    label, _, rest = path.partition("/")
    folder = _USER_FOLDERS.get(label)
    if folder is None:
        return Location(path)
    if folder == _PLUGINS:
        return Location(_in_plugin(path), plugin or "plugin", _PLUGINS)
    return Location(f"{folder}/{rest}")


def _in_plugin(path: str) -> str:
    """A path below the folder of its plugin."""
    at = path.rfind("/skills/")
    return path[at + 1 :] if at >= 0 else path


def judged(
    host: Host,
    locations: Sequence[Location],
    data: Mapping[str, Any],
    switched: Mapping[str, str] | None = None,
) -> Judged:
    """What `host` makes of a skill: it loads at the first location that it can be loaded from."""
    return _best(Judged(loads(host, location, data, switched), location) for location in locations)


def _best(outcomes: Iterable[Judged]) -> Judged:
    """The first that loads, else the first in a folder of the host, else the first."""
    refused: Judged | None = None
    for one in outcomes:
        if isinstance(one.outcome, Loads):
            return one
        if refused is None or _is_elsewhere(refused.outcome):
            refused = one
    assert refused is not None
    return refused


def _is_elsewhere(outcome: Loads | DoesNotLoad) -> bool:
    return isinstance(outcome, DoesNotLoad) and outcome.reason == "other-folder"


def hosts_that_read(path: str) -> frozenset[str]:
    """The hosts that read the folder of a skill, from its path in the catalog.

    None for a folder that belongs to no host, as `skills/` does.
    """
    location = _location(path, "")
    if location.path.startswith("skills/") and not location.plugin:
        return frozenset()
    return frozenset(host.name for host in readers_of(location))


FOLDER_NAMES = frozenset(
    folder.rpartition("/")[2]
    for host in HOSTS.values()
    if host.loading is not None
    for folder in (*host.loading.project, *host.loading.user)
)
"""The last names of skill folders: a SKILL.md in such a folder may be in no folder of its own."""


def _anonymous(location: Location) -> Location:
    """A location without the name of the skill's folder."""
    path, slash, file = location.path.rpartition("/")
    above, inner, folder = path.rpartition("/")
    if not slash or not inner or folder in FOLDER_NAMES:
        return location
    return location._replace(path=f"{above}/x/{file}")


def loading_hosts(
    locations: Sequence[Location], data: Mapping[str, Any], yaml: Yaml = "valid"
) -> int:
    """The hosts that can load a skill: bit N is the host at N in `HOOKED`.

    A skill in no host's folder has all bits: hosts get to know it from metier, by its path. So has
    a skill in `skills/`, which OpenClaw reads and which belongs to no host.
    """
    if locations[0].path.startswith("skills/") and not locations[0].plugin:
        return _ALL
    around = tuple(_anonymous(location) for location in locations)
    return _loading_hosts(around, bool(data.get("name")), bool(data.get("description")), yaml)


@lru_cache(maxsize=4096)
def _loading_hosts(
    locations: tuple[Location, ...], is_named: bool, is_described: bool, yaml: Yaml
) -> int:
    data = {"name": "x" if is_named else "", "description": "x" if is_described else ""}
    hosts = [HOSTS[name] for name in HOOKED]
    outcomes = [judged(host, locations, data).outcome for host in hosts]
    if all(map(_is_elsewhere, outcomes)):
        return _ALL
    return sum(
        1 << number
        for number, (host, one) in enumerate(zip(hosts, outcomes, strict=True))
        if isinstance(one, Loads) and not drops_invalid(host, yaml)
    )
