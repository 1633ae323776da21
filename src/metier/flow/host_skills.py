"""What a host makes of every skill in the catalog: it loads as a name, or not, and why."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, get_args

from metier.flow.host_settings import HostSettings, read_host_settings
from metier.hosts.loading import SWITCH, DoesNotLoad, Loads, Location
from metier.hosts.model import Host
from metier.hosts.places import Judge, locations_of
from metier.index.host_rows import HostRow, host_rows
from metier.index.store import Store
from metier.listing.rules import Scope

State = Literal["does-not-load", "off", "never-shown", "twice", "elsewhere", "loads"]


class HostSkill(NamedTuple):
    """One SKILL.md, and what a host makes of it."""

    row: HostRow
    outcome: Loads | DoesNotLoad
    location: Location
    switches: dict[str, str]
    """The values of switches outside of SKILL.md, by key."""

    @property
    def folder(self) -> str:
        return self.row.file.split("/")[-2]

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
    workspace: str
    home: str

    def file_of(self, skill: HostSkill) -> str:
        """The absolute path at which the host finds a skill, links not followed."""
        if skill.location.plugin:
            return skill.row.file
        return os.path.join(self.workspace, _at_home(skill.location.path, self.home))

    def scope_of(self, skill: HostSkill) -> Scope:
        location = skill.location
        if location.plugin:
            return "plugin"
        if "/.system/" in location.path:
            return "system"
        if location.path.startswith("/"):
            return "admin"
        return "user" if location.path.startswith("~") else "project"


def host_view(store: Store, host: Host, workspace: str, home: str) -> HostView:
    """What a host makes of every skill in the catalog."""
    settings = read_host_settings(host, workspace, home)
    judge = Judge(host)
    skills = [_judged(judge, settings, row) for row in host_rows(store)]
    return HostView(host, settings, skills, workspace, home)


def _judged(judge: Judge, settings: HostSettings, row: HostRow) -> HostSkill:
    if not row.name:
        message = f"not read by metier: {row.reason}"
        refused = DoesNotLoad("unread", message, "metier lint says why")
        return HostSkill(row, refused, Location(row.path), {})
    switches = settings.switched(row, row.file.split("/")[-2])
    data = {
        "name": "" if row.unnamed else row.name.rpartition(":")[2] if row.plugin else row.name,
        "description": "" if row.undescribed else row.description,
        SWITCH: bool(row.manual),
    }
    locations = locations_of(row.path, row.plugin, row.others)
    outcome, location = judge(locations, data, switches)
    return HostSkill(row, outcome, location, switches)


def _at_home(path: str, home: str) -> str:
    return home + path[1:] if path.startswith("~") else path


class Verdict(NamedTuple):
    """One line of `metier doctor --host`."""

    state: State
    name: str
    """What the host calls it, or metier's name for it."""
    path: str
    message: str
    hint: str = ""

    def to_json(self) -> dict[str, Any]:
        return {key: value for key, value in self._asdict().items() if value}


ORDER: tuple[State, ...] = get_args(State)
"""What needs attention comes first."""


def verdicts(view: HostView, invisible: dict[str, str]) -> list[Verdict]:
    """What a host makes of each skill, what needs attention first.

    `invisible` holds the paths of skills that the listing leaves out, with the reason.
    """
    twice = _loaded_twice(view.skills)
    found = [_verdict(one, invisible, twice) for one in view.skills]
    return sorted(found, key=lambda one: (ORDER.index(one.state), one.path))


_REFUSED: dict[str, State] = {"off": "off", "other-folder": "elsewhere"}


def _verdict(
    skill: HostSkill, invisible: dict[str, str], twice: dict[str, Sequence[str]]
) -> Verdict:
    row, outcome = skill.row, skill.outcome
    name = row.name or skill.folder
    if isinstance(outcome, DoesNotLoad):
        state = _REFUSED.get(outcome.reason, "does-not-load")
        message = outcome.message if state == "off" else f"does not load: {outcome.message}"
        return Verdict(state, name, row.path, message, outcome.hint)
    as_name = f"loads as {outcome.name}"
    if skill.is_hidden and not skill.is_name_only:
        message = f"{as_name}; only you can start it: {outcome.hidden_by}"
        return Verdict("never-shown", outcome.name, row.path, message)
    if why := invisible.get(row.path):
        message = f"{as_name}, but is never shown: {why}"
        return Verdict("never-shown", outcome.name, row.path, message)
    if others := twice.get(row.path):
        message = f"{as_name}; loaded twice: {', '.join(others)}"
        return Verdict("twice", outcome.name, row.path, message, "remove one of them")
    doubt = f" (not known: {outcome.doubt})" if outcome.doubt else ""
    return Verdict("loads", outcome.name, row.path, f"{as_name}{doubt}")


def _loaded_twice(skills: Sequence[HostSkill]) -> dict[str, Sequence[str]]:
    """By path: the paths of other skills that load under the same name."""
    by_name: dict[str, list[HostRow]] = {}
    for skill in skills:
        if isinstance(skill.outcome, Loads):
            by_name.setdefault(skill.outcome.name, []).append(skill.row)
    return dict(_others(by_name.values()))


def _others(groups: Any) -> Iterator[tuple[str, list[str]]]:
    for rows in groups:
        if len(rows) > 1:
            for row in rows:
                yield row.path, [one.path for one in rows if one is not row]
