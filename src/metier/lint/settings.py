"""Rules for `[capabilities]` of the settings: unknown names."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from metier.config.capabilities import with_profile
from metier.core.nearest import Nearest, did_you_mean
from metier.core.relevance import SCORERS
from metier.values.capabilities import CapabilitiesConfig
from metier.values.outcomes import Issue

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
    locations = _locations(files)
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


def _locations(files: Sequence[SettingsFile]) -> dict[str, tuple[str, int]]:
    """The file and line of each quoted name, the first after the table's name."""
    locations: dict[str, tuple[str, int]] = {}
    for path, text in files:
        lines = [line.partition("#")[0] for line in text.split("\n")]
        start = next((number for number, line in enumerate(lines) if _TABLE in line), len(lines))
        for number, line in enumerate(lines[start:], start + 1):
            for mark in ('"', "'"):
                for name in line.split(mark)[1:-1]:  # the text between two quotes
                    locations.setdefault(name, (path, number))
    return locations
