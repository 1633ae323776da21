"""Rules for settings that name documents: `[capabilities]` and `disabled`."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from metier.config.capabilities import with_profile
from metier.core.nearest import Nearest, did_you_mean
from metier.core.relevance import SCORERS
from metier.values.checks import dotted
from metier.values.files import Named, Team
from metier.values.outcomes import Issue
from metier.values.settings_tables import CapabilitiesConfig

_TABLE = "capabilities"


class SettingsFile(NamedTuple):
    path: str
    text: str


class _Problem(NamedTuple):
    code: str
    message: str
    hint: str
    name: str


def lint_capabilities(
    config: CapabilitiesConfig, cards: Collection[str], files: Sequence[SettingsFile]
) -> list[Issue]:
    """Unknown names in the settings; `cards` are all ids, `files` strongest first."""
    near = Nearest(sorted(cards))
    problems = list(_problems("", config, cards, near))
    for name in config.profiles:
        alone = with_profile(CapabilitiesConfig(profiles=config.profiles), name)
        problems += _problems(f"profiles.{name}.", alone, cards, near)
    locations = _locations(files, _TABLE)
    nowhere = (files[0].path if files else "", 1)
    return [
        Issue(one.code, one.message, *locations.get(one.name, nowhere), 1, one.hint)
        for one in problems
    ]


def _problems(
    table: str, config: CapabilitiesConfig, cards: Collection[str], near: Nearest
) -> Iterator[_Problem]:
    for key, names in (("scorer", [config.scorer]), ("compare", config.compare)):
        for name in dict.fromkeys(names):
            if name not in SCORERS:
                message = f"unknown scorer '{name}' ({table}{key})"
                hint = did_you_mean(name, sorted(SCORERS), f"known: {', '.join(SCORERS)}")
                yield _Problem("CD610", message, hint, name)
    for key, names in (("forceInclude", config.force_include), ("exclude", config.exclude)):
        for name in dict.fromkeys(names):
            if name not in cards:
                message = f"unknown card '{name}' ({table}{key})"
                yield _Problem("CD611", message, near.did_you_mean(name, "metier list cards"), name)
    if len(config.compare) > len(set(config.compare)):
        name = config.compare[0]
        message = f"the scorer '{name}' is compared with itself ({table}compare)"
        yield _Problem("CD612", message, f"name two of: {', '.join(SCORERS)}", name)


def lint_disabled(
    names: Sequence[str],
    teams: Sequence[Team],
    documents: Collection[Named],
    files: Sequence[SettingsFile],
) -> list[Issue]:
    """Names in `disabled`, of the workspace or of a team, that no document has.

    Only names in `files` are reported: the user's own settings serve other workspaces too.
    """
    skills = {name for one in documents if one.kind == "skill" for name in one.names}
    start = "no skill is called"
    issues = _unknown_names(names, skills, start, "disabled", _locations(files, "disabled"))
    for team in teams:
        own = {name for one in documents if one.team == team.name for name in one.names}
        start, key = "no document of the team is called", dotted(("teams", team.folder, "disabled"))
        issues += _unknown_names(team.disabled, own, start, key, _locations(files, team.folder))
    return issues


def _unknown_names(
    names: Sequence[str],
    known: Collection[str],
    start: str,
    key: str,
    locations: Mapping[str, tuple[str, int]],
) -> list[Issue]:
    near = Nearest(sorted(known))
    issues = []
    for name in dict.fromkeys(names):
        if name not in known and name in locations:
            hint = near.did_you_mean(name, "check the spelling, or remove it")
            message = f"{start} '{name}' ({key})"
            issues.append(Issue("IO208", message, *locations[name], 1, hint))
    return issues


def _locations(files: Sequence[SettingsFile], table: str) -> dict[str, tuple[str, int]]:
    """The file and line of each quoted name, the first after the table's name."""
    locations: dict[str, tuple[str, int]] = {}
    for path, text in files:
        lines = [line.partition("#")[0] for line in text.split("\n")]
        start = next((number for number, line in enumerate(lines) if table in line), len(lines))
        for number, line in enumerate(lines[start:], start + 1):
            for mark in ('"', "'"):
                for name in line.split(mark)[1:-1]:  # the text between two quotes
                    locations.setdefault(name, (path, number))
    return locations
