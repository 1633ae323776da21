"""Where hosts find a skill that metier found, and what they make of it there."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from metier.hosts import HOOKED
from metier.hosts.folders import FOLDERS
from metier.hosts.known import HOSTS
from metier.hosts.loading import DoesNotLoad, Loads, Location, loads
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
    refused: Judged | None = None
    for location in locations:
        outcome = loads(host, location, data, switched)
        if isinstance(outcome, Loads):
            return Judged(outcome, location)
        if refused is None or refused.outcome.reason == "other-folder":  # type: ignore[union-attr]  # it did not load
            refused = Judged(outcome, location)
    assert refused is not None
    return refused


def loading_hosts(locations: Sequence[Location], data: Mapping[str, Any]) -> int:
    """The hosts that can load a skill: bit N is the host at N in `HOOKED`.

    A skill in no host's folder has all bits: hosts get to know it from metier, by its path.
    """
    outcomes = [judged(HOSTS[name], locations, data).outcome for name in HOOKED]
    if all(isinstance(one, DoesNotLoad) and one.reason == "other-folder" for one in outcomes):
        return _ALL
    return sum(1 << number for number, one in enumerate(outcomes) if isinstance(one, Loads))
