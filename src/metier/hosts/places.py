"""Where hosts find a skill that metier found, and what they make of it there."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from metier.hosts import HOOKED
from metier.hosts.folders import FOLDERS
from metier.hosts.known import HOSTS
from metier.hosts.loading import SWITCH, DoesNotLoad, Loads, Location, loads
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


# Many skills: those in one folder are judged together


_FOLDER, _NAME = "\x01", "\x02"
"""Stand for the folder and the name of a skill while what is around it is judged."""
_ENDS = frozenset(
    folder.rpartition("/")[2]
    for host in HOSTS.values()
    if host.loading is not None
    for folder in (*host.loading.project, *host.loading.user)
)
"""The last names of skill folders: a SKILL.md in such a folder may be in no folder of its own."""


def _anonymous(location: Location) -> tuple[Location, str]:
    """A location without the name of the skill's folder, and that name."""
    path, slash, file = location.path.rpartition("/")
    above, inner, folder = path.rpartition("/")
    if not slash or not inner or folder in _ENDS:
        return location, folder
    return Location(f"{above}/{_FOLDER}/{file}", location.plugin, location.installed_in), folder


class Judge:
    """Judges many skills for one host."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._known: dict[Location, Loads | DoesNotLoad] = {}

    def __call__(
        self, locations: Sequence[Location], data: Mapping[str, Any], switched: Mapping[str, str]
    ) -> Judged:
        """The same as `judged`."""
        if switched or data.get(SWITCH) or not (data["name"] and data["description"]):
            return judged(self._host, locations, data, switched)
        name = data["name"]
        return _best(Judged(self._outcome(location, name), location) for location in locations)

    def _outcome(self, location: Location, name: str) -> Loads | DoesNotLoad:
        around, folder = _anonymous(location)
        outcome = self._known.get(around)
        if outcome is None:
            outcome = loads(self._host, around, {"name": _NAME, "description": "x"})
            self._known[around] = outcome
        if isinstance(outcome, Loads):
            called = outcome.name.replace(_FOLDER, folder).replace(_NAME, name)
            return Loads(called, outcome.hidden_by, outcome.doubt)
        if _FOLDER not in outcome.hint:
            return outcome
        return DoesNotLoad(outcome.reason, outcome.message, outcome.hint.replace(_FOLDER, folder))


def loading_hosts(locations: Sequence[Location], data: Mapping[str, Any]) -> int:
    """The hosts that can load a skill: bit N is the host at N in `HOOKED`.

    A skill in no host's folder has all bits: hosts get to know it from metier, by its path.
    """
    around = tuple(_anonymous(location)[0] for location in locations)
    return _loading_hosts(around, bool(data.get("name")), bool(data.get("description")))


@lru_cache(maxsize=4096)
def _loading_hosts(locations: tuple[Location, ...], is_named: bool, is_described: bool) -> int:
    data = {"name": _NAME if is_named else "", "description": "x" if is_described else ""}
    outcomes = [judged(HOSTS[name], locations, data).outcome for name in HOOKED]
    if all(map(_is_elsewhere, outcomes)):
        return _ALL
    return sum(1 << number for number, one in enumerate(outcomes) if isinstance(one, Loads))
