"""What a host makes of every skill in the catalog: it loads as a name, or not, and why."""

import os
import re
import shlex
from collections.abc import Container, Mapping, Sequence
from operator import attrgetter
from typing import Any, Literal, NamedTuple, get_args

from metier.hosts.known import HOSTS
from metier.hosts.listing_types import Scope
from metier.hosts.loading import SWITCH, DoesNotLoad, Loads, Location, Yaml, drops_invalid
from metier.hosts.locations import FOLDER_NAMES, judged, locations_of
from metier.hosts.model import UNKNOWN, Host
from metier.hosts.skill_settings import HostSettings, read_host_settings
from metier.index.host_rows import UNNAMED, HostRow, host_row, host_rows
from metier.index.store import Store
from metier.storage.room import read_regular
from metier.values.files import LARGEST

State = Literal["does-not-load", "unknown", "off", "never-shown", "twice", "elsewhere", "loads"]


class FoundAt(NamedTuple):
    """Where a host finds a skill."""

    file: str
    """The absolute path, links not followed; empty if it is the one in the catalog."""
    root: str
    """The folder of skills around it; empty if unknown."""
    scope: Scope


class HostSkill(NamedTuple):
    """One SKILL.md, and what a host makes of it."""

    row: HostRow
    outcome: Loads | DoesNotLoad
    found_at: FoundAt
    switches: Mapping[str, str]
    """The values of switches outside of SKILL.md, by key."""

    @property
    def folder(self) -> str:
        return self.row.file.rsplit("/", 2)[-2]

    @property
    def called(self) -> str:
        """The host's name for it, switched off or not; empty if it does not load."""
        return self.outcome.name

    @property
    def is_hidden(self) -> bool:
        """Whether it loads, and a switch keeps it from the model."""
        return isinstance(self.outcome, Loads) and bool(self.outcome.hidden_by)

    @property
    def is_name_only(self) -> bool:
        return self.switches.get("skillOverrides") == "name-only" and self.is_hidden


class HostView(NamedTuple):
    """All skills of a catalog from the point of view of one host."""

    host: Host
    settings: HostSettings
    skills: list[HostSkill]


def host_view(store: Store, host: Host, workspace: str, home: str) -> HostView:
    """What a host makes of every skill in the catalog."""
    settings = _settings(host, workspace, home)
    checker = _Checker(host, settings, workspace, home)
    return HostView(host, settings, [checker.check(row) for row in host_rows(store)])


def find_host_skills(view: HostView, wanted: str, paths: Container[str]) -> list[HostSkill]:
    """The skills that the host calls `wanted`, switched off or not; else those at `paths`."""
    known = [one for one in view.skills if one.called]
    called = [one for one in known if one.called == wanted]
    return called or [one for one in known if one.row.path in paths]


def _settings(host: Host, workspace: str, home: str) -> HostSettings:
    return read_host_settings(host.skill_settings, workspace, home)


class HostChecker:
    """Asks the rules of hosts about single skills, whatever the others are."""

    def __init__(self, store: Store, workspace: str, home: str) -> None:
        self._store = store
        self._checkers = {
            name: _Checker(host, _settings(host, workspace, home), workspace, home)
            for name, host in HOSTS.items()
            if host.loading is not None
        }

    def check(self, path: str) -> "dict[str, Verdict]":
        """What each host that loads skills makes of the skill at `path`, if there is one."""
        return {
            name: _verdict(checker.check(row), {}, {})
            for row in host_row(self._store, path)
            for name, checker in self._checkers.items()
        }


_FOLDER, _NAME = "\x01", "\x02"
"""Stand for the folder and the name of a skill while what is around it is judged."""
_NOTHING: Mapping[str, str] = {}
_STAND_IN = "x"
"""For a description that is not known."""
_LARGEST = 1 << 20
_NOWHERE = FoundAt("", "", "project")
"""Of a skill that does not load."""


_HEADING = re.compile(r"#+\s+(?=\S)")
_OWN = tuple(
    f"/{host.loading.own_folder}/"
    for host in HOSTS.values()
    if host.loading is not None and host.loading.own_folder
)
"""Around the skills that hosts put on disk themselves."""


class _Checker:
    """Judges skills for one host; those in one folder are judged together."""

    def __init__(self, host: Host, settings: HostSettings, workspace: str, home: str) -> None:
        self._host = host
        self._switched = settings.switched
        self._workspace = workspace
        self._home = home
        self._known: dict[tuple[str, ...], tuple[Loads | DoesNotLoad, FoundAt]] = {}

    def check(self, row: HostRow) -> HostSkill:
        skill = self._at(row)
        if skill.called and _is_misspelt(row.file):
            name = os.path.basename(row.file)
            problem = DoesNotLoad("misspelt", f"the file is called {name}", "rename it to SKILL.md")
            return HostSkill(skill.row, problem, _NOWHERE, skill.switches)
        return skill

    def _at(self, row: HostRow) -> HostSkill:
        if not row.name:
            return self._unparsed(row)
        path, _, file = row.path.rpartition("/")
        above, _, folder = path.rpartition("/")
        if (
            not above
            or folder in FOLDER_NAMES
            or ((row.issues or row.manual or row.also) and row.is_odd)
        ):
            switches = self._switches(row, folder)
            return HostSkill(row, *self._judged(row, switches), switches)
        outcome, found_at = self._around(row, above, file)
        if not isinstance(outcome, Loads):
            return HostSkill(row, _hinted(outcome, folder), _NOWHERE, _NOTHING)
        if self._switched and (switches := self._switched(row, folder)):
            return HostSkill(row, *self._judged(row, switches), switches)
        own = row.name.rpartition(":")[2] if row.plugin else row.name
        return HostSkill(row, _named(outcome, folder, own), _moved(found_at, folder), _NOTHING)

    def _unparsed(self, row: HostRow) -> HostSkill:
        """A file that metier cannot parse: some hosts load it anyway."""
        folder = os.path.basename(os.path.dirname(row.file))
        named = row._replace(name=folder, description=_STAND_IN)
        switches = self._switches(named, folder)
        outcome, found_at = self._judged(named, switches)
        if isinstance(outcome, DoesNotLoad):
            return HostSkill(row, outcome, _NOWHERE, switches)
        headless = self._host.loading.headless if self._host.loading else UNKNOWN
        if row.reason == "unparseable" and headless == "loads":
            text = _first_line(row.file)
            named = named._replace(description=text, issues=UNNAMED)
            return HostSkill(named, outcome, found_at, switches)
        if row.reason == "unparseable" and headless == "dropped":
            return HostSkill(row, self._dropped(row), _NOWHERE, switches)
        message = f"metier does not read this file: {row.reason}"
        if row.reason == "too-large":
            message = f"metier does not read files of more than {LARGEST['skill']:,} bytes"
        refused = DoesNotLoad("unread", message, f"metier lint {shlex.quote(row.file)} says why")
        return HostSkill(row, refused, _NOWHERE, switches)

    def _dropped(self, row: HostRow) -> DoesNotLoad:
        message = f"{self._host.title} drops a file without valid front matter"
        hint = f"metier lint {shlex.quote(row.file)} says what is wrong"
        return DoesNotLoad("no-front-matter", message, hint)

    def _switches(self, row: HostRow, folder: str) -> Mapping[str, str]:
        return self._switched(row, folder) if self._switched else _NOTHING

    def _around(self, row: HostRow, above: str, file: str) -> tuple[Loads | DoesNotLoad, FoundAt]:
        """What the host makes of a skill without switches in the folder `above`."""
        key = (above, file, row.plugin)
        known = self._known.get(key)
        if known is None:
            stand_in = row._replace(
                path=f"{above}/{_FOLDER}/{file}",
                file=f"{os.path.dirname(os.path.dirname(row.file))}/{_FOLDER}/{file}",
                name=_NAME,
            )
            known = self._known[key] = self._judged(stand_in, _NOTHING)
        return known

    def _judged(
        self, row: HostRow, switches: Mapping[str, str]
    ) -> tuple[Loads | DoesNotLoad, FoundAt]:
        name = row.name.rpartition(":")[2] if row.plugin else row.name
        data = {
            "name": "" if row.unnamed else name,
            "description": "" if row.undescribed else row.description,
            SWITCH: bool(row.manual),
        }
        locations = locations_of(row.path, row.plugin, row.others)
        outcome, location = judged(self._host, locations, data, switches)
        if isinstance(outcome, Loads) and drops_invalid(self._host, _yaml(row)):
            return self._dropped(row), _NOWHERE
        return outcome, self._found_at(row, location)

    def _found_at(self, row: HostRow, location: Location) -> FoundAt:
        path = location.path
        if location.plugin:
            return FoundAt("", _root_of(row.file), "plugin")
        scope: Scope = "project"
        own = next((one for one in _OWN if one in path), "")
        if own:
            scope = "system"
        elif path.startswith(("/", "~")):
            scope = "user" if path.startswith("~") else "admin"
        at_home = self._home + path[1:] if path.startswith("~") else path
        file = os.path.join(self._workspace, at_home)
        shown = "" if file == row.file else file
        if own:
            return FoundAt(shown, file[: file.index(own) + len(own) - 1], scope)
        return FoundAt(shown, _root_of(file, len(file) - len(path)), scope)


def _is_misspelt(file: str) -> bool:
    """Whether a file is not found as SKILL.md, as it would be where case does not count."""
    folder, name = os.path.split(file)
    if name == "SKILL.md" or not name:
        return False
    try:
        return not os.path.samefile(os.path.join(folder, "SKILL.md"), file)
    except OSError:
        return True


def _yaml(row: HostRow) -> Yaml:
    return "invalid" if row.no_yaml else "colon" if row.has_colon else "valid"


def _first_line(file: str) -> str:
    """What Claude Code shows of a file without front matter: a heading or any other line."""
    try:
        text = read_regular(file, _LARGEST).decode(errors="replace").removeprefix("\ufeff")
    except OSError:
        return ""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "Skill")
    return _HEADING.sub("", line)


def _root_of(file: str, start: int = 0) -> str:
    """The folder of skills in which the host found a file."""
    at = file.find("/skills/", max(0, start - 1))
    return file[: at + len("/skills")] if at >= 0 else ""


def _named(outcome: Loads, folder: str, name: str) -> Loads:
    """The outcome for a skill, from that for its stand-in."""
    if outcome.name == _NAME:
        called = name
    else:
        called = outcome.name.replace(_FOLDER, folder).replace(_NAME, name)
    return Loads(called, outcome.hidden_by, outcome.doubt)


def _hinted(outcome: DoesNotLoad, folder: str) -> DoesNotLoad:
    """The same for a skill that does not load."""
    if _FOLDER not in outcome.hint:
        return outcome
    return outcome._replace(hint=outcome.hint.replace(_FOLDER, folder))


def _moved(found_at: FoundAt, folder: str) -> FoundAt:
    if not found_at.file:
        return found_at
    return FoundAt(found_at.file.replace(_FOLDER, folder), found_at.root, found_at.scope)


class Verdict(NamedTuple):
    """One line of `metier doctor --host`."""

    state: State
    name: str
    """What the host calls it, or metier's name for it."""
    path: str
    message: str
    hint: str = ""
    file: str = ""
    """The absolute path."""

    def to_json(self) -> dict[str, Any]:
        return {key: value for key, value in self._asdict().items() if value}


ORDER: tuple[State, ...] = get_args(State)
"""What needs attention comes first."""


_path_of = attrgetter("path")


def verdicts(view: HostView, invisible: dict[str, str]) -> list[Verdict]:
    """What a host makes of each skill, what needs attention first.

    `invisible` holds the paths of skills that the listing leaves out, with the reason.
    """
    twice = _loaded_twice(view.skills)
    found = sorted((_verdict(one, invisible, twice) for one in view.skills), key=_path_of)
    return [one for state in ORDER for one in found if one.state == state]


_REFUSED: dict[str, State] = {"off": "off", "other-folder": "elsewhere", "unread": "unknown"}


def _verdict(
    skill: HostSkill, invisible: dict[str, str], twice: dict[str, Sequence[str]]
) -> Verdict:
    row, outcome = skill.row, skill.outcome
    name = row.name or skill.folder
    if isinstance(outcome, DoesNotLoad):
        state = _REFUSED.get(outcome.reason, "does-not-load")
        before = {"off": "", "unknown": "not known: "}.get(state, "does not load: ")
        message = f"{before}{outcome.message}"
        return Verdict(state, name, row.path, message, outcome.hint, row.file)
    as_name = f"loads as {outcome.name}"
    if outcome.hidden_by and not skill.is_name_only:
        message = f"{as_name}; only you can start it: {outcome.hidden_by}"
        return Verdict("never-shown", outcome.name, row.path, message, "", row.file)
    if why := invisible.get(row.path):
        message = f"{as_name}, but is never shown: {why}"
        return Verdict("never-shown", outcome.name, row.path, message, "", row.file)
    if others := twice.get(row.path):
        message = f"{as_name}; loaded twice: {', '.join(others)}"
        return Verdict("twice", outcome.name, row.path, message, "remove one of them", row.file)
    doubt = f" (not known: {outcome.doubt})" if outcome.doubt else ""
    return Verdict("loads", outcome.name, row.path, f"{as_name}{doubt}", "", row.file)


def _loaded_twice(skills: Sequence[HostSkill]) -> dict[str, Sequence[str]]:
    """By path: the paths of other skills that load under the same name."""
    first: dict[str, str] = {}
    same: dict[str, list[str]] = {}
    for skill in skills:
        if isinstance(skill.outcome, Loads):
            name, path = skill.outcome.name, skill.row.path
            if first.setdefault(name, path) is not path:
                same.setdefault(name, [first[name]]).append(path)
    return {
        path: [one for one in paths if one != path] for paths in same.values() for path in paths
    }
